//! What positions of both games are worth with best play, from complete tables.
//!
//! Pure: names [`crate::rules`] and std only; reads no clock and no file. [`Solver`] is what the rest of the house
//! uses. What it guarantees, and what it leaves open, is said at each of its functions. Hare and Hounds it knows from
//! the beginning; a [`Table`] for Catch the Hare takes about a minute to solve and can be added at any time.

mod catch_the_hare;
pub mod computer;
mod hare_and_hounds;
pub mod search;
mod value;

pub use catch_the_hare::{Count, Key, MOST_HUNTERS, Progress, Stopped, Table};
pub use value::Value;

use std::sync::{Arc, PoisonError, RwLock};

use crate::rules::{History, Move, Play, Position, Role, Rules};
use hare_and_hounds::HareAndHounds;

/// Everything that is known about both games. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Solver {
    hare_and_hounds: &'static HareAndHounds,
    catch_the_hare: Arc<RwLock<Vec<Arc<Table>>>>,
}

impl Default for Solver {
    fn default() -> Solver {
        Solver::new()
    }
}

impl Solver {
    /// Knows all of Hare and Hounds; the first one in a process works it out, which takes milliseconds.
    pub fn new() -> Solver {
        Solver { hare_and_hounds: HareAndHounds::solved(), catch_the_hare: Arc::default() }
    }

    /// Adds a table of Catch the Hare, which every clone knows from now on.
    pub fn add(&self, table: Table) {
        self.catch_the_hare.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(table));
    }

    /// Whether there is a table for games by these rules.
    pub fn knows(&self, rules: Rules) -> bool {
        match rules {
            Rules::HareAndHounds(_) => true,
            Rules::CatchTheHare(rules) => self.table(rules.into(), rules.hunters).is_some(),
        }
    }

    /// A table of Catch the Hare that goes up to this number of hunters.
    fn table(&self, key: Key, hunters: u8) -> Option<Arc<Table>> {
        let tables = self.catch_the_hare.read().unwrap_or_else(PoisonError::into_inner);
        tables.iter().find(|table| table.key() == key && hunters <= table.most_hunters()).cloned()
    }

    /// The value of a position, whatever went before; none when there is no table for it.
    ///
    /// In Hare and Hounds, a hare that evades for ever wins (without a known length): each reading of `getting_away`
    /// sees to that. In Catch the Hare the draws by repetition and for want of progress are left out: a win is a win
    /// of the game without these, and only what neither side can win is a draw.
    pub fn position(&self, rules: Rules, position: Position) -> Option<Value> {
        rules.admits(position).ok()?;
        match rules {
            Rules::HareAndHounds(_) => Some(self.hare_and_hounds.position(position)),
            Rules::CatchTheHare(rules) => {
                Some(self.table(rules.into(), position.pack().len())?.value(position))
            }
        }
    }

    /// Every move that the pieces can make with the value of the position it leads to, the best for the side to move
    /// first and equals in the order of their texts; whatever went before. None when there is no table for it.
    pub fn moves(&self, rules: Rules, position: Position) -> Option<Vec<(Move, Value)>> {
        self.position(rules, position)?;
        if rules.end(position).is_some() {
            return Some(Vec::new());
        }
        let valued = |mv: Move| Some((mv, self.position(rules, position.after(&mv))?));
        let moves = rules.moves(position).into_iter().map(valued).collect::<Option<Vec<_>>>()?;
        Some(best_first(position.turn(), moves))
    }

    /// The value of a game under way; none when there is no table for it.
    ///
    /// In Hare and Hounds the history is taken into account: the result is exact. So are the plies of every win of the
    /// hounds, and by `ten-vertical` those of every win of the hare. By `thirty-moves` the plies of a win of the hare
    /// are those of an escape that nothing prevents (it may win sooner by the hounds' being stuck), and there are none
    /// where it wins by the move limit alone.
    ///
    /// In Catch the Hare, once the game is over its result counts; until then this is the value without history:
    ///
    /// - A draw is a draw: what neither side can win without the rules about history, it cannot win with them.
    /// - A win in n plies is a win in n plies if n is not more than the plies that are left until `no-progress` (100
    ///   less those since the last capture, and the enclosing move itself may be the last of them), and if no position
    ///   since that capture has stood twice and is won for the same side in fewer than n plies. For along the quickest
    ///   win the plies fall from move to move: no position of it comes twice, and one that has stood once before comes
    ///   for the second time only. To find a shorter win, rules that only make draws are no help.
    /// - Otherwise the winner may have to go another way, or have no way left. The value says who is better off.
    pub fn play(&self, play: &Play) -> Option<Value> {
        if let Some(outcome) = play.outcome() {
            return Some(Value { result: outcome.result, plies: Some(0) });
        }
        match (play.rules(), play.history()) {
            (Rules::HareAndHounds(rules), History::HareAndHounds { made_by_hounds, vertical_in_a_row }) => {
                Some(self.hare_and_hounds.play(rules, play.position(), made_by_hounds, vertical_in_a_row))
            }
            _ => self.position(play.rules(), play.position()),
        }
    }

    /// Every legal move of a game under way with the value of the game it leads to, the best for the side to move
    /// first and equals in the order of their texts. None when there is no table for it.
    pub fn moves_in(&self, play: &Play) -> Option<Vec<(Move, Value)>> {
        let valued = |mv: Move| Some((mv, self.play(&play.after(&mv))?));
        let moves = play.legal_moves().into_iter().map(valued).collect::<Option<Vec<_>>>()?;
        Some(best_first(play.turn(), moves))
    }
}

fn best_first(role: Role, mut moves: Vec<(Move, Value)>) -> Vec<(Move, Value)> {
    moves.sort_by(|(_, a), (_, b)| b.compare_for(role, *a));
    moves
}

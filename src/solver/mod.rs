//! What positions of both games are worth with best play, from complete tables.
//!
//! Pure: names [`crate::rules`] and std only; reads no clock and no file. [`Solver`] is what the rest of the house
//! uses. What it guarantees, and what it leaves open, is said at each of its functions.

pub mod catch_the_hare;
mod hare_and_hounds;
mod value;

pub use value::Value;

use crate::rules::{History, Move, Play, Position, Role, Rules};
use hare_and_hounds::HareAndHounds;

/// Everything that is known about both games. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Solver {
    hare_and_hounds: &'static HareAndHounds,
}

impl Default for Solver {
    fn default() -> Solver {
        Solver::new()
    }
}

impl Solver {
    /// Knows all of Hare and Hounds; the first one in a process works it out, which takes milliseconds.
    pub fn new() -> Solver {
        Solver { hare_and_hounds: HareAndHounds::solved() }
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
            Rules::CatchTheHare(_) => None,
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

//! Hare and Hounds: three hounds that never go left, and a hare to be cornered.
//!
//! The rest of [`crate::rules`] uses `Game`, a game under way; a solver can use [`moves()`] and [`end`], which look
//! at the position alone. Of history only the positions that the hounds have brought about are kept: with the hare to
//! move, they are the only ones that a move of the hounds could bring back.

mod house_rules;
mod moves;
mod position;

pub use house_rules::{DESCRIPTOR, GettingAway, HareStart, HouseRules};
pub use moves::{can_move, moves};
pub(super) use position::admits;
pub use position::{end, starts};

use super::{History, Move, Position, Reason, Role};
use moves::steps;

/// How many moves the hounds have to corner the hare.
pub const MOVE_LIMIT: usize = 30;
/// How many vertical moves of the hounds in a row are stalling.
pub const STALLING_LIMIT: u16 = 10;

/// A game under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Game {
    rules: HouseRules,
    position: Position,
    /// The position after each move of the hounds.
    made_by_hounds: Vec<Position>,
    /// How many of the hounds' latest moves were vertical, back to the last that was not.
    vertical_in_a_row: u16,
}

impl Game {
    pub(super) fn begin(rules: HouseRules, start: Position) -> Game {
        Game { rules, position: start, made_by_hounds: Vec::new(), vertical_in_a_row: 0 }
    }

    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn history(&self) -> History<'_> {
        History::HareAndHounds {
            made_by_hounds: &self.made_by_hounds,
            vertical_in_a_row: self.vertical_in_a_row,
        }
    }

    /// The moves that may be made, in ascending order, supposing that the game is not over.
    pub(super) fn legal_moves(&self) -> Vec<Move> {
        let mut moves = moves(self.position);
        moves.retain(|mv| !self.repeats(mv));
        moves
    }

    /// Whether the ban on repetition forbids a move.
    fn repeats(&self, mv: &Move) -> bool {
        self.rules.getting_away == GettingAway::ThirtyMoves
            && self.position.turn() == Role::Hounds
            && self.made_by_hounds.contains(&self.position.after(mv))
    }

    /// Makes a legal move, and says whether that ends the game.
    pub(super) fn make(&mut self, mv: &Move) -> Option<Reason> {
        let mover = self.position.turn();
        self.position = self.position.after(mv);
        if mover == Role::Hounds {
            self.made_by_hounds.push(self.position);
            let is_vertical = mv.from().x() == mv.to().x();
            self.vertical_in_a_row = if is_vertical { self.vertical_in_a_row + 1 } else { 0 };
        }
        end(self.position).or_else(|| self.end_through_history())
    }

    fn end_through_history(&self) -> Option<Reason> {
        let is_hounds_turn = self.position.turn() == Role::Hounds;
        match self.rules.getting_away {
            GettingAway::ThirtyMoves if is_hounds_turn => {
                steps(self.position).all(|mv| self.repeats(&mv)).then_some(Reason::HoundsStuck)
            }
            GettingAway::ThirtyMoves => {
                (self.made_by_hounds.len() >= MOVE_LIMIT).then_some(Reason::MoveLimit)
            }
            GettingAway::TenVertical => {
                (self.vertical_in_a_row >= STALLING_LIMIT).then_some(Reason::Stalling)
            }
        }
    }
}

/// The most plies that a game can have.
pub(super) fn max_plies(rules: HouseRules) -> u16 {
    match rules.getting_away {
        GettingAway::ThirtyMoves => 59,
        // From a2 b1 b3 to the far end the three hounds can go right eight times. Around these there are nine runs of
        // at most nine vertical moves; one more, the tenth of the last run, ends the game.
        GettingAway::TenVertical => 2 * (8 + 9 * 9 + 1) - 1,
    }
}

//! Catch the Hare: a dozen hunters that never leap, and a hare that takes them by leaping.
//!
//! The rest of [`crate::rules`] uses `Game`, a game under way; a solver can use [`moves()`] and [`end`], which look
//! at the position alone. Of history only what followed the last capture is kept: hunters never come back, so no
//! earlier position can.

mod house_rules;
mod moves;
mod position;

pub use house_rules::{BoardLines, DESCRIPTOR, HouseRules, TooFew};
pub use moves::{can_move, moves};
pub(super) use position::admits;
pub use position::{end, start};

use super::{History, Move, Position, Reason};

/// How often a position stands when the game is drawn.
pub const REPETITION_LIMIT: usize = 3;
/// How many plies without a capture make a draw.
pub const NO_PROGRESS_LIMIT: u16 = 100;

/// A game under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Game {
    rules: HouseRules,
    /// Every position since the last capture or the start, the present one last; never empty.
    since_capture: Vec<Position>,
}

impl Game {
    pub(super) fn begin(rules: HouseRules, start: Position) -> Game {
        Game { rules, since_capture: vec![start] }
    }

    pub(super) fn position(&self) -> Position {
        *self.since_capture.last().expect("the present position is always there")
    }

    pub(super) fn history(&self) -> History<'_> {
        History::CatchTheHare { since_capture: &self.since_capture }
    }

    /// The moves that may be made, in ascending order, supposing that the game is not over.
    pub(super) fn legal_moves(&self) -> Vec<Move> {
        moves(self.rules, self.position())
    }

    /// Makes a legal move, and says whether that ends the game.
    pub(super) fn make(&mut self, mv: &Move) -> Option<Reason> {
        let position = self.position().after(mv);
        if mv.is_leap() {
            self.since_capture.clear();
        }
        self.since_capture.push(position);
        end(self.rules, position).or_else(|| self.end_through_history())
    }

    fn end_through_history(&self) -> Option<Reason> {
        let position = self.position();
        let standings = self.since_capture.iter().filter(|&&earlier| earlier == position).count();
        let plies_since_capture = self.since_capture.len() - 1;
        if standings >= REPETITION_LIMIT {
            Some(Reason::Repetition)
        } else if plies_since_capture >= usize::from(NO_PROGRESS_LIMIT) {
            Some(Reason::NoProgress)
        } else {
            None
        }
    }
}

/// The most plies that a game can have: each capture at the last moment, and the last of them ends it.
pub(super) fn max_plies(rules: HouseRules) -> u16 {
    NO_PROGRESS_LIMIT * u16::from(rules.hunters.saturating_sub(rules.too_few_left()))
}

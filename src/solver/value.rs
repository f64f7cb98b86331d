//! What a position is worth.

use std::cmp::{Ordering, Reverse};

use crate::rules::{GameResult, Role};

/// What a position is worth with best play: the winner wins as soon as possible, the loser loses as late as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    /// How the game ends.
    pub result: GameResult,
    /// After how many plies it ends, 0 where it has ended. None for a draw, and for a win whose length depends on
    /// history: the hare evades for ever, and wins once the hounds have run out of time.
    pub plies: Option<u16>,
}

impl Value {
    /// A game that nobody wins.
    pub const DRAW: Value = Value { result: GameResult::Draw, plies: None };

    /// A game that this side wins after so many plies.
    pub const fn won(winner: Role, plies: u16) -> Value {
        let result = match winner {
            Role::Hounds => GameResult::Hounds,
            Role::Hare => GameResult::Hare,
        };
        Value { result, plies: Some(plies) }
    }

    /// Compares two values as this side sees them; the greater is the better one.
    ///
    /// Sooner wins are better, and so are later losses. What has no known length is the latest of all.
    pub fn compare_for(self, role: Role, other: Value) -> Ordering {
        // A win is the better the fewer the plies, a loss the more. Each pair compares from left to right.
        let merit = |value: Value| {
            let plies = value.plies.unwrap_or(u16::MAX);
            match value.result.winner() {
                Some(winner) if winner == role => (2, Reverse(plies), 0),
                Some(_) => (0, Reverse(0), plies),
                None => (1, Reverse(0), 0),
            }
        };
        merit(self).cmp(&merit(other))
    }

    /// The same end, seen from one ply earlier.
    pub(super) fn one_ply_earlier(self) -> Value {
        Value { plies: self.plies.map(|plies| plies + 1), ..self }
    }

    /// The best of some values for this side, if there are any.
    pub(super) fn best_for(role: Role, values: impl IntoIterator<Item = Value>) -> Option<Value> {
        values.into_iter().max_by(|a, b| a.compare_for(role, *b))
    }
}

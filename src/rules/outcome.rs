//! How a game ends by the rules of the board.
//!
//! Every reason has one result. What ends a game otherwise (resignation, the clock, agreement) is not known here.

use super::{role::Role, words::words};

words! {
    /// Who won.
    pub enum GameResult {
        /// The pack has won.
        Hounds = "hounds",
        /// The hare has won.
        Hare = "hare",
        /// Nobody has won.
        Draw = "draw",
    }
}

impl GameResult {
    /// The side that won, if one did.
    pub const fn winner(self) -> Option<Role> {
        match self {
            GameResult::Hounds => Some(Role::Hounds),
            GameResult::Hare => Some(Role::Hare),
            GameResult::Draw => None,
        }
    }
}

impl From<Role> for GameResult {
    fn from(winner: Role) -> GameResult {
        match winner {
            Role::Hounds => GameResult::Hounds,
            Role::Hare => GameResult::Hare,
        }
    }
}

words! {
    /// Why a game is over by the rules.
    pub enum Reason {
        /// The hounds win: it is the hare's turn and it has no move.
        Cornered = "cornered",
        /// The hare wins: it stands in a column to the left of every hound, after a move of either side. Level with
        /// the last hound it has not escaped yet.
        Escaped = "escaped",
        /// The hare wins: the hounds have made thirty moves, and the thirtieth did not corner it.
        MoveLimit = "move-limit",
        /// The hare wins: ten moves of the hounds in a row were all vertical, and the tenth did not corner it.
        Stalling = "stalling",
        /// The hare wins: it is the pack's turn and it has no legal move, being blocked or because every move would
        /// bring back an earlier position where that is forbidden.
        HoundsStuck = "hounds-stuck",
        /// The hunters win: it is the hare's turn and it can neither step nor leap.
        Enclosed = "enclosed",
        /// The hare wins: so few hunters are left that they may no longer enclose it. This ends the game at once,
        /// even in the midst of a leap that could have gone on.
        HuntersTooFew = "hunters-too-few",
        /// A draw: the same position, with the same side to move, stands for the third time.
        Repetition = "repetition",
        /// A draw: fifty moves of each side have passed without a capture.
        NoProgress = "no-progress",
    }
}

impl Reason {
    /// The result that a game has when it ends for this reason.
    pub const fn result(self) -> GameResult {
        match self {
            Reason::Cornered | Reason::Enclosed => GameResult::Hounds,
            Reason::Escaped
            | Reason::MoveLimit
            | Reason::Stalling
            | Reason::HoundsStuck
            | Reason::HuntersTooFew => GameResult::Hare,
            Reason::Repetition | Reason::NoProgress => GameResult::Draw,
        }
    }
}

/// How a game ended by the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Who won.
    pub result: GameResult,
    /// Why the game is over.
    pub reason: Reason,
}

impl From<Reason> for Outcome {
    fn from(reason: Reason) -> Outcome {
        Outcome { result: reason.result(), reason }
    }
}

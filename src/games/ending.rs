//! How a game ends: by the rules, or by what a player does.

use crate::rules::{GameResult, Outcome, Role};

/// How a game ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The rules decided it.
    ByRules(Outcome),
    /// This side resigned.
    Resigned(Role),
    /// This side's time ran out.
    FlagFell(Role),
    /// This side left, and the other one claimed the game.
    DroppedOut(Role),
    /// One side left, and the other one claimed a draw.
    DrawClaimed,
    /// Both agreed to a draw.
    DrawAgreed,
    /// It was called off before both had moved, or one of them did not begin to play in time.
    Aborted,
}

impl Ending {
    /// Who won; none for an aborted game.
    pub fn result(self) -> Option<GameResult> {
        match self {
            Ending::ByRules(outcome) => Some(outcome.result),
            Ending::Resigned(loser) | Ending::FlagFell(loser) | Ending::DroppedOut(loser) => {
                Some(loser.other().into())
            }
            Ending::DrawAgreed | Ending::DrawClaimed => Some(GameResult::Draw),
            Ending::Aborted => None,
        }
    }

    /// Why, in the word that the API uses.
    pub fn reason(self) -> String {
        match self {
            Ending::ByRules(outcome) => outcome.reason.to_string(),
            Ending::Resigned(_) => "resignation".to_owned(),
            Ending::FlagFell(_) => "timeout".to_owned(),
            Ending::DroppedOut(_) | Ending::DrawClaimed => "abandonment".to_owned(),
            Ending::DrawAgreed => "agreement".to_owned(),
            Ending::Aborted => "aborted".to_owned(),
        }
    }

    /// Reads an ending back from its two words.
    pub fn from_words(result: Option<&str>, reason: &str) -> Option<Ending> {
        let ending = match (reason, result) {
            ("aborted", None) => Ending::Aborted,
            ("agreement", Some("draw")) => Ending::DrawAgreed,
            ("resignation", Some(winner)) => Ending::Resigned(winner.parse::<Role>().ok()?.other()),
            ("abandonment", Some("draw")) => Ending::DrawClaimed,
            ("abandonment", Some(winner)) => Ending::DroppedOut(winner.parse::<Role>().ok()?.other()),
            ("timeout", Some(winner)) => Ending::FlagFell(winner.parse::<Role>().ok()?.other()),
            (reason, Some(result)) => {
                Ending::ByRules(Outcome { result: result.parse().ok()?, reason: reason.parse().ok()? })
            }
            _ => return None,
        };
        Some(ending)
    }
}

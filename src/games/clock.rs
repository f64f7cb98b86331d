//! The clock setting of a game: what kind of clock it has and how much time.
//!
//! Settings are kept and shown; they are not enforced yet.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const SECOND_MS: i64 = 1000;
const DAY_MS: i64 = 24 * 3600 * SECOND_MS;

/// What kind of clock a game has. Durations are in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schema(title = "ClockSetting")]
pub enum ClockSetting {
    /// No clock.
    #[schema(title = "NoClock")]
    None,
    /// The same time for every turn.
    #[schema(title = "PerTurnClock")]
    PerTurn {
        /// Time for one turn, 1 second to 1 day.
        #[schema(example = 30000, minimum = 1000, maximum = 86400000)]
        turn_ms: i64,
    },
    /// A stock of time that grows with each move.
    #[schema(title = "FischerClock")]
    Fischer {
        /// Time at the start, 1 second to 1 day.
        #[schema(example = 180000, minimum = 1000, maximum = 86400000)]
        initial_ms: i64,
        /// What each move adds, up to 1 hour.
        #[schema(example = 2000, minimum = 0, maximum = 3600000)]
        increment_ms: i64,
    },
    /// Days for every turn.
    #[schema(title = "CorrespondenceClock")]
    Correspondence {
        /// Days for one turn, 1 to 14.
        #[schema(example = 1, minimum = 1, maximum = 14)]
        days: i64,
    },
}

impl ClockSetting {
    /// Whether both players are expected to stay: a player is in at most one live rated game of this kind.
    pub fn is_real_time(self) -> bool {
        matches!(self, ClockSetting::PerTurn { .. } | ClockSetting::Fischer { .. })
    }

    /// Says which member has a value that is not allowed, and what is.
    ///
    /// # Errors
    ///
    /// The member's name and what it may be.
    pub fn check(self) -> Result<(), (&'static str, &'static str)> {
        let stock = SECOND_MS..=DAY_MS;
        match self {
            ClockSetting::PerTurn { turn_ms } if !stock.contains(&turn_ms) => {
                Err(("turn_ms", "must be from 1000 to 86400000"))
            }
            ClockSetting::Fischer { initial_ms, .. } if !stock.contains(&initial_ms) => {
                Err(("initial_ms", "must be from 1000 to 86400000"))
            }
            ClockSetting::Fischer { increment_ms, .. } if !(0..=3600 * SECOND_MS).contains(&increment_ms) => {
                Err(("increment_ms", "must be from 0 to 3600000"))
            }
            ClockSetting::Correspondence { days } if !(1..=14).contains(&days) => {
                Err(("days", "must be from 1 to 14"))
            }
            _ => Ok(()),
        }
    }
}

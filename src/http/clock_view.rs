//! How a game's clock is shown.

use serde::Serialize;
use utoipa::ToSchema;

use super::views::{BothRoles, Instant};
use crate::{
    games::{ClockSetting, GameClock},
    wall_clock::Timestamp,
};

/// A game's clock: of what kind it is, and what is left as of `server_now`, or as of the end of a game that is over.
///
/// Until a side has made its first move it has all of its time, and 60 seconds for that move, or the time of a turn if
/// that is longer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = Clock, title = "Clock")]
pub enum ClockView {
    /// No clock: both members are null.
    #[schema(title = "NoClockNow")]
    None {
        /// What both sides have left.
        #[schema(required = true)]
        remaining_ms: Option<BothRoles<i64>>,
        /// The last instant at which the next move counts; null when nothing runs.
        #[schema(required = true)]
        deadline: Option<Instant>,
    },
    /// The same time for every turn.
    #[schema(title = "PerTurnClockNow")]
    PerTurn {
        /// Time for one turn.
        #[schema(example = 30000)]
        turn_ms: i64,
        /// What both sides have left.
        #[schema(required = true)]
        remaining_ms: Option<BothRoles<i64>>,
        /// The last instant at which the next move counts; null when nothing runs.
        #[schema(required = true)]
        deadline: Option<Instant>,
    },
    /// A stock of time that grows with each move but the first.
    #[schema(title = "FischerClockNow")]
    Fischer {
        /// Time at the start.
        #[schema(example = 180000)]
        initial_ms: i64,
        /// What each move adds.
        #[schema(example = 2000)]
        increment_ms: i64,
        /// What both sides have left.
        #[schema(required = true)]
        remaining_ms: Option<BothRoles<i64>>,
        /// The last instant at which the next move counts; null when nothing runs.
        #[schema(required = true)]
        deadline: Option<Instant>,
    },
    /// Days for every turn.
    #[schema(title = "CorrespondenceClockNow")]
    Correspondence {
        /// Days for one turn.
        #[schema(example = 1)]
        days: i64,
        /// What both sides have left.
        #[schema(required = true)]
        remaining_ms: Option<BothRoles<i64>>,
        /// The last instant at which the next move counts; null when nothing runs.
        #[schema(required = true)]
        deadline: Option<Instant>,
    },
}

impl ClockView {
    /// The clock at `now`.
    pub fn of(clock: &GameClock, now: Timestamp) -> ClockView {
        let remaining_ms = clock.remaining_ms(now).map(BothRoles::from);
        let deadline = clock.deadline().map(Instant::from);
        match clock.setting() {
            ClockSetting::None => ClockView::None { remaining_ms, deadline },
            ClockSetting::PerTurn { turn_ms } => ClockView::PerTurn { turn_ms, remaining_ms, deadline },
            ClockSetting::Fischer { initial_ms, increment_ms } => {
                ClockView::Fischer { initial_ms, increment_ms, remaining_ms, deadline }
            }
            ClockSetting::Correspondence { days } => {
                ClockView::Correspondence { days, remaining_ms, deadline }
            }
        }
    }
}

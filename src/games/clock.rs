//! Clocks: what kind a game has, and what its log makes of it.
//!
//! A [`GameClock`] is a fold of the log and of nothing else: it starts with the game, and goes on with every move and
//! with time that is given back. It reads no clock: whoever asks says what time it is, in whole milliseconds.
//!
//! Until a side has made its first move, its clock stands and a time of its own runs ([`FIRST_MOVE_MS`]): a game in
//! which it lapses is aborted, and not lost.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    rules::{ByRole, Role},
    wall_clock::Timestamp,
};

const SECOND_MS: i64 = 1000;
const DAY_MS: i64 = 24 * 3600 * SECOND_MS;

/// How long a side may take for its first move in a real-time game, unless a turn is longer than that.
pub const FIRST_MOVE_MS: i64 = 60 * SECOND_MS;

/// A game is not looked at again sooner than after this, unless its deadline is nearer.
const LOOK_AFTER_MS: i64 = SECOND_MS;

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
    /// A stock of time that grows with each move but the first.
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

    /// What a side has when it comes to its turn for the first time; none without a clock.
    fn stock_ms(self) -> Option<i64> {
        match self {
            ClockSetting::None => None,
            ClockSetting::PerTurn { turn_ms } => Some(turn_ms),
            ClockSetting::Fischer { initial_ms, .. } => Some(initial_ms),
            ClockSetting::Correspondence { days } => Some(days * DAY_MS),
        }
    }

    /// How long a side may take for its first move; none without a clock.
    fn first_move_ms(self) -> Option<i64> {
        match self {
            ClockSetting::None => None,
            ClockSetting::PerTurn { turn_ms } => Some(turn_ms.max(FIRST_MOVE_MS)),
            ClockSetting::Fischer { .. } => Some(FIRST_MOVE_MS),
            ClockSetting::Correspondence { days } => Some(days * DAY_MS),
        }
    }
}

/// What in a game's log concerns its clock, after the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tick {
    /// The side to move has moved.
    Moved(Timestamp),
    /// So many milliseconds were given to the side to move.
    Given(i64),
}

/// A side's time that has run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fall {
    /// Whose time it was.
    pub role: Role,
    /// The last instant at which a move would have counted.
    pub deadline: Timestamp,
    /// Whether it would have been this side's first move.
    pub is_first_move: bool,
}

/// A game's clock: what each side has left, whose clock runs, and until when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GameClock {
    setting: ClockSetting,
    /// What each side has for a turn that begins, or had when its turn began.
    stock_ms: ByRole<i64>,
    plies: u16,
    turn_began: Timestamp,
    /// What was given back in this turn.
    given_ms: i64,
    stopped_at: Option<Timestamp>,
}

impl GameClock {
    /// The clock of a game that starts at `at`.
    pub fn start(setting: ClockSetting, at: Timestamp) -> GameClock {
        let stock = setting.stock_ms().unwrap_or(0);
        GameClock {
            setting,
            stock_ms: ByRole { hounds: stock, hare: stock },
            plies: 0,
            turn_began: at,
            given_ms: 0,
            stopped_at: None,
        }
    }

    /// The clock of a game that started at `at`, after all of this.
    pub fn replay(setting: ClockSetting, at: Timestamp, ticks: impl IntoIterator<Item = Tick>) -> GameClock {
        let mut clock = GameClock::start(setting, at);
        for tick in ticks {
            clock.tick(tick);
        }
        clock
    }

    /// What kind of clock it is.
    pub fn setting(&self) -> ClockSetting {
        self.setting
    }

    /// Goes on by one entry of the log. After a move, answers what the mover has left, as [`GameClock::moved`] does.
    pub fn tick(&mut self, tick: Tick) -> Option<i64> {
        match tick {
            Tick::Moved(at) => self.moved(at),
            Tick::Given(ms) => {
                self.given_ms += ms;
                None
            }
        }
    }

    /// The side to move has moved: its clock stops and the other side's runs. Answers what the mover has left, an
    /// increment included; nothing without a clock.
    ///
    /// A move that arrived before the turn began, as another process tells the time, took no time.
    pub fn moved(&mut self, at: Timestamp) -> Option<i64> {
        let mover = self.turn();
        let mut left = self.remaining_ms(at);
        if let (ClockSetting::Fischer { increment_ms, .. }, false) = (self.setting, self.is_first_move()) {
            self.stock_ms[mover] = self.running_ms(at) + increment_ms;
            left = Some(self.stock_ms);
        }
        self.plies += 1;
        self.turn_began = self.turn_began.max(at);
        self.given_ms = 0;
        left.map(|left| left[mover])
    }

    /// The game is over: what is left stays.
    pub fn stop(&mut self, at: Timestamp) {
        self.stopped_at = Some(at);
    }

    /// What each side has left at `now`; none without a clock. Before its first move a side has all of its time.
    pub fn remaining_ms(&self, now: Timestamp) -> Option<ByRole<i64>> {
        self.setting.stock_ms()?;
        let mut left = self.stock_ms;
        if !self.is_first_move() {
            left[self.turn()] = self.running_ms(self.stopped_at.unwrap_or(now));
        }
        Some(left)
    }

    /// The last instant at which a move of the side to move counts; none without a clock and when the game is over.
    pub fn deadline(&self) -> Option<Timestamp> {
        let allowed = if self.is_first_move() {
            self.setting.first_move_ms()?
        } else {
            self.setting.stock_ms().map(|_| self.stock_ms[self.turn()])?
        };
        let is_over = self.stopped_at.is_some();
        (!is_over).then(|| self.turn_began + TimeDelta::milliseconds(allowed + self.given_ms))
    }

    /// Whose time has run out at `now`, if anybody's has.
    pub fn fallen(&self, now: Timestamp) -> Option<Fall> {
        let deadline = self.deadline().filter(|deadline| now > *deadline)?;
        Some(Fall { role: self.turn(), deadline, is_first_move: self.is_first_move() })
    }

    /// Before which instant, seen from `now`, nobody's time can run out, whatever is played until then; none without
    /// a clock and when the game is over. Where a side has next to nothing left it is up to a second late, so that
    /// no game is looked at all the time.
    pub fn next_look(&self, now: Timestamp) -> Option<Timestamp> {
        let (deadline, left) = (self.deadline()?, self.remaining_ms(now)?);
        let soonest = left.hounds.min(left.hare).max(LOOK_AFTER_MS);
        Some(deadline.min(now + TimeDelta::milliseconds(soonest)))
    }

    fn turn(&self) -> Role {
        if self.plies.is_multiple_of(2) { Role::Hounds } else { Role::Hare }
    }

    fn is_first_move(&self) -> bool {
        self.plies < 2
    }

    /// What is left at `at` of the time of the side to move.
    fn running_ms(&self, at: Timestamp) -> i64 {
        let stock = self.stock_ms[self.turn()];
        let elapsed = (at - self.turn_began).num_milliseconds().max(0);
        (stock + self.given_ms - elapsed).clamp(0, stock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FISCHER: ClockSetting = ClockSetting::Fischer { initial_ms: 10_000, increment_ms: 2000 };

    fn at(ms: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::milliseconds(ms)
    }

    fn clock(setting: ClockSetting, ticks: &[Tick]) -> GameClock {
        GameClock::replay(setting, at(0), ticks.iter().copied())
    }

    fn moved(ms: i64) -> Tick {
        Tick::Moved(at(ms))
    }

    fn left(clock: &GameClock, ms: i64) -> (i64, i64) {
        let left = clock.remaining_ms(at(ms)).expect("there is a clock");
        (left.hounds, left.hare)
    }

    #[test]
    fn a_deadline_counts_to_the_millisecond() {
        for (setting, allowed) in [
            (ClockSetting::PerTurn { turn_ms: 30_000 }, 30_000),
            (FISCHER, 10_000),
            (ClockSetting::Correspondence { days: 2 }, 2 * DAY_MS),
        ] {
            let clock = clock(setting, &[moved(100), moved(200)]);
            let deadline = 200 + allowed;
            assert_eq!(clock.deadline(), Some(at(deadline)));
            assert_eq!(clock.fallen(at(deadline - 1)), None);
            assert_eq!(clock.fallen(at(deadline)), None);
            let fall = Fall { role: Role::Hounds, deadline: at(deadline), is_first_move: false };
            assert_eq!(clock.fallen(at(deadline + 1)), Some(fall));
        }
    }

    #[test]
    fn the_first_move_has_a_time_of_its_own() {
        for (setting, allowed) in [
            (ClockSetting::PerTurn { turn_ms: 30_000 }, FIRST_MOVE_MS),
            (ClockSetting::PerTurn { turn_ms: 90_000 }, 90_000),
            (FISCHER, FIRST_MOVE_MS),
            (ClockSetting::Correspondence { days: 3 }, 3 * DAY_MS),
        ] {
            assert_eq!(clock(setting, &[]).deadline(), Some(at(allowed)));
            let hare_to_move = clock(setting, &[moved(5000)]);
            let fall = hare_to_move.fallen(at(5001 + allowed)).expect("it lapses");
            assert_eq!((fall.role, fall.is_first_move), (Role::Hare, true));
        }
    }

    #[test]
    fn a_stock_is_not_touched_by_the_first_move_and_grows_after_the_others() {
        let mut clock = clock(FISCHER, &[moved(50_000), moved(59_000)]);
        assert_eq!(left(&clock, 59_000), (10_000, 10_000));
        assert_eq!(left(&clock, 62_000), (7000, 10_000));
        assert_eq!(clock.moved(at(62_000)), Some(9000));
        assert_eq!(left(&clock, 66_000), (9000, 6000));
        clock.moved(at(66_000));
        assert_eq!(left(&clock, 66_000), (9000, 8000));
        clock.moved(at(75_000));
        assert_eq!(left(&clock, 75_000), (2000, 8000));
    }

    #[test]
    fn a_turn_begins_with_all_of_its_time() {
        let clock = clock(ClockSetting::PerTurn { turn_ms: 30_000 }, &[moved(0), moved(0), moved(20_000)]);
        assert_eq!(left(&clock, 21_000), (30_000, 29_000));
        assert_eq!(clock.deadline(), Some(at(50_000)));
    }

    #[test]
    fn time_does_not_run_backwards() {
        let clock = clock(FISCHER, &[moved(5000), moved(4000), moved(3000)]);
        assert_eq!(left(&clock, 1000), (12_000, 10_000));
        assert_eq!(clock.deadline(), Some(at(15_000)));
    }

    #[test]
    fn time_that_is_given_back_counts_for_the_turn_that_runs() {
        let mut clock = clock(FISCHER, &[moved(0), moved(0), Tick::Given(60_000)]);
        assert_eq!(left(&clock, 63_000), (7000, 10_000));
        assert_eq!(left(&clock, 1000), (10_000, 10_000), "never more than there was");
        assert_eq!(clock.deadline(), Some(at(70_000)));
        clock.moved(at(64_000));
        assert_eq!(left(&clock, 64_000), (8000, 10_000));
        assert_eq!(clock.deadline(), Some(at(74_000)));
        let first = GameClock::replay(FISCHER, at(0), [Tick::Given(5000)]);
        assert_eq!(first.deadline(), Some(at(FIRST_MOVE_MS + 5000)));
    }

    #[test]
    fn nothing_runs_when_the_game_is_over_or_has_no_clock() {
        let mut over = clock(FISCHER, &[moved(0), moved(0)]);
        over.stop(at(4000));
        assert_eq!(left(&over, 900_000), (6000, 10_000));
        assert_eq!((over.deadline(), over.next_look(at(0))), (None, None));
        let none = clock(ClockSetting::None, &[moved(0)]);
        assert_eq!((none.remaining_ms(at(1)), none.deadline(), none.fallen(at(DAY_MS))), (None, None, None));
        assert_eq!(none.next_look(at(0)), None);
    }

    #[test]
    fn no_flag_falls_before_the_next_look_whatever_is_played() {
        let per_turn = ClockSetting::PerTurn { turn_ms: 30_000 };
        assert_eq!(clock(per_turn, &[]).next_look(at(0)), Some(at(30_000)), "both may move at once");
        assert_eq!(clock(per_turn, &[moved(0), moved(0)]).next_look(at(10_000)), Some(at(30_000)));
        let uneven = clock(FISCHER, &[moved(0), moved(0), moved(9000)]);
        assert_eq!(left(&uneven, 9000), (3000, 10_000));
        assert_eq!(uneven.next_look(at(9000)), Some(at(12_000)), "the hare may move at once");
        let hasty = clock(
            ClockSetting::Fischer { initial_ms: 1000, increment_ms: 0 },
            &[moved(0), moved(0), moved(999)],
        );
        assert_eq!(hasty.next_look(at(999)), Some(at(1999)), "not more than once a second");
    }
}

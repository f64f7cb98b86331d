//! The only reader of the time. Everything else is told what time it is.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// An instant, UTC, in whole milliseconds.
pub type Timestamp = DateTime<Utc>;

/// Tells the time; in tests it goes forward only when it is told to.
#[derive(Clone, Debug)]
pub struct WallClock(Hand);

#[derive(Clone, Debug)]
enum Hand {
    System,
    ByHand(Arc<AtomicI64>),
}

impl WallClock {
    /// The system's clock.
    pub fn system() -> WallClock {
        WallClock(Hand::System)
    }

    /// A clock that stands at `start` until [`WallClock::advance`] moves it. Its clones move together.
    pub fn by_hand(start: Timestamp) -> WallClock {
        WallClock(Hand::ByHand(Arc::new(AtomicI64::new(start.timestamp_millis()))))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Hand::System => system_now(),
            Hand::ByHand(millis) => {
                DateTime::from_timestamp_millis(millis.load(Ordering::SeqCst)).unwrap_or(DateTime::UNIX_EPOCH)
            }
        }
    }

    /// Moves a clock that is moved by hand; the system's clock stays as it is.
    pub fn advance(&self, by: TimeDelta) {
        if let Hand::ByHand(millis) = &self.0 {
            millis.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
fn system_now() -> Timestamp {
    let now = Utc::now();
    now.duration_trunc(TimeDelta::milliseconds(1)).unwrap_or(now)
}

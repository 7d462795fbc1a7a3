//! The agent's clock: the wall clock of the start, carried on by the monotonic one.
//!
//! So a wall clock that jumps (NTP, a hand, a machine without a battery) moves no back-off and reorders
//! nothing. It is read once for each round, and the planner is told.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::model::Time;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    wall: Time,
}

impl Clock {
    pub fn start() -> Self {
        Self { started: Instant::now(), wall: wall() }
    }

    pub fn now(&self) -> Time {
        self.wall + self.elapsed()
    }

    /// Since the agent started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When a moment of this clock comes; at once when it has passed.
    pub fn until(&self, time: Time) -> Duration {
        time.since(self.now())
    }
}

/// The wall clock as it is now, jumps and all: only to be compared with times that others wrote.
pub fn wall() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

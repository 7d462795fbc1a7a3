//! Which endpoint is tried next, and when. Pure.
//!
//! The client library balances over the endpoints that it is given, dead ones too, and fails over to none: so it
//! is given one at a time.

use std::time::Duration;

use crate::node::sources::backoff::BackOff;

pub struct Rotation {
    endpoints: usize,
    at: usize,
    /// Tries that failed since one went well, or since the last pause.
    failed: usize,
    back_off: BackOff,
}

impl Rotation {
    /// Agents begin at different endpoints, so that the first one does not carry them all.
    pub fn new(endpoints: usize, begin: u64, back_off: BackOff) -> Self {
        let at = usize::try_from(begin).unwrap_or_default() % endpoints.max(1);
        Self { endpoints, at, failed: 0, back_off }
    }

    /// The endpoint whose turn it is.
    pub fn at(&self) -> usize {
        self.at
    }

    /// It served well until it failed: troubles before that are forgotten.
    pub fn served(&mut self) {
        self.at = (self.at + 1) % self.endpoints.max(1);
        self.failed = 0;
        self.back_off.succeeded();
    }

    /// It failed. Returns the pause before the next one is tried: none until each has had its turn.
    pub fn failed(&mut self, fraction: f64) -> Duration {
        self.at = (self.at + 1) % self.endpoints.max(1);
        self.failed += 1;
        if self.failed < self.endpoints {
            return Duration::ZERO;
        }
        self.failed = 0;
        self.back_off.failed(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_endpoint_has_its_turn_before_a_pause() {
        let back_off = BackOff::new(Duration::from_secs(2), Duration::from_secs(60));
        let mut rotation = Rotation::new(3, 7, back_off);
        assert_eq!(rotation.at(), 1);
        let mut fails = |times: usize| -> Vec<(u64, usize)> {
            (0..times).map(|_| (rotation.failed(1.0).as_secs(), rotation.at())).collect()
        };
        assert_eq!(fails(6), [(0, 2), (0, 0), (2, 1), (0, 2), (0, 0), (4, 1)]);
        rotation.served();
        let mut fails = |times: usize| -> Vec<(u64, usize)> {
            (0..times).map(|_| (rotation.failed(1.0).as_secs(), rotation.at())).collect()
        };
        assert_eq!(fails(3), [(0, 0), (0, 1), (2, 2)]);
    }

    #[test]
    fn one_endpoint_has_a_pause_after_each_failure() {
        let mut rotation = Rotation::new(1, 0, BackOff::new(Duration::from_secs(2), Duration::from_secs(60)));
        let pauses: Vec<u64> = (0..3).map(|_| rotation.failed(1.0).as_secs()).collect();
        assert_eq!((pauses, rotation.at()), (vec![2, 4, 8], 0));
    }
}

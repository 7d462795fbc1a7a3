//! How long to wait before the next try: doubled after each failure, spread so that a fleet does not come back in step.
//!
//! Pure: the random part is given from outside (see [`chance`](crate::node::chance)), and nothing here sleeps.

use std::time::Duration;

/// The pauses between tries that fail, one after the other.
#[derive(Clone, Debug)]
pub struct BackOff {
    first: Duration,
    longest: Duration,
    failures: u32,
}

impl BackOff {
    /// `first` is the longest pause after one failure, `longest` that after any number of them.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0 }
    }

    /// The pause after one more failure: between half of it and all of it, as `fraction` (0 to 1) says.
    pub fn failed(&mut self, fraction: f64) -> Duration {
        let doubled = self.first.checked_mul(2u32.checked_pow(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        spread(doubled.map_or(self.longest, |pause| pause.min(self.longest)), 0.5, fraction)
    }

    /// A try went well: the next failure is a first one.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }
}

/// Between `least` of a period (0 to 1) and all of it, as `fraction` (0 to 1) says.
pub fn spread(period: Duration, least: f64, fraction: f64) -> Duration {
    period.mul_f64(least + (1.0 - least) * fraction.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut back_off = BackOff::new(2 * SECOND, 60 * SECOND);
        let pauses: Vec<u64> = (0..7).map(|_| back_off.failed(1.0).as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
        back_off.succeeded();
        assert_eq!(back_off.failed(1.0), 2 * SECOND);
    }

    #[test]
    fn a_year_of_failures_overflows_nothing() {
        let mut back_off = BackOff::new(SECOND, 60 * SECOND);
        assert!((0..1_000_000).all(|_| back_off.failed(0.7) <= 60 * SECOND));
    }

    #[test]
    fn the_random_part_is_the_upper_half() {
        for (fraction, millis) in [(0.0, 1000), (0.5, 1500), (1.0, 2000), (-3.0, 1000), (7.0, 2000)] {
            let pause = BackOff::new(2 * SECOND, 60 * SECOND).failed(fraction);
            assert_eq!(pause, Duration::from_millis(millis), "{fraction}");
        }
    }
}

//! When a URL is asked again.
//!
//! Pure: chance and time come from outside. Ten thousand agents that start together must not ask together for ever, and
//! a server that is down must not be asked more often than one that is up.

use std::time::Duration;

use crate::model::Time;
use crate::node::sources::backoff::BackOff;

/// After a failure: 10 to 20 s, doubled up to five minutes.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(20), LONGEST);
/// The longest pause, whatever the server asks for: a wrong `Retry-After` must not switch a source off.
const LONGEST: Duration = Duration::from_secs(300);
/// Polls come so much sooner or later than asked for.
const SPREAD: f64 = 0.2;

/// The pauses between two requests for one URL.
#[derive(Clone)]
pub struct Schedule {
    check: Duration,
    back_off: BackOff,
}

impl Schedule {
    /// `check`: how often to ask while all is well.
    pub fn new(check: Duration) -> Self {
        Self { check, back_off: BackOff::new(BACK_OFF.0, BACK_OFF.1) }
    }

    /// The pause after an answer that was right. `fraction` is by chance from 0 to 1.
    pub fn succeeded(&mut self, fraction: f64) -> Duration {
        self.back_off.succeeded();
        self.check.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * fraction.clamp(0.0, 1.0))
    }

    /// The pause after one that was not; never shorter than what the server asks for, up to five minutes.
    pub fn failed(&mut self, retry_after: Option<Duration>, fraction: f64) -> Duration {
        self.back_off.failed(fraction).max(retry_after.unwrap_or_default().min(LONGEST))
    }
}

/// Reads `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). What cannot be read asks for nothing.
pub fn retry_after(text: &str, now: Time) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    // `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that is still written (RFC 9110, 5.6.7).
    let (_, date) = text.split_once(", ")?;
    let [day, month, year, time, "GMT"] = date.split(' ').collect::<Vec<_>>()[..] else { return None };
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Some(Time::parse(&format!("{year}-{month:02}-{day}T{time}Z"))?.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn h15_polls_are_spread_over_a_fifth_to_either_side() {
        let mut schedule = Schedule::new(seconds(20));
        for (fraction, expected) in [(0.0, 16), (0.5, 20), (1.0, 24)] {
            assert_eq!(schedule.succeeded(fraction), seconds(expected));
        }
    }

    #[test]
    fn h3_failures_wait_from_ten_seconds_to_five_minutes() {
        let mut schedule = Schedule::new(seconds(1));
        let least: Vec<u64> = (0..6).map(|_| schedule.failed(None, 0.0).as_secs()).collect();
        assert_eq!(least, [10, 20, 40, 80, 150, 150]);
        assert_eq!(schedule.failed(None, 1.0), seconds(300));
        schedule.succeeded(0.5);
        assert_eq!(schedule.failed(None, 1.0), seconds(20), "a success ends it");
    }

    #[test]
    fn h3_a_server_may_ask_for_a_longer_pause_up_to_five_minutes() {
        for (asked, expected) in [(0, 20), (7, 20), (120, 120), (86_400, 300)] {
            assert_eq!(Schedule::new(seconds(1)).failed(Some(seconds(asked)), 1.0), seconds(expected));
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Time::parse("1994-11-06T08:49:00Z").unwrap();
        for (text, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sun, 06 Nov 1994 08:48:37 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("99999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now), expected.map(seconds), "{text}");
        }
    }
}

//! Time as a value: the planner is told what time it is and never asks.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// How long after `earlier` this is; zero when it is before it.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads RFC 3339 as the engine writes it (`2026-11-30T18:52:12.123456789Z`, or with an offset).
    /// The engine's "never" (`0001-01-01T00:00:00Z`) and anything unreadable is `None`.
    pub fn parse(text: &str) -> Option<Time> {
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let rest = text.get(19..)?;
        let zone = rest.find(['Z', 'z', '+', '-'])?;
        let (fraction, zone) = rest.split_at(zone);
        let millis = match fraction.strip_prefix('.') {
            Some(digits) => format!("{digits:0<3}").get(..3)?.parse::<i64>().ok()?,
            None => 0,
        };
        let offset = match zone.as_bytes() {
            [b'Z' | b'z'] => 0,
            [sign, ..] => {
                let (hours, minutes) = zone.get(1..)?.split_once(':')?;
                let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
                if *sign == b'-' { -minutes } else { minutes }
            }
            [] => return None,
        };
        if year <= 1 {
            return None;
        }
        let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        Some(Time((seconds - offset * 60) * 1000 + millis))
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March,
/// so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`]: year, month, day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// RFC 3339 in UTC with whole seconds, as Kubernetes prints times.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1000);
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let of_day = seconds.rem_euclid(86_400);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_engine_writes() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5Z", Some(951_825_600_500)),
            ("2026-11-30T18:52:12.123456789Z", Some(1_796_064_732_123)),
            ("2026-11-30T19:52:12+01:00", Some(1_796_064_732_000)),
            ("0001-01-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(Time::parse(text).map(|time| time.0), expected, "{text}");
        }
    }

    #[test]
    fn what_it_prints_it_reads_back() {
        for day in (-200_000..400_000).step_by(97) {
            let time = Time(day * 86_400_000 + 3_723_000);
            assert_eq!(Time::parse(&time.to_string()), Some(time).filter(|_| time.0 > -62_000_000_000_000));
        }
    }
}

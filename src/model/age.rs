//! How long ago something was, for people.

use std::time::Duration;

/// Two units at most, as kubectl writes an age: `5s`, `3m20s`, `2d4h`.
pub fn short(age: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const YEAR: u64 = 365 * DAY;
    let seconds = age.as_secs();
    // From `duration.HumanDuration` of apimachinery: below each limit, these units are shown.
    let (unit, name, lesser, lesser_name) = match seconds {
        0..120 => return format!("{seconds}s"),
        120..600 => (MINUTE, 'm', 1, 's'),
        600..10_800 => (MINUTE, 'm', 0, ' '),
        10_800..28_800 => (HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => (HOUR, 'h', 0, ' '),
        172_800..691_200 => (DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => (DAY, 'd', 0, ' '),
        63_072_000..252_288_000 => (YEAR, 'y', DAY, 'd'),
        252_288_000.. => (YEAR, 'y', 0, ' '),
    };
    match (seconds % unit).checked_div(lesser) {
        Some(rest) if rest > 0 => format!("{}{name}{rest}{lesser_name}", seconds / unit),
        _ => format!("{}{name}", seconds / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (3600, "60m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (90_000, "25h"),
            (180_000, "2d2h"),
            (864_000, "10d"),
            (63_072_000, "2y"),
            (300_000_000, "9y"),
        ] {
            assert_eq!(short(Duration::from_secs(seconds)), expected, "{seconds}");
        }
    }
}

//! Durations as flags have them: `10s`, `1m30s`, as Go and humans write them.

use std::time::Duration;

/// Never nothing.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("must be longer than nothing".to_owned()),
        Ok(duration) => Ok(duration),
        // The library has examples of its own, in another style.
        Err(_) => Err("write a number with its unit, as in 10s, 1m30s or 250ms".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_and_humans_write_them() {
        for (text, millis) in [("10s", 10_000), ("1m30s", 90_000), ("250ms", 250), ("1h", 3_600_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "0s", "ten", "-5s", "10"] {
            let why = duration(text).unwrap_err();
            assert!(!why.contains("sec"), "one style of examples: {text}: {why}");
        }
    }
}

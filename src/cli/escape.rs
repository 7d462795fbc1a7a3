//! Text from manifests, engines and containers, made safe to print.
//!
//! A terminal obeys what it is sent: an image named with an escape sequence could hide a line of a plan,
//! and a right-to-left override could make one name look like another.

use std::fmt;

use crate::model::diagnosis::is_unsafe;

/// Shows text with every character that a terminal would obey, or that cannot be seen, escaped.
pub struct Safe<'a>(pub &'a str);

impl fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(is_unsafe) {
            return f.pad(self.0);
        }
        let mut escaped = String::with_capacity(self.0.len() + 16);
        for character in self.0.chars() {
            match character {
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                c if is_unsafe(c) => escaped.extend(c.escape_unicode()),
                c => escaped.push(c),
            }
        }
        f.pad(&escaped)
    }
}

/// The same as a value, for text that is kept.
pub fn safe(text: &str) -> String {
    Safe(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_not_sent() {
        for (given, shown) in [
            ("nginx:1.25 → ü", "nginx:1.25 → ü"),
            ("a\u{1b}[2Kb", "a\\u{1b}[2Kb"),
            ("a\u{9b}2Kb", "a\\u{9b}2Kb"),
            ("a\nb\r\tc\u{7f}", "a\\nb\\r\\tc\\u{7f}"),
            ("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("a\u{200b}b", "a\\u{200b}b"),
        ] {
            assert_eq!(safe(given), shown);
        }
    }

    #[test]
    fn padding_counts_what_is_shown() {
        assert_eq!(format!("{:<8}|", Safe("a\n")), "a\\n     |");
    }
}

//! What a plain (unquoted) word means to YAML 1.2, and whether YAML 1.1 reads it otherwise.
//!
//! Kubernetes reads YAML 1.1 (sigs.k8s.io/yaml over go-yaml v2). Where the two differ the word is given a sort of its own,
//! so that the schema can say so instead of guessing.

use super::tree::Sort;

/// Tells the sort of a plain word.
pub fn resolve(text: &str) -> Sort {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Sort::Null,
        "true" | "True" | "TRUE" => return Sort::Bool(true),
        "false" | "False" | "FALSE" => return Sort::Bool(false),
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Sort::OldBool(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Sort::OldBool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "-.inf" | "-.Inf" | "-.INF" | ".nan" | ".NaN" | ".NAN" => {
            return Sort::Float;
        }
        _ => {}
    }
    let first = text.as_bytes()[0];
    if first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.') { number(text) } else { Sort::Text }
}

fn number(text: &str) -> Sort {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(rest) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return radix(rest, 16, negative);
    }
    if let Some(rest) = digits.strip_prefix("0o") {
        return radix(rest, 8, negative);
    }
    if digits
        .strip_prefix("0b")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| matches!(b, b'0' | b'1' | b'_')))
    {
        return Sort::OldNumber;
    }
    let bytes = digits.as_bytes();
    if bytes.is_empty()
        || !bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-' | b'_'))
    {
        return Sort::Text;
    }
    let whole = bytes.iter().all(u8::is_ascii_digit);
    if whole && bytes.len() > 1 && bytes[0] == b'0' {
        let sign = if negative { -1 } else { 1 };
        return i64::from_str_radix(digits, 8).map_or(Sort::OldNumber, |value| Sort::OldOctal(sign * value));
    }
    if whole {
        return text.parse().map_or(Sort::Float, Sort::Integer);
    }
    if bytes.contains(&b'_') {
        let bare = digits.replace('_', "");
        return if bytes[0].is_ascii_digit() && bare.parse::<f64>().is_ok() {
            Sort::OldNumber
        } else {
            Sort::Text
        };
    }
    // Rust's own reader takes neither blanks nor words here, because only digits, dots, exponents and signs are left.
    if digits.parse::<f64>().is_ok() { Sort::Float } else { Sort::Text }
}

fn radix(digits: &str, radix: u32, negative: bool) -> Sort {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Sort::Text;
    }
    let sign = if negative { -1 } else { 1 };
    i64::from_str_radix(digits, radix).map_or(Sort::Float, |value| Sort::Integer(sign * value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_what_yaml_says_it_is() {
        for (text, expected) in [
            ("", Sort::Null),
            ("~", Sort::Null),
            ("None", Sort::Text),
            ("true", Sort::Bool(true)),
            ("yes", Sort::OldBool(true)),
            ("Off", Sort::OldBool(false)),
            ("y", Sort::Text),
            ("N", Sort::Text),
            ("0", Sort::Integer(0)),
            ("-7", Sort::Integer(-7)),
            ("8080", Sort::Integer(8080)),
            ("0x1F", Sort::Integer(31)),
            ("0o17", Sort::Integer(15)),
            ("0777", Sort::OldOctal(511)),
            ("-0644", Sort::OldOctal(-420)),
            ("0999", Sort::OldNumber),
            ("1_000", Sort::OldNumber),
            ("0b101", Sort::OldNumber),
            ("1.10", Sort::Float),
            ("1e3", Sort::Float),
            ("99999999999999999999", Sort::Float),
            (".inf", Sort::Float),
            ("1.2.3", Sort::Text),
            ("12:30", Sort::Text),
            ("2020-01-01", Sort::Text),
            ("1Gi", Sort::Text),
            ("-", Sort::Text),
            ("-e", Sort::Text),
            ("--flag", Sort::Text),
            ("0xZZ", Sort::Text),
            ("inf", Sort::Text),
            ("busybox", Sort::Text),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}

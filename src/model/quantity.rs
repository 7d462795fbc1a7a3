//! Quantities as Kubernetes writes them: `500m`, `64Mi`, `1e3`.
//!
//! Source: `resource.ParseQuantity`. The smallest part that is kept is a billionth; what is finer is rounded up, away
//! from zero.

use std::fmt;

const NANO: i128 = 1_000_000_000;

/// An amount, in billionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    nano: i128,
    form: Form,
}

/// How it was written, which is how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

impl Quantity {
    /// Reads a quantity; `None` when it is not one.
    pub fn parse(text: &str) -> Option<Quantity> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let digits_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(digits_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (base, exponent, mut form) = scale(suffix)?;
        let nano = rounded_up(whole, fraction, base, exponent);
        let mut nano = match form {
            // Binary values are capped at the largest 64-bit number.
            Form::Binary => nano.min(i128::from(i64::MAX) * NANO),
            Form::Decimal | Form::Exponent => nano,
        };
        if form == Form::Binary && nano < NANO && nano != 0 {
            // Less than one cannot be said with a binary suffix.
            form = Form::Decimal;
        }
        if negative {
            nano = -nano;
        }
        Some(Quantity { nano, form })
    }

    /// The amount in thousandths, rounded up: CPU.
    pub fn milli(self) -> i64 {
        self.rounded_to(NANO / 1000)
    }

    /// The amount in whole units, rounded up: bytes.
    pub fn whole(self) -> i64 {
        self.rounded_to(NANO)
    }

    pub fn is_negative(self) -> bool {
        self.nano < 0
    }

    fn rounded_to(self, unit: i128) -> i64 {
        let up = self.nano.unsigned_abs().div_ceil(unit.unsigned_abs());
        let up = i64::try_from(up).unwrap_or(i64::MAX);
        if self.nano < 0 { -up } else { up }
    }
}

/// By amount; how it was written does not matter.
impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.nano.cmp(&other.nano))
    }
}

/// Base and exponent that a suffix stands for.
fn scale(suffix: &str) -> Option<(i128, i32, Form)> {
    Some(match suffix {
        "n" => (10, -9, Form::Decimal),
        "u" => (10, -6, Form::Decimal),
        "m" => (10, -3, Form::Decimal),
        "" => (10, 0, Form::Decimal),
        "k" => (10, 3, Form::Decimal),
        "M" => (10, 6, Form::Decimal),
        "G" => (10, 9, Form::Decimal),
        "T" => (10, 12, Form::Decimal),
        "P" => (10, 15, Form::Decimal),
        "E" => (10, 18, Form::Decimal),
        "Ki" => (2, 10, Form::Binary),
        "Mi" => (2, 20, Form::Binary),
        "Gi" => (2, 30, Form::Binary),
        "Ti" => (2, 40, Form::Binary),
        "Pi" => (2, 50, Form::Binary),
        "Ei" => (2, 60, Form::Binary),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            (10, exponent.parse().ok()?, Form::Exponent)
        }
    })
}

/// `whole.fraction × baseᵉˣᵖᵒⁿᵉⁿᵗ` in billionths, rounded up; the largest number when it does not fit.
fn rounded_up(whole: &str, fraction: &str, base: i128, exponent: i32) -> i128 {
    let fraction = fraction.trim_end_matches('0');
    let digits = || whole.bytes().chain(fraction.bytes()).map(|digit| i128::from(digit - b'0'));
    // Everything is digits × 10^shift, times a power of two for the binary suffixes.
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let (factor, exponent) = if base == 2 { (1_i128 << exponent, 0) } else { (1, exponent) };
    let shift = 9_i32.saturating_add(exponent).saturating_sub(fraction_digits);
    let mut value: i128 = 0;
    let mut inexact = false;
    // Digits that end up below a billionth even after the factor only matter for rounding.
    let total = whole.len() + fraction.len();
    let keep = total
        .min(usize::try_from(i64::try_from(total).unwrap_or(i64::MAX) + i64::from(shift) + 20).unwrap_or(0));
    for (index, digit) in digits().enumerate() {
        if index < keep {
            value = value.saturating_mul(10).saturating_add(digit);
        } else {
            inexact |= digit != 0;
        }
    }
    let shift = shift.saturating_add(i32::try_from(total - keep).unwrap_or(i32::MAX));
    value = value.saturating_mul(factor);
    if value == 0 {
        return i128::from(inexact);
    }
    if shift >= 0 {
        return u32::try_from(shift)
            .ok()
            .and_then(|s| 10_i128.checked_pow(s))
            .map_or(i128::MAX, |p| value.saturating_mul(p));
    }
    match 10_i128.checked_pow(shift.unsigned_abs()) {
        Some(divisor) => value / divisor + i128::from(value % divisor != 0 || inexact),
        None => 1,
    }
}

/// Prints it as Kubernetes does: the largest suffix that leaves a whole number.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.form == Form::Binary && self.nano % NANO == 0 {
            let mut value = self.nano / NANO;
            let mut suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
            let mut suffix = suffixes.next().unwrap_or("");
            while value != 0 && value % 1024 == 0 {
                let Some(next) = suffixes.next() else { break };
                (value, suffix) = (value / 1024, next);
            }
            return write!(f, "{value}{suffix}");
        }
        let mut value = self.nano;
        let mut exponent = -9;
        while value != 0 && value % 1000 == 0 && exponent < 18 {
            (value, exponent) = (value / 1000, exponent + 3);
        }
        if value == 0 {
            return f.write_str("0");
        }
        let suffix = match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        match self.form {
            Form::Exponent if exponent != 0 => write!(f, "{value}e{exponent}"),
            Form::Exponent | Form::Decimal | Form::Binary => write!(f, "{value}{suffix}"),
        }
    }
}

/// What to write instead of something that is no quantity.
pub fn hint(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    match suffix.trim().to_ascii_lowercase().as_str() {
        "ms" => format!("{number}m (thousandths of a CPU)"),
        "k" | "kb" => format!("{number}k (10^3) or {number}Ki (2^10)"),
        "m" | "mb" | "mib" => format!("{number}M (10^6) or {number}Mi (2^20)"),
        "g" | "gb" | "gib" => format!("{number}G (10^9) or {number}Gi (2^30)"),
        "t" | "tb" | "tib" => format!("{number}T (10^12) or {number}Ti (2^40)"),
        _ => "a number with one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, e3: 500m, 2, 64Mi".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nano(text: &str) -> Option<i128> {
        Quantity::parse(text).map(|quantity| quantity.nano)
    }

    #[test]
    fn every_way_to_write_an_amount_is_read() {
        const K: i128 = 1024;
        for (text, expected) in [
            ("1", NANO),
            ("1Ki", K * NANO),
            ("8Ki", 8 * K * NANO),
            ("7Mi", 7 * K.pow(2) * NANO),
            ("6Gi", 6 * K.pow(3) * NANO),
            ("5Ti", 5 * K.pow(4) * NANO),
            ("4Pi", 4 * K.pow(5) * NANO),
            ("3Ei", 3 * K.pow(6) * NANO),
            ("100Ti", 100 * K.pow(4) * NANO),
            ("5n", 5),
            ("4u", 4_000),
            ("3m", 3_000_000),
            ("9", 9 * NANO),
            ("50k", 50_000 * NANO),
            ("7M", 7_000_000 * NANO),
            ("6G", 6 * NANO * NANO),
            ("40T", 40_000 * NANO * NANO),
            ("2P", 2_000_000 * NANO * NANO),
            ("1E", NANO * NANO * NANO),
            ("12E", 12 * NANO * NANO * NANO),
            ("1E-3", 1_000_000),
            ("1e3", 1_000 * NANO),
            ("1E6", 1_000_000 * NANO),
            ("1e14", 100_000 * NANO * NANO),
            ("1E18", NANO * NANO * NANO),
            ("0.5e0", 500_000_000),
            ("0.5e-1", 50_000_000),
            ("0.5e-2", 5_000_000),
            ("1.3E+6", 1_300_000 * NANO),
            ("1.40e9", 1_400_000_000 * NANO),
            ("100.035k", 100_035 * NANO),
            ("0.0005k", 500_000_000),
            ("0.00050k", 500_000_000),
            ("0.05000", 50_000_000),
            ("10.035M", 10_035_000 * NANO),
            ("7.123456M", 7_123_456 * NANO),
            ("6.987654321G", 6_987_654_321 * NANO),
            ("5.444T", 5_444 * NANO * NANO),
            ("1.01E", 1_010_000_000 * NANO * NANO),
            ("100.035Ki", 102_435_840_000_000),
            ("0.5Mi", 524_288 * NANO),
            ("0.05Gi", 53_687_091_200_000_000),
            ("0.025Ti", 27_487_790_694_400_000_000),
            (".001", 1_000_000),
            (".0001k", 100_000_000),
            ("1.", NANO),
            ("1.G", NANO * NANO),
            ("+1", NANO),
            ("-3m", -3_000_000),
        ] {
            assert_eq!(nano(text), Some(expected), "{text}");
        }
        for zero in ["0", "0n", "0u", "0m", "0k", "0M", "0G", "0T", "0Ki", "0Mi", "0Gi", "0Ti", "00", "-0"] {
            assert_eq!(Quantity::parse(zero).map(|q| q.to_string()).as_deref(), Some("0"), "{zero}");
        }
    }

    #[test]
    fn what_is_finer_than_a_billionth_is_rounded_away_from_zero() {
        for (text, expected) in [
            ("3.001n", 4),
            ("1.1E-9", 2),
            ("0.0000000001", 1),
            ("0.0000000005", 1),
            ("0.5e-9", 1),
            ("0.9n", 1),
            ("0.00000012345", 124),
            ("0.00000012354", 124),
            ("0.000000000001Ki", 2),
            ("-0.9n", -1),
            ("1e-400", 1),
        ] {
            assert_eq!(nano(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn binary_amounts_are_capped_and_nothing_overflows() {
        let most = Some(i128::from(i64::MAX) * NANO);
        assert_eq!((nano("9Ei"), nano("9223372036854775807Ki")), (most, most));
        let huge = "9".repeat(400);
        for text in [&huge, "1e400", &format!("{huge}E"), &format!("0.{huge}Ei"), &format!("{huge}e-300")] {
            let quantity = Quantity::parse(text).expect(text);
            assert!(quantity.whole() > 0 && quantity.milli() > 0, "{text}");
        }
        assert_eq!(Quantity::parse("12E").map(Quantity::whole), Some(i64::MAX));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in [
            "",
            "1.1.M",
            "1+1.0M",
            "0.1mi",
            "0.1am",
            "aoeu",
            ".5i",
            "1i",
            "-3.01i",
            "-3.01e-",
            " 1",
            "1 ",
            ".",
            "-.",
            "-",
            "1e",
            "1000ms",
            "1g",
            "1K",
            "0x10",
            "1e99999999999",
            "١",
        ] {
            assert_eq!(Quantity::parse(text), None, "'{text}'");
        }
    }

    #[test]
    fn it_prints_the_largest_suffix_that_leaves_a_whole_number() {
        for (text, expected) in [
            ("1024Mi", "1Gi"),
            ("307200Ki", "300Mi"),
            ("1001Gi", "1001Gi"),
            ("0.001T", "1G"),
            ("1000u", "1m"),
            ("1.08", "1080m"),
            ("1080000000n", "1080m"),
            ("1.0009765625Ki", "1025"),
            ("0.00048828125Ki", "500m"),
            ("5000m", "5"),
            (".001e12", "1e9"),
            ("00", "0"),
        ] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn cpu_and_memory_are_rounded_up_to_their_units() {
        for (text, milli, whole) in [
            ("9.01", 9010, 10),
            ("250m", 250, 1),
            ("0.0001", 1, 1),
            ("1.0001", 1001, 2),
            ("64Mi", 67_108_864_000, 67_108_864),
            ("-9.01", -9010, -10),
        ] {
            let quantity = Quantity::parse(text).expect(text);
            assert_eq!((quantity.milli(), quantity.whole()), (milli, whole), "{text}");
        }
    }

    #[test]
    fn a_wrong_unit_gets_the_right_one_proposed() {
        for (text, expected) in [
            ("1000ms", "1000m (thousandths of a CPU)"),
            ("1g", "1G (10^9) or 1Gi (2^30)"),
            ("5MB", "5M (10^6) or 5Mi (2^20)"),
        ] {
            assert_eq!(hint(text), expected);
        }
    }
}

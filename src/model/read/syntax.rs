//! Why a text is no YAML, in words that help.
//!
//! A YAML parser notices a mistake where it can go no further, which is often lines after it was made. This looks at the
//! text for the mistakes people make and points there.

use granit_parser::{ErrorKind, ScanError};

use super::report::{ROOT, Report};
use super::text::{Document, lines};
use super::tree::{Mark, shortened};

/// Reports the error of the parser, at the place where it was made.
pub fn explain(error: &ScanError, document: &Document<'_>, report: &mut Report<'_>) {
    let lines: Vec<&str> = lines(document.text).map(|line| line.trim_end_matches(['\n', '\r'])).collect();
    if templates(&lines, document.lines_before, report) {
        return;
    }
    let (line, column) = (error.marker().line().clamp(1, lines.len().max(1)), error.marker().col());
    let at = |line: usize, column: usize| mark(line, column, document.lines_before);
    let text = lines.get(line - 1).copied().unwrap_or("");
    match error.kind() {
        ErrorKind::UnclosedQuotedScalar | ErrorKind::UnclosedFlowCollection { .. } => {
            let what =
                if matches!(error.kind(), ErrorKind::UnclosedQuotedScalar) { "quote" } else { "list or map" };
            let message =
                format!("the file ends inside the {what} that is opened here: it may be half written");
            report.error(
                at(line, column),
                ROOT,
                message,
                "close it; a half-written file is read again when it changes",
            );
            return;
        }
        _ => {}
    }
    if let Some((open, column, quote)) = unclosed_quote(&lines[..line]) {
        let message =
            format!("the quote {quote} opened here is not closed before line {}", at(open + 2, 0).line);
        report.error(at(open + 1, column), ROOT, message, "close it");
        return;
    }
    let indent = text.len() - text.trim_start().len();
    if text[..indent].contains('\t') {
        report.error(
            at(line, 0),
            ROOT,
            "the line is indented with a tab: YAML takes blanks only",
            "use blanks",
        );
        return;
    }
    if matches!(error.kind(), ErrorKind::MappingValueNotAllowed) {
        missing_blanks(&lines, document.lines_before, report);
        match uneven_indent(&lines, line, column) {
            Some((key, siblings)) => {
                let message =
                    format!("'{}' is indented by {indent}, its siblings by {siblings}", shortened(key));
                report.error(at(line, indent), ROOT, message, &format!("indent it by {siblings}"));
            }
            None => report.error(at(line, column), ROOT, "': ' inside an unquoted value", "quote the value"),
        }
        return;
    }
    let (what, fix) = in_words(error);
    report.error(at(line, column), ROOT, format!("this is not YAML: {what}"), fix);
}

/// The parser's own words, but for those that only its makers understand.
fn in_words(error: &ScanError) -> (String, &'static str) {
    match error.kind() {
        ErrorKind::SimpleKeyExpected => {
            ("a ':' is missing after the key".into(), "key: value, with a blank after the ':'")
        }
        ErrorKind::ExpectedBlockMappingKey => {
            ("the line does not line up with those before it".into(), "indent it like its siblings")
        }
        _ => (error.info(), ""),
    }
}

/// A key that stands deeper than the line before allows: the key, and where it should begin.
fn uneven_indent<'t>(lines: &[&'t str], line: usize, column: usize) -> Option<(&'t str, usize)> {
    let text = lines.get(line - 1)?;
    let siblings = key_column(lines.get(line.checked_sub(2)?)?);
    let colon = text.find(": ").or_else(|| text.trim_end().strip_suffix(':').map(str::len))?;
    let indent = text.len() - text.trim_start().len();
    // The parser stumbles over the first colon of the line only when the line itself is in the wrong place.
    let first = text[..colon].chars().count() == column;
    (first && indent > siblings).then(|| (text[indent..colon].trim_start_matches("- "), siblings))
}

fn mark(line: usize, column: usize, lines_before: u32) -> Mark {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Mark { line: number(line).saturating_add(lines_before), column: number(column).saturating_add(1) }
}

/// Every line that a template engine should have replaced.
fn templates(lines: &[&str], lines_before: u32, report: &mut Report<'_>) -> bool {
    let mut found = false;
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let Some(start) = line.find("{{").or_else(|| line.find("{%")) else { continue };
        let what = if line[start..].starts_with("{{") { "{{ … }}" } else { "{% … %}" };
        let column = line[..start].chars().count();
        let message = format!("'{what}' is an unrendered template (Jinja, Helm)");
        report.error(
            mark(index + 1, column, lines_before),
            ROOT,
            message,
            "render it first, or quote the value",
        );
        found = true;
    }
    found
}

/// Lines like `key:/path: Z`: the blank after the first colon is missing.
fn missing_blanks(lines: &[&str], lines_before: u32, report: &mut Report<'_>) {
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let Some((key, _)) = text.split_once(": ") else { continue };
        let Some((name, value)) = key.split_once(':') else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.is_empty()
            && name.chars().all(plain)
            && !value.is_empty()
            && !value.contains(['"', '\'', ' '])
        {
            let column = line.chars().count() - text.chars().count() + name.chars().count();
            let message = "a blank is missing after the first colon";
            report.error(
                mark(index + 1, column, lines_before),
                ROOT,
                message,
                &format!("{name}: {}", &text[name.len() + 1..]),
            );
        }
    }
}

/// Where the key of a line begins, list markers skipped.
fn key_column(line: &str) -> usize {
    let mut column = line.len() - line.trim_start().len();
    while line[column..].starts_with("- ") {
        column += 2 + (line[column + 2..].len() - line[column + 2..].trim_start().len());
    }
    column
}

/// The last value that opens with a quote and does not close it on its line, while the next line looks like a key: its
/// line (from 0), column and quote.
fn unclosed_quote(lines: &[&str]) -> Option<(usize, usize, char)> {
    (0..lines.len()).rev().find_map(|index| {
        let line = lines[index];
        let begin = key_column(line);
        let value_at = line[begin..].find(": ").map_or(begin, |colon| begin + colon + 2);
        let value = line[value_at..].trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let closed = value[1..].replace("\\\"", "").replace("''", "").contains(quote);
        let next = lines.get(index + 1)?.trim();
        let is_key = next.split_once(':').is_some_and(|(key, rest)| {
            !key.is_empty() && !key.contains(' ') && (rest.is_empty() || rest.starts_with(' '))
        });
        let column = line[..line.len() - value.len()].chars().count();
        (!closed && is_key).then_some((index, column, quote))
    })
}

#[cfg(test)]
mod tests {
    use crate::model::read::{Options, read};

    #[test]
    fn a_mistake_is_named_where_it_was_made() {
        for (text, place, words) in [
            ("a:\n\tb: 1\n", (2, 1), "indented with a tab"),
            ("a:\n  b: 1\n  c 2\n  d: 3\n", (3, 3), "a ':' is missing after the key"),
            ("a:\n  - b: 1\n - c: 2\n", (3, 2), "does not line up"),
            ("a: b: c\n", (1, 5), "': ' inside an unquoted value"),
            ("a:\n  b: 1\n   c: 2\n", (3, 4), "'c' is indented by 3, its siblings by 2"),
            ("a: [1, 2\n", (1, 4), "ends inside the list or map"),
            ("a: 'x\nb: 1\nc: 'y'\n", (1, 4), "not closed before line 2"),
            ("a: {{ x }}\n b: {% y\n", (1, 4), "unrendered template"),
            ("# x\n---\na: \"b\n", (3, 4), "ends inside the quote"),
        ] {
            let reading = read("x.yaml", text.as_bytes(), &Options::default());
            let said: Vec<_> =
                reading.diagnoses.iter().map(|d| (d.place.line, d.place.column, &d.message)).collect();
            let found = said
                .iter()
                .any(|(line, column, message)| (*line, *column) == place && message.contains(words));
            assert!(found, "{text:?}: {said:?}");
        }
    }
}

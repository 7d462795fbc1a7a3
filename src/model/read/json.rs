//! Strict JSON: what YAML would let pass.

use serde::de::IgnoredAny;

use super::report::{ROOT, Report};
use super::text::{Document, lines};
use super::tree::Mark;

/// Reports where a JSON file is no JSON. Returns false when that was said, so that the YAML parser's view of the same
/// mistake is not needed. In a YAML file written as JSON only a comma too many is worth a warning.
pub fn check(document: &Document<'_>, strict: bool, report: &mut Report<'_>) -> bool {
    let Some((start, skipped)) = json_start(document.text).or(strict.then_some((0, 0))) else { return true };
    let text = &document.text[start..];
    let Err(error) = serde_json::from_str::<IgnoredAny>(text) else { return true };
    let before = skipped + document.lines_before;
    let comma = trailing_comma(text, &error);
    let (mark, message, fix) = match comma {
        Some(comma) => {
            let message = "trailing comma before a closing bracket: JSON forbids it".into();
            (place(text, comma, before), message, "remove the comma")
        }
        None => {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            (place(text, offset(text, &error), before), format!("this is not JSON: {what}"), "")
        }
    };
    if strict {
        report.error(mark, ROOT, message, fix);
    } else if comma.is_some() {
        report.warn(mark, ROOT, message, fix);
    }
    !strict
}

/// Where the first `{` or `[` stands, after blank lines, comments and `---`: its byte and the lines before it.
fn json_start(text: &str) -> Option<(usize, u32)> {
    let (mut offset, mut count) = (0, 0);
    for line in lines(text) {
        let bare = line.trim_start();
        if bare.starts_with(['{', '[']) {
            return Some((offset, count));
        }
        if !(bare.is_empty() || bare.starts_with('#') || bare.trim_end() == "---") {
            return None;
        }
        offset += line.len();
        count += 1;
    }
    None
}

/// The byte that serde_json points at.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1)
}

/// The comma that stands before the bracket that serde_json stumbled over.
fn trailing_comma(text: &str, error: &serde_json::Error) -> Option<usize> {
    let (before, after) = text.split_at_checked(offset(text, error))?;
    let bare = before.trim_end();
    (after.starts_with(['}', ']']) && bare.ends_with(',')).then(|| bare.len() - 1)
}

fn place(text: &str, byte: usize, lines_before: u32) -> Mark {
    let before = text.get(..byte).unwrap_or(text);
    let last = lines(before).last().unwrap_or("");
    let on_a_new_line = last.ends_with(['\n', '\r']);
    let line = lines(before).count().max(1) + usize::from(on_a_new_line);
    let column = if on_a_new_line { 1 } else { last.chars().count() + 1 };
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Mark { line: number(line).saturating_add(lines_before), column: number(column) }
}

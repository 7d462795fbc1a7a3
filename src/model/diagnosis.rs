//! What is wrong (or odd) at one place, and how a person is shown it.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::Place;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    pub severity: Severity,
    pub place: Place,
    /// As people write it, `spec.containers[0].image`; empty for the document.
    pub field: String,
    /// Names the thing and what is wrong with it.
    pub message: String,
    /// What to write instead.
    pub fix: Option<String>,
    /// The line of the file, without its end. Of a very long one only the beginning.
    pub source_line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    /// Worth saying once: a kind that is skipped, a field that means nothing on a lone node.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

impl Diagnosis {
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Place, message, source line with a caret under the column, fix.
///
/// Control characters are escaped: a manifest may come from anywhere, and a terminal obeys what it is sent.
impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column } = &self.place;
        writeln!(f, "{}:{line}:{column}: {}: {}", escaped(file), self.severity, escaped(&self.message))?;
        if !self.source_line.is_empty() {
            let margin = line.to_string().len().max(5);
            writeln!(f, "    {line:>margin$} | {}", escaped(self.source_line.trim_end()))?;
            let before: String = self.source_line.chars().take(*column as usize - 1).collect();
            if before.len() < self.source_line.len() {
                writeln!(f, "    {:margin$} | {:width$}^", "", "", width = escaped(&before).chars().count())?;
            }
        }
        if let Some(fix) = &self.fix {
            writeln!(f, "    fix: {}", escaped(fix))?;
        }
        Ok(())
    }
}

/// The text with every control character written out (`\u{1b}`), a tab as two blanks.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("  "),
            _ if is_unsafe(character) => {
                let _ = write!(out, "{}", character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
}

/// What a terminal obeys, and what cannot be seen or changes the order of what is seen.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{00ad}' | '\u{061c}' | '\u{feff}'
            // Zero width, and marks of direction.
            | '\u{200b}'..='\u{200f}'
            // Line and paragraph separators, embeddings and overrides of direction.
            | '\u{2028}'..='\u{202e}'
            // Invisible operators and isolates of direction.
            | '\u{2060}'..='\u{2069}'
            // Tags: invisible letters.
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnosis_shows_place_line_caret_and_fix_and_no_control_character() {
        let diagnosis = Diagnosis {
            severity: Severity::Error,
            place: Place { file: "a\u{1b}.yaml".into(), line: 9, column: 6 },
            field: "spec".into(),
            message: "odd \u{7}".into(),
            fix: Some("write x".into()),
            source_line: "\t- \u{1b}[image: y".into(),
        };
        let expected = [
            "a\\u{1b}.yaml:9:6: error: odd \\u{7}",
            "        9 |   - \\u{1b}[image: y",
            "          |            ^",
            "    fix: write x",
            "",
        ];
        assert_eq!(diagnosis.to_string(), expected.join("\n"));
    }
}

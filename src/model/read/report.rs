//! Collects what is wrong while a file is read, and knows how to name a field.

use std::fmt;
use std::sync::Arc;

use super::text::Lines;
use super::tree::{Mark, Node};
use crate::model::diagnosis::{Diagnosis, Severity};
use crate::model::{Place, PodKey};

/// Diagnoses of one file at most: a hostile file must not cost a line of output for each of its bytes.
const MOST: usize = 500;

#[derive(Debug)]
pub struct Report<'a> {
    pub file: Arc<str>,
    pub lines: Lines<'a>,
    pub diagnoses: Vec<Diagnosis>,
    /// Errors so far, the ones beyond [`MOST`] too.
    pub errors: usize,
}

impl<'a> Report<'a> {
    pub fn new(file: &str, text: &'a str) -> Self {
        Self { file: file.into(), lines: Lines::new(text), diagnoses: Vec::new(), errors: 0 }
    }

    pub fn error(&mut self, mark: Mark, field: impl fmt::Display, message: impl Into<String>, fix: &str) {
        self.add(Severity::Error, mark, field, message, fix);
    }

    pub fn warn(&mut self, mark: Mark, field: impl fmt::Display, message: impl Into<String>, fix: &str) {
        self.add(Severity::Warning, mark, field, message, fix);
    }

    pub fn note(&mut self, mark: Mark, field: impl fmt::Display, message: impl Into<String>, fix: &str) {
        self.add(Severity::Note, mark, field, message, fix);
    }

    pub fn add(
        &mut self,
        severity: Severity,
        mark: Mark,
        field: impl fmt::Display,
        message: impl Into<String>,
        fix: &str,
    ) {
        self.errors += usize::from(severity == Severity::Error);
        if self.is_full() {
            return;
        }
        let (message, fix) = match self.diagnoses.len() {
            MOST => ("there is more wrong with this file than is shown here".into(), ""),
            _ => (cut(message.into()), fix),
        };
        let Mark { line, column } = self.lines.within(mark);
        self.diagnoses.push(Diagnosis {
            severity,
            place: Place { file: self.file.clone(), line, column },
            field: cut(field.to_string()),
            message,
            fix: Some(cut(fix.to_owned())).filter(|fix| !fix.is_empty()),
            source_line: self.lines.shown(line),
        });
    }

    /// Nothing more will be shown: a message need not be made.
    pub fn is_full(&self) -> bool {
        self.diagnoses.len() > MOST
    }

    pub fn has_error_on_line(&self, line: u32) -> bool {
        self.diagnoses.iter().any(|d| d.is_error() && d.place.line == line)
    }

    /// True when an error stands at this place already: one mistake is said once.
    pub fn has_error_at(&self, mark: Mark) -> bool {
        self.diagnoses
            .iter()
            .any(|d| d.is_error() && (d.place.line, d.place.column) == (mark.line, mark.column))
    }
}

/// Characters of a message, a fix or a field that are kept: a key may be half a megabyte long.
const LONGEST: usize = 1000;

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A field path, made only when somebody wants to read it.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Item(usize),
}

pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

impl<'p> Path<'p> {
    pub fn field(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    pub fn item(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Step::Item(index) }
    }

    /// The last step as the beginning of a line: `name: ` or `- `.
    pub fn last(&self) -> String {
        match self.step {
            Step::Root => String::new(),
            Step::Field(name) => format!("{name}: "),
            Step::Item(_) => "- ".into(),
        }
    }

    pub fn ends_with(&self, field: &str) -> bool {
        matches!(self.step, Step::Field(name) if name == field)
    }

    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => write_field(f, self.parent.is_none_or(Path::is_root), name),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}

/// Adds the name of a field to a path.
pub fn write_field(path: &mut impl fmt::Write, first: bool, name: &str) -> fmt::Result {
    if !first {
        path.write_char('.')?;
    }
    // The longest key that means something: a prefix of 253, a slash and a name of 63.
    let name = name.char_indices().nth(317).map_or(name, |(end, _)| &name[..end]);
    // Keys of labels and the like have dots of their own.
    if name.contains(['.', '/', ' ']) { write!(path, "'{name}'") } else { path.write_str(name) }
}

/// The key of a pod, as far as its document tells.
pub fn key_of(root: &Node<'_>) -> Option<PodKey> {
    let metadata = root.get("metadata")?;
    let namespace = metadata.text_of("namespace").unwrap_or("default");
    Some(PodKey::new(namespace, metadata.text_of("name")?))
}

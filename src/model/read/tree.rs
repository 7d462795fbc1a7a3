//! A document as it was written: values, each with the place where it stands.
//!
//! **Invariant:** a tree is never deeper than [`super::load::MAX_DEPTH`], so walking it by recursion is safe.

use std::borrow::Cow;

/// Line and column in the file, both from 1.
///
/// The mark of a map's value is the mark of its key: that is where people look for a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub mark: Mark,
    pub value: Value<'a>,
}

#[derive(Clone, Debug)]
pub enum Value<'a> {
    Scalar(Scalar<'a>),
    List(Vec<Node<'a>>),
    Map(Vec<Entry<'a>>),
}

#[derive(Clone, Debug)]
pub struct Entry<'a> {
    pub key: Cow<'a, str>,
    /// Its mark is the key's.
    pub value: Node<'a>,
}

/// A single value: its text, and what YAML takes it for.
#[derive(Clone, Debug)]
pub struct Scalar<'a> {
    pub text: Cow<'a, str>,
    pub sort: Sort,
}

/// What a scalar is to YAML 1.2, and where YAML 1.1 (which Kubernetes reads) sees something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Null,
    Text,
    Bool(bool),
    Integer(i64),
    /// A number that is no whole one, or too large for 64 bits.
    Float,
    /// `yes`, `no`, `on`, `off`: a boolean in YAML 1.1, a text in YAML 1.2.
    OldBool(bool),
    /// `0777`: octal in YAML 1.1, decimal in YAML 1.2. The value is the octal one.
    OldOctal(i64),
    /// `0999`, `1_000`: a number in YAML 1.1, something else elsewhere.
    OldNumber,
}

impl<'a> Node<'a> {
    pub fn text(mark: Mark, text: impl Into<Cow<'a, str>>) -> Self {
        Node { mark, value: Value::Scalar(Scalar { text: text.into(), sort: Sort::Text }) }
    }

    pub fn map(mark: Mark, entries: Vec<Entry<'a>>) -> Self {
        Node { mark, value: Value::Map(entries) }
    }

    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { sort: Sort::Null, .. }))
    }

    /// The value of a field. `null` is the same as not given, as Kubernetes has it.
    pub fn get(&self, key: &str) -> Option<&Node<'a>> {
        self.entries()
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
            .filter(|v| !v.is_null())
    }

    /// The entries of a map; none of anything else.
    pub fn entries(&self) -> &[Entry<'a>] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Scalar(_) | Value::List(_) => &[],
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Node<'a>] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) => &[],
        }
    }

    /// The items of the list under a field.
    pub fn list(&self, key: &str) -> &[Node<'a>] {
        self.get(key).map_or(&[], Node::items)
    }

    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar { text, sort: Sort::Text }) => Some(text),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The text of any scalar but null, as it was written.
    pub fn written(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar { text, .. }) if !self.is_null() => Some(text),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar(Scalar { sort: Sort::Bool(value), .. }) => Some(*value),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub fn as_integer(&self) -> Option<i64> {
        match &self.value {
            Value::Scalar(Scalar { sort: Sort::Integer(value), .. }) => Some(*value),
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// The text under a field, when it is one and not empty.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text().filter(|text| !text.is_empty())
    }

    pub fn bool_of(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    pub fn integer_of(&self, key: &str) -> Option<i64> {
        self.get(key)?.as_integer()
    }

    /// Nothing, or only empty things: `null`, `""`, `[]`, `{}`, `{a: []}`.
    pub fn asks_for_nothing(&self) -> bool {
        match &self.value {
            Value::Scalar(scalar) => {
                scalar.sort == Sort::Null || (scalar.sort == Sort::Text && scalar.text.is_empty())
            }
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.iter().all(|entry| entry.value.asks_for_nothing()),
        }
    }

    /// What it is, in the words of an error message.
    pub fn described(&self) -> String {
        match &self.value {
            Value::List(_) => "a list".into(),
            Value::Map(entries) => match entries.first() {
                Some(first) => format!("a map with key '{}'", first.key),
                None => "a map".into(),
            },
            Value::Scalar(Scalar { text, sort }) => match sort {
                Sort::Null => "nothing".into(),
                Sort::Text => format!("the text '{}'", shortened(text)),
                Sort::Bool(_) => format!("the boolean {text}"),
                Sort::Integer(_) | Sort::Float => format!("the number {}", shortened(text)),
                Sort::OldBool(_) => format!("'{text}', a boolean in YAML 1.1"),
                Sort::OldOctal(_) | Sort::OldNumber => format!("'{}', a number in YAML 1.1", shortened(text)),
            },
        }
    }

    /// Levels below and with this one.
    pub fn depth(&self) -> usize {
        1 + match &self.value {
            Value::Scalar(_) => 0,
            Value::List(items) => items.iter().map(Node::depth).max().unwrap_or(0),
            Value::Map(entries) => entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0),
        }
    }

    /// Values below and with this one.
    pub fn size(&self) -> usize {
        1 + match &self.value {
            Value::Scalar(_) => 0,
            Value::List(items) => items.iter().map(Node::size).sum(),
            Value::Map(entries) => entries.iter().map(|entry| 1 + entry.value.size()).sum(),
        }
    }
}

/// At most 60 characters of a text and of its first line, for a message.
pub fn shortened(text: &str) -> Cow<'_, str> {
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(60) {
        Some((end, _)) => Cow::Owned(format!("{}…", &line[..end])),
        None if line.len() < text.trim_end().len() => Cow::Owned(format!("{line}…")),
        None => Cow::Borrowed(line),
    }
}

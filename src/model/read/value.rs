//! A document as a plain value: for what is sent beside manifests, such as a patch.

use serde_json::{Number, Value};

use super::report::{ROOT, Report};
use super::tree::{Mark, Node, Scalar, Sort, Value as Tree};
use super::{load, syntax, text};
use crate::model::diagnosis::Diagnosis;

/// The only document of a text. Nothing is known of its fields, so only its YAML is judged.
///
/// # Errors
/// What is wrong with it.
pub fn value(file: &str, bytes: &[u8]) -> Result<Value, Vec<Diagnosis>> {
    let top = Mark { line: 1, column: 1 };
    let text = text::decode(bytes).map_err(|text::NotText { message, fix }| {
        let mut report = Report::new(file, "");
        report.error(top, ROOT, message, fix);
        report.diagnoses
    })?;
    let mut report = Report::new(file, text);
    let documents = text::split(text);
    let [document] = &documents[..] else {
        report.error(top, ROOT, format!("one document is needed, and this is {}", documents.len()), "");
        return Err(report.diagnoses);
    };
    let loaded = load::load(document.text, document.lines_before);
    if let Some(error) = &loaded.syntax {
        syntax::explain(error, document, &mut report);
    }
    for fault in loaded.faults {
        report.error(fault.mark, ROOT, fault.message, "");
    }
    if report.errors > 0 {
        return Err(report.diagnoses);
    }
    Ok(loaded.root.map_or(Value::Null, plain))
}

fn plain(node: Node<'_>) -> Value {
    match node.value {
        Tree::List(items) => items.into_iter().map(plain).collect(),
        Tree::Map(entries) => Value::Object(
            entries.into_iter().map(|entry| (entry.key.into_owned(), plain(entry.value))).collect(),
        ),
        Tree::Scalar(Scalar { text, sort }) => match sort {
            Sort::Null => Value::Null,
            // Kubernetes reads YAML 1.1, in which these are what they look like.
            Sort::Bool(value) | Sort::OldBool(value) => value.into(),
            Sort::Integer(value) | Sort::OldOctal(value) => value.into(),
            Sort::Float => text
                .parse()
                .ok()
                .and_then(Number::from_f64)
                .map_or_else(|| text.into_owned().into(), Value::Number),
            Sort::Text | Sort::OldNumber => text.into_owned().into(),
        },
    }
}

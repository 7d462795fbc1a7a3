//! Names, labels and annotations of a pod.

use super::names::{self, Complaint};
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::{Node, shortened};

/// All annotations of an object together. Source: `TotalAnnotationSizeLimitB`.
const ANNOTATION_BYTES: usize = 256 * 1024;

pub fn check(metadata: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    name(metadata, "name", names::subdomain, path, report);
    name(metadata, "namespace", names::label, path, report);
    name(metadata, "uid", uid, path, report);
    let labels = path.field("labels");
    for entry in metadata.get("labels").map_or(&[][..], Node::entries) {
        key(&entry.key, &entry.value, &labels, report);
        if let Some(bad) = entry.value.as_text().and_then(names::label_value) {
            let path = labels.field(&entry.key);
            let value = shortened(entry.value.as_text().unwrap_or_default()).into_owned();
            report.error(entry.value.mark, path, format!("{path} '{value}' {}", bad.what), &bad.fix);
        }
    }
    let annotations = path.field("annotations");
    let mut bytes = 0;
    for entry in metadata.get("annotations").map_or(&[][..], Node::entries) {
        key(&entry.key, &entry.value, &annotations, report);
        bytes += entry.key.len() + entry.value.as_text().map_or(0, str::len);
    }
    if bytes > ANNOTATION_BYTES
        && let Some(node) = metadata.get("annotations")
    {
        let message = format!("{annotations} have {bytes} bytes together, at most {ANNOTATION_BYTES}");
        report.error(node.mark, annotations, message, "put large data into a file");
    }
}

fn key(key: &str, value: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some(bad) = names::qualified(key) {
        let message = format!("{path}: the key '{}' {}", shortened(key), bad.what);
        report.error(value.mark, path.field(key), message, &bad.fix);
    }
}

/// Checks one name against its grammar.
pub fn name(
    node: &Node<'_>,
    key: &str,
    grammar: fn(&str) -> Option<Complaint>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let (Some(value), Some(text)) = (node.get(key), node.text_of(key)) else { return };
    if let Some(bad) = grammar(text) {
        let path = path.field(key);
        // A proposal is a value to write; a sentence is not.
        let fix =
            if bad.fix.is_empty() || bad.fix.contains(' ') { bad.fix } else { format!("{key}: {}", bad.fix) };
        report.error(value.mark, path, format!("{path} '{}' {}", shortened(text), bad.what), &fix);
    }
}

/// The uid is a part of every container's name, where '_' parts the fields and Docker takes few other characters.
fn uid(text: &str) -> Option<Complaint> {
    let fits = text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    (!fits).then(|| Complaint {
        what: "must be at most 64 letters, digits, '-' or '.'".into(),
        fix: "remove it: one is derived from node, namespace and name".into(),
    })
}

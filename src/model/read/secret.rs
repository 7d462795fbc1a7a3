//! Secrets: only judged for now. Most mistakes in them are about base64.

use super::report::{Path, ROOT, Report};
use super::schema::other::SECRET;
use super::schema::walk;
use super::tree::{Entry, Node};
use super::{Diagnosis, Options};

/// Checks a Secret. No diagnosis shows a value of it: diagnoses go to logs.
pub fn check(node: &Node<'_>, report: &mut Report<'_>, options: &Options) {
    walk::check(node, &SECRET, &ROOT, report, options);
    for field in ["data", "stringData"] {
        let path = ROOT.field(field);
        for Entry { key, value } in node.get(field).map_or(&[][..], Node::entries) {
            let path = path.field(key);
            match value.as_text() {
                Some(text) if field == "data" => data(text, value, &path, report),
                Some(_) => {}
                None if value.is_null() => {}
                None => report.error(value.mark, path, format!("{path} must be a string"), "quote it"),
            }
        }
    }
}

/// Takes the values out of the source lines of diagnoses.
pub fn hide(diagnoses: &mut [Diagnosis]) {
    for diagnosis in diagnoses {
        if let Some(colon) = diagnosis.source_line.find(':') {
            diagnosis.source_line.truncate(colon + 1);
            diagnosis.source_line.push_str(" …");
        }
    }
}

fn data(text: &str, node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let bare = text.trim_end_matches(['\n', '\r']);
    let Some(bytes) = decode(&bare.replace(['\n', '\r'], "")) else {
        let message = format!("{path} is not base64");
        report.error(node.mark, path, message, "put plain text under stringData, or base64 it");
        return;
    };
    if bare.len() < text.len() {
        let message =
            format!("{path} ends with a newline because of '|', which older readers refuse as base64");
        report.warn(node.mark, path, message, "write |- or put it on one line");
    }
    // `bill` is base64 of three odd bytes: a word like that was hardly meant so.
    let word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase());
    if word && (bytes.len() < 6 || std::str::from_utf8(&bytes).is_err()) {
        let count = bytes.len();
        let message = format!(
            "{path} is a plain word that happens to be base64 (of {count} odd bytes): probably a mistake"
        );
        report.warn(node.mark, path, message, "put plain text under stringData");
    }
}

/// Standard base64 with padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let bare = text.trim_end_matches('=');
    if text.len() - bare.len() > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(bare.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0_u32, 0);
    for byte in bare.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held & 0xff) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_and_other_text_refused() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYg==", Some(b"foob")),
            ("Zm9vYmE=", Some(b"fooba")),
            ("AAEC/w==", Some(b"\0\x01\x02\xff")),
            ("bill", Some(b"n)e")),
            ("admin", None),
            ("wombat", None),
            ("a===", None),
            ("Zm-v", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }
}

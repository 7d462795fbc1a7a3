//! JSON values as YAML, for `-o yaml`.

use std::fmt::Write;

use serde_json::Value;

/// Block style; every text is quoted as JSON quotes it, which YAML reads alike, so that no text can be taken for a
/// number, a truth value or another line.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0);
    out
}

fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = if is_plain(key) { key.clone() } else { Value::from(key.as_str()).to_string() };
                let _ = write!(out, "{:indent$}{key}:", "");
                after(out, value, indent + 2);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut of_item = String::new();
                block(&mut of_item, item, indent + 2);
                // The item's first line begins where the dash leaves off.
                let _ = write!(out, "{:indent$}- {}", "", of_item.trim_start_matches(' '));
            }
        }
        scalar => {
            let _ = writeln!(out, "{:indent$}{scalar}", "");
        }
    }
}

fn after(out: &mut String, value: &Value, indent: usize) {
    let nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if nested {
        out.push('\n');
        block(out, value, indent);
    } else {
        let _ = writeln!(out, " {value}");
    }
}

/// A key that every YAML reader takes for a text: letters, and what may stand between them.
fn is_plain(key: &str) -> bool {
    let truth = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && !truth.contains(&key.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;

    #[test]
    fn values_are_written_in_blocks_and_texts_are_quoted() {
        let value = json!({
            "items": [{"name": "a: b", "ports": [80, 443]}, {"name": "yes", "empty": {}}],
            "on": null,
            "text": "two\nlines",
            "nested": [[1], []],
        });
        let expected = "items:\n  - name: \"a: b\"\n    ports:\n      - 80\n      - 443\n  - empty: {}\n    name: \"yes\"\n\
                        nested:\n  - - 1\n  - []\n\"on\": null\ntext: \"two\\nlines\"\n";
        assert_eq!(text(&value), expected);
    }
}

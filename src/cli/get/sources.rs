//! `podkeeper get sources`: a line for each place that is read, and below what is wrong there.

use std::time::Duration;

use serde_json::Value;

use crate::cli::escape::safe;
use crate::cli::get::{diagnosis, lines, table, word};
use crate::model::age;

const HEAD: [&str; 6] = ["KIND", "ORIGIN", "STATE", "AGE", "REVISION", "PODS"];

pub fn text(sources: &Value) -> (String, String) {
    let items = sources["items"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<[String; 6]> = items.iter().map(row).collect();
    let out = if rows.is_empty() { "No sources.\n".to_owned() } else { table(HEAD, &rows) };
    let shadowed = sources["shadowed"].as_array().into_iter().flatten().map(shadowed);
    (out, lines(items.iter().flat_map(notes).chain(shadowed)))
}

fn row(source: &Value) -> [String; 6] {
    let read = source["ageSeconds"].as_u64();
    [
        safe(&word(&source["kind"])),
        safe(&word(&source["origin"])),
        safe(&word(&source["state"])),
        read.map_or_else(|| "-".to_owned(), |seconds| age::short(Duration::from_secs(seconds))),
        safe(source["revision"].as_str().unwrap_or("-")),
        source["pods"].to_string(),
    ]
}

/// Why it cannot be read, what is held back, and what is wrong with what it says.
pub fn notes(source: &Value) -> Vec<String> {
    let (kind, origin) = (word(&source["kind"]), word(&source["origin"]));
    let about = ["error", "held"].into_iter().filter_map(|field| Some((field, source[field].as_str()?)));
    let next = source["nextTrySeconds"].as_u64();
    let next = next.map_or_else(String::new, |seconds| {
        format!("; next try in {}", age::short(Duration::from_secs(seconds)))
    });
    let about = about.map(|(field, text)| match field {
        "error" => format!("source {kind} ({origin}): {text}{next}"),
        _ => format!("source {kind} ({origin}): {text}"),
    });
    about.chain(source["diagnoses"].as_array().into_iter().flatten().map(diagnosis)).collect()
}

fn shadowed(pod: &Value) -> String {
    let place = |place: &Value| format!("{}:{}:{}", word(&place["file"]), place["line"], place["column"]);
    format!(
        "{}: source {} ({}) declares it too, and source {} ({}) goes before it",
        word(&pod["pod"]),
        word(&pod["source"]),
        place(&pod["place"]),
        word(&pod["by"]["source"]),
        place(&pod["by"]["place"]),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_followed_by_what_is_wrong() {
        let place = |file: &str| json!({ "file": file, "line": 4, "column": 1 });
        let sources = json!({
            "items": [
                {
                    "kind": "file", "origin": "/etc/podkeeper", "state": "known", "ageSeconds": 5, "pods": 3,
                    "revision": null, "error": null, "held": "4 of 5 pods would be removed",
                    "diagnoses": [{
                        "severity": "error", "message": "unknown field x\u{1b}[2J", "place": place("db.yaml"),
                    }],
                },
                {
                    "kind": "etcd", "origin": "http://10.0.0.1:2379", "state": "unknown", "ageSeconds": null,
                    "pods": 0, "revision": "12", "error": "connection refused", "nextTrySeconds": 4, "diagnoses": [],
                },
            ],
            "shadowed": [{
                "pod": "default/web", "source": "etcd", "place": place("key"),
                "by": { "source": "file", "place": place("web.yaml") },
            }],
        });
        let expected = "\
KIND   ORIGIN                 STATE     AGE   REVISION   PODS
file   /etc/podkeeper         known     5s    -          3
etcd   http://10.0.0.1:2379   unknown   -     12         0

source file (/etc/podkeeper): 4 of 5 pods would be removed
db.yaml:4:1: error: unknown field x\\u{1b}[2J
source etcd (http://10.0.0.1:2379): connection refused; next try in 4s
default/web: source etcd (key:4:1) declares it too, and source file (web.yaml:4:1) goes before it
";
        let (table, notes) = text(&sources);
        assert_eq!(table + &notes, expected);
        assert_eq!(text(&json!({})), ("No sources.\n".into(), String::new()));
    }
}

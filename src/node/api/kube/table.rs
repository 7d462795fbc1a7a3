//! Pods as rows: what `kubectl get` shows.

use serde_json::{Value, json};

use super::object::time;
use super::view::Shown;
use crate::model::Time;
use crate::model::age;

/// What stands beside the cells of a row (`includeObject`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Kubernetes' default is the metadata.
    pub fn parse(text: Option<&str>) -> Option<Self> {
        match text {
            None | Some("Metadata") => Some(Include::Metadata),
            Some("None") => Some(Include::Nothing),
            Some("Object") => Some(Include::Object),
            Some(_) => None,
        }
    }
}

/// Name, type, priority (0 is always shown, 1 in a wide table).
const COLUMNS: [(&str, &str, u8); 9] = [
    ("Name", "string", 0),
    ("Ready", "string", 0),
    ("Status", "string", 0),
    ("Restarts", "string", 0),
    ("Age", "string", 0),
    ("IP", "string", 1),
    ("Node", "string", 1),
    ("Nominated Node", "string", 1),
    ("Readiness Gates", "string", 1),
];

pub fn of_pods(api: &str, version: u64, pods: &[&Shown], include: Include, now: Time) -> Value {
    let rows: Vec<Value> = pods.iter().map(|pod| row(api, pod, include, now)).collect();
    of(api, &json!({ "resourceVersion": version.to_string() }), &COLUMNS, rows)
}

/// A table of anything.
pub fn of(api: &str, metadata: &Value, columns: &[(&str, &str, u8)], rows: Vec<Value>) -> Value {
    let columns: Vec<Value> = columns
        .iter()
        .map(|(name, kind, priority)| {
            let format = if *name == "Name" { "name" } else { "" };
            json!({ "name": name, "type": kind, "format": format, "description": "", "priority": priority })
        })
        .collect();
    json!({ "kind": "Table", "apiVersion": api, "metadata": metadata, "columnDefinitions": columns, "rows": rows })
}

fn row(api: &str, pod: &Shown, include: Include, now: Time) -> Value {
    let object = &pod.object;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let list =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let statuses = list("/status/containerStatuses");
    // As kubectl counts since 1.29: sidecars too, and no init container that ends.
    let sidecars = list("/spec/initContainers").iter().filter(|c| c["restartPolicy"] == "Always");
    let sidecars: Vec<&Value> = sidecars.map(|sidecar| &sidecar["name"]).collect();
    let beside = list("/status/initContainerStatuses").iter().filter(|s| sidecars.contains(&&s["name"]));
    let ready = statuses.iter().chain(beside).filter(|status| status["ready"] == true).count();
    let total = list("/spec/containers").len() + sidecars.len();
    let age = time(object, "/metadata/creationTimestamp");
    let cells = json!([
        text("/metadata/name"),
        format!("{ready}/{total}"),
        pod.word,
        restarts(statuses, list("/status/initContainerStatuses"), now),
        age.map_or("<unknown>".to_owned(), |at| age::short(now.since(at))),
        text("/status/podIP").unwrap_or("<none>"),
        text("/spec/nodeName").unwrap_or("<none>"),
        "<none>",
        "<none>",
    ]);
    match include {
        Include::Nothing => json!({ "cells": cells }),
        Include::Metadata => json!({ "cells": cells, "object": metadata(api, object) }),
        Include::Object => json!({ "cells": cells, "object": object }),
    }
}

/// The metadata alone, as an object of its own.
pub fn metadata(api: &str, object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": api, "metadata": object["metadata"] })
}

/// How often, and how long ago the last time was.
fn restarts(regular: &[Value], init: &[Value], now: Time) -> String {
    let statuses = || regular.iter().chain(init);
    let count: u64 = statuses().filter_map(|status| status["restartCount"].as_u64()).sum();
    let last = statuses().filter_map(|status| time(status, "/lastState/terminated/finishedAt")).max();
    match last.filter(|_| count > 0) {
        Some(last) => format!("{count} ({} ago)", age::short(now.since(last))),
        None => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(object: Value, word: &str, now: i64) -> Vec<Value> {
        let shown = Shown { version: 7, object, json: Default::default(), word: word.into() };
        let table = of_pods("meta.k8s.io/v1", 7, &[&shown], Include::Nothing, Time(now * 1000));
        assert_eq!(table["columnDefinitions"].as_array().map(Vec::len), Some(9));
        table["rows"][0]["cells"].as_array().cloned().unwrap_or_default()
    }

    #[test]
    fn a_row_says_what_kubectl_shows() {
        let pod = json!({
            "metadata": {"name": "web", "creationTimestamp": "1970-01-01T00:00:10Z"},
            "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n1"},
            "status": {"podIP": "10.0.0.1", "containerStatuses": [
                {"ready": true, "restartCount": 2, "lastState": {"terminated": {"finishedAt": "1970-01-01T00:01:00Z"}}},
                {"ready": false, "restartCount": 0},
            ]},
        });
        let expected =
            json!(["web", "1/2", "Running", "2 (10s ago)", "60s", "10.0.0.1", "n1", "<none>", "<none>"]);
        assert_eq!(Value::from(cells(pod, "Running", 70)), expected);
        let bare =
            json!({"metadata": {"name": "new"}, "spec": {"containers": [{"name": "a"}]}, "status": {}});
        let expected =
            json!(["new", "0/1", "Pending", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]);
        assert_eq!(Value::from(cells(bare, "Pending", 70)), expected);
    }
}

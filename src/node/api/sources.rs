//! `/sources`: how each source is doing.

use serde_json::{Value, json};

use crate::model::Time;
use crate::node::snapshot::Snapshot;

pub(super) fn list(now: &Snapshot, at: Time) -> Value {
    let items: Vec<Value> = now
        .sources
        .iter()
        .flat_map(|(kind, reports)| reports.iter().map(move |report| (kind, report)))
        .map(|(kind, report)| {
            let mut item = json!(report);
            item["kind"] = json!(kind);
            item["readAt"] = json!(report.read_at.map(|at| at.to_string()));
            item["ageSeconds"] = json!(report.read_at.map(|read| at.since(read).as_secs()));
            item
        })
        .collect();
    json!({ "items": items })
}

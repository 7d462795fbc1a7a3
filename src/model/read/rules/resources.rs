//! Limits and requests.

use super::not_yet;
use crate::model::quantity::Quantity;
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::Node;

/// Docker refuses a container with less memory ("Minimum memory limit allowed is 6MB").
pub const LEAST_MEMORY: i64 = 6 * 1024 * 1024;

pub fn check(container: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(resources) = container.get("resources") else { return };
    let path = path.field("resources");
    for kind in ["limits", "requests"] {
        let path = path.field(kind);
        for entry in resources.get(kind).map_or(&[][..], Node::entries) {
            let path = path.field(&entry.key);
            name(&entry.key, &entry.value, &path, report);
            amount(&entry.key, &entry.value, kind == "limits", &path, report);
        }
    }
    let Some(requests) = resources.get("requests") else { return };
    for entry in requests.entries() {
        let limit = resources.get("limits").and_then(|limits| limits.get(&entry.key));
        let (Some(limit), Some(asked)) = (limit, amount_of(&entry.value)) else { continue };
        let over = amount_of(limit).is_some_and(|limit| asked > limit);
        if over {
            let path = path.field("requests");
            let path = path.field(&entry.key);
            let (asked, most) = (entry.value.written().unwrap_or(""), limit.written().unwrap_or(""));
            let message =
                format!("{path} {asked} is more than limits.{} {most} (line {})", entry.key, limit.mark.line);
            report.error(entry.value.mark, path, message, "raise the limit or lower the request");
        }
    }
}

pub fn amount_of(node: &Node<'_>) -> Option<Quantity> {
    Quantity::parse(node.written()?)
}

fn name(key: &str, node: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    match key {
        "cpu" | "memory" => {}
        "ephemeral-storage" => not_yet(report, node.mark, path),
        _ if key.starts_with("hugepages-") || key.contains('/') => not_yet(report, node.mark, path),
        _ => {
            let message =
                format!("{path} is no resource; known are cpu, memory, ephemeral-storage, hugepages-<size>");
            report.error(node.mark, path, message, "an own resource needs a domain: example.com/name");
        }
    }
}

fn amount(key: &str, node: &Node<'_>, limit: bool, path: &Path<'_>, report: &mut Report<'_>) {
    let (Some(text), Some(quantity)) = (node.written(), amount_of(node)) else { return };
    if quantity.is_negative() {
        report.error(
            node.mark,
            path,
            format!("{path} {text} is less than nothing"),
            "write a positive number",
        );
        return;
    }
    if key != "memory" {
        return;
    }
    if let Some(number) = text.strip_suffix('m') {
        let message = format!("{path} '{text}' means {} bytes: m is a thousandth", thousandths(number));
        report.warn(node.mark, path, message, &format!("{number}M (10^6) or {number}Mi (2^20)"));
    } else if limit && quantity.whole() > 0 && quantity.whole() < LEAST_MEMORY {
        let message =
            format!("{path} '{text}' is {} bytes, and Docker refuses less than 6 MB", quantity.whole());
        report.warn(node.mark, path, message, "is a unit missing? 64Mi, 500M");
    }
}

/// `3500` thousandths as people write it: `3.5`.
fn thousandths(number: &str) -> String {
    number.parse::<f64>().map_or_else(|_| number.to_owned(), |value| (value / 1000.0).to_string())
}

//! What the table cannot say: rules that need more than one field. Source: Kubernetes, `pkg/apis/core/validation`.
//!
//! Every rule looks at the tree and takes what is readable in it, so that it also speaks when other fields are wrong.

mod container;
mod metadata;
pub mod names;
mod network;
mod ports;
mod probe;
mod resources;
mod security;
mod volumes;

use super::Options;
use super::report::{Path, ROOT, Report};
use super::schema::walk::not_yet;
use super::tree::{Mark, Node, Value};

/// Judges a v1 Pod.
pub fn check(pod: &Node<'_>, report: &mut Report<'_>, options: &Options) {
    let metadata = ROOT.field("metadata");
    match pod.get("metadata") {
        Some(node) => metadata::check(node, &metadata, report),
        None => report.error(pod.mark, metadata, "metadata.name is required", "add metadata: {name: …}"),
    }
    let path = ROOT.field("spec");
    let Some(spec) = pod.get("spec") else {
        report.error(pod.mark, path, "spec is required", "add spec: with containers:");
        return;
    };
    if !matches!(spec.value, Value::Map(_)) {
        return;
    }
    containers(spec, &path, report);
    let volumes = volumes::check(spec, &path, report);
    let pod = Context { spec, volumes: &volumes };
    for (list, init) in [("initContainers", true), ("containers", false)] {
        let path = path.field(list);
        for (index, node) in spec.list(list).iter().enumerate() {
            container::check(node, init, &pod, &path.item(index), report);
        }
    }
    ports::check(spec, &path, report);
    network::check(spec, &path, report);
    security::check_pod(spec, &path, report);
    node(spec, &path, report, options);
}

/// What the rules for a container need to know of its pod.
struct Context<'c, 'a> {
    spec: &'c Node<'a>,
    /// Names of the volumes, as far as they are readable.
    volumes: &'c [&'c str],
}

/// At least one container, and no name twice over all of them.
fn containers(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    if let Some(node) = spec.get("containers")
        && matches!(&node.value, Value::List(items) if items.is_empty())
    {
        let path = path.field("containers");
        report.error(node.mark, path, format!("{path} is empty: a pod needs a container"), "- name: …");
    }
    let mut seen = Vec::new();
    for list in ["initContainers", "containers"] {
        let path = path.field(list);
        for (index, node) in spec.list(list).iter().enumerate() {
            unique(node, "name", &path.item(index), &mut seen, report);
        }
    }
}

/// Reports a value that an earlier entry has already.
fn unique<'n>(
    node: &'n Node<'_>,
    key: &str,
    path: &Path<'_>,
    seen: &mut Vec<(&'n str, Mark)>,
    report: &mut Report<'_>,
) {
    let (Some(value), Some(text)) = (node.get(key), node.text_of(key)) else { return };
    let path = path.field(key);
    match seen.iter().find(|(known, _)| *known == text) {
        Some((_, first)) => {
            let message = format!("{path} '{text}' is used twice (first at line {})", first.line);
            report.error(value.mark, path, message, "rename one of them");
        }
        None => seen.push((text, value.mark)),
    }
}

/// Exactly one of some fields. Returns those that are given.
fn one_of<'n, 'a>(
    node: &'n Node<'a>,
    known: &[&str],
    what: &str,
    path: &Path<'_>,
    report: &mut Report<'_>,
) -> Vec<(&'n str, &'n Node<'a>)> {
    let given: Vec<_> = node
        .entries()
        .iter()
        .filter(|entry| known.contains(&&*entry.key) && !entry.value.is_null())
        .map(|entry| (&*entry.key, &entry.value))
        .collect();
    match given[..] {
        // A misspelt one is spoken of already.
        [] if matches!(node.value, Value::Map(_))
            && !node.entries().iter().any(|entry| report.has_error_at(entry.value.mark)) =>
        {
            let message = format!("{path} needs one {what}: {}", known.join(", "));
            report.error(node.mark, path, message, &format!("add one of {}", known.join(", ")));
        }
        [(first, at), (second, node), ..] => {
            let message = format!("{path} has two {what}s ({first} at line {} and {second})", at.mark.line);
            report.error(node.mark, path.field(second), message, "keep one");
        }
        [] | [_] => {}
    }
    given
}

/// Fields that speak of the machine.
fn node(spec: &Node<'_>, path: &Path<'_>, report: &mut Report<'_>, options: &Options) {
    if let Some(os) = spec.get("os").and_then(|os| os.get("name"))
        && os.as_text() == Some("windows")
    {
        let path = path.field("os");
        let message = "spec.os.name is windows, and this node runs Linux containers";
        report.error(os.mark, path.field("name"), message, "run this pod on a Windows node");
    }
    if let (Some(node), Some(name), Some(own)) =
        (spec.get("nodeName"), spec.text_of("nodeName"), &options.node_name)
        && name != own
    {
        let message = format!("spec.nodeName is '{name}' and this node is '{own}': the pod runs here anyway");
        report.warn(node.mark, path.field("nodeName"), message, "remove it, or keep the file off this node");
    }
}

#[cfg(test)]
mod tests;

//! The ContainerManifest of 2014 → the tree of a v1 Pod. Every value keeps its place.

use std::borrow::Cow;

use super::Options;
use super::report::{ROOT, Report};
use super::schema::legacy::CONTAINER_MANIFEST;
use super::schema::walk;
use super::tree::{Entry, Mark, Node, Scalar, Sort, Value};

/// Checks the old document by its own names.
pub fn check(node: &Node<'_>, report: &mut Report<'_>, options: &Options) {
    walk::check(node, &CONTAINER_MANIFEST, &ROOT, report, options);
    let version = node.get("version").and_then(Node::written).unwrap_or("").to_owned();
    let volumes = ROOT.field("volumes");
    for (index, volume) in node.list("volumes").iter().enumerate() {
        let path = volumes.item(index);
        for (new, old) in
            [("hostPath", "source: {hostDir: {path: …}}"), ("emptyDir", "source: {emptyDir: {}}")]
        {
            if let Some(at) = volume.get(new) {
                let message = format!(
                    "{path}: in version {version} a volume source is {old}, got {new}; read as meant"
                );
                report.warn(at.mark, path.field(new), message, old);
            }
        }
    }
}

/// The same pod as v1 spells it. `name` is for a manifest without an id.
pub fn into_pod(node: Node<'_>, name: String) -> Node<'_> {
    let mark = node.mark;
    let mut metadata = Vec::new();
    let mut spec = Vec::new();
    for Entry { key, value } in entries(node) {
        match &*key {
            "id" => metadata.push(entry("name", value)),
            "uuid" => metadata.push(entry("uid", value)),
            "namespace" => metadata.push(entry("namespace", value)),
            "containers" => spec.push(entry("containers", each(value, container))),
            "volumes" => spec.push(entry("volumes", each(value, volume))),
            "restartPolicy" => spec.push(entry("restartPolicy", restart_policy(value))),
            "dnsPolicy" | "hostNetwork" => spec.push(Entry { key, value }),
            _ => {}
        }
    }
    if !metadata.iter().any(|entry| entry.key == "name" && !entry.value.asks_for_nothing()) {
        metadata.retain(|entry| entry.key != "name");
        metadata.push(entry("name", Node::text(mark, name)));
    }
    let fields = [
        ("apiVersion", Node::text(mark, "v1")),
        ("kind", Node::text(mark, "Pod")),
        ("metadata", Node::map(mark, metadata)),
        ("spec", Node::map(mark, spec)),
    ];
    Node::map(mark, fields.into_iter().map(|(key, value)| entry(key, value)).collect())
}

fn entry<'a>(key: &'static str, value: Node<'a>) -> Entry<'a> {
    Entry { key: Cow::Borrowed(key), value }
}

fn entries(node: Node<'_>) -> Vec<Entry<'_>> {
    match node.value {
        Value::Map(entries) => entries,
        Value::Scalar(_) | Value::List(_) => Vec::new(),
    }
}

/// Changes every item that is a map; what is not was reported already.
fn each<'a>(mut node: Node<'a>, change: fn(Node<'a>) -> Node<'a>) -> Node<'a> {
    if let Value::List(items) = node.value {
        let items = items
            .into_iter()
            .map(|item| if matches!(item.value, Value::Map(_)) { change(item) } else { item });
        node.value = Value::List(items.collect());
    }
    node
}

fn container(node: Node<'_>) -> Node<'_> {
    let mark = node.mark;
    let mut fields = Vec::new();
    let mut limits = Vec::new();
    for Entry { key, value } in entries(node) {
        match &*key {
            // Thousandths of a core and bytes; 0 was "not given".
            "cpu" | "memory" if value.as_integer() == Some(0) => {}
            "cpu" => limits.push(entry("cpu", suffixed(value, "m"))),
            "memory" => limits.push(entry("memory", suffixed(value, ""))),
            "privileged" => {
                let privileged = entry("privileged", value);
                fields.push(entry("securityContext", Node::map(privileged.value.mark, vec![privileged])));
            }
            "imagePullPolicy" => fields.push(entry("imagePullPolicy", pull_policy(value))),
            "env" => fields.push(entry("env", each(value, variable))),
            "volumeMounts" => fields.push(entry("volumeMounts", each(value, mount))),
            "livenessProbe" => fields.push(entry("livenessProbe", probe(value))),
            "readinessProbe" => fields.push(entry("readinessProbe", probe(value))),
            _ => fields.push(Entry { key, value }),
        }
    }
    if let Some(first) = limits.first() {
        let at = first.value.mark;
        let limits = entry("limits", Node::map(at, limits));
        fields.push(entry("resources", Node::map(at, vec![limits])));
    }
    Node::map(mark, fields)
}

fn suffixed<'a>(node: Node<'a>, suffix: &str) -> Node<'a> {
    match node.as_integer() {
        Some(value) => Node::text(node.mark, format!("{value}{suffix}")),
        None => node,
    }
}

fn pull_policy(node: Node<'_>) -> Node<'_> {
    let new = match node.as_text() {
        Some("PullAlways") => "Always",
        Some("PullIfNotPresent") => "IfNotPresent",
        Some("PullNever") => "Never",
        Some(_) | None => return node,
    };
    Node::text(node.mark, new)
}

/// The very first format called the name of a variable `key`.
fn variable(node: Node<'_>) -> Node<'_> {
    rename(node, &[("key", "name")])
}

fn mount(node: Node<'_>) -> Node<'_> {
    let mut node = rename(node, &[("path", "mountPath")]);
    if let Value::Map(entries) = &mut node.value {
        // HOST or LOCAL: which folder is meant is told by the volume.
        entries.retain(|entry| entry.key != "mountType");
    }
    node
}

fn rename<'a>(mut node: Node<'a>, names: &[(&str, &'static str)]) -> Node<'a> {
    if let Value::Map(entries) = &mut node.value {
        for entry in entries {
            if let Some((_, new)) = names.iter().find(|(old, _)| entry.key == *old) {
                entry.key = Cow::Borrowed(new);
            }
        }
    }
    node
}

/// Ports were texts in v1beta1, and a `type` repeated which handler there is.
fn probe(node: Node<'_>) -> Node<'_> {
    let mark = node.mark;
    if !matches!(node.value, Value::Map(_)) {
        return node;
    }
    let fields = entries(node).into_iter().filter(|entry| entry.key != "type").map(|Entry { key, value }| {
        let value = if matches!(&*key, "httpGet" | "tcpSocket") { handler(value) } else { value };
        Entry { key, value }
    });
    Node::map(mark, fields.collect())
}

fn handler(mut node: Node<'_>) -> Node<'_> {
    if let Value::Map(entries) = &mut node.value {
        for entry in entries.iter_mut().filter(|entry| entry.key == "port") {
            if let Some(number) = entry.value.as_text().and_then(|text| text.parse().ok()) {
                let mark = entry.value.mark;
                entry.value = integer(mark, number);
            }
        }
    }
    node
}

fn integer<'a>(mark: Mark, value: i64) -> Node<'a> {
    Node {
        mark,
        value: Value::Scalar(Scalar { text: Cow::Owned(value.to_string()), sort: Sort::Integer(value) }),
    }
}

/// No source at all was an empty directory.
fn volume(node: Node<'_>) -> Node<'_> {
    let mark = node.mark;
    let mut fields = Vec::new();
    for Entry { key, value } in entries(node) {
        if key == "source" {
            let sources = entries(value).into_iter().map(|source| match &*source.key {
                "hostDir" => entry("hostPath", source.value),
                "persistentDisk" => entry("gcePersistentDisk", source.value),
                _ => source,
            });
            fields.extend(sources);
        } else {
            fields.push(Entry { key, value });
        }
    }
    if fields.len() < 2 {
        fields.push(entry("emptyDir", Node::map(mark, Vec::new())));
    }
    Node::map(mark, fields)
}

/// `{never: {}}` → `Never`.
fn restart_policy(node: Node<'_>) -> Node<'_> {
    let word = match node.entries() {
        [] => "Always",
        [only] => match &*only.key {
            "never" => "Never",
            "onFailure" => "OnFailure",
            _ => "Always",
        },
        // More than one: Kubernetes asked for them in this order.
        several if several.iter().any(|entry| entry.key == "always") => "Always",
        _ => "OnFailure",
    };
    Node::text(node.mark, word)
}

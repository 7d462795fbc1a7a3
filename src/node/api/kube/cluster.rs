//! The little that a lone node has of a cluster: its namespaces and itself.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::accept::Form;
use super::table;
use super::target::OfCluster;
use super::view::Current;
use crate::node::snapshot::{EngineStatus, Snapshot};

/// A namespace is there when a pod is in it, and `default` always: nobody makes one.
pub fn namespaces(current: &Current) -> Vec<Value> {
    let mut names: BTreeSet<&str> = current.pods.keys().map(|key| &*key.namespace).collect();
    names.insert("default");
    let namespace = |name: &str| {
        json!({
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
            "status": { "phase": "Active" },
        })
    };
    names.into_iter().map(namespace).collect()
}

pub fn node(now: &Snapshot) -> Value {
    let (up, why) = match &now.engine {
        EngineStatus::Connecting => (false, "the engine has not answered yet"),
        EngineStatus::Down(why) => (false, &**why),
        EngineStatus::Up(_) => (true, "the engine answers"),
    };
    let runtime = match &now.engine {
        EngineStatus::Up(version) => format!("docker://{}", version.version),
        EngineStatus::Connecting | EngineStatus::Down(_) => "docker://unknown".to_owned(),
    };
    let name = &*now.desired.node.name;
    let memory = now.observed.memory_bytes.to_string();
    json!({
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": { "name": name, "labels": { "kubernetes.io/hostname": name } },
        "spec": {},
        "status": {
            "capacity": { "memory": memory },
            "allocatable": { "memory": memory },
            "conditions": [{
                "type": "Ready",
                "status": if up { "True" } else { "False" },
                "reason": if up { "EngineUp" } else { "EngineDown" },
                "message": why,
            }],
            "addresses": [{ "type": "Hostname", "address": name }],
            "nodeInfo": {
                "kubeletVersion": format!("podkeeper-{}", env!("CARGO_PKG_VERSION")),
                "containerRuntimeVersion": runtime,
                "operatingSystem": "linux",
                "architecture": std::env::consts::ARCH,
            },
        },
    })
}

/// Objects of one kind in the form that is wanted.
pub fn listed(kind: OfCluster, items: &[Value], form: Form, version: u64) -> Value {
    let metadata = json!({ "resourceVersion": version.to_string() });
    match form {
        Form::Table(api) => table(api, kind, items, &metadata),
        Form::Object | Form::Metadata => {
            json!({ "kind": format!("{}List", kind.name()), "apiVersion": "v1", "metadata": metadata, "items": items })
        }
    }
}

pub fn table(api: &str, kind: OfCluster, items: &[Value], metadata: &Value) -> Value {
    let name = ("Name", "string", 0);
    let columns = match kind {
        OfCluster::Namespace => vec![name, ("Status", "string", 0)],
        OfCluster::Node => vec![name, ("Status", "string", 0), ("Version", "string", 0)],
    };
    let rows = items
        .iter()
        .map(|item| {
            let cells = match kind {
                OfCluster::Namespace => json!([item["metadata"]["name"], item["status"]["phase"]]),
                OfCluster::Node => {
                    let ready = item["status"]["conditions"][0]["status"] == "True";
                    let word = if ready { "Ready" } else { "NotReady" };
                    json!([item["metadata"]["name"], word, item["status"]["nodeInfo"]["kubeletVersion"]])
                }
            };
            json!({ "cells": cells, "object": table::metadata(api, item) })
        })
        .collect();
    table::of(api, metadata, &columns, rows)
}

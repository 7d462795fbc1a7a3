//! A pod as Kubernetes shows it: what was declared, and how it is doing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::model::{PodKey, Time};
use crate::node::api::pods;
use crate::node::sources::api::Written;
use crate::plan::{Declared, Instance, PodStatus, Role, State};

/// What is known of one pod.
pub struct Known<'a> {
    pub key: &'a PodKey,
    pub node: &'a str,
    pub declared: Option<&'a Declared>,
    /// What was written through the API, of a pod that is declared there or leaves.
    pub written: Option<&'a Written>,
    pub status: Option<&'a PodStatus>,
    pub instances: &'a [std::sync::Arc<Instance>],
}

impl Known<'_> {
    /// The object, without a resource version.
    pub fn object(&self) -> Value {
        let mut object = match (self.written, self.declared) {
            (Some(written), _) => written.object.clone(),
            (None, Some(declared)) => json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": pods::metadata(self.key, Some(declared)),
                "spec": pods::spec(&declared.pod),
            }),
            (None, None) => self.leftover(),
        };
        object["spec"]["nodeName"] = json!(self.node);
        let metadata = &mut object["metadata"];
        // A pod of another source is as old as its sandbox: nobody wrote down when it was declared.
        if metadata.get("creationTimestamp").is_none()
            && let Some(at) = self.status.and_then(|status| status.started_at)
        {
            metadata["creationTimestamp"] = json!(at.to_string());
        }
        if self.written.is_some() {
            mark(&mut object);
        }
        object["status"] = self.status();
        object
    }

    /// Nobody declares it, and it is here: it is being removed, or its source is silent.
    fn leftover(&self) -> Value {
        let mut names: Vec<&str> = self.instances.iter().map(|instance| instance.role.name()).collect();
        names.retain(|name| *name != crate::plan::ledger::SANDBOX);
        names.dedup();
        let containers: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let mut metadata = pods::metadata(self.key, None);
        if let Some(instance) = self.instances.first() {
            metadata["uid"] = json!(instance.uid);
            let source = instance.source.map_or("unknown", |source| source.as_str());
            metadata["annotations"] = json!({ "kubernetes.io/config.source": source });
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": { "containers": containers },
        })
    }

    fn status(&self) -> Value {
        let Some(status) = self.status else { return json!({ "phase": "Pending" }) };
        let mut object = pods::status_of(status);
        if self.declared.is_none() {
            object["containerStatuses"] = json!(self.remains());
        }
        // Kubernetes' own reason and message speak of the whole pod, and say something that is not plain.
        let plain = status.message.is_empty() || status.word == format!("{:?}", status.phase);
        if let Some(fields) = object.as_object_mut().filter(|_| plain) {
            fields.remove("reason");
            fields.remove("message");
        }
        object
    }

    /// The containers of a pod that nobody declares, as far as they are there: of one that stops, people want to
    /// see what still runs.
    fn remains(&self) -> Vec<Value> {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        // The newest attempt of each comes first.
        let newest = self.instances.iter().filter(|instance| instance.role != Role::Sandbox);
        let newest = newest.filter(|instance| names.insert(instance.role.name()));
        newest
            .map(|instance| {
                let runs = instance.is_running();
                json!({
                    "name": instance.role.name(),
                    "image": instance.config.as_ref().map_or("", |config| &config.image),
                    "imageID": "",
                    "ready": runs,
                    "started": runs,
                    "restartCount": instance.attempt,
                    "containerID": format!("docker://{}", instance.id),
                    "state": state(instance),
                })
            })
            .collect()
    }

    /// One word for the table.
    pub fn word(&self) -> String {
        let leaves = self.written.is_some_and(|written| leaves(&written.object));
        match self.status {
            _ if leaves => "Terminating".to_owned(),
            Some(status) => status.word.clone(),
            None => "Pending".to_owned(),
        }
    }
}

fn state(instance: &Instance) -> Value {
    let time = |at: Option<Time>| at.map(|at| at.to_string());
    match &instance.state {
        State::Running { started_at } => json!({ "running": { "startedAt": time(*started_at) } }),
        State::Paused => json!({ "running": {} }),
        State::Exited(Some(exit)) => json!({ "terminated": {
            "exitCode": exit.code,
            "reason": if exit.code == 0 { "Completed" } else { "Error" },
            "startedAt": time(exit.started_at),
            "finishedAt": time(Some(exit.finished_at)),
        } }),
        State::Created | State::Exited(None) | State::Removing | State::Dead | State::Unknown(_) => {
            json!({ "waiting": {} })
        }
    }
}

/// Says where it was declared, as the kubelet does.
pub fn mark(object: &mut Value) {
    object["metadata"]["annotations"]["kubernetes.io/config.source"] = json!("api");
}

/// It was deleted, and may still be stopping.
pub fn leaves(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

pub fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// When a field of an object says it was.
pub fn time(object: &Value, pointer: &str) -> Option<Time> {
    Time::parse(object.pointer(pointer)?.as_str()?)
}

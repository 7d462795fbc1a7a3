//! `/pods`: what runs here as a Kubernetes `PodList`, in the shape of the kubelet's.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::body::Bytes;
use serde_json::{Map, Value, json};

use crate::model::pod::{Container, Resources};
use crate::model::{Pod, PodKey, Time};
use crate::node::snapshot::Snapshot;
use crate::plan::status::{Condition, ContainerState, ContainerStatus};
use crate::plan::{self, Declared, PodStatus};

/// The list as text, made once for each round, however many ask for it.
#[derive(Default)]
pub(super) struct Rendered(Mutex<Option<(Arc<Snapshot>, Bytes)>>);

impl Rendered {
    pub fn of(&self, round: &Arc<Snapshot>) -> Bytes {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((rendered, text)) if Arc::ptr_eq(rendered, round) => text.clone(),
            Some(_) | None => {
                let text = Bytes::from(list(round).to_string());
                *last = Some((round.clone(), text.clone()));
                text
            }
        }
    }
}

fn list(now: &Snapshot) -> Value {
    let items: Vec<Value> = plan::status(&now.desired, &now.observed)
        .iter()
        .map(|status| {
            let declared = now.desired.get(&status.key);
            json!({
                "metadata": metadata(&status.key, declared.map(|declared| &**declared)),
                "spec": declared.map_or_else(|| json!({}), |declared| spec(&declared.pod)),
                "status": status_of(status),
            })
        })
        .collect();
    json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items })
}

pub(super) fn metadata(key: &PodKey, declared: Option<&Declared>) -> Value {
    let mut metadata = json!({ "name": key.name, "namespace": key.namespace });
    let Some(declared) = declared else { return metadata };
    metadata["uid"] = json!(declared.uid);
    let given = &declared.pod.metadata;
    let mut annotations = given.annotations.clone();
    // As the kubelet marks pods that did not come from an API server.
    annotations.insert("kubernetes.io/config.source".to_owned(), declared.source.to_string());
    metadata["annotations"] = json!(annotations);
    if !given.labels.is_empty() {
        metadata["labels"] = json!(given.labels);
    }
    metadata
}

pub(super) fn spec(pod: &Pod) -> Value {
    let mut spec = json!(pod.spec);
    let lists = [("initContainers", &pod.spec.init_containers), ("containers", &pod.spec.containers)];
    for (name, containers) in lists {
        let Some(items) = spec.get_mut(name).and_then(Value::as_array_mut) else { continue };
        for (item, container) in items.iter_mut().zip(containers) {
            resources(item, container);
        }
    }
    spec
}

/// Kubernetes' quantities in place of our numbers.
fn resources(item: &mut Value, container: &Container) {
    let Some(object) = item.as_object_mut() else { return };
    object.remove("resources");
    let Resources { cpu_limit_milli, cpu_request_milli, memory_limit_bytes, memory_request_bytes } =
        container.resources;
    let quantities = |cpu: Option<i64>, memory: Option<i64>| {
        let mut map = Map::new();
        map.extend(cpu.map(|milli| ("cpu".to_owned(), json!(format!("{milli}m")))));
        map.extend(memory.map(|bytes| ("memory".to_owned(), json!(bytes.to_string()))));
        map
    };
    let (limits, requests) = (
        quantities(cpu_limit_milli, memory_limit_bytes),
        quantities(cpu_request_milli, memory_request_bytes),
    );
    if !limits.is_empty() || !requests.is_empty() {
        object.insert("resources".to_owned(), json!({ "limits": limits, "requests": requests }));
    }
}

pub fn status_of(status: &PodStatus) -> Value {
    let mut object = json!({
        "phase": status.phase,
        // The word of the table, which `kubectl` puts together from the containers.
        "reason": status.word,
        "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
        "containerStatuses": status.containers.iter().map(container).collect::<Vec<_>>(),
    });
    if !status.init_containers.is_empty() {
        object["initContainerStatuses"] =
            json!(status.init_containers.iter().map(container).collect::<Vec<_>>());
    }
    if !status.message.is_empty() {
        object["message"] = json!(status.message);
    }
    if let Some(ip) = &status.pod_ip {
        object["podIP"] = json!(ip);
        object["podIPs"] = json!([{ "ip": ip }]);
    }
    if let Some(started) = time(status.started_at) {
        object["startTime"] = started;
    }
    object
}

fn condition(condition: &Condition) -> Value {
    let mut object =
        json!({ "type": condition.kind, "status": if condition.status { "True" } else { "False" } });
    for (name, text) in [("reason", condition.reason), ("message", &condition.message)] {
        if !text.is_empty() {
            object[name] = json!(text);
        }
    }
    object
}

fn container(status: &ContainerStatus) -> Value {
    let id = status.container_id.as_deref();
    let mut object = json!({
        "name": status.name,
        "image": status.image,
        "imageID": "",
        "ready": status.ready,
        "started": matches!(status.state, ContainerState::Running { .. }),
        "restartCount": status.restart_count,
        "state": state(&status.state, id),
    });
    if let Some(last) = &status.last_state {
        object["lastState"] = state(last, None);
    }
    if let Some(id) = id {
        object["containerID"] = json!(id);
    }
    object
}

fn state(state: &ContainerState, id: Option<&str>) -> Value {
    match state {
        ContainerState::Waiting { reason, message } => {
            json!({ "waiting": { "reason": reason, "message": message } })
        }
        ContainerState::Running { started_at } => json!({ "running": { "startedAt": time(*started_at) } }),
        ContainerState::Terminated { exit_code, reason, started_at, finished_at } => {
            let mut ended = json!({ "exitCode": exit_code, "reason": reason });
            for (name, at) in [("startedAt", started_at), ("finishedAt", finished_at)] {
                if let Some(at) = time(*at) {
                    ended[name] = at;
                }
            }
            if let Some(id) = id {
                ended["containerID"] = json!(id);
            }
            json!({ "terminated": ended })
        }
    }
}

fn time(at: Option<Time>) -> Option<Value> {
    at.map(|at| json!(at.to_string()))
}

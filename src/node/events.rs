//! What happened to pods, told to whoever listens: etcd, the API.
//!
//! The agent never waits for a listener. One that is slow misses the oldest events, and learns how many.

use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::model::{PodKey, Time};

/// So many events wait for a slow listener.
const BACKLOG: usize = 512;

/// One thing that happened to a pod, in Kubernetes' words.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub at: Time,
    pub pod: PodKey,
    /// `None` is about the pod as a whole.
    pub container: Option<String>,
    pub kind: Kind,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Warning,
}

/// Where events are told, and where one may listen.
#[derive(Clone, Debug)]
pub struct Events(broadcast::Sender<Event>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::Sender::new(BACKLOG))
    }
}

impl Events {
    pub fn tell(&self, event: Event) {
        // Nobody listens, then.
        let _ = self.0.send(event);
    }

    /// What is told from now on.
    pub fn listen(&self) -> broadcast::Receiver<Event> {
        self.0.subscribe()
    }
}

impl Event {
    /// As a Kubernetes `v1` `Event` of that name.
    pub fn to_json(&self, node: &str, name: &str) -> Value {
        let Event { at, pod, container, kind, reason, message } = self;
        let mut object = json!({ "kind": "Pod", "namespace": pod.namespace, "name": pod.name });
        if let Some(container) = container {
            object["fieldPath"] = json!(format!("spec.containers{{{container}}}"));
        }
        let kind = match kind {
            Kind::Normal => "Normal",
            Kind::Warning => "Warning",
        };
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "name": name, "namespace": pod.namespace },
            "involvedObject": object,
            "reason": reason,
            "message": message,
            "type": kind,
            "count": 1,
            "firstTimestamp": at.to_string(),
            "lastTimestamp": at.to_string(),
            "source": { "component": "podkeeper", "host": node },
        })
    }
}

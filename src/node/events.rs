//! What happened to pods, told to whoever listens (etcd), and kept for an hour for whoever asks (the API).
//!
//! The agent never waits for a listener. One that is slow misses the oldest events, and learns how many.

mod recent;

use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use crate::model::{PodKey, Time, Uid};

pub use recent::{Recent, Told};

/// So many events wait for a slow listener.
const BACKLOG: usize = 512;
/// Bytes of a message, as the API server of Kubernetes allows them (`pkg/apis/core/validation/events.go`).
const MESSAGE: usize = 1024;

/// One thing that happened to a pod, in Kubernetes' words.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub at: Time,
    pub pod: PodKey,
    /// Which pod of that name; `None` when nobody knows any more.
    pub uid: Option<Uid>,
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
pub struct Events {
    told: broadcast::Sender<Event>,
    recent: watch::Sender<Recent>,
}

impl Events {
    /// Of an agent that begins at that time.
    pub fn new(at: Time) -> Self {
        Self { told: broadcast::Sender::new(BACKLOG), recent: watch::Sender::new(Recent::new(at)) }
    }

    pub fn tell(&self, mut event: Event) {
        event.shorten();
        self.recent.send_modify(|recent| recent.add(event.clone()));
        // Nobody listens, then.
        let _ = self.told.send(event);
    }

    /// The same as a moment ago, of which listeners have heard: it is counted.
    pub fn again(&self, mut event: Event) {
        event.shorten();
        self.recent.send_modify(|recent| recent.add(event));
    }

    /// What is told from now on.
    pub fn listen(&self) -> broadcast::Receiver<Event> {
        self.told.subscribe()
    }

    /// What was told lately, now and later.
    pub fn recent(&self) -> watch::Receiver<Recent> {
        self.recent.subscribe()
    }
}

impl Event {
    fn shorten(&mut self) {
        if self.message.len() > MESSAGE {
            let whole = |end: &usize| self.message.is_char_boundary(*end);
            let end = (0..=MESSAGE - '…'.len_utf8()).rev().find(whole).unwrap_or_default();
            self.message.truncate(end);
            self.message.push('…');
        }
    }

    /// The same thing happened to the same pod, whenever that was.
    fn is_like(&self, other: &Event) -> bool {
        let Event { at: _, pod, uid, container, kind, reason, message } = self;
        (pod, uid, container) == (&other.pod, &other.uid, &other.container)
            && (kind, reason, message) == (&other.kind, &other.reason, &other.message)
    }

    /// As a Kubernetes `v1` `Event` of that name.
    pub fn to_json(&self, node: &str, name: &str) -> Value {
        let Event { at, pod, uid, container, kind, reason, message } = self;
        let mut object =
            json!({ "apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name });
        if let Some(uid) = uid {
            object["uid"] = json!(uid);
        }
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

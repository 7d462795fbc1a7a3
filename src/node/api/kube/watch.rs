//! Watching: what changes, one line of JSON after another, for as long as the client stays.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::accept::Form;
use super::refuse;
use super::selectors::Selector;
use super::table::{self, Include};
use super::view::{Current, Event, Shown};
use crate::model::PodKey;
use crate::node::api::Api;
use crate::node::api::answer::{Body, BoxError};
use crate::node::api::refusal::Refusal;
use crate::node::snapshot::Snapshots;

/// Without `timeoutSeconds`. Kubernetes takes between half an hour and an hour.
pub const LONGEST: Duration = Duration::from_secs(1800);
/// Between two bookmarks.
const BOOKMARK: Duration = Duration::from_secs(60);
/// Rounds come in bursts, and a burst is told once.
const BURST: Duration = Duration::from_millis(20);

/// What a client wants to be told.
pub struct Wanted {
    pub namespace: Option<String>,
    pub selector: Selector,
    pub form: Form,
    pub include: Include,
    /// `None` and 0: begin with all there is.
    pub since: Option<u64>,
    pub bookmarks: bool,
    /// Says when all there was has been told (`sendInitialEvents`).
    pub initial: bool,
    pub timeout: Option<Duration>,
}

struct Watching {
    api: Arc<Api>,
    snapshots: Snapshots,
    wanted: Wanted,
    told: u64,
    ready: VecDeque<Bytes>,
    end: Instant,
    bookmark: Instant,
    over: bool,
}

/// A body without an end.
///
/// # Errors
/// 410 when what is asked for is forgotten already.
pub async fn body(api: &Arc<Api>, wanted: Wanted) -> Result<Body, Refusal> {
    // Before the first look, so that what changes after it is not missed.
    let mut snapshots = api.snapshots.clone();
    snapshots.take_news();
    let current = api.kube.view.now().await;
    let now = Instant::now();
    let mut watching = Watching {
        end: now + wanted.timeout.unwrap_or(LONGEST),
        bookmark: now + BOOKMARK,
        told: current.version,
        api: api.clone(),
        snapshots,
        wanted,
        ready: VecDeque::new(),
        over: false,
    };
    match watching.wanted.since {
        None | Some(0) => watching.begin(&current),
        Some(since) => {
            watching.told = since;
            if since < current.oldest || since > current.version {
                return Err(refuse::expired(since, current.oldest));
            }
            watching.catch_up(&current);
        }
    }
    let lines = stream::unfold(watching, |mut watching| async move {
        let line = watching.next().await?;
        Some((Ok::<_, BoxError>(Frame::data(line)), watching))
    });
    Ok(StreamBody::new(lines).boxed_unsync())
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.over {
                return None;
            }
            tokio::select! {
                () = tokio::time::sleep_until(self.end) => self.over = true,
                () = tokio::time::sleep_until(self.bookmark), if self.wanted.bookmarks => {
                    self.bookmark = Instant::now() + BOOKMARK;
                    self.mark(&json!({}));
                }
                () = self.snapshots.changed() => {
                    tokio::time::sleep(BURST).await;
                    self.snapshots.take_news();
                    let current = self.api.kube.view.now().await;
                    self.catch_up(&current);
                }
            }
        }
    }

    /// All there is, as if it were new.
    fn begin(&mut self, current: &Current) {
        let pods: Vec<Arc<Shown>> = current
            .pods
            .iter()
            .filter(|(key, pod)| self.concerns(key, pod))
            .map(|(_, pod)| pod.clone())
            .collect();
        for pod in pods {
            self.tell("ADDED", &pod);
        }
        if self.wanted.initial {
            // By this a client knows that it has seen a whole list.
            self.mark(&json!({ "k8s.io/initial-events-end": "true" }));
        }
    }

    fn catch_up(&mut self, current: &Current) {
        if self.told < current.oldest {
            let refusal = refuse::expired(self.told, current.oldest);
            self.line("ERROR", &refusal.status());
            self.over = true;
            return;
        }
        for (_, event) in current.events.range(self.told + 1..) {
            self.event(event);
        }
        self.told = current.version;
    }

    /// What an event is to a client that sees only some of the pods: one that comes to match is new to it.
    fn event(&mut self, event: &Event) {
        let seen = |shown: &Option<Arc<Shown>>| shown.clone().filter(|pod| self.concerns(&key(pod), pod));
        match (seen(&event.before), seen(&event.after)) {
            (None, None) => {}
            (None, Some(after)) => self.tell("ADDED", &after),
            (Some(_), Some(after)) => self.tell("MODIFIED", &after),
            (Some(before), None) => self.tell("DELETED", event.after.as_ref().unwrap_or(&before)),
        }
    }

    fn concerns(&self, key: &PodKey, pod: &Shown) -> bool {
        self.wanted.namespace.as_deref().is_none_or(|namespace| *key.namespace == *namespace)
            && self.wanted.selector.matches(&pod.object)
    }

    fn tell(&mut self, kind: &str, pod: &Arc<Shown>) {
        match self.wanted.form {
            // The object is there as text already.
            Form::Object => {
                let mut line = format!("{{\"type\":\"{kind}\",\"object\":").into_bytes();
                line.extend_from_slice(&pod.json);
                line.extend_from_slice(b"}\n");
                self.ready.push_back(line.into());
            }
            Form::Table(api) => {
                let now = self.api.clock.now();
                let table = table::of_pods(api, pod.version, &[&**pod], self.wanted.include, now);
                self.line(kind, &table);
            }
            Form::Metadata => self.line(kind, &table::metadata("meta.k8s.io/v1", &pod.object)),
        }
    }

    /// Tells that nothing was missed up to here.
    fn mark(&mut self, annotations: &Value) {
        let metadata = json!({ "resourceVersion": self.told.to_string(), "annotations": annotations });
        let object = match self.wanted.form {
            Form::Object => {
                json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": { "containers": null } })
            }
            Form::Table(api) => {
                json!({ "kind": "Table", "apiVersion": api, "metadata": metadata, "columnDefinitions": [], "rows": [] })
            }
            Form::Metadata => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
            }
        };
        self.line("BOOKMARK", &object);
    }

    fn line(&mut self, kind: &str, object: &Value) {
        self.ready.push_back(format!("{}\n", json!({ "type": kind, "object": object })).into());
    }
}

fn key(pod: &Shown) -> PodKey {
    let text = |name: &str| pod.object["metadata"][name].as_str().unwrap_or_default();
    PodKey::new(text("namespace"), text("name"))
}

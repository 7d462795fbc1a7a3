//! Watching events: one line of JSON for each that happens, or happens again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::Wanted;
use crate::node::api::Api;
use crate::node::api::answer::{Body, BoxError};
use crate::node::api::kube::accept::Form;
use crate::node::api::kube::refuse;
use crate::node::api::kube::watch::LONGEST;
use crate::node::api::refusal::Refusal;
use crate::node::events::Recent;

struct Watching {
    api: Arc<Api>,
    wanted: Wanted,
    events: Receiver<Recent>,
    told: u64,
    ready: VecDeque<Bytes>,
    end: Instant,
    over: bool,
}

/// A body that ends when the client goes or the time is over. `None` and 0 begin with all there is; `initial` marks
/// where that ends.
///
/// # Errors
/// 410 when what is asked for is forgotten already.
pub fn body(
    api: &Arc<Api>,
    wanted: Wanted,
    since: Option<u64>,
    initial: bool,
    timeout: Option<Duration>,
) -> Result<Body, Refusal> {
    let mut events = api.kube.events.clone();
    let recent = events.borrow_and_update().clone();
    let end = Instant::now() + timeout.unwrap_or(LONGEST);
    let (ready, over) = (VecDeque::new(), false);
    let mut watching = Watching { api: api.clone(), wanted, events, told: 0, ready, end, over };
    match since.filter(|since| *since > 0) {
        None => {
            for told in recent.at(api.clock.now()) {
                watching.tell(watching.wanted.object(told), told.count);
            }
            watching.told = recent.version();
            if initial {
                watching.mark();
            }
        }
        Some(since) if recent.since(since).is_some() => {
            watching.told = since;
            watching.catch_up(&recent);
        }
        Some(since) => return Err(refuse::expired(since, recent.oldest())),
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
                changed = self.events.changed() => {
                    // The agent has ended, and nothing more will happen.
                    self.over = changed.is_err();
                    let recent = self.events.borrow_and_update().clone();
                    self.catch_up(&recent);
                }
            }
        }
    }

    fn catch_up(&mut self, recent: &Recent) {
        let Some(news) = recent.since(self.told) else {
            self.line("ERROR", &refuse::expired(self.told, recent.oldest()).status());
            self.over = true;
            return;
        };
        for told in news {
            self.tell(self.wanted.object(told), told.count);
        }
        self.told = recent.version();
    }

    fn tell(&mut self, object: Option<Value>, count: u32) {
        let Some(object) = object else { return };
        let shown = self.wanted.one(object, self.api.clock.now());
        self.line(if count > 1 { "MODIFIED" } else { "ADDED" }, &shown);
    }

    /// By this a client knows that it has seen a whole list.
    fn mark(&mut self) {
        let (kind, version) = match self.wanted.form {
            Form::Object => ("Event", "v1"),
            Form::Table(api) => ("Table", api),
            Form::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1"),
        };
        let annotations = json!({ "k8s.io/initial-events-end": "true" });
        let metadata = json!({ "resourceVersion": self.told.to_string(), "annotations": annotations });
        self.line("BOOKMARK", &json!({ "kind": kind, "apiVersion": version, "metadata": metadata }));
    }

    fn line(&mut self, kind: &str, object: &Value) {
        self.ready.push_back(format!("{}\n", json!({ "type": kind, "object": object })).into());
    }
}

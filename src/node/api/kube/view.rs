//! What the API shows: every pod of the node as it was rendered last, and what changed before that.
//!
//! Nothing is rendered while nobody asks. Whoever asks first after a change renders for all; a resource version
//! is given to whatever differs from what was shown before, so versions only ever go up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hyper::body::Bytes;
use im::OrdMap;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::object::{self, Known};
use crate::model::PodKey;
use crate::node::snapshot::{Snapshot, Snapshots};
use crate::node::sources::api::{ApiPods, Set, Versions, Written};
use crate::plan::{self, Declared, Desired, Instance, PodStatus, SourceKind};

/// Changes that a watch can still be told of; one that is further behind has to list again.
const HISTORY: usize = 512;
/// Bytes of text that they hold at most: each holds a whole pod, of ten kilobytes mostly, and of a mebibyte when
/// somebody likes. Beside its text a pod is there as an object, which takes as much again and more.
const HISTORY_BYTES: usize = 16 << 20;

/// A pod as it is shown.
#[derive(Debug)]
pub struct Shown {
    pub version: u64,
    pub object: Value,
    /// The object as text: a list is put together from these.
    pub json: Bytes,
    /// One word for the table.
    pub word: String,
}

/// What an object was made of: while that is the same, it need not be made again.
#[derive(Debug)]
struct MadeOf {
    declared: Option<Arc<Declared>>,
    written: Option<Arc<Written>>,
    status: Option<PodStatus>,
    instances: Vec<Arc<Instance>>,
}

/// What became of a pod. Both are as they were shown.
#[derive(Clone, Debug)]
pub struct Event {
    pub before: Option<Arc<Shown>>,
    /// `None`: it is gone.
    pub after: Option<Arc<Shown>>,
}

/// Everything that is shown at one moment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Current {
    pub version: u64,
    pub pods: OrdMap<PodKey, Arc<Shown>>,
    pub events: OrdMap<u64, Event>,
    /// Nothing before this version is remembered.
    pub oldest: u64,
    /// Bytes of text in the events.
    held: usize,
    /// Of the pods that are shown now alone: what is remembered need not be made again.
    made_of: OrdMap<PodKey, Arc<MadeOf>>,
}

impl Event {
    fn bytes(&self) -> usize {
        [&self.before, &self.after].into_iter().flatten().map(|shown| shown.json.len()).sum()
    }
}

pub struct View {
    pods: ApiPods,
    node: Arc<str>,
    state: Mutex<State>,
}

struct State {
    snapshots: Snapshots,
    current: Current,
    rendered: bool,
}

impl View {
    pub fn new(pods: ApiPods, snapshots: Snapshots) -> Self {
        let version = pods.versions().next();
        let (_, desired) = snapshots.latest();
        let current = Current {
            version,
            pods: OrdMap::new(),
            events: OrdMap::new(),
            oldest: version,
            held: 0,
            made_of: OrdMap::new(),
        };
        let state = State { snapshots, current, rendered: false };
        Self { pods, node: desired.node.name.clone(), state: Mutex::new(state) }
    }

    /// What is shown now. Everything that was written before this is called is in it.
    pub async fn now(&self) -> Current {
        let mut state = self.state.lock().await;
        if state.snapshots.take_news() || !state.rendered {
            // Whoever asks may hang up while it is rendered: then the next one renders.
            state.rendered = false;
            let (snapshot, desired) = state.snapshots.latest();
            let (set, node) = (self.pods.now(), self.node.clone());
            let (before, versions) = (state.current.clone(), self.pods.versions().clone());
            // Many pods take milliseconds, which are the agent's.
            let work = tokio::task::spawn_blocking(move || {
                before.followed_by(&snapshot, &desired, &set, &node, &versions)
            });
            if let Ok(current) = work.await {
                state.current = current;
                state.rendered = true;
            }
        }
        state.current.clone()
    }
}

impl Current {
    fn followed_by(
        mut self,
        snapshot: &Snapshot,
        desired: &Desired,
        set: &Set,
        node: &str,
        versions: &Versions,
    ) -> Self {
        let statuses = plan::status(desired, &snapshot.observed);
        let mut statuses: BTreeMap<PodKey, PodStatus> =
            statuses.into_iter().map(|status| (status.key.clone(), status)).collect();
        let gone = gone(snapshot, set);
        let leaving = set.leaving.keys().filter(|key| !gone.contains_key(*key));
        let known = statuses.keys().chain(desired.pods().keys());
        let keys: BTreeSet<PodKey> = known.chain(leaving).cloned().collect();
        for key in &keys {
            let declared = desired.get(key);
            let written = match declared {
                Some(declared) if declared.source == SourceKind::Api => set.pods.get(key),
                Some(_) => None,
                None => set.leaving.get(key),
            };
            // Of a pod that is declared they are in its status.
            let instances = snapshot.observed.pods.get(key).filter(|_| declared.is_none());
            let made_of = MadeOf {
                declared: declared.cloned(),
                written: written.cloned(),
                status: statuses.remove(key),
                instances: instances.map(|pod| pod.instances.clone()).unwrap_or_default(),
            };
            self.show(key, node, made_of, versions);
        }
        let left: Vec<PodKey> = self.pods.keys().filter(|key| !keys.contains(key)).cloned().collect();
        for key in left {
            self.made_of.remove(&key);
            let before = self.pods.remove(&key);
            self.tell(versions.next(), Event { before, after: None });
        }
        self
    }

    fn show(&mut self, key: &PodKey, node: &str, made_of: MadeOf, versions: &Versions) {
        let before = self.pods.get(key).cloned();
        if before.is_some() && self.made_of.get(key).is_some_and(|last| last.is(&made_of)) {
            return;
        }
        let (mut object, word) = made_of.object(key, node);
        self.made_of.insert(key.clone(), Arc::new(made_of));
        if let Some(before) = &before {
            object["metadata"]["resourceVersion"] = json!(before.version.to_string());
            if before.object == object && before.word == word {
                return;
            }
        }
        // Another life of the same name is another pod.
        let before = match before {
            Some(before) if object::uid(&before.object) != object::uid(&object) => {
                self.tell(versions.next(), Event { before: Some(before), after: None });
                None
            }
            other => other,
        };
        let version = versions.next();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let json = Bytes::from(object.to_string());
        let shown = Arc::new(Shown { version, object, json, word });
        self.pods.insert(key.clone(), shown.clone());
        self.tell(version, Event { before, after: Some(shown) });
    }

    fn tell(&mut self, version: u64, event: Event) {
        self.version = version;
        self.held += event.bytes();
        self.events.insert(version, event);
        while (self.events.len() > HISTORY || self.held > HISTORY_BYTES)
            && let Some((oldest, event)) = self.events.get_min().cloned()
        {
            self.events.remove(&oldest);
            self.held -= event.bytes();
            self.oldest = oldest;
        }
    }
}

impl MadeOf {
    /// The same values, and for the large ones the very same.
    fn is(&self, other: &MadeOf) -> bool {
        fn same<T>(a: Option<&Arc<T>>, b: Option<&Arc<T>>) -> bool {
            match (a, b) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
        }
        let (ours, theirs) = (&self.instances, &other.instances);
        same(self.declared.as_ref(), other.declared.as_ref())
            && same(self.written.as_ref(), other.written.as_ref())
            && self.status == other.status
            && ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    fn object(&self, key: &PodKey, node: &str) -> (Value, String) {
        let known = Known {
            key,
            node,
            declared: self.declared.as_deref(),
            written: self.written.as_deref(),
            status: self.status.as_ref(),
            instances: &self.instances,
        };
        (known.object(), known.word())
    }
}

/// Deleted pods of which nothing is left, with their uid: the agent has seen that, too.
pub fn gone(snapshot: &Snapshot, set: &Set) -> BTreeMap<PodKey, String> {
    let observed = &snapshot.observed;
    let has_left = |key: &PodKey, uid: &str| {
        let is_declared = snapshot.desired.get(key).is_some_and(|declared| *declared.uid.0 == *uid);
        let pod = observed.pods.get(key);
        let is_there = pod.is_some_and(|pod| pod.instances.iter().any(|i| *i.uid.0 == *uid));
        observed.listed && !is_declared && !is_there && !observed.in_flight.contains_key(key)
    };
    let leaving = set.leaving.iter().map(|(key, left)| (key, object::uid(&left.object)));
    leaving.filter(|(key, uid)| has_left(key, uid)).map(|(key, uid)| (key.clone(), uid.to_owned())).collect()
}

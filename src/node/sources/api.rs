//! The API source: pods that were written over HTTP, and nowhere else.
//!
//! One task owns the set. What is written goes through a bounded queue; whatever waits there is carried out
//! together and costs one write to the disk. Nobody hears of success before the disk has it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use im::OrdMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::model::{Places, Pod, PodKey, Uid};
use crate::node::clock::Clock;
use crate::node::keep::Kept;
use crate::node::snapshot::{Snapshot, Snapshots};
use crate::node::sources::supervise::supervise;
use crate::node::store::{SourceReport, SourceState, Writer};
use crate::plan::{Declared, Node, PodObserved, Slot, SourceKind};

/// Writes that may wait. More are told to come back: a queue that grows is a slower refusal.
const QUEUE: usize = 256;

/// Resource versions that are given between two writes to disk, beside one for each millisecond that passes: a later
/// agent begins behind them.
const RESERVE: u64 = 1000;

/// One pod as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// The Kubernetes object with its defaults, without a status.
    pub object: Value,
    /// What the reader made of it: a later reader may be stricter, and takes nothing away.
    pub pod: Pod,
    /// The resource version of its last change.
    pub version: u64,
    /// What it takes on disk, about, in bytes.
    #[serde(default)]
    pub size: usize,
    /// By the endpoints of 2014, which replace what they declared, and nothing else.
    #[serde(default)]
    pub legacy: bool,
    /// What each field manager applied last (server-side apply).
    #[serde(default)]
    pub applied: BTreeMap<String, Value>,
}

impl Written {
    /// Of a deleted one: how many seconds it may take to stop.
    fn grace(&self) -> Option<(Uid, u32)> {
        let seconds = self.object["metadata"]["deletionGracePeriodSeconds"].as_u64()?;
        Some((Uid(self.pod.metadata.uid.as_str().into()), u32::try_from(seconds).unwrap_or(u32::MAX)))
    }
}

/// Everything that was written. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Set {
    pub pods: OrdMap<PodKey, Arc<Written>>,
    /// Deleted, and perhaps still stopping.
    pub leaving: OrdMap<PodKey, Arc<Written>>,
}

/// What is on disk.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Remembered {
    /// No resource version was higher.
    version: u64,
    /// What was written before this was lost: pods may run that it declared.
    lost: bool,
    pods: Vec<(PodKey, Arc<Written>)>,
    leaving: Vec<(PodKey, Arc<Written>)>,
}

/// Why something was not written. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// Too many writes are waiting.
    Busy,
    /// No space is left.
    Full(String),
    /// The disk refuses in another way, or this agent is at fault.
    Failed(String),
}

/// Settles one write: hears whether the disk has it.
type Settle = Box<dyn FnOnce(Result<(), Unwritten>) + Send>;
type Edit = Box<dyn FnOnce(&mut Set) -> Settle + Send>;

/// The way to write and to read. Cheap to clone.
#[derive(Clone)]
pub struct ApiPods {
    queue: mpsc::Sender<Edit>,
    set: watch::Receiver<Set>,
    versions: Versions,
}

/// Resource versions: one counter for all that is shown, never going back.
#[derive(Clone)]
pub struct Versions(Arc<AtomicU64>);

impl Versions {
    pub fn starting_at(version: u64) -> Self {
        Self(Arc::new(AtomicU64::new(version)))
    }

    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// None that was given is higher.
    pub fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl ApiPods {
    pub fn now(&self) -> Set {
        self.set.borrow().clone()
    }

    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Changes the set: `edit` gets the newest one. Returns when the disk has the new one; when `edit` refuses,
    /// nothing has changed.
    ///
    /// # Errors
    /// What `edit` refuses, and [`Unwritten`].
    pub async fn write<T, E>(
        &self,
        edit: impl FnOnce(&mut Set) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Unwritten> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let edit: Edit = Box::new(move |set| {
            let mut next = set.clone();
            let edited = edit(&mut next);
            if edited.is_ok() {
                *set = next;
            }
            Box::new(move |kept| {
                // Whoever asked may have hung up.
                let _ = sender.send(edited.and_then(|value| kept.map(|()| value).map_err(E::from)));
            })
        });
        self.queue.try_send(edit).map_err(|_| E::from(Unwritten::Busy))?;
        let fault = || Unwritten::Failed("podkeeper failed to carry it out: please report this".to_owned());
        receiver.await.unwrap_or_else(|_| Err(E::from(fault())))
    }
}

/// What the source needs to know.
pub struct Settings {
    pub node: Node,
    pub kept: Kept<Remembered>,
    /// A person says that what is written is all there is, even after the store was lost.
    pub allow_mass_delete: bool,
    /// To see which pods run of which nothing is written.
    pub snapshots: Snapshots,
}

/// Reads what is kept and serves writes until the process ends.
pub fn spawn(settings: Settings, writer: Writer, clock: Clock) -> ApiPods {
    let loaded = settings.kept.load_and_tell();
    // A node that is new and one whose state was wiped look the same, until the engine is listed. An older generation
    // lacks what was written last.
    let lost = loaded.as_ref().is_none_or(|(remembered, is_older)| remembered.lost || *is_older);
    let remembered = loaded.map(|(remembered, _)| remembered).unwrap_or_default();
    let wall = u64::try_from(clock.now().0).unwrap_or(0);
    let versions = Versions::starting_at(remembered.version.max(wall));
    let set = Set {
        pods: remembered.pods.into_iter().collect(),
        leaving: remembered.leaving.into_iter().collect(),
    };
    let (queue, edits) = mpsc::channel(QUEUE);
    let (sender, receiver) = watch::channel(set.clone());
    let mut source = Source {
        node: settings.node,
        kept: Arc::new(settings.kept),
        lost: lost && !settings.allow_mass_delete,
        leftovers: Vec::new(),
        declared: OrdMap::new(),
        written: Set::default(),
        writer,
        clock,
        sender,
        versions: versions.clone(),
        edits,
        snapshots: settings.snapshots,
    };
    source.say(set);
    // After a panic the set is as it was last said, and the queue still holds what waits.
    let source = Arc::new(Mutex::new(source));
    tokio::spawn(supervise(SourceKind::Api, "source", move || {
        let source = source.clone();
        async move { source.lock().await.serve().await }
    }));
    ApiPods { queue, set: receiver, versions }
}

struct Source {
    node: Node,
    kept: Arc<Kept<Remembered>>,
    /// Pods may run that were written here, and nobody knows which: none is removed.
    lost: bool,
    leftovers: Vec<PodKey>,
    /// What was said last, and what it was made of.
    declared: OrdMap<PodKey, Arc<Declared>>,
    written: Set,
    writer: Writer,
    clock: Clock,
    sender: watch::Sender<Set>,
    versions: Versions,
    edits: mpsc::Receiver<Edit>,
    snapshots: Snapshots,
}

impl Source {
    async fn serve(&mut self) -> Infallible {
        let mut batch = Vec::with_capacity(QUEUE);
        loop {
            tokio::select! {
                edits = self.edits.recv_many(&mut batch, QUEUE) => match edits {
                    // Nobody is left who could write.
                    0 => pending().await,
                    _ => self.write(std::mem::take(&mut batch)).await,
                },
                () = self.snapshots.changed(), if self.lost => {
                    self.snapshots.take_news();
                    self.look(&self.snapshots.latest().0);
                }
            }
        }
    }

    async fn write(&mut self, edits: Vec<Edit>) {
        let (set, kept, lost) = (self.written.clone(), self.kept.clone(), self.lost);
        let version = self.versions.next() + RESERVE;
        // Reading a manifest and syncing a file both take milliseconds, which are the agent's.
        let work = tokio::task::spawn_blocking(move || carry_out(set, edits, &kept, lost, version));
        // Whoever waits hears from its channel that this failed.
        let Ok((set, settles, result)) = work.await else { return };
        if result.is_ok() {
            self.say(set);
        }
        settles.into_iter().for_each(|settle| settle(result.clone()));
    }

    /// Nothing is lost any more when nothing runs that is not written.
    fn look(&mut self, round: &Snapshot) {
        if !round.observed.listed {
            return;
        }
        let of_api = |pod: &PodObserved| pod.instances.iter().any(|i| i.source == Some(SourceKind::Api));
        let is_written =
            |key: &PodKey| self.written.pods.contains_key(key) || self.written.leaving.contains_key(key);
        let left = round.observed.pods.iter().filter(|(key, pod)| of_api(pod) && !is_written(key));
        let left: Vec<PodKey> = left.map(|(key, _)| key.clone()).collect();
        if left.is_empty() || left != self.leftovers {
            self.lost = !left.is_empty();
            self.leftovers = left;
            self.say(self.written.clone());
        }
    }

    /// Tells the store and the readers.
    fn say(&mut self, set: Set) {
        for key in self.written.pods.keys().filter(|key| !set.pods.contains_key(*key)) {
            self.declared.remove(key);
        }
        for (key, written) in &set.pods {
            let before = self.written.pods.get(key);
            if before.is_some_and(|before| before.pod == written.pod) {
                continue;
            }
            let places = Places { file: "api".into(), fields: BTreeMap::new() };
            let declared = Declared::new(&self.node, SourceKind::Api, written.pod.clone(), places);
            self.declared.insert(key.clone(), Arc::new(declared));
        }
        self.written = set.clone();
        let pods = self.declared.clone();
        let slot = if self.lost { Slot::Stale(pods) } else { Slot::Known(pods) };
        let report = SourceReport {
            origin: "written through this agent's API".to_owned(),
            state: SourceState::from(&slot),
            read_at: Some(self.clock.now()),
            held: self.held(),
            pods: self.declared.len(),
            ..SourceReport::default()
        };
        let graces = set.leaving.values().filter_map(|left| left.grace()).collect();
        // Whoever hears of the slot finds in the set what it was made of.
        self.sender.send_replace(set);
        self.writer.write_with_graces(slot, graces, vec![report]);
    }

    fn held(&self) -> Option<String> {
        let first = self.leftovers.first().filter(|_| self.lost)?;
        let count = self.leftovers.len();
        Some(format!(
            "{count} pods run that were written here, {first} among them, and what was written is lost from \
             --state-dir, or older than it was: they are kept, and no pod of this source is removed, until each is written again; or start \
             once with --allow-mass-delete to remove them"
        ))
    }
}

/// Carries out what waited, and puts the outcome on disk.
fn carry_out(
    mut set: Set,
    edits: Vec<Edit>,
    kept: &Kept<Remembered>,
    lost: bool,
    version: u64,
) -> (Set, Vec<Settle>, Result<(), Unwritten>) {
    let before = set.clone();
    let mut settles = Vec::with_capacity(edits.len());
    for edit in edits {
        // One that panics has changed nothing, and its channel tells whoever waits.
        settles.extend(catch_unwind(AssertUnwindSafe(|| edit(&mut set))));
    }
    if before.pods.ptr_eq(&set.pods) && before.leaving.ptr_eq(&set.leaving) {
        return (set, settles, Ok(()));
    }
    let list = |pods: &OrdMap<PodKey, Arc<Written>>| {
        pods.iter().map(|(key, written)| (key.clone(), written.clone())).collect()
    };
    let remembered = Remembered { version, lost, pods: list(&set.pods), leaving: list(&set.leaving) };
    let result = kept.save(&remembered).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Unwritten::Full(format!("the state directory is full: free space in --state-dir ({error})"))
        }
        _ => Unwritten::Failed(format!("the state directory cannot be written: {error}")),
    });
    (set, settles, result)
}

#[cfg(test)]
mod tests;

//! The desired-state store: sources write whole sets, each into its own slot; readers get an immutable value.
//!
//! A [`Writer`] cannot read and a reader cannot write, so no source ever acts on what another one said.

use std::sync::Arc;

use im::OrdMap;
use serde::Serialize;
use tokio::sync::watch;

use crate::model::read::Diagnosis;
use crate::model::{Time, Uid};
use crate::plan::{Desired, Node, Slot, SourceKind};

/// What is desired, and how well each source is doing. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Declarations {
    pub desired: Desired,
    pub sources: Reports,
}

/// How each source is doing: one report for each place that it reads.
pub type Reports = OrdMap<SourceKind, Vec<SourceReport>>;

/// How a source is doing with one of the places that it reads, for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceReport {
    /// Where it reads: a path, an address.
    pub origin: String,
    pub state: SourceState,
    /// The last time that it was read without trouble.
    pub read_at: Option<Time>,
    /// Which version was read, in the source's own words: an entity tag, a revision.
    pub revision: Option<String>,
    /// Why it cannot be read now.
    pub error: Option<String>,
    /// When that is tried again, where it is not tried all the time.
    pub next_try: Option<Time>,
    /// A removal that was not believed yet, and what would make it so.
    pub held: Option<String>,
    pub pods: usize,
    pub diagnoses: Arc<Vec<Diagnosis>>,
}

/// Not read yet, read just now, or an earlier reading of a place that cannot be read now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceState {
    #[default]
    Unknown,
    Known,
    Stale,
}

pub struct Store {
    sender: Arc<watch::Sender<Declarations>>,
}

/// The handle of one source: writes into its slot, and nothing else. A source that starts again takes a clone.
#[derive(Clone)]
pub struct Writer {
    kind: SourceKind,
    sender: Arc<watch::Sender<Declarations>>,
}

impl From<&Slot> for SourceState {
    fn from(slot: &Slot) -> Self {
        match slot {
            Slot::Unknown => SourceState::Unknown,
            Slot::Known(_) => SourceState::Known,
            Slot::Stale(_) => SourceState::Stale,
        }
    }
}

impl Store {
    pub fn new(node: Node) -> Self {
        let empty = Declarations { desired: Desired::new(node), sources: OrdMap::new() };
        Self { sender: Arc::new(watch::Sender::new(empty)) }
    }

    /// From now on this source is one that is read, and unknown until it has been.
    pub fn writer(&self, kind: SourceKind) -> Writer {
        self.sender.send_modify(|declarations| {
            if !declarations.desired.reads(kind) {
                declarations.desired = declarations.desired.with_slot(kind, Slot::Unknown);
            }
        });
        Writer { kind, sender: self.sender.clone() }
    }

    pub fn reader(&self) -> watch::Receiver<Declarations> {
        self.sender.subscribe()
    }
}

impl Writer {
    /// Whose slot it is.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }

    /// Replaces what this source says; wakes the agent.
    pub fn write(&self, slot: Slot, reports: Vec<SourceReport>) {
        self.sender.send_modify(|declarations| {
            declarations.desired = declarations.desired.with_slot(self.kind, slot);
            declarations.sources.insert(self.kind, reports);
        });
    }

    /// The same, and how long those may take to stop that it let go of.
    pub fn write_with_graces(&self, slot: Slot, graces: OrdMap<Uid, u32>, reports: Vec<SourceReport>) {
        self.sender.send_modify(|declarations| {
            declarations.desired = declarations.desired.with_slot(self.kind, slot).with_graces(graces);
            declarations.sources.insert(self.kind, reports);
        });
    }

    /// How it is doing, when what it says is as it was: nobody is woken.
    pub fn report(&self, reports: Vec<SourceReport>) {
        self.sender.send_if_modified(|declarations| {
            declarations.sources.insert(self.kind, reports);
            false
        });
    }
}

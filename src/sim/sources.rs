//! What the sources of a simulated node declare, and which of them can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use im::OrdMap;

use crate::model::PodKey;
use crate::plan::{Declared, Desired, Slot, SourceKind};

/// All sources of a node. One of which nothing was ever heard is not configured.
#[derive(Default)]
pub(super) struct Sources {
    all: BTreeMap<SourceKind, Source>,
}

struct Source {
    /// What it would say if it were read.
    declared: OrdMap<PodKey, Arc<Declared>>,
    readable: bool,
}

impl Default for Source {
    fn default() -> Self {
        Self { declared: OrdMap::new(), readable: true }
    }
}

impl Sources {
    pub fn declare(&mut self, declared: Declared) {
        let source = self.all.entry(declared.source).or_default();
        source.declared.insert(declared.key.clone(), Arc::new(declared));
    }

    pub fn undeclare(&mut self, kind: SourceKind, pod: &PodKey) {
        self.all.entry(kind).or_default().declared.remove(pod);
    }

    pub fn set_readable(&mut self, kind: SourceKind, readable: bool) {
        self.all.entry(kind).or_default().readable = readable;
    }

    pub fn all_readable(&mut self) {
        self.all.values_mut().for_each(|source| source.readable = true);
    }

    /// What they declare, whether they can be read now or not: of each name the one that goes first.
    pub fn declared(&self) -> impl Iterator<Item = &Arc<Declared>> {
        let mut winners: BTreeMap<&PodKey, &Arc<Declared>> = BTreeMap::new();
        for (key, declared) in self.all.values().flat_map(|source| &source.declared) {
            winners.entry(key).or_insert(declared);
        }
        winners.into_values()
    }

    /// What a reading of every source leads to: one that cannot be read keeps its last good word.
    pub fn read(&self, before: &Desired) -> Desired {
        let mut desired = before.clone();
        for (&kind, source) in &self.all {
            let slot = match desired.slot(kind) {
                _ if source.readable => Slot::Known(source.declared.clone()),
                Slot::Unknown => Slot::Unknown,
                Slot::Known(last) | Slot::Stale(last) => Slot::Stale(last.clone()),
            };
            desired = desired.with_slot(kind, slot);
        }
        desired
    }

    /// What a new agent begins with: the last good word of each, from the disk.
    pub fn recall(&self, before: &Desired) -> Desired {
        let mut desired = Desired::new(before.node.clone());
        for &kind in self.all.keys() {
            if let Some(last) = before.slot(kind).pods() {
                desired = desired.with_slot(kind, Slot::Stale(last.clone()));
            }
        }
        desired
    }
}

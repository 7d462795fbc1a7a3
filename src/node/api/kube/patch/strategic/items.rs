//! A list whose items have keys, changed item by item: each is found by its key, however many there are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::node::api::kube::patch::keys::{Identity, List};

pub struct Items {
    kind: List,
    /// `None`: it was taken out.
    places: Vec<Option<Value>>,
    /// Where the items of a key are: of ports there may be more than one, which differ in their protocol.
    by_key: BTreeMap<String, BTreeSet<usize>>,
    by_identity: BTreeMap<Identity, BTreeSet<usize>>,
}

impl Items {
    pub fn new(kind: List, list: Vec<Value>) -> Self {
        let (by_key, by_identity) = Default::default();
        let mut items = Self { kind, places: Vec::with_capacity(list.len()), by_key, by_identity };
        list.into_iter().for_each(|item| items.push(item));
        items
    }

    pub fn push(&mut self, item: Value) {
        self.places.push(None);
        self.place(self.places.len() - 1, item);
    }

    fn place(&mut self, at: usize, item: Value) {
        if let Some(identity) = self.kind.identity(&item) {
            self.by_key.entry(identity.key.clone()).or_default().insert(at);
            self.by_identity.entry(identity).or_default().insert(at);
        }
        self.places[at] = Some(item);
    }

    fn take(&mut self, at: usize) -> Option<Value> {
        let item = self.places[at].take()?;
        if let Some(identity) = self.kind.identity(&item) {
            self.by_key.entry(identity.key.clone()).or_default().remove(&at);
            self.by_identity.entry(identity).or_default().remove(&at);
        }
        Some(item)
    }

    /// How many have this key, and the first of them.
    pub fn of_key(&self, key: &str) -> (usize, Option<usize>) {
        self.by_key.get(key).map_or((0, None), |found| (found.len(), found.first().copied()))
    }

    pub fn first(&self, identity: &Identity) -> Option<usize> {
        self.by_identity.get(identity)?.first().copied()
    }

    /// Changes the item at a place.
    pub fn change(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Map<String, Value>) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut item = self.take(at).unwrap_or_default();
        if let Value::Object(fields) = &mut item {
            change(fields)?;
        }
        self.place(at, item);
        Ok(())
    }

    pub fn remove_key(&mut self, key: &str) {
        for at in self.by_key.get(key).cloned().unwrap_or_default() {
            self.take(at);
        }
    }

    pub fn remove(&mut self, identity: &Identity) {
        for at in self.by_identity.get(identity).cloned().unwrap_or_default() {
            self.take(at);
        }
    }

    pub fn into_list(self) -> Vec<Value> {
        self.places.into_iter().flatten().collect()
    }
}

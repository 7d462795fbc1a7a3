//! What the etcd source has read, and what it says of it.
//!
//! Parsing takes time and the disk may hang, so all of this runs on threads that may block, one call at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::Time;
use crate::node::clock::Clock;
use crate::node::sources::etcd::keys;
use crate::node::sources::etcd::values::{Entry, Values};
use crate::node::sources::publish::Publisher;
use crate::node::sources::reading::{Look, Manifests, Seen};
use crate::node::store::{SourceReport, SourceState};

pub struct Book {
    pub manifests: Manifests,
    pub values: Values,
    pub publisher: Publisher,
    pub clock: Clock,
    /// Where it reads, for people.
    pub origin: String,
    /// So many keys are read.
    pub most: usize,
    revision: Option<i64>,
    read_at: Option<Time>,
    next_try: Option<Time>,
    /// There are more keys than are read.
    over: bool,
}

/// What follows from what was said.
pub struct Then {
    /// Read everything once more, soon.
    pub again: bool,
}

impl Book {
    /// Goes on where an earlier agent ended.
    pub fn new(
        mut manifests: Manifests,
        values: Values,
        publisher: Publisher,
        clock: Clock,
        origin: String,
        most: usize,
    ) -> Self {
        if let Some(remembered) = publisher.recall() {
            manifests.recall(&origin, remembered);
        }
        let (revision, read_at, next_try, over) = (None, None, None, false);
        Self { manifests, values, publisher, clock, origin, most, revision, read_at, next_try, over }
    }

    pub fn read(&mut self, entries: &[Entry]) -> Vec<(Arc<str>, Seen)> {
        entries.iter().map(|entry| self.values.read(&self.manifests, entry)).collect()
    }

    /// All keys at a revision.
    pub fn listed(&mut self, seen: Vec<(Arc<str>, Seen)>, revision: i64) -> Then {
        self.over = false;
        self.values.keep_only(&seen);
        self.publish(Look::Listed(seen), Some(revision))
    }

    /// The first keys of too many: none of the others is taken away.
    pub fn listed_in_part(&mut self, seen: Vec<(Arc<str>, Seen)>, revision: i64) -> Then {
        self.over = true;
        let seen = seen.into_iter().map(|(name, seen)| (name, Some(seen))).collect();
        self.publish(Look::Changes(seen), Some(revision))
    }

    /// What became of some keys. With none, that nothing changed up to this revision.
    pub fn changed(&mut self, changes: BTreeMap<Vec<u8>, Option<Entry>>, revision: i64) -> Then {
        let mut look = Vec::new();
        let mut files = self.manifests.files();
        let mut made_room = false;
        for (key, entry) in changes {
            let name: Arc<str> = keys::name(&key).into();
            let is_known = self.manifests.has(&name);
            match entry {
                None => {
                    files -= usize::from(is_known);
                    made_room |= is_known;
                    look.push((name, None));
                }
                Some(_) if !is_known && files >= self.most => self.over = true,
                Some(entry) => {
                    files += usize::from(!is_known);
                    let (name, seen) = self.values.read(&self.manifests, &entry);
                    look.push((name, Some(seen)));
                }
            }
        }
        let then = self.publish(Look::Changes(look), Some(revision));
        Then { again: then.again || self.over && made_room }
    }

    /// It cannot be read: all pods stay. It is tried again after that pause.
    pub fn failed(&mut self, trouble: String, pause: Duration) {
        self.next_try = Some(self.clock.now() + pause);
        self.publish(Look::Unavailable(trouble), None);
    }

    fn publish(&mut self, look: Look, revision: Option<i64>) -> Then {
        let said = self.manifests.fold(look, self.clock.elapsed());
        if let Some(revision) = revision {
            self.revision = self.revision.max(Some(revision));
            (self.read_at, self.next_try) = (Some(self.clock.now()), None);
        }
        let over = self.over.then(|| {
            format!(
                "there are more than {} keys for this node: the others are not read, and nothing that runs is \
                 removed for it; delete keys, or spread the pods over several nodes",
                self.most
            )
        });
        let report = SourceReport {
            origin: self.origin.clone(),
            state: SourceState::from(&said.slot),
            read_at: self.read_at,
            revision: self.revision.map(|revision| revision.to_string()),
            error: said.error.or(over),
            next_try: self.next_try,
            held: said.held,
            pods: said.slot.pods().map_or(0, im::OrdMap::len),
            diagnoses: Arc::new(said.diagnoses),
        };
        let (manifests, origin) = (&self.manifests, &self.origin);
        self.publisher.publish(said.slot, vec![report], || manifests.remember(origin));
        Then { again: said.again }
    }

    /// The history was another one: revisions count anew.
    pub fn reset(&mut self) {
        self.revision = None;
        self.values.forget();
    }
}

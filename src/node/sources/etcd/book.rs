//! What the etcd source has read, and what it says of it.
//!
//! Parsing takes time and the disk may hang, so all of this runs on threads that may block, one call at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::Time;
use crate::node::clock::Clock;
use crate::node::sources::etcd::history::Header;
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
    /// Which history it is, and how far it went: at first that of an earlier agent.
    followed: Option<Header>,
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
        let mut followed = None;
        if let Some(mut remembered) = publisher.recall() {
            // One server that is still named makes the others its cluster.
            if share_a_server(&remembered.path, &origin) {
                followed = remembered.followed.map(|(cluster, revision)| Header { cluster, revision });
                remembered.path.clone_from(&origin);
            } else {
                // Other servers are another database until they have shown that they are not.
                manifests.begin_anew();
            }
            manifests.recall(&origin, remembered, |name| values.reads(name));
        }
        let (revision, read_at, next_try, over) = (None, None, None, false);
        Self {
            manifests,
            values,
            publisher,
            clock,
            origin,
            most,
            revision,
            followed,
            read_at,
            next_try,
            over,
        }
    }

    /// The history that was followed last, by an earlier agent too.
    pub fn followed(&self) -> Option<Header> {
        self.followed
    }

    /// It is this history that is read.
    pub fn follow(&mut self, header: Header) {
        if self.followed.is_none_or(|followed| followed.cluster != header.cluster) {
            self.publisher.outdate();
        }
        self.followed = Some(header);
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
        let (manifests, origin, followed) = (&self.manifests, &self.origin, self.followed);
        self.publisher.publish(said.slot, vec![report], || {
            let mut remembered = manifests.remember(origin);
            remembered.followed = followed.map(|Header { cluster, revision }| (cluster, revision));
            remembered
        });
        Then { again: said.again }
    }

    /// The history was another one: revisions count anew, and what is not there any more was not deleted.
    pub fn reset(&mut self, header: Header) {
        self.follow(header);
        self.manifests.begin_anew();
        self.revision = None;
        self.values.forget();
    }
}

/// Of two origins, `http://a:1,http://b:1/prefix` each: is it the same prefix, and is one server in both?
fn share_a_server(before: &str, now: &str) -> bool {
    let parts = |origin: &str| {
        let last = origin.rfind("://")? + "://".len();
        let (servers, prefix) = origin.split_at(last + origin[last..].find('/')?);
        Some((servers.split(',').map(str::to_owned).collect::<Vec<_>>(), prefix.to_owned()))
    };
    let (Some((before, old)), Some((now, new))) = (parts(before), parts(now)) else { return false };
    old == new && now.iter().any(|server| before.contains(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_good_while_one_server_is_still_named() {
        let before = "http://a:1,http://b:1/podkeeper";
        for (now, expected) in [
            (before, true),
            ("http://b:1/podkeeper", true),
            ("http://c:1,http://a:1/podkeeper", true),
            ("http://c:1/podkeeper", false),
            ("http://b:1/other", false),
            ("http://b:1/x/podkeeper", false),
            ("https://b:1/podkeeper", false),
            ("http://b:12/podkeeper", false),
        ] {
            assert_eq!(share_a_server(before, now), expected, "{now}");
        }
    }
}

//! What the value of a key says: a manifest that is read, named by its key. No network, no clock.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::model::read::{self, Diagnosis, Options, Reading, Severity};
use crate::model::{Place, PodKey};
use crate::node::sources::etcd::keys::{self, Keys, Meaning};
use crate::node::sources::file::is_blank;
use crate::node::sources::reading::{Manifests, Seen};
use crate::plan::fingerprint::derived_uid;

/// A key with its value, as etcd has it.
#[derive(Clone, Debug)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// The revision at which the key came into being.
    pub created: i64,
}

/// Reads values, and remembers which life of its key each was read of.
pub struct Values {
    keys: Keys,
    node: Arc<str>,
    options: Options,
    /// By name, also of keys that were deleted a short while ago.
    created: BTreeMap<Arc<str>, i64>,
}

impl Values {
    pub fn new(keys: Keys, node: Arc<str>) -> Self {
        let options = Options { lenient: false, node_name: Some(node.to_string()) };
        Self { keys, node, options, created: BTreeMap::new() }
    }

    /// Is a key of this name one that is read?
    pub fn reads(&self, name: &str) -> bool {
        self.keys.meaning(name.as_bytes()) != Meaning::Stray
    }

    /// Nothing that was counted before can be compared with what comes.
    pub fn forget(&mut self) {
        self.created.clear();
    }

    /// These are all keys that there are.
    pub fn keep_only(&mut self, listed: &[(Arc<str>, Seen)]) {
        let listed: std::collections::BTreeSet<&str> = listed.iter().map(|(name, _)| &**name).collect();
        self.created.retain(|name, _| listed.contains(&**name));
    }

    /// The name of the text that a key holds, and what it says now.
    pub fn read(&mut self, manifests: &Manifests, entry: &Entry) -> (Arc<str>, Seen) {
        let name: Arc<str> = keys::name(&entry.key).into();
        let seen = match self.keys.meaning(&entry.key) {
            Meaning::Stray => stray(&name),
            Meaning::List | Meaning::Pod(_) if is_blank(&entry.value) => Seen::Blank,
            Meaning::List => self.parse(manifests, &name, entry, "", |_| {}),
            Meaning::Pod(pod) => {
                let uid = self.uid(manifests, &name, &pod, entry.created);
                let seen = self.parse(manifests, &name, entry, &uid, |reading| only(reading, &pod, &uid));
                let is_good = match &seen {
                    Seen::Read { reading, .. } => reading.pods.iter().all(|read| read.pod.is_some()),
                    Seen::Same | Seen::Unasked | Seen::Leaving => true,
                    Seen::Blank | Seen::Unreadable(_) => false,
                };
                if is_good {
                    self.created.insert(name.clone(), entry.created);
                }
                seen
            }
        };
        (name, seen)
    }

    /// The uid of a pod whose manifest names none; empty for the one that follows from its name.
    ///
    /// A key that was deleted and made again is another pod, as in Kubernetes, even with the same manifest: its
    /// uid is made from the revision that made it, so it is replaced, once. The first life that is seen of a key
    /// has the uid that the same pod would have from any other source: so nothing restarts when a pod moves
    /// between sources, or when a cluster was restored or copied and all its keys were made anew.
    fn uid(&self, manifests: &Manifests, name: &str, pod: &PodKey, created: i64) -> String {
        if self.created.get(name).is_some_and(|before| created > *before) {
            return derived_uid(&format!("{}/{created}", self.node), pod).0.to_string();
        }
        let before = manifests.pods(name).first();
        before.map(|before| before.pod.metadata.uid.clone()).unwrap_or_default()
    }

    /// YAML is fifty times dearer than planning, so the same bytes are never parsed again.
    fn parse(
        &self,
        manifests: &Manifests,
        name: &Arc<str>,
        entry: &Entry,
        uid: &str,
        judge: impl FnOnce(&mut Reading),
    ) -> Seen {
        let digest = digest(&entry.value, uid);
        if manifests.digest(name) == Some(digest) {
            return Seen::Same;
        }
        match catch_unwind(AssertUnwindSafe(|| read::read(name, &entry.value, &self.options))) {
            Ok(mut reading) => {
                judge(&mut reading);
                Seen::Read { digest, reading }
            }
            Err(_) => Seen::Unreadable("podkeeper failed to read it: please report this value".to_owned()),
        }
    }
}

/// One key holds one pod, the one of its name. Whatever else it holds is wrong, and costs no other pod.
fn only(reading: &mut Reading, expected: &PodKey, uid: &str) {
    for read in &mut reading.pods {
        if let Some(pod) = &mut read.pod {
            // A manifest that names no namespace belongs to that of its key.
            if !read.places.fields.contains_key("metadata.namespace") {
                pod.metadata.namespace = expected.namespace.to_string();
                read.key = Some(PodKey::new(&expected.namespace, &pod.metadata.name));
            }
            if pod.metadata.uid.is_empty() {
                pod.metadata.uid = uid.to_owned();
            }
        }
        let key = read.key.replace(expected.clone());
        if let Some(key) = key.filter(|key| key != expected && read.pod.take().is_some()) {
            reading.diagnoses.push(Diagnosis {
                severity: Severity::Error,
                place: read.places.of("metadata.name"),
                field: "metadata.name".to_owned(),
                message: format!("this is pod {key} under the key of pod {expected}"),
                fix: Some(format!("put it under …/pods/{key}")),
                source_line: String::new(),
            });
        }
    }
    // All of them are about this one pod now: the good one counts.
    reading.pods.sort_by_key(|read| read.pod.is_none());
    reading.pods.truncate(1);
}

fn stray(name: &Arc<str>) -> Seen {
    let diagnosis = Diagnosis {
        severity: Severity::Warning,
        place: Place { file: name.clone(), line: 1, column: 1 },
        field: String::new(),
        message: "this key is of no pod and is not read".to_owned(),
        fix: Some("pods are under …/pods/<namespace>/<name>".to_owned()),
        source_line: String::new(),
    };
    Seen::Read { digest: 0, reading: Reading { diagnoses: vec![diagnosis], ..Reading::default() } }
}

fn digest(value: &[u8], uid: &str) -> u128 {
    let mut hasher = SipHasher24::new();
    hasher.write(uid.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(value);
    hasher.finish128().as_u128()
}

#[cfg(test)]
mod tests;

//! What a set of manifest files says: what it said before, and what was read now, become pods and diagnoses.
//!
//! Pure: no file, no clock. A wrong manifest never hurts a running pod, so every document keeps its last good
//! version, every file its last good documents, and the whole set its last good files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use im::OrdMap;

use crate::model::PodKey;
use crate::model::read::{Diagnosis, Reading, Severity};
use crate::node::sources::brake::{Brake, Doubt, Permits, Verdict};
use crate::plan::{Declared, Node, Slot, SourceKind};

mod file;
mod memory;

use file::{File, reread, unreadable};
pub use memory::Remembered;

type Pods = OrdMap<PodKey, Arc<Declared>>;
/// A pod and the file that declares it.
type Claim<'a> = (&'a Arc<str>, &'a Arc<Declared>);

/// What one look at the configured path found.
pub enum Look {
    /// All files that count, by name. Complete: what is not here is gone.
    Files(Vec<(Arc<str>, Seen)>),
    /// All keys of a database, as it has them now. Complete too; but that one is missing does not say that
    /// somebody took it away: the database may have been restored from an old backup.
    Listed(Vec<(Arc<str>, Seen)>),
    /// What became of some of them since the last look, seen one by one. `None` was deleted by somebody.
    Changes(Vec<(Arc<str>, Option<Seen>)>),
    /// Nothing can be said: the path is missing or cannot be read.
    Unavailable(String),
}

/// One file that is there.
pub enum Seen {
    /// As it was, or still changing: what was read of it stays.
    Same,
    /// It was not looked at this time, or in vain: what was read of it stays.
    Unasked,
    /// It is not there, and that is too new to be believed: it may be on its way to another name.
    Leaving,
    /// Its content changed. The digest tells whether the last one was the same after all.
    Read { digest: u128, reading: Reading },
    /// It holds nothing but space and comments. A writer leaves that who has just begun, or who failed, so it
    /// takes no pod away; `items: []` does.
    Blank,
    /// It cannot be read: what was read of it stays.
    Unreadable(String),
}

/// What follows from a look.
#[derive(Debug)]
pub struct Said {
    pub slot: Slot,
    pub diagnoses: Vec<Diagnosis>,
    /// Why the set cannot be read now.
    pub error: Option<String>,
    /// A removal that is not believed yet.
    pub held: Option<String>,
    /// Look again after [`SECOND_LOOK`](crate::node::sources::brake::SECOND_LOOK) although nothing may change
    /// until then.
    pub again: bool,
}

/// Everything that was said so far.
pub struct Manifests {
    kind: SourceKind,
    node: Node,
    allow_mass_delete: bool,
    files: OrdMap<Arc<str>, Arc<File>>,
    /// Which file's pod of that name was taken: it keeps the name while it declares it.
    winners: BTreeMap<PodKey, Arc<str>>,
    said: Pods,
    /// Files that may be gone.
    leaving: BTreeSet<Arc<str>>,
    /// Deletions that were seen as they happened, and of which some are not believed yet.
    deleted: BTreeSet<Arc<str>>,
    /// The last complete look left nothing open.
    whole: bool,
    /// Every document was readable once since the start. Before that an unreadable one may be any pod that
    /// runs, so nothing may be removed.
    complete: bool,
    brake: Brake,
    /// Pods are held that were read at another place than is read now: another path or prefix, or what is under a mount
    /// point that was unmounted. So a mistyped path takes no pod away.
    moved: bool,
    /// Device and inode of the directory that is read.
    directory: Option<(u64, u64)>,
    /// Keys of a database that was made anew or restored since, and does not have them: that is no deletion.
    lost: BTreeSet<Arc<str>>,
    /// The next list is the first one of a database that was made anew or restored.
    anew: bool,
}

impl Manifests {
    pub fn new(kind: SourceKind, node: Node, allow_mass_delete: bool) -> Self {
        Self {
            kind,
            node,
            allow_mass_delete,
            files: OrdMap::new(),
            winners: BTreeMap::new(),
            said: OrdMap::new(),
            leaving: BTreeSet::new(),
            deleted: BTreeSet::new(),
            whole: false,
            complete: false,
            brake: Brake::default(),
            moved: false,
            directory: None,
            lost: BTreeSet::new(),
            anew: false,
        }
    }

    /// The database was made anew or restored: what its next list does not have was not deleted.
    pub fn begin_anew(&mut self) {
        self.anew = true;
    }

    /// Which directory is read: one that is empty and is not the one that had the files is a mount point.
    pub fn looks_at(&mut self, directory: Option<(u64, u64)>, is_empty: bool) {
        if is_empty && self.directory.is_some() && self.directory != directory {
            self.moved |= !self.said.is_empty();
        } else {
            self.directory = directory;
        }
    }

    /// The digest of the version of a file that was read last: an equal one need not be parsed again.
    pub fn digest(&self, file: &str) -> Option<u128> {
        self.files.get(file)?.digest
    }

    /// The good pods of a file, in its order.
    pub fn pods(&self, file: &str) -> &[Arc<Declared>] {
        self.files.get(file).map_or(&[], |file| &file.pods)
    }

    /// How many files there are, good or bad.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// What follows from a look. `elapsed`: now, by a clock that never jumps.
    pub fn fold(&mut self, look: Look, elapsed: Duration) -> Said {
        let mut unasked = BTreeSet::new();
        let explicitly_empty = match look {
            Look::Files(files) => {
                let waits =
                    |(name, seen): &(Arc<str>, Seen)| matches!(seen, Seen::Unasked).then(|| name.clone());
                unasked.extend(files.iter().filter_map(waits));
                self.whole = !self.take(OrdMap::new(), files);
                Some(self.whole && self.files.values().all(|file| file.says_nothing()))
            }
            Look::Listed(files) => {
                let kept = self.not_deleted(&files);
                self.whole = !self.take(kept, files);
                None
            }
            Look::Changes(changes) => {
                self.change(changes);
                None
            }
            Look::Unavailable(error) => {
                let slot = Slot::Stale(self.said.clone());
                let diagnoses = self.diagnoses(Vec::new());
                return Said { slot, diagnoses, error: Some(error), held: None, again: false };
            }
        };
        let (pods, doubles) = self.merge();
        let unknown = self.files.values().any(|file| file.unknown);
        self.complete |= self.whole && !unknown;
        let (held, again) = self.brake(pods, &unasked, explicitly_empty, elapsed);
        let held = held.or_else(|| self.of_before());
        let slot =
            if self.complete { Slot::Known(self.said.clone()) } else { Slot::Stale(self.said.clone()) };
        let error = (!self.complete && unknown).then(|| {
            "a manifest could not be read since the start and may be of any pod that runs, so none is removed \
             until it is right or gone"
                .to_owned()
        });
        Said { slot, diagnoses: self.diagnoses(doubles), error, held, again }
    }

    /// What a database had before it was made anew or restored, and does not have now.
    fn not_deleted(&mut self, listed: &[(Arc<str>, Seen)]) -> OrdMap<Arc<str>, Arc<File>> {
        let listed: BTreeSet<&Arc<str>> = listed.iter().map(|(name, _)| name).collect();
        if std::mem::take(&mut self.anew) {
            self.lost.extend(self.files.keys().filter(|name| !listed.contains(name)).cloned());
        }
        let files = &self.files;
        self.lost.retain(|name| !listed.contains(name) && files.contains_key(name));
        if self.allow_mass_delete {
            self.lost.clear();
        }
        self.lost.iter().filter_map(|name| Some((name.clone(), files.get(name)?.clone()))).collect()
    }

    fn of_before(&self) -> Option<String> {
        let first = self.lost.first()?;
        Some(format!(
            "{} keys, {first} among them, were there before the database was made anew or restored, and are not now: \
             their pods are kept; put the keys again, or put and delete those that are meant to go, or start once with \
             --allow-mass-delete",
            self.lost.len()
        ))
    }

    /// What was not changed stays.
    fn change(&mut self, changes: Vec<(Arc<str>, Option<Seen>)>) {
        let (mut now, mut files) = (self.files.clone(), Vec::new());
        for (name, seen) in changes {
            match seen {
                Some(seen) => files.push((name, seen)),
                None => {
                    now.remove(&name);
                    self.deleted.insert(name);
                }
            }
        }
        self.take(now, files);
    }

    /// Puts what was read in place of what it replaces, into `now`. True when a file that was never read is
    /// still changing.
    fn take(&mut self, mut now: OrdMap<Arc<str>, Arc<File>>, files: Vec<(Arc<str>, Seen)>) -> bool {
        let mut unsettled = false;
        self.leaving = BTreeSet::new();
        for (name, seen) in files {
            let previous = self.files.get(&name);
            if matches!(seen, Seen::Leaving) {
                self.leaving.insert(name.clone());
            }
            let file = match (seen, previous) {
                (Seen::Same | Seen::Unasked | Seen::Leaving, Some(previous)) => previous.clone(),
                (Seen::Leaving, None) => continue,
                (Seen::Same | Seen::Unasked, None) => {
                    unsettled = true;
                    continue;
                }
                (Seen::Read { digest, .. }, Some(previous)) if previous.digest == Some(digest) => {
                    previous.clone()
                }
                (Seen::Read { reading, .. }, Some(previous))
                    if reading.says_nothing() && !previous.pods.is_empty() =>
                {
                    let why = "it declares no pod and does not say so either, so its pods are kept: write 'items: []', \
                               or delete it, to remove them";
                    Arc::new(unreadable(&name, why.to_owned(), Some(previous)))
                }
                (Seen::Read { digest, reading }, previous) => {
                    Arc::new(reread(self.kind, &self.node, digest, reading, previous))
                }
                (Seen::Blank, Some(previous)) if !previous.pods.is_empty() => {
                    let why = "it is empty, so its pods are kept: delete it to remove them";
                    Arc::new(unreadable(&name, why.to_owned(), Some(previous)))
                }
                (Seen::Blank, _) => Arc::default(),
                (Seen::Unreadable(error), previous) => Arc::new(unreadable(&name, error, previous)),
            };
            self.deleted.remove(&name);
            self.lost.remove(&name);
            now.insert(name, file);
        }
        self.files = now;
        unsettled
    }

    /// One pod for each name. Two that want it are a mistake that must not start, stop or swap anything, so
    /// the one that was there first keeps it, and of two new ones the first in order of their files.
    fn merge(&mut self) -> (Pods, Vec<Diagnosis>) {
        let mut claims: BTreeMap<&PodKey, Vec<Claim>> = BTreeMap::new();
        for (name, file) in &self.files {
            for pod in &file.pods {
                claims.entry(&pod.key).or_default().push((name, pod));
            }
        }
        let (mut pods, mut winners, mut doubles) = (Pods::new(), BTreeMap::new(), Vec::new());
        for (key, claimants) in claims {
            let held = self.winners.get(key);
            let winner = claimants.iter().position(|(file, _)| Some(*file) == held).unwrap_or(0);
            let (file, taken) = claimants[winner];
            for loser in claimants.iter().enumerate().filter(|(i, _)| *i != winner).map(|(_, claim)| claim) {
                // A file that moves is under both names for a moment.
                if ![loser.0, file].iter().any(|name| self.leaving.contains(*name)) {
                    doubles.push(double(loser.1, taken));
                }
            }
            winners.insert(key.clone(), file.clone());
            pods.insert(key.clone(), taken.clone());
        }
        self.winners = winners;
        (pods, doubles)
    }

    /// Somebody took every one of these pods away, and was seen doing it.
    fn were_deleted(&self, removed: &BTreeSet<PodKey>) -> bool {
        let file_of = |key: &PodKey| Some(self.said.get(key)?.places.file.clone());
        removed.iter().filter_map(file_of).all(|file| {
            self.deleted.contains(&file) || self.files.get(&file).is_some_and(|file| file.says_nothing())
        })
    }

    /// Says the new set, except for removals that are not believed yet.
    fn brake(
        &mut self,
        mut pods: Pods,
        unasked: &BTreeSet<Arc<str>>,
        explicitly_empty: Option<bool>,
        elapsed: Duration,
    ) -> (Option<String>, bool) {
        let removed: BTreeSet<PodKey> =
            self.said.keys().filter(|key| !pods.contains_key(*key)).cloned().collect();
        let looked = |key: &PodKey| self.said.get(key).is_none_or(|pod| !unasked.contains(&pod.places.file));
        let explicit = explicitly_empty.unwrap_or_else(|| self.were_deleted(&removed));
        self.moved &= !removed.is_empty();
        let doubt = match (self.moved, pods.is_empty()) {
            (false, _) => Doubt::None,
            (true, false) => Doubt::Moved,
            (true, true) => Doubt::Nothing,
        };
        let permits = Permits { explicit, allowed: self.allow_mass_delete, doubt };
        let verdict = self.brake.judge(self.said.len(), &removed, looked, permits, elapsed);
        let (held, again) = match verdict {
            Verdict::Go => (None, false),
            Verdict::Again(why) => (Some(why), true),
            Verdict::Held(why) => (Some(why), false),
        };
        if held.is_some() {
            let kept = removed.iter().filter_map(|key| Some((key.clone(), self.said.get(key)?.clone())));
            pods.extend(kept.collect::<Vec<_>>());
        } else {
            self.deleted.clear();
        }
        // What did not change stays shared with what was said before.
        for key in removed.iter().filter(|key| !pods.contains_key(*key)) {
            self.said.remove(key);
        }
        for (key, pod) in pods {
            if !self.said.get(&key).is_some_and(|said| Arc::ptr_eq(said, &pod)) {
                self.said.insert(key, pod);
            }
        }
        (held, again)
    }

    fn diagnoses(&self, doubles: Vec<Diagnosis>) -> Vec<Diagnosis> {
        self.files.values().flat_map(|file| &file.diagnoses).cloned().chain(doubles).collect()
    }
}

fn double(loser: &Declared, winner: &Declared) -> Diagnosis {
    Diagnosis {
        severity: Severity::Error,
        place: loser.places.of("metadata.name"),
        field: "metadata.name".to_owned(),
        message: format!(
            "pod {} is declared twice; the one at {} is used",
            loser.key,
            winner.places.of("metadata.name")
        ),
        fix: Some("give one of them another name, or remove it".to_owned()),
        source_line: String::new(),
    }
}

#[cfg(test)]
mod tests;

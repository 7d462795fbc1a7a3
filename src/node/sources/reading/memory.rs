//! What is kept on disk of a set of manifests, and how a later agent goes on from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Manifests;
use super::file::File;
use crate::model::{Places, Pod, PodKey};
use crate::plan::Declared;

/// A pod, and where each of its fields was written.
type LastGood = (Pod, Places);

/// What was said last, to be kept on disk: a manifest that is wrong, or a directory that is not there, keeps
/// its pods over a restart of the agent too.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// The path that it was read from.
    pub path: String,
    /// Of a database: which one it was, by its cluster's id, and how far its revisions went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<(u64, i64)>,
    complete: bool,
    files: BTreeMap<Arc<str>, Vec<LastGood>>,
    winners: BTreeMap<PodKey, Arc<str>>,
    /// Pods that nothing declares any more, and whose removal was not believed yet.
    #[serde(default)]
    held: Vec<LastGood>,
    /// See [`Manifests::moved`].
    #[serde(default)]
    moved: bool,
    /// See [`Manifests::lost`].
    #[serde(default)]
    lost: BTreeSet<Arc<str>>,
    /// See [`Manifests::directory`].
    #[serde(default)]
    directory: Option<(u64, u64)>,
}

impl Manifests {
    /// What to keep on disk.
    pub fn remember(&self, path: &str) -> Remembered {
        let last_good = |pod: &Arc<Declared>| (pod.pod.clone(), pod.places.clone());
        let pods = |file: &File| file.pods.iter().map(last_good).collect();
        Remembered {
            path: path.to_owned(),
            followed: None,
            complete: self.complete,
            files: self.files.iter().map(|(name, file)| (name.clone(), pods(file))).collect(),
            winners: self.winners.clone(),
            held: self
                .said
                .values()
                .filter(|pod| !self.winners.contains_key(&pod.key))
                .map(last_good)
                .collect(),
            moved: self.moved,
            lost: self.lost.clone(),
            directory: self.directory,
        }
    }

    /// Goes on where an earlier agent ended. When it read another path, only the files that are still read
    /// (`is_read`, by name) are taken for what they were; the pods of the others are held until it is clear that they
    /// are meant to go.
    pub fn recall(&mut self, path: &str, mut remembered: Remembered, is_read: impl Fn(&str) -> bool) {
        let mut elsewhere = Vec::new();
        if remembered.path == path {
            self.directory = remembered.directory;
        } else {
            let (here, gone) = remembered.files.into_iter().partition(|(name, _)| is_read(name));
            remembered.files = here;
            let gone: BTreeMap<Arc<str>, Vec<LastGood>> = gone;
            elsewhere.extend(gone.into_values().flatten());
            remembered.complete = false;
        }
        self.moved = remembered.moved || !elsewhere.is_empty();
        self.lost = remembered.lost;
        let declared = |(pod, places)| Arc::new(Declared::new(&self.node, self.kind, pod, places));
        let file = |pods: Vec<LastGood>| {
            Arc::new(File { pods: pods.into_iter().map(declared).collect(), ..File::default() })
        };
        let held = remembered.held.into_iter().chain(elsewhere);
        let held: Vec<_> = held.map(declared).collect();
        self.files = remembered.files.into_iter().map(|(name, pods)| (name, file(pods))).collect();
        self.winners = remembered.winners;
        self.complete = remembered.complete;
        self.said = self.merge().0;
        for pod in held {
            self.said.entry(pod.key.clone()).or_insert(pod);
        }
    }
}

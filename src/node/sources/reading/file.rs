//! What one file says: its last good documents, and what is wrong with it now.

use std::sync::Arc;

use crate::model::read::{Diagnosis, ReadPod, Reading, Severity};
use crate::model::{Place, PodKey};
use crate::plan::{Declared, Node, SourceKind};

/// The last good pods of one file, and what is wrong with it now.
#[derive(Default)]
pub(super) struct File {
    pub digest: Option<u128>,
    /// Good pods, in the order of the file.
    pub pods: Vec<Arc<Declared>>,
    pub diagnoses: Vec<Diagnosis>,
    /// It has a document that is bad and never was good.
    pub unknown: bool,
}

impl File {
    /// It is right and declares no pod: `items: []`.
    pub fn says_nothing(&self) -> bool {
        self.pods.is_empty() && self.diagnoses.is_empty() && !self.unknown
    }
}

/// A new version of a file. A document that is bad keeps its last good version; and while any is bad, the file
/// may be half written, so no pod that it declared is taken away.
pub(super) fn reread(
    kind: SourceKind,
    node: &Node,
    digest: u128,
    reading: Reading,
    previous: Option<&Arc<File>>,
) -> File {
    let before = previous.map_or(&[][..], |file| &file.pods);
    let last_good = |key: &PodKey| before.iter().find(|pod| pod.key == *key).cloned();
    let has_errors = reading.diagnoses.iter().any(|d| d.severity == Severity::Error);
    let mut unknown = has_errors && reading.pods.iter().all(|read| read.pod.is_some());
    let mut pods: Vec<Arc<Declared>> = Vec::new();
    for ReadPod { key, pod, places } in reading.pods {
        let good = match pod {
            Some(pod) => {
                let declared = Declared::new(node, kind, pod, places);
                let same = last_good(&declared.key)
                    .filter(|last| last.pod == declared.pod && last.places == declared.places);
                Some(same.unwrap_or_else(|| Arc::new(declared)))
            }
            None => key.as_ref().and_then(last_good),
        };
        unknown |= good.is_none();
        pods.extend(good);
    }
    if has_errors || unknown {
        let missing = before.iter().filter(|old| !pods.iter().any(|pod| pod.key == old.key));
        pods.extend(missing.cloned().collect::<Vec<_>>());
    }
    File { digest: Some(digest), pods, diagnoses: reading.diagnoses, unknown }
}

/// One that cannot be read keeps what it said.
pub(super) fn unreadable(name: &Arc<str>, error: String, previous: Option<&Arc<File>>) -> File {
    let unknown = previous.is_none_or(|file| file.unknown);
    let diagnosis = Diagnosis {
        severity: Severity::Error,
        place: Place { file: name.clone(), line: 1, column: 1 },
        field: String::new(),
        message: error,
        fix: None,
        source_line: String::new(),
    };
    let pods = previous.map(|file| file.pods.clone()).unwrap_or_default();
    File { digest: None, pods, diagnoses: vec![diagnosis], unknown }
}

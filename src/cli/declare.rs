//! From the manifests that a command names to what is desired of this node.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use im::OrdMap;

use crate::cli::escape::Safe;
use crate::cli::failure::Failure;
use crate::cli::http_access::HttpAccess;
use crate::cli::manifests::{self, Manifests, is_url};
use crate::model::PodKey;
use crate::model::read::Options;
use crate::plan::{Declared, Desired, Node, Slot, SourceKind};

/// What the manifests declare.
pub struct Declaration {
    pub desired: Desired,
    /// How much of them is wrong. Each is told on standard error.
    pub errors: usize,
}

/// Everything the paths declare: what is in files as the source `file`, what is behind URLs as the source `http`, as
/// the agent would. What is wrong may be any pod that runs, so while anything is, the sources count as not read
/// whole and no pod is removed.
///
/// # Errors
/// When a path cannot be read at all.
pub fn declare(node: &Node, paths: &[PathBuf], http: &HttpAccess) -> Result<Declaration, Failure> {
    let options = Options { node_name: Some(node.name.to_string()), ..Options::default() };
    let Manifests { readings, unreadable } = manifests::read(paths, &options, http)?;
    let mut complain = io::stderr().lock();
    for diagnosis in readings.iter().flat_map(|reading| &reading.diagnoses) {
        let _ = writeln!(complain, "{diagnosis}");
    }
    if let Some(((path, why), rest)) = unreadable.split_first() {
        for (path, why) in rest {
            let _ = writeln!(complain, "error: {}: {}", Safe(path), Safe(why));
        }
        return Err(Failure::error(format!("{path}: {why}")));
    }
    let errors = readings.iter().flat_map(|reading| &reading.diagnoses).filter(|d| d.is_error()).count();
    let mut desired = Desired::new(node.clone());
    for kind in [SourceKind::File, SourceKind::Http] {
        if !paths.iter().any(|path| kind_of(&path.to_string_lossy()) == kind) {
            continue;
        }
        let pods = readings.iter().flat_map(|reading| &reading.pods);
        let ours = pods.filter(|read| kind_of(&read.places.file) == kind);
        let declared =
            ours.filter_map(|read| Some(Declared::new(node, kind, read.pod.clone()?, read.places.clone())));
        let pods: OrdMap<PodKey, Arc<Declared>> =
            declared.map(|declared| (declared.key.clone(), Arc::new(declared))).collect();
        let slot = if errors == 0 { Slot::Known(pods) } else { Slot::Stale(pods) };
        desired = desired.with_slot(kind, slot);
    }
    Ok(Declaration { desired, errors })
}

fn kind_of(path: &str) -> SourceKind {
    if is_url(path) { SourceKind::Http } else { SourceKind::File }
}

//! From the manifests that a command names to what is desired of this node.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use im::OrdMap;

use crate::cli::failure::Failure;
use crate::cli::manifests;
use crate::model::read::{Options, Severity};
use crate::model::{Place, PodKey};
use crate::plan::{Declared, Desired, Node, Slot, SourceKind};

/// Everything the paths declare, as the source `file`. Diagnoses go to standard error; one error is enough
/// to plan nothing, because a plan without the pod that could not be read would remove it.
pub fn declare(node: &Node, paths: &[PathBuf]) -> Result<Desired, Failure> {
    let options = Options { node_name: Some(node.name.to_string()), ..Options::default() };
    let mut pods: OrdMap<PodKey, Arc<Declared>> = OrdMap::new();
    let mut places: BTreeMap<PodKey, Place> = BTreeMap::new();
    let mut sound = true;
    let mut complain = io::stderr().lock();
    for reading in manifests::read(paths, &options)? {
        for diagnosis in &reading.diagnoses {
            sound &= diagnosis.severity != Severity::Error;
            let _ = writeln!(complain, "{}: {}", diagnosis.place, diagnosis.message);
        }
        for read in reading.pods {
            let Some(pod) = read.pod else { continue };
            let declared = Declared::new(node, SourceKind::File, pod, read.places);
            let place = declared.places.of("metadata.name");
            if let Some(first) = places.get(&declared.key) {
                let key = &declared.key;
                return Err(Failure::error(format!(
                    "{place}: pod {key} is declared at {first} already: remove one, or rename it"
                )));
            }
            places.insert(declared.key.clone(), place);
            pods.insert(declared.key.clone(), Arc::new(declared));
        }
    }
    if !sound {
        return Err(Failure::Said);
    }
    Ok(Desired::new(node.clone()).with_slot(SourceKind::File, Slot::Known(pods)))
}

//! From the manifests that a command names to what is desired of this node.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use im::OrdMap;

use crate::cli::failure::Failure;
use crate::cli::http_access::HttpAccess;
use crate::cli::manifests;
use crate::model::PodKey;
use crate::model::read::Options;
use crate::plan::{Declared, Desired, Node, Slot, SourceKind};

/// Everything the paths declare, as the source `file`. Diagnoses go to standard error; one error is enough
/// to plan nothing, because a plan without the pod that could not be read would remove it.
pub fn declare(node: &Node, paths: &[PathBuf], http: &HttpAccess) -> Result<Desired, Failure> {
    let options = Options { node_name: Some(node.name.to_string()), ..Options::default() };
    let readings = manifests::read(paths, &options, http)?;
    let mut complain = io::stderr().lock();
    for diagnosis in readings.iter().flat_map(|reading| &reading.diagnoses) {
        let _ = writeln!(complain, "{diagnosis}");
    }
    match readings.iter().flat_map(|reading| &reading.diagnoses).filter(|d| d.is_error()).count() {
        0 => {}
        errors => {
            let them = if errors == 1 { "the error" } else { "the errors" };
            return Err(Failure::error(format!("nothing is planned: correct {them} above first")));
        }
    }
    let pods = readings.into_iter().flat_map(|reading| reading.pods);
    let declared =
        pods.filter_map(|read| Some(Declared::new(node, SourceKind::File, read.pod?, read.places)));
    let pods: OrdMap<PodKey, Arc<Declared>> =
        declared.map(|declared| (declared.key.clone(), Arc::new(declared))).collect();
    Ok(Desired::new(node.clone()).with_slot(SourceKind::File, Slot::Known(pods)))
}

//! A snapshot: what was on one engine at one moment, as a file that `plan --observed` and bug reports take.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cli::failure::Failure;
use crate::docker::EngineVersion;
use crate::plan::Observed;

/// The shape that this podkeeper writes and reads.
const VERSION: u32 = 1;

/// What `podkeeper observe` prints.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    version: u32,
    pub node: String,
    pub engine: EngineVersion,
    pub observed: Observed,
}

/// Stands for a value in a snapshot: people send snapshots to each other.
const HIDDEN: &str = "<hidden>";

impl Snapshot {
    /// Takes the values of environment variables out; their names stay.
    pub fn new(node: String, engine: EngineVersion, mut observed: Observed) -> Self {
        let pods = observed.pods.iter().map(|(key, pod)| {
            let mut pod = (**pod).clone();
            for instance in &mut pod.instances {
                let Some(config) = &instance.config else { continue };
                let mut config = (**config).clone();
                for variable in &mut config.env {
                    let name = variable.split('=').next().unwrap_or_default();
                    *variable = format!("{name}={HIDDEN}");
                }
                Arc::make_mut(instance).config = Some(Arc::new(config));
            }
            (key.clone(), Arc::new(pod))
        });
        observed.pods = pods.collect();
        Snapshot { version: VERSION, node, engine, observed }
    }

    /// Indented, with a line end.
    pub fn to_json(&self) -> String {
        // Every key is a string and no number is a NaN: it cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    pub fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |what: String| Failure::error(format!("snapshot {}: {what}", path.display()));
        let text = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let text = text.map_err(|error| fail(error.to_string()))?;
        let snapshot: Snapshot = serde_json::from_str(&text)
            .map_err(|error| fail(format!("{error}: is it what `podkeeper observe` printed?")))?;
        if snapshot.version != VERSION {
            return Err(fail(format!(
                "it is of version {}, and version {VERSION} is known here: use the podkeeper that made it",
                snapshot.version
            )));
        }
        Ok(snapshot)
    }
}

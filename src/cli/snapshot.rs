//! A snapshot: what was on one engine at one moment, as a file that `plan --observed` and bug reports take.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cli::failure::Failure;
use crate::docker::EngineVersion;
use crate::docker::mask::{HIDDEN, without_values};
use crate::plan::{ContainerConfig, Observed};

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

/// People send snapshots to each other. A value can stand in the command line too: `$(NAME)` was expanded there.
fn hide_values(config: &mut ContainerConfig) {
    let variables = std::mem::take(&mut config.env);
    let split: Vec<(&str, &str)> = variables.iter().filter_map(|variable| variable.split_once('=')).collect();
    for word in config.entrypoint.iter_mut().chain(&mut config.cmd).flatten() {
        *word = without_values(word, &variables);
    }
    config.env = split.iter().map(|(name, _)| format!("{name}={HIDDEN}")).collect();
}

impl Snapshot {
    /// Takes the values of environment variables out; their names stay.
    pub fn new(node: String, engine: EngineVersion, mut observed: Observed) -> Self {
        let pods = observed.pods.iter().map(|(key, pod)| {
            let mut pod = (**pod).clone();
            for instance in &mut pod.instances {
                let Some(config) = &instance.config else { continue };
                let mut config = (**config).clone();
                hide_values(&mut config);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_hidden_wherever_it_was_expanded() {
        let mut config = ContainerConfig {
            env: vec!["PASSWORD=hunter2".into(), "N=1".into()],
            entrypoint: Some(vec!["login".into(), "--password=hunter2".into()]),
            cmd: Some(vec!["hunter2".into(), "10".into()]),
            ..ContainerConfig::default()
        };
        hide_values(&mut config);
        assert_eq!(config.env, ["PASSWORD=<hidden>", "N=<hidden>"]);
        assert_eq!(config.entrypoint.unwrap(), ["login", "--password=<hidden>"]);
        assert_eq!(config.cmd.unwrap(), ["<hidden>", "10"]);
    }
}

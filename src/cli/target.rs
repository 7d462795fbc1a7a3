//! Which engine, which node, whose state: the flags that every command with an engine shares.

use std::path::PathBuf;
use std::sync::Arc;

use crate::plan::BUILTIN_SANDBOX_IMAGE;

/// Which engine, which node, whose state
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// Docker Engine: unix:///path or tcp://host:port [default: $DOCKER_HOST, else
    /// unix:///var/run/docker.sock]
    #[arg(long, env = "PODKEEPER_ENGINE", hide_env_values = true, value_name = "ENDPOINT")]
    engine: Option<String>,

    /// Name of this node: pods on the engine belong to it [default: host name]
    #[arg(long, env = "PODKEEPER_NODE_NAME", hide_env_values = true, value_name = "NAME", value_parser = name)]
    node_name: Option<String>,

    /// Where the agent keeps its state [default: /var/lib/podkeeper, for an ordinary user
    /// $XDG_STATE_HOME/podkeeper]
    #[arg(long, env = "PODKEEPER_STATE_DIR", hide_env_values = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// What pods live in, for every command that declares some
#[derive(Clone, Debug, clap::Args)]
pub struct SandboxImage {
    /// Image of the containers that hold each pod's namespaces; the default one is inside podkeeper
    #[arg(
        long = "sandbox-image",
        env = "PODKEEPER_SANDBOX_IMAGE",
        hide_env_values = true,
        value_name = "IMAGE",
        default_value = BUILTIN_SANDBOX_IMAGE
    )]
    name: String,
}

impl SandboxImage {
    pub fn name(&self) -> Arc<str> {
        self.name.as_str().into()
    }
}

/// A node's name becomes the value of a label, and part of names: letters, digits, `-`, `_` and `.`.
fn name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !text.is_empty() && text.chars().all(allowed) {
        return Ok(text.to_owned());
    }
    Err("a node's name is made of letters, digits, '-', '_' and '.'".to_owned())
}

/// Where the engine listens when nobody says otherwise.
const DEFAULT_ENGINE: &str = "unix:///var/run/docker.sock";

impl Target {
    pub fn engine(&self) -> String {
        let from_docker = || std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        self.engine.clone().or_else(from_docker).unwrap_or_else(|| DEFAULT_ENGINE.into())
    }

    /// The name that was asked for, if any.
    pub fn given_node_name(&self) -> Option<&str> {
        self.node_name.as_deref()
    }

    pub fn node_name(&self) -> String {
        self.node_name.clone().unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into())
    }

    pub fn state_dir(&self) -> PathBuf {
        if let Some(dir) = &self.state_dir {
            return dir.clone();
        }
        if rustix::process::geteuid().is_root() {
            return "/var/lib/podkeeper".into();
        }
        let var = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = var("XDG_STATE_HOME").or_else(|| Some(var("HOME")?.join(".local/state")));
        state.unwrap_or_else(|| "/var/lib".into()).join("podkeeper")
    }
}

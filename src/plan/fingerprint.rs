//! Fingerprints: what a container was made from, as short keyed digests in one label.
//!
//! The label reads `1.5d41402a image=9f86d081884c env=2c26b46b68ff …`: a version, a mark of the key, and one
//! digest for each group of fields that was given. Labels of another version or key say nothing that could be
//! compared, so their containers are compared by inspect. A group that was left at its default is left out, so a later podkeeper that
//! knows more groups finds nothing changed in an older container.

use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::model::pod::{Container, DnsPolicy, PodSpec, Protocol};
use crate::model::{PodKey, Uid};

/// The version that this podkeeper writes. A label of another version is compared field by field.
pub const VERSION: u32 = 1;

/// What happens when a group differs is decided per group: see [`Group::effect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Image,
    Command,
    Env,
    Terminal,
    Resources,
    Network,
    Names,
    Dns,
    Ports,
    Namespaces,
    /// The init containers: changing one starts the whole pod over, as Kubernetes documents it.
    Init,
    /// The sandbox that a container was made for.
    Pod,
}

/// What a difference in a group needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `docker update`.
    Update,
    /// A new container.
    Container,
    /// A new sandbox, and so a new pod.
    Sandbox,
}

impl Group {
    pub const ALL: [Group; 12] = [
        Group::Image,
        Group::Command,
        Group::Env,
        Group::Terminal,
        Group::Resources,
        Group::Network,
        Group::Names,
        Group::Dns,
        Group::Ports,
        Group::Namespaces,
        Group::Init,
        Group::Pod,
    ];

    /// Its name in the label. Never changes.
    pub fn as_str(self) -> &'static str {
        match self {
            Group::Image => "image",
            Group::Command => "command",
            Group::Env => "env",
            Group::Terminal => "terminal",
            Group::Resources => "resources",
            Group::Network => "network",
            Group::Names => "names",
            Group::Dns => "dns",
            Group::Ports => "ports",
            Group::Namespaces => "namespaces",
            Group::Init => "init",
            Group::Pod => "pod",
        }
    }

    pub fn effect(self) -> Effect {
        match self {
            Group::Resources => Effect::Update,
            Group::Image | Group::Command | Group::Env | Group::Terminal | Group::Pod => Effect::Container,
            Group::Network | Group::Names | Group::Dns | Group::Ports | Group::Namespaces | Group::Init => {
                Effect::Sandbox
            }
        }
    }
}

/// The digests of one container or sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub Arc<str>);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Fingerprint {
    /// Of the fields that need a new sandbox.
    pub fn of_sandbox(key: &[u8; 16], spec: &PodSpec) -> Self {
        let ports = published(spec);
        let names = (&spec.hostname, &spec.host_aliases);
        let dns = (spec.dns_policy == DnsPolicy::None, &spec.dns_config);
        let namespaces = (spec.host_pid, spec.host_ipc, spec.share_process_namespace);
        let alone = Self::build(key, &[]);
        let init = spec.init_containers.iter().filter(|c| !c.is_sidecar());
        let init: Vec<_> = init.map(|c| (&c.name, Self::of_container(key, &alone, c))).collect();
        Self::build(
            key,
            &[
                (Group::Network, spec.host_network.then(|| json(&true))),
                (Group::Names, given(&names, spec.hostname.is_some() || !spec.host_aliases.is_empty())),
                (Group::Dns, given(&dns, spec.dns_config.is_some())),
                (Group::Ports, given(&ports, !ports.is_empty())),
                (Group::Namespaces, given(&namespaces, namespaces != (false, false, false))),
                (Group::Init, given(&init, !init.is_empty())),
            ],
        )
    }

    /// Of the fields that need a new container, or an update in place. The sandbox's digests are part of
    /// it: a container belongs to the sandbox that it was made for.
    pub fn of_container(key: &[u8; 16], sandbox: &Fingerprint, c: &Container) -> Self {
        let command = (&c.command, &c.args, &c.working_dir);
        let has_command = !c.command.is_empty() || !c.args.is_empty() || c.working_dir.is_some();
        let terminal = (c.stdin, c.stdin_once, c.tty);
        Self::build(
            key,
            &[
                (Group::Image, Some(json(&c.image))),
                (Group::Command, given(&command, has_command)),
                (Group::Env, given(&c.env, !c.env.is_empty())),
                (Group::Terminal, given(&terminal, terminal != (false, false, false))),
                (Group::Resources, given(&c.resources, !c.resources.is_empty())),
                (Group::Pod, given(&sandbox.0, sandbox.0.contains(' '))),
            ],
        )
    }

    fn build(key: &[u8; 16], groups: &[(Group, Option<String>)]) -> Self {
        let mut label = format!("{VERSION}.{:08x}", digest(key, "key", "") >> 16);
        for (group, value) in groups {
            if let Some(value) = value {
                label.push_str(&format!(" {}={:012x}", group.as_str(), digest(key, group.as_str(), value)));
            }
        }
        Self(label.into())
    }

    /// True when both were made by the same version with the same key: only then do digests say anything.
    pub fn is_like(&self, other: &Fingerprint) -> bool {
        self.0.split(' ').next() == other.0.split(' ').next()
    }

    /// The groups in which two labels differ that [are alike](Self::is_like).
    pub fn differences(&self, other: &Fingerprint) -> Vec<Group> {
        if self.0 == other.0 {
            return Vec::new();
        }
        Group::ALL.into_iter().filter(|&group| self.group(group) != other.group(group)).collect()
    }

    fn group(&self, group: Group) -> Option<&str> {
        self.0.split(' ').find_map(|part| part.strip_prefix(group.as_str())?.strip_prefix('='))
    }
}

/// The ports that the pod's sandbox publishes, in manifest order: container port, node port, protocol,
/// address.
fn published(spec: &PodSpec) -> Vec<(u16, u16, Protocol, &str)> {
    let sidecars = spec.init_containers.iter().filter(|c| c.is_sidecar());
    let ports = sidecars.chain(&spec.containers).flat_map(|c| &c.ports);
    ports
        .filter_map(|port| {
            let host_port = port.host_port.filter(|&port| port != 0)?;
            Some((port.container_port, host_port, port.protocol, port.host_ip.as_deref().unwrap_or("")))
        })
        .collect()
}

/// The uid of a pod whose manifest gives none: the same for as long as node, namespace and name are.
pub fn derived_uid(node: &str, key: &PodKey) -> Uid {
    let mut hasher = SipHasher24::new();
    for part in [node, &key.namespace, &key.name] {
        hasher.write(part.as_bytes());
        hasher.write_u8(0xff);
    }
    Uid(format!("{:032x}", hasher.finish128().as_u128()).into())
}

/// 48 bits: enough to tell two versions of a field apart, short enough for a label.
fn digest(key: &[u8; 16], group: &str, value: &str) -> u64 {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(group.as_bytes());
    hasher.write_u8(0xff);
    hasher.write(value.as_bytes());
    hasher.finish128().h1 >> 16
}

fn given<T: Serialize>(value: &T, is_given: bool) -> Option<String> {
    is_given.then(|| json(value))
}

/// The canonical text of a value: fields in the order of their declaration, maps sorted.
fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

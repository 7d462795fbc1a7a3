//! What differs between what runs and what is declared, field by field.
//!
//! Digests say *that* a group differs; what it was before comes from inspect, asked only then. A label of
//! another version says nothing that could be compared, so its container is compared by inspect alone.

use crate::plan::fingerprint::{Effect, Group};
use crate::plan::render;
use crate::plan::scene::Part;
use crate::plan::{Change, ContainerConfig, Declared, Instance};

/// The difference between an instance and its declaration.
#[derive(Debug, PartialEq)]
pub enum Difference {
    Same,
    /// Nothing can be said before the instance was inspected.
    NeedsLook,
    /// CPU or memory: changed in place.
    Update(Vec<Change>),
    /// Needs a new container (or sandbox).
    Replace(Vec<Change>),
}

/// Compares a container with its declaration. `was_updated`: its limits were changed since its label was
/// written, so that only inspect knows them.
pub fn of_container(part: &Part, instance: &Instance, was_updated: bool) -> Difference {
    if instance.fingerprint == *part.fingerprint && !was_updated {
        return Difference::Same;
    }
    let Some(config) = &instance.config else { return Difference::NeedsLook };
    let wanted = render::comparable(part);
    let by_digest = instance.fingerprint.is_like(part.fingerprint);
    let groups = if by_digest {
        part.fingerprint.differences(&instance.fingerprint)
    } else {
        vec![Group::Image, Group::Command, Group::Env, Group::Terminal, Group::Resources]
    };
    let replace: Vec<Change> = groups
        .iter()
        .filter(|group| group.effect() == Effect::Container)
        .flat_map(|&group| in_group(part, group, config, &wanted, by_digest))
        .collect();
    if !replace.is_empty() {
        return Difference::Replace(replace);
    }
    // The label keeps the digest of the limits it was created with; what counts is what the engine has now.
    if (was_updated || groups.contains(&Group::Resources)) && config.resources != wanted.resources {
        let changes = vec![resources(part, config, &wanted)];
        // An update can change a memory limit but not take it away: 0 means "as it is", -1 is refused.
        let unlimited = config.resources.memory > 0 && wanted.resources.memory == 0;
        return if unlimited { Difference::Replace(changes) } else { Difference::Update(changes) };
    }
    Difference::Same
}

fn in_group(
    part: &Part,
    group: Group,
    old: &ContainerConfig,
    new: &ContainerConfig,
    by_digest: bool,
) -> Vec<Change> {
    let mut changes = match group {
        Group::Image => changed(part, "image", &old.image, &new.image),
        Group::Command => command(part, old, new, by_digest),
        Group::Env => env(part, old, new),
        Group::Terminal => [
            changed(part, "stdin", &old.open_stdin.to_string(), &new.open_stdin.to_string()),
            changed(part, "stdinOnce", &old.stdin_once.to_string(), &new.stdin_once.to_string()),
            changed(part, "tty", &old.tty.to_string(), &new.tty.to_string()),
        ]
        .concat(),
        Group::Pod => Vec::new(),
        Group::Resources
        | Group::Network
        | Group::Names
        | Group::Dns
        | Group::Ports
        | Group::Namespaces
        | Group::Init => return Vec::new(),
    };
    if changes.is_empty() && by_digest {
        let (field, new) = match group {
            Group::Pod => ("sandbox", "another one"),
            Group::Env => ("env", "another list of variables"),
            _ => (group.as_str(), "another value"),
        };
        let place = Some(part.declared.places.of(&part.path(field)));
        changes.push(Change { field: field.into(), old: None, new: new.into(), place });
    }
    changes
}

fn changed(part: &Part, field: &str, old: &str, new: &str) -> Vec<Change> {
    if old == new {
        return Vec::new();
    }
    let place = Some(part.declared.places.of(&part.path(field)));
    vec![Change { field: field.into(), old: Some(old.into()), new: new.into(), place }]
}

/// Inspect shows the image's own entrypoint and arguments where the manifest gives none, so a field that is
/// not declared is compared only when a digest says that it was declared before.
fn command(part: &Part, old: &ContainerConfig, new: &ContainerConfig, by_digest: bool) -> Vec<Change> {
    let list = |field: &str, old: &Option<Vec<String>>, new: &Option<Vec<String>>| match new {
        None if !by_digest || old.is_none() => Vec::new(),
        _ => changed(part, field, &words(old), &words(new)),
    };
    let directory = match &new.working_dir {
        None if !by_digest => Vec::new(),
        new => changed(
            part,
            "workingDir",
            old.working_dir.as_deref().unwrap_or("(the image's)"),
            new.as_deref().unwrap_or("(the image's)"),
        ),
    };
    [list("command", &old.entrypoint, &new.entrypoint), list("args", &old.cmd, &new.cmd), directory].concat()
}

fn words(list: &Option<Vec<String>>) -> String {
    match list {
        None => "(the image's)".into(),
        Some(list) => serde_json::to_string(list).unwrap_or_default(),
    }
}

/// Names of variables only: values may be secret. What the image itself sets is not told apart from what an
/// older manifest set, so a variable that was taken away is not named.
fn env(part: &Part, old: &ContainerConfig, new: &ContainerConfig) -> Vec<Change> {
    let find = |list: &[String], name: &str| {
        let of =
            |entry: &String| entry.split_once('=').filter(|(n, _)| *n == name).map(|(_, v)| v.to_owned());
        list.iter().rev().find_map(of)
    };
    let names = new.env.iter().filter_map(|entry| Some(entry.split_once('=')?.0));
    names
        .filter_map(|name| {
            let (before, now) = (find(&old.env, name), find(&new.env, name));
            (before != now).then(|| Change {
                field: format!("env {name}"),
                old: Some(if before.is_some() { "(a value)" } else { "(not set)" }.into()),
                new: "(another value)".into(),
                place: Some(part.declared.places.of(&place_of_env(part, name))),
            })
        })
        .collect()
}

fn place_of_env(part: &Part, name: &str) -> String {
    let index = part.container.env.iter().rposition(|entry| entry.name == name);
    match index {
        Some(index) => part.path(&format!("env[{index}].value")),
        None => part.path("env"),
    }
}

fn resources(part: &Part, old: &ContainerConfig, new: &ContainerConfig) -> Change {
    Change {
        field: "resources".into(),
        old: Some(old.resources.to_string()),
        new: new.resources.to_string(),
        place: Some(part.declared.places.of(&part.path("resources"))),
    }
}

/// Compares a sandbox with its declaration: every difference needs a new one.
pub fn of_sandbox(declared: &Declared, sandbox: &Instance) -> Difference {
    if sandbox.fingerprint == declared.fingerprint {
        return Difference::Same;
    }
    let Some(config) = &sandbox.config else { return Difference::NeedsLook };
    let wanted = render::comparable_sandbox(declared);
    let by_digest = sandbox.fingerprint.is_like(&declared.fingerprint);
    let changes: Vec<Change> = Group::ALL
        .into_iter()
        .filter(|group| group.effect() == Effect::Sandbox)
        .filter(|group| !by_digest || declared.fingerprint.differences(&sandbox.fingerprint).contains(group))
        .flat_map(|group| in_sandbox(declared, group, config, &wanted, by_digest))
        .collect();
    if changes.is_empty() { Difference::Same } else { Difference::Replace(changes) }
}

fn in_sandbox(
    declared: &Declared,
    group: Group,
    old: &ContainerConfig,
    new: &ContainerConfig,
    by_digest: bool,
) -> Vec<Change> {
    let (field, before, now) = match group {
        Group::Network => ("hostNetwork", is_host(&old.network_mode), is_host(&new.network_mode)),
        Group::Names => ("hostname", names(old, new), names(new, new)),
        Group::Dns => ("dnsConfig", dns(old), dns(new)),
        Group::Ports => ("ports", ports(old), ports(new)),
        Group::Namespaces => (
            "hostPID, hostIPC, shareProcessNamespace",
            format!("{} {}", old.pid_mode, is_host(&old.ipc_mode)),
            format!("{} {}", new.pid_mode, is_host(&new.ipc_mode)),
        ),
        Group::Init if by_digest => ("initContainers", "(others)".into(), "(as declared)".into()),
        Group::Init | Group::Image | Group::Command | Group::Env => return Vec::new(),
        Group::Terminal | Group::Resources | Group::Pod => return Vec::new(),
    };
    if before == now && !by_digest {
        return Vec::new();
    }
    let path = format!("spec.{}", field.split(',').next().unwrap_or(field));
    let place = Some(declared.places.of(&place_of(declared, group, path)));
    vec![Change { field: field.into(), old: Some(before), new: now, place }]
}

fn place_of(declared: &Declared, group: Group, path: String) -> String {
    match group {
        Group::Ports => {
            declared.host_ports.first().map_or("spec.containers".into(), |port| port.path.clone())
        }
        _ => path,
    }
}

/// With the host's network a container has the host's name, which inspect shows and nobody declared.
fn names(config: &ContainerConfig, wanted: &ContainerConfig) -> String {
    let hostname = config.hostname.as_deref().filter(|_| wanted.hostname.is_some()).unwrap_or("");
    [&[hostname.to_owned()], &config.extra_hosts[..]].concat().join(" ").trim().to_owned()
}

fn is_host(mode: &str) -> String {
    (mode == "host").to_string()
}

fn dns(config: &ContainerConfig) -> String {
    [&config.dns[..], &config.dns_search[..], &config.dns_options[..]].concat().join(" ")
}

fn ports(config: &ContainerConfig) -> String {
    let mut list: Vec<String> = config.ports.iter().map(ToString::to_string).collect();
    list.sort();
    if list.is_empty() { "(none)".into() } else { list.join(" ") }
}

//! The state of the simulated engine and the rules by which Docker changes it, or refuses to.
//!
//! Texts and status codes are those of Docker 20.10 (API 1.41); `tests/conformance.rs` asks a real engine
//! the same questions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::docker::DockerError;
use crate::model::pod::Protocol;
use crate::model::{ContainerId, PodKey, Time};
use crate::observer::Hint;
use crate::plan::config::EngineResources;
use crate::plan::{ContainerConfig, labels};
use crate::sim::container::{Container, Phase, Program};
use crate::sim::refusal::{
    Answer, check_image_name, check_name, check_network, check_resources, image_id, message_of,
    no_such_container, not_found, refused,
};

/// Docker's own default when neither the call nor the container names a grace period.
const DEFAULT_GRACE_SECONDS: u32 = 10;
/// 128 + SIGKILL.
const KILLED: i64 = 137;

/// Everything an engine is made of. A clone is a snapshot.
#[derive(Clone, Default)]
pub(crate) struct Machine {
    pub at: Time,
    pub containers: BTreeMap<ContainerId, Container>,
    pub names: BTreeMap<String, ContainerId>,
    /// Images that are here, with their ids.
    pub images: BTreeMap<String, String>,
    /// Images that a pull does not find. Everything else can be pulled.
    pub unpullable: BTreeSet<String>,
    /// Ports that a program outside any container listens on.
    pub foreign_ports: BTreeSet<(Protocol, u16)>,
    /// What happened, for the event stream.
    pub events: Vec<(ContainerId, Hint)>,
    /// Every start of a container of a pod.
    pub starts: Vec<(PodKey, String, Time)>,
    /// The number of the container that was created last; its id is made from it.
    pub created: u64,
}

impl Machine {
    pub fn container(&self, id: &ContainerId) -> Answer<&Container> {
        self.containers.get(id).ok_or_else(|| no_such_container(id))
    }

    pub fn container_mut(&mut self, id: &ContainerId) -> Answer<&mut Container> {
        self.containers.get_mut(id).ok_or_else(|| no_such_container(id))
    }

    pub fn create(&mut self, config: &ContainerConfig) -> Answer<ContainerId> {
        check_name(&config.name)?;
        check_network(config)?;
        check_resources(&config.resources)?;
        if !self.images.contains_key(&config.image) {
            return Err(not_found(format!("No such image: {}", config.image)));
        }
        if let Some(holder) = self.names.get(&config.name) {
            return Err(DockerError::NameInUse {
                holder: Some(holder.clone()),
                message: format!(
                    "Conflict. The container name \"/{}\" is already in use by container \"{holder}\". You have to \
                     remove (or rename) that container to be able to reuse that name.",
                    config.name
                ),
            });
        }
        // The container whose network is joined is looked for at start only; IPC and PID already here.
        for mode in [&config.ipc_mode, &config.pid_mode] {
            if let Some(id) = Container::joins(mode)
                && !self.containers.contains_key(&ContainerId::from(id))
            {
                return Err(refused(400, format!("No such container: {id}")));
            }
        }
        Ok(self.put(config.clone()))
    }

    /// Adds a container that was never started.
    pub fn put(&mut self, config: ContainerConfig) -> ContainerId {
        self.created += 1;
        let id = ContainerId(format!("{:064x}", self.created).into());
        self.put_as(id.clone(), config);
        id
    }

    /// Adds a container under an id of the caller's.
    pub fn put_as(&mut self, id: ContainerId, config: ContainerConfig) {
        self.names.insert(config.name.clone(), id.clone());
        let container = Container {
            id: id.clone(),
            config: Arc::new(config),
            phase: Phase::Created,
            program: Program::FOREVER,
            ends_at: None,
            code: 0,
            oom: false,
            error: String::new(),
            started_at: None,
            finished_at: None,
            number: self.containers.len() as u64 + 2,
        };
        self.containers.insert(id, container);
    }

    pub fn start(&mut self, id: &ContainerId, program: Program) -> Answer<()> {
        let container = self.container(id)?;
        match container.phase {
            Phase::Running => return Ok(()), // 304
            Phase::Paused => {
                return Err(DockerError::Conflict {
                    message: "cannot start a paused container, try unpause instead".into(),
                });
            }
            Phase::Created | Phase::Exited => {}
        }
        let checked = self.check_start(container);
        let at = self.at;
        let container = self.container_mut(id)?;
        if let Err((code, error)) = checked {
            // A failed start leaves the container in the state it had, with the engine's words.
            container.code = code;
            container.error = message_of(&error);
            container.finished_at = container.finished_at.or(Some(at));
            return Err(error);
        }
        container.phase = Phase::Running;
        container.program = program;
        container.ends_at = program.ends.map(|(after, code)| (at + after, code));
        (container.code, container.oom) = (0, false);
        container.error.clear();
        container.started_at = Some(at);
        let started = Self::who(&container.config).map(|(pod, name, _)| (pod, name.to_owned(), at));
        self.starts.extend(started);
        self.events.push((id.clone(), Hint::Started));
        Ok(())
    }

    /// Stops what runs or is paused; time passes when the program does not listen to TERM.
    pub fn stop(&mut self, id: &ContainerId, grace: Option<u32>) -> Answer<()> {
        let at = self.at;
        let container = self.container(id)?;
        let (code, at) = match (container.phase, container.program.on_term) {
            (Phase::Created | Phase::Exited, _) => return Ok(()), // 304
            (Phase::Running, Some(code)) => (code, at),
            // A paused program cannot listen.
            (Phase::Running, None) | (Phase::Paused, _) => {
                let grace = grace.or(container.config.stop_timeout).unwrap_or(DEFAULT_GRACE_SECONDS);
                (KILLED, at + std::time::Duration::from_secs(grace.into()))
            }
        };
        self.end(id, at, code, false);
        self.pass_to(at);
        Ok(())
    }

    /// Ends the program of a container, and of those that share its process namespace: the kernel kills
    /// all of a namespace when its first process ends. Containers that share only the network go on.
    pub fn end(&mut self, id: &ContainerId, at: Time, code: i64, oom: bool) {
        let Some(container) = self.containers.get_mut(id) else { return };
        container.exit(at, code, oom);
        self.events.push((id.clone(), Hint::Died));
        let mode = format!("container:{id}");
        let sharing =
            self.containers.values_mut().filter(|other| other.is_up() && other.config.pid_mode == mode);
        for other in sharing {
            other.exit(at, KILLED, false);
            self.events.push((other.id.clone(), Hint::Died));
        }
    }

    pub fn kill(&mut self, id: &ContainerId) {
        if self.containers.get(id).is_some_and(Container::is_up) {
            self.end(id, self.at, KILLED, false);
        }
    }

    pub fn pause(&mut self, id: &ContainerId) {
        if let Some(container) = self.containers.get_mut(id)
            && container.phase == Phase::Running
        {
            container.phase = Phase::Paused;
            self.events.push((id.clone(), Hint::Paused));
        }
    }

    pub fn unpause(&mut self, id: &ContainerId) -> Answer<()> {
        let container = self.container_mut(id)?;
        if container.phase != Phase::Paused {
            return Err(refused(500, format!("Container {id} is not paused")));
        }
        container.phase = Phase::Running;
        self.events.push((id.clone(), Hint::Unpaused));
        Ok(())
    }

    pub fn remove(&mut self, id: &ContainerId) -> Answer<()> {
        let message = match self.container(id)?.phase {
            Phase::Created | Phase::Exited => {
                self.vanish(id);
                return Ok(());
            }
            Phase::Running => format!(
                "You cannot remove a running container {id}. Stop the container before attempting removal or force \
                 remove"
            ),
            Phase::Paused => format!(
                "You cannot remove a paused container {id}. Unpause and then stop the container before attempting \
                 removal or force remove"
            ),
        };
        Err(DockerError::Conflict { message })
    }

    /// Removes a container whatever it does, as `docker rm -f`.
    pub fn vanish(&mut self, id: &ContainerId) {
        self.kill(id);
        if let Some(container) = self.containers.remove(id) {
            self.names.remove(&container.config.name);
            self.events.push((id.clone(), Hint::Destroyed));
        }
    }

    /// Docker takes a 0 for "leave it as it is", and refuses -1 for memory: a memory limit can be changed by
    /// an update, not taken away. A CPU quota can.
    pub fn update(&mut self, id: &ContainerId, new: &EngineResources) -> Answer<()> {
        let container = self.container_mut(id)?;
        check_resources(new)?;
        let config = Arc::make_mut(&mut container.config);
        let old = config.resources;
        let or = |new, old| if new == 0 { old } else { new };
        config.resources = EngineResources {
            memory: or(new.memory, old.memory),
            cpu_shares: or(new.cpu_shares, old.cpu_shares),
            cpu_quota: new.cpu_quota,
        };
        Ok(())
    }

    pub fn pull(&mut self, image: &str) -> Answer<()> {
        check_image_name(image)?;
        if self.unpullable.contains(image) {
            let message = format!("manifest for {image} not found: manifest unknown: manifest unknown");
            return Err(not_found(message));
        }
        self.images.insert(image.into(), image_id(image));
        Ok(())
    }

    /// When the next program ends by itself.
    pub fn next_end(&self) -> Option<Time> {
        self.containers
            .values()
            .filter(|c| c.phase == Phase::Running)
            .filter_map(|c| Some(c.ends_at?.0))
            .min()
    }

    /// Lets time pass, and programs end when they do.
    pub fn pass_to(&mut self, at: Time) {
        while let Some(end) = self.next_end().filter(|&end| end <= at) {
            let due = self.containers.values().filter(|c| c.phase == Phase::Running);
            let due: Vec<_> = due
                .filter_map(|c| c.ends_at.filter(|(t, _)| *t == end).map(|(_, code)| (c.id.clone(), code)))
                .collect();
            for (id, code) in due {
                self.end(&id, end.max(self.at), code, false);
            }
        }
        self.at = self.at.max(at);
    }

    /// The pod, the container's name in it and the attempt, when it is one of ours.
    pub fn who(config: &ContainerConfig) -> Option<(PodKey, &str, u32)> {
        let label = |key: &str| config.labels.get(key).map(String::as_str);
        let pod = PodKey::new(label(labels::POD_NAMESPACE)?, label(labels::POD_NAME)?);
        Some((pod, label(labels::CONTAINER_NAME)?, label(labels::ATTEMPT)?.parse().ok()?))
    }
}

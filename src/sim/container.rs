//! A simulated container: what it was made from, what runs in it, and how it looks from outside.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use crate::docker::Inspected;
use crate::model::{ContainerId, Time};
use crate::plan::ports::NodePort;
use crate::plan::{ContainerConfig, Exit, Instance, Role, State, labels};

/// What the process in a container does. The default runs for ever and ends politely on TERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// When it ends by itself and with which code; `None` runs for ever.
    pub ends: Option<(Duration, i64)>,
    /// The code with which it ends on TERM; `None` ignores TERM, as `sleep` does when it is process 1,
    /// and is killed when the grace period is over.
    pub on_term: Option<i64>,
}

impl Program {
    /// Runs until it is told to stop.
    pub const FOREVER: Program = Program { ends: None, on_term: Some(0) };
    /// Runs until it is killed.
    pub const DEAF: Program = Program { ends: None, on_term: None };

    /// Ends by itself.
    pub fn exits(code: i64, after: Duration) -> Program {
        Program { ends: Some((after, code)), on_term: Some(0) }
    }
}

/// Where a container is in its life. `Exited` and `Created` may both carry the error of a failed start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Created,
    Running,
    Paused,
    Exited,
}

/// One container on the simulated engine.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub id: ContainerId,
    pub config: Arc<ContainerConfig>,
    pub phase: Phase,
    pub program: Program,
    /// When its program ends by itself.
    pub ends_at: Option<(Time, i64)>,
    pub code: i64,
    pub oom: bool,
    pub error: String,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
    /// Its place among all containers, from which its address is made.
    pub number: u64,
}

impl Container {
    /// Holds processes: may not be removed, and keeps its ports.
    pub fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Paused)
    }

    pub fn exit(&mut self, at: Time, code: i64, oom: bool) {
        self.phase = Phase::Exited;
        self.code = code;
        self.oom = oom;
        self.ends_at = None;
        self.finished_at = Some(at);
    }

    /// The container that it joins, when its network mode is `container:<id>`.
    pub fn joins(mode: &str) -> Option<&str> {
        mode.strip_prefix("container:")
    }

    /// As a list has it: without times, exit code and configuration, which only inspect knows.
    /// `None` when it does not carry our labels.
    pub fn listed(&self) -> Option<Instance> {
        let state = match self.phase {
            Phase::Created => State::Created,
            Phase::Running => State::Running { started_at: None },
            Phase::Paused => State::Paused,
            Phase::Exited => State::Exited(None),
        };
        let mut instance =
            Instance::from_labels(&self.id.0, &self.config.name, labels::of(&self.config.labels), state)?;
        instance.network_mode = self.config.network_mode.as_str().into();
        instance.ip = self.ip().filter(|_| instance.role == Role::Sandbox);
        instance.ports = if self.is_up() { NodePort::of(&self.config.ports) } else { Vec::new() };
        Some(instance)
    }

    pub fn inspected(&self) -> Option<Inspected> {
        let mut instance = self.listed()?;
        instance.config = Some(self.config.clone());
        let exit = self.exit_seen();
        match self.phase {
            Phase::Running => instance.state = State::Running { started_at: self.started_at },
            Phase::Exited => instance.state = State::Exited(exit.clone()),
            Phase::Created | Phase::Paused => {}
        }
        Some(Inspected { instance, exit })
    }

    /// The end of its last run, or why it could not be started. A container that never ran has no time
    /// of its end (Docker says year 1), so the time of the failed start stands for it.
    fn exit_seen(&self) -> Option<Exit> {
        let ended = self.phase == Phase::Exited || !self.error.is_empty();
        let finished_at = self.finished_at.filter(|_| ended && !self.is_up())?;
        Some(Exit {
            code: self.code,
            oom: self.oom,
            error: self.error.clone(),
            started_at: self.started_at,
            finished_at,
        })
    }

    /// Only a running container on a network of its own has an address.
    fn ip(&self) -> Option<IpAddr> {
        let own = Self::joins(&self.config.network_mode).is_none() && self.config.network_mode != "host";
        let number = u16::try_from(self.number % 65_000).ok()?.to_be_bytes();
        (own && self.is_up()).then(|| IpAddr::V4(Ipv4Addr::new(172, 17, number[0], number[1])))
    }
}

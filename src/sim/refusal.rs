//! What Docker refuses, in its own words and with its own status.
//!
//! Found out on Docker 20.10 (API 1.41); `tests/conformance.rs` asks again.

use crate::docker::DockerError;
use crate::model::ContainerId;
use crate::plan::ContainerConfig;
use crate::plan::config::EngineResources;
use crate::sim::container::Container;
use crate::sim::machine::Machine;

pub(crate) type Answer<T> = Result<T, DockerError>;

/// What Docker notes for a start that failed before the program was reached.
const NOT_STARTED: i64 = 128;
/// What a shell says of a command that is not there, and Docker after it.
const NO_SUCH_COMMAND: i64 = 127;

impl Machine {
    /// Everything that is looked at only when a container is started, in Docker's order. With each error
    /// goes the exit code that inspect shows afterwards.
    pub fn check_start(&self, container: &Container) -> Result<(), (i64, DockerError)> {
        let failed = |error| (NOT_STARTED, error);
        if let Some(id) = Container::joins(&container.config.network_mode) {
            let joined = self.container(&id.into()).map_err(failed)?;
            if !joined.is_up() {
                let message = format!("cannot join network of a non running container: {id}");
                return Err(failed(DockerError::Conflict { message }));
            }
        }
        self.check_namespaces(container).map_err(failed)?;
        self.check_ports(container).map_err(failed)?;
        let config = &container.config;
        if let Some(command) = config.entrypoint.iter().chain(&config.cmd).flatten().next()
            && command == NO_COMMAND
        {
            let message = format!(
                "failed to create shim task: OCI runtime create failed: runc create failed: unable to start \
                 container process: exec: \"{command}\": executable file not found in $PATH: unknown"
            );
            return Err((NO_SUCH_COMMAND, refused(400, message)));
        }
        Ok(())
    }

    fn check_namespaces(&self, container: &Container) -> Answer<()> {
        if let Some(id) = Container::joins(&container.config.ipc_mode) {
            let joined = self.container(&id.into())?;
            let why = if !joined.is_up() {
                Some(format!("container {id} is not running"))
            } else if joined.config.ipc_mode != "shareable" && joined.config.ipc_mode != "host" {
                Some("non-shareable IPC (hint: use IpcMode:shareable for the donor container)".into())
            } else {
                None
            };
            if let Some(why) = why {
                return Err(refused(500, format!("can't join IPC of container {id}: {why}")));
            }
        }
        if let Some(id) = Container::joins(&container.config.pid_mode)
            && !self.container(&id.into())?.is_up()
        {
            return Err(refused(500, format!("container {id} is not running")));
        }
        Ok(())
    }

    /// A paused container keeps its ports; one that is down does not.
    fn check_ports(&self, container: &Container) -> Answer<()> {
        for port in &container.config.ports {
            let address = if port.host_ip.is_empty() { "0.0.0.0" } else { &port.host_ip };
            let taken = self.containers.values().filter(|other| other.is_up() && other.id != container.id);
            let taken = taken.flat_map(|other| &other.config.ports).any(|other| {
                other.protocol == port.protocol
                    && other.host_port == port.host_port
                    && (other.host_ip.is_empty() || port.host_ip.is_empty() || other.host_ip == port.host_ip)
            });
            let why = if taken {
                format!("Bind for {address}:{} failed: port is already allocated", port.host_port)
            } else if self.foreign_ports.contains(&(port.protocol, port.host_port)) {
                format!(
                    "Error starting userland proxy: listen tcp4 {address}:{}: bind: address already in use",
                    port.host_port
                )
            } else {
                continue;
            };
            let message = format!(
                "driver failed programming external connectivity on endpoint {} ({}): {why}",
                container.config.name, container.id
            );
            return Err(DockerError::PortTaken { message });
        }
        Ok(())
    }
}

/// A command that no image has, for tests of a start that fails.
pub const NO_COMMAND: &str = "/no/such/command";

pub(crate) fn check_name(name: &str) -> Answer<()> {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphanumeric());
    let rest = name.len() > 1 && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if first && rest {
        return Ok(());
    }
    Err(refused(400, format!("Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed")))
}

/// A container that joins another's network may set nothing of it.
pub(crate) fn check_network(config: &ContainerConfig) -> Answer<()> {
    if Container::joins(&config.network_mode).is_none() {
        return Ok(());
    }
    let what = if config.hostname.is_some() {
        "hostname and the network mode"
    } else if !config.dns.is_empty() {
        "dns and the network mode"
    } else if !config.extra_hosts.is_empty() {
        "custom host-to-IP mapping and the network mode"
    } else if !config.ports.is_empty() {
        "port publishing and the container type network mode"
    } else {
        return Ok(());
    };
    Err(refused(400, format!("conflicting options: {what}")))
}

pub(crate) fn check_resources(resources: &EngineResources) -> Answer<()> {
    let message = if (1..6 << 20).contains(&resources.memory) {
        "Minimum memory limit allowed is 6MB"
    } else if (1..1000).contains(&resources.cpu_quota) {
        "CPU cfs quota can not be less than 1ms (i.e. 1000)"
    } else {
        return Ok(());
    };
    Err(refused(400, message.into()))
}

pub(crate) fn check_image_name(image: &str) -> Answer<()> {
    let repository = image.rsplit_once(':').map_or(image, |(name, _)| name);
    if repository.chars().any(|c| c.is_ascii_uppercase()) {
        return Err(refused(400, "invalid reference format: repository name must be lowercase".into()));
    }
    Ok(())
}

/// An id that looks like one and depends on the name alone.
pub(crate) fn image_id(name: &str) -> String {
    let sum = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("sha256:{sum:064x}")
}

pub(crate) fn no_such_container(id: &ContainerId) -> DockerError {
    not_found(format!("No such container: {id}"))
}

pub(crate) fn not_found(message: String) -> DockerError {
    DockerError::NotFound { message }
}

pub(crate) fn refused(status: u16, message: String) -> DockerError {
    DockerError::Refused { status, message }
}

/// The engine's words alone, as it keeps them with a container.
pub(crate) fn message_of(error: &DockerError) -> String {
    match error {
        DockerError::Refused { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

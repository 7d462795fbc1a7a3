//! One agent for one node on one machine, whatever state directory each was given.
//!
//! Two agents of the same node would undo each other's work for ever. A name in Linux's abstract namespace of
//! sockets is held by one process at a time, of whichever user, and is free again the moment that process ends.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use sha2::{Digest, Sha256};

/// Held until it is dropped.
pub struct NodeLock {
    _listener: UnixListener,
}

impl NodeLock {
    /// Takes hold of a node on an engine.
    ///
    /// # Errors
    /// One line that names the process that has it.
    pub fn take(engine: &str, node: &str) -> Result<Self, String> {
        let digest = Sha256::digest(format!("{engine}\0{node}"));
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let address = SocketAddr::from_abstract_name(format!("podkeeper-{name}"))
            .map_err(|error| format!("node {node} cannot be held: {error}"))?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Self { _listener: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(format!(
                "node {node} on {engine} is kept by {}: stop that one first, or give this one another --node-name",
                holder(&address)
            )),
            Err(error) => Err(format!("node {node} cannot be held: {error}")),
        }
    }
}

fn holder(address: &SocketAddr) -> String {
    let pid = UnixStream::connect_addr(address)
        .ok()
        .and_then(|socket| Some(rustix::net::sockopt::socket_peercred(&socket).ok()?.pid));
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {}", pid.as_raw_nonzero()))
}

#[cfg(test)]
mod tests {
    use super::NodeLock;

    #[test]
    fn a_node_is_held_once_and_the_holder_is_named() {
        let node = format!("lock-test-{}", std::process::id());
        let first = NodeLock::take("unix:///a.sock", &node).unwrap();
        let refusal = NodeLock::take("unix:///a.sock", &node).err().unwrap();
        assert!(refusal.contains(&format!("process {}:", std::process::id())), "{refusal}");
        assert!(NodeLock::take("unix:///b.sock", &node).is_ok(), "the same name on another engine");
        drop(first);
        assert!(NodeLock::take("unix:///a.sock", &node).is_ok());
    }
}

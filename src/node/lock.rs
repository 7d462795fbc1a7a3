//! One agent for one node on one machine, whatever state directory each was given.
//!
//! Two agents of the same node would undo each other's work for ever. A name in Linux's abstract namespace of
//! sockets is held by one process at a time, of whichever user, and is free again the moment that process ends.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Held until it is dropped.
pub struct NodeLock {
    _listener: UnixListener,
}

/// How many names there are for one node. A name in the abstract namespace has no owner: any user may take it, to keep
/// the agent from starting. Only root and the agent's own user are believed; past others the next name is taken.
const NAMES: usize = 8;

impl NodeLock {
    /// Takes hold of a node on an engine, however the way to its socket is spelt.
    ///
    /// # Errors
    /// One line that names the process that has it.
    pub fn take(engine: &str, node: &str) -> Result<Self, String> {
        let digest = Sha256::digest(format!("{}\0{node}", resolved(engine)));
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let failed = |error: io::Error| format!("node {node} cannot be held: {error}");
        let address = |number: usize| {
            let number = if number == 0 { String::new() } else { format!("-{number}") };
            SocketAddr::from_abstract_name(format!("podkeeper-{name}{number}")).map_err(failed)
        };
        let mut own = None;
        for number in 0..NAMES {
            let address = address(number)?;
            let holder = match UnixListener::bind_addr(&address) {
                Ok(listener) if own.is_none() => {
                    own = Some(listener);
                    continue;
                }
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => holder(&address),
                Err(error) => return Err(failed(error)),
            };
            match holder {
                Some((process, user)) if is_believed(user) => {
                    return Err(format!(
                        "node {node} on {engine} is kept by process {process}: stop that one first, or give this one \
                         another --node-name"
                    ));
                }
                Some((process, user)) => {
                    tracing::warn!(process, user, node, "another user holds this node's name: passed over");
                }
                None => {}
            }
        }
        own.map(|listener| Self { _listener: listener }).ok_or_else(|| {
            format!("node {node} cannot be held: other users of this machine hold all of its names")
        })
    }
}

fn is_believed(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// `/var/run` is a link to `/run` nearly everywhere. A socket that is not there yet is judged by its directory.
fn resolved(engine: &str) -> String {
    let Some(path) = engine.strip_prefix("unix://").map(Path::new) else { return engine.to_owned() };
    let by_directory = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let found = path.canonicalize().ok().or_else(by_directory);
    found.map_or_else(|| engine.to_owned(), |path| format!("unix://{}", path.display()))
}

/// The process and the user that listen there.
fn holder(address: &SocketAddr) -> Option<(i32, u32)> {
    let socket = UnixStream::connect_addr(address).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
    Some((peer.pid.as_raw_nonzero().get(), peer.uid.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::{Digest, NodeLock, Sha256, SocketAddr, SocketAddrExt};

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

    #[test]
    fn another_user_cannot_keep_an_agent_from_starting() {
        let node = format!("lock-test-users-{}", std::process::id());
        let name = |node: &str| {
            let digest = Sha256::digest(format!("unix:///a.sock\0{node}"));
            digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        // What a stranger can do without our uid is to hold the name and say nothing.
        let address = SocketAddr::from_abstract_name(format!("podkeeper-{}", name(&node))).unwrap();
        let socket =
            rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None)
                .unwrap();
        let bytes = address.as_abstract_name().unwrap();
        rustix::net::bind(&socket, &rustix::net::SocketAddrUnix::new_abstract_name(bytes).unwrap()).unwrap();
        let first = NodeLock::take("unix:///a.sock", &node);
        assert!(first.is_ok());
        drop(socket);
        assert!(NodeLock::take("unix:///a.sock", &node).is_err(), "ours is found under the next name");
    }

    #[test]
    fn an_engine_is_the_same_however_its_socket_is_spelt() {
        let node = format!("lock-test-links-{}", std::process::id());
        let dir = std::env::temp_dir().join(&node);
        std::fs::create_dir_all(dir.join("run")).unwrap();
        std::os::unix::fs::symlink(dir.join("run"), dir.join("link")).unwrap();
        let engine = |way: &str| format!("unix://{}/{way}/docker.sock", dir.display());
        let first = NodeLock::take(&engine("run"), &node);
        let second = NodeLock::take(&engine("link"), &node);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((first.is_ok(), second.is_ok()), (true, false));
    }
}

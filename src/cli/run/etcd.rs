//! The etcd source's flags.

use std::path::PathBuf;

use hyper::Uri;

use crate::cli::failure::Failure;
use crate::node::agent::Agent;
use crate::node::clock::Clock;
use crate::node::sources::wake::Waker;
use crate::node::state::StateDir;
use crate::node::store::Writer;
use crate::plan::Node;

/// Where etcd is, and how one gets in
#[derive(clap::Args)]
pub struct Etcd {
    /// etcd to read pods from, under /podkeeper/nodes/<node>/pods/<namespace>/<name>: http:// or https://, several
    /// with commas between
    #[arg(long, env = "PODKEEPER_ETCD_SERVERS", hide_env_values = true, value_name = "URL", value_delimiter = ',', value_parser = server)]
    etcd_servers: Vec<String>,

    /// What the keys in etcd begin with
    #[arg(
        long,
        env = "PODKEEPER_ETCD_PREFIX",
        hide_env_values = true,
        value_name = "KEY",
        default_value = "/podkeeper",
        value_parser = prefix
    )]
    etcd_prefix: String,

    /// Authorities that may have signed etcd's certificate, as PEM [default: those of this machine]
    #[arg(long, env = "PODKEEPER_ETCD_CA_FILE", hide_env_values = true, value_name = "PATH")]
    etcd_ca_file: Option<PathBuf>,

    /// Certificate to show to etcd, as PEM; read again for each connection
    #[arg(
        long,
        env = "PODKEEPER_ETCD_CERT_FILE",
        hide_env_values = true,
        value_name = "PATH",
        requires = "etcd_key_file"
    )]
    etcd_cert_file: Option<PathBuf>,

    /// Key of that certificate, as PEM
    #[arg(
        long,
        env = "PODKEEPER_ETCD_KEY_FILE",
        hide_env_values = true,
        value_name = "PATH",
        requires = "etcd_cert_file"
    )]
    etcd_key_file: Option<PathBuf>,

    /// User to log in to etcd as
    #[arg(
        long,
        env = "PODKEEPER_ETCD_USER",
        hide_env_values = true,
        value_name = "NAME",
        requires = "etcd_password_file"
    )]
    etcd_user: Option<String>,

    /// File that holds the password of that user
    #[arg(
        long,
        env = "PODKEEPER_ETCD_PASSWORD_FILE",
        hide_env_values = true,
        value_name = "PATH",
        requires = "etcd_user"
    )]
    etcd_password_file: Option<PathBuf>,
}

/// `http://10.0.0.1:2379`: the port may be left out; a name and a password may not be in it, since it is shown.
fn server(text: &str) -> Result<String, String> {
    let example = "write it as in http://10.0.0.1:2379";
    let uri: Uri = text.trim_end_matches('/').parse().map_err(|error| format!("{error}: {example}"))?;
    let scheme = uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme));
    let (Some(scheme), Some(authority)) = (scheme, uri.authority()) else {
        return Err(format!("it does not begin with http:// or https://: {example}"));
    };
    if authority.as_str().contains('@') {
        return Err("a user in it would be shown to everybody: use --etcd-user".to_owned());
    }
    if uri.path() != "/" || uri.query().is_some() {
        return Err(format!("a path in it means nothing: {example}"));
    }
    Ok(format!("{scheme}://{}:{}", authority.host(), authority.port_u16().unwrap_or(2379)))
}

fn prefix(text: &str) -> Result<String, String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    match text.trim_end_matches('/') {
        prefix if plain && prefix.starts_with('/') => Ok(prefix.to_owned()),
        _ => Err("it begins with / and is made of plain characters".to_owned()),
    }
}

/// The source, ready to be started.
pub use ready::Ready;

#[cfg(feature = "etcd")]
mod ready {
    //! What there is in a podkeeper that was built with etcd.

    use super::{Agent, Clock, Etcd, Failure, Node, StateDir, Waker, Writer};
    use crate::node::sources::etcd::{self, Access, MOST_KEYS, Pace, writeback};
    use crate::node::sources::supervise::supervise;
    use crate::plan::SourceKind;

    pub struct Ready(etcd::Settings);

    /// What tells etcd how the pods are, once there is an agent that knows.
    pub struct WriteBack(writeback::Settings);

    impl Etcd {
        /// `None` when no server is named.
        ///
        /// # Errors
        /// Not here: see the other one.
        pub fn ready(
            self,
            node: &Node,
            state: &StateDir,
            allow_mass_delete: bool,
        ) -> Result<Option<Ready>, Failure> {
            if self.etcd_servers.is_empty() {
                return Ok(None);
            }
            let access = Access {
                servers: self.etcd_servers,
                ca_file: self.etcd_ca_file,
                client: self.etcd_cert_file.zip(self.etcd_key_file),
                user: self.etcd_user.zip(self.etcd_password_file),
            };
            Ok(Some(Ready(etcd::Settings {
                access,
                prefix: self.etcd_prefix,
                node: node.clone(),
                allow_mass_delete,
                kept: state.kept("etcd"),
                pace: Pace::default(),
                most_keys: MOST_KEYS,
            })))
        }
    }

    impl Ready {
        pub fn start(self, writer: Writer, clock: Clock) -> (Waker, WriteBack) {
            let etcd::Settings { access, prefix, node, pace, .. } = &self.0;
            let (access, prefix, node) = (access.clone(), prefix.clone(), node.name.to_string());
            let write_back = WriteBack(writeback::Settings { access, prefix, node, pace: *pace });
            (etcd::spawn(self.0, writer, clock), write_back)
        }
    }

    impl WriteBack {
        /// Ends with the runtime. What happens while it starts again is not written, for nobody listens then.
        pub fn start(self, agent: &Agent) {
            let (snapshots, events) = (agent.snapshots(), agent.events().clone());
            tokio::spawn(supervise(SourceKind::Etcd, "write-back", move || {
                writeback::run(self.0.clone(), snapshots.clone(), events.listen())
            }));
        }
    }
}

#[cfg(not(feature = "etcd"))]
mod ready {
    //! What there is in a podkeeper that was built without etcd: a clear no.

    use super::{Agent, Clock, Etcd, Failure, Node, StateDir, Waker, Writer};

    pub enum Ready {}

    pub enum WriteBack {}

    impl Etcd {
        /// `None` when no server is named.
        ///
        /// # Errors
        /// When one is.
        pub fn ready(self, _: &Node, _: &StateDir, _: bool) -> Result<Option<Ready>, Failure> {
            if self.etcd_servers.is_empty() {
                return Ok(None);
            }
            Err(Failure::Usage(
                "this podkeeper was built without etcd: leave out --etcd-servers, or build it with \
                 --features etcd (needs protobuf-compiler and libprotobuf-dev)"
                    .to_owned(),
            ))
        }
    }

    impl Ready {
        pub fn start(self, _: Writer, _: Clock) -> (Waker, WriteBack) {
            match self {}
        }
    }

    impl WriteBack {
        pub fn start(self, _: &Agent) {
            match self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_scheme_a_host_and_a_port() {
        for (text, expected) in [
            ("http://127.0.0.1:4001", "http://127.0.0.1:4001"),
            ("https://etcd.example/", "https://etcd.example:2379"),
            ("http://[::1]:2379", "http://[::1]:2379"),
        ] {
            assert_eq!(server(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "127.0.0.1:2379", "ftp://a:1", "http://a:1/v2", "http://"] {
            assert!(server(text).is_err(), "{text}");
        }
        let refusal = server("http://root:secret@a:1").unwrap_err();
        assert!(!refusal.contains("secret"), "{refusal}");
    }

    #[test]
    fn a_prefix_begins_with_a_slash_and_ends_without() {
        for (text, expected) in [("/podkeeper", "/podkeeper"), ("/a/b//", "/a/b")] {
            assert_eq!(prefix(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "/", "podkeeper", "/a b", "/ä"] {
            assert!(prefix(text).is_err(), "{text}");
        }
    }
}

//! The API's side that others can reach: its address, its certificate, its token.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::node::api::fresh::Fresh;
use crate::node::api::tls::{Files, Identity};
use crate::node::api::token::Token;
use crate::node::api::{certificate, token};

/// A taken port: the first pause and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

#[derive(Clone, Debug)]
pub struct Settings {
    pub address: SocketAddr,
    /// Plain HTTP everywhere, not on loopback alone.
    pub insecure: bool,
    /// Certificate and private key; without them one is made.
    pub certificate: Option<(PathBuf, PathBuf)>,
    pub client_ca: Option<PathBuf>,
    pub state_dir: PathBuf,
    pub node: String,
}

pub struct Tcp {
    pub settings: Settings,
    pub token: Fresh<Token>,
    pub identity: Fresh<Identity>,
    pub listening: watch::Sender<Listening>,
    host: String,
}

/// Whether it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listening {
    NotYet,
    At(SocketAddr),
    /// Why not, for a person. It is tried again.
    Fails(String),
}

impl Tcp {
    /// Reads the token and the certificate, and makes what is missing.
    ///
    /// # Errors
    /// One line for a person.
    pub fn open(settings: Settings) -> Result<Self, String> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let files = match &settings.certificate {
            Some((certificate, key)) => {
                Files { certificate: certificate.clone(), key: key.clone(), client_ca: None }
            }
            None => {
                let names = certificate::names(&settings.node, &host, settings.address.ip());
                certificate::ensure(&settings.state_dir, &names)?
            }
        };
        let files = Files { client_ca: settings.client_ca.clone(), ..files };
        Ok(Self {
            token: token::open(&settings.state_dir)?,
            identity: files.open()?,
            listening: watch::Sender::new(Listening::NotYet),
            host,
            settings,
        })
    }

    /// Is this node meant by that name?
    pub fn is_called(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case(&self.settings.node)
            || name.eq_ignore_ascii_case(&self.host)
            || self.identity.now().is_for(name)
    }

    /// May a connection to this address of ours go without TLS? Nobody but this machine hears loopback.
    pub fn allows_plain(&self, local: IpAddr) -> bool {
        self.settings.insecure || local.to_canonical().is_loopback()
    }

    /// Takes the port. While another process has it, it is tried again and again, with pauses: pods are
    /// kept without an API, too.
    pub async fn listen(&self) -> TcpListener {
        let address = self.settings.address;
        let (mut pause, longest) = PAUSES;
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => {
                    let local = listener.local_addr().unwrap_or(address);
                    tracing::info!(address = %local, "the API listens");
                    self.listening.send_replace(Listening::At(local));
                    return listener;
                }
                Err(error) => {
                    let why = Listening::Fails(format!("{address} cannot be listened at: {error}"));
                    if self.listening.send_replace(why.clone()) != why {
                        tracing::error!(
                            %address,
                            "the API cannot listen ({error}): pods are kept meanwhile and it is tried again; stop \
                             what listens there, or name another --address or --port"
                        );
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }
}

#[cfg(test)]
impl Settings {
    /// All as it is when nobody says otherwise.
    pub(super) fn of_a_node(state_dir: &std::path::Path) -> Self {
        Self {
            address: "127.0.0.1:10250".parse().unwrap(),
            insecure: false,
            certificate: None,
            client_ca: None,
            state_dir: state_dir.to_owned(),
            node: "node-1".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_loopback_unless_somebody_asks_for_more() {
        let dir = tempfile::tempdir().unwrap();
        let mut tcp = Tcp::open(Settings::of_a_node(dir.path())).unwrap();
        for (local, allowed) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("::1", true),
            // As a listener at `::` sees IPv4.
            ("::ffff:127.0.0.1", true),
            ("::ffff:192.0.2.1", false),
            ("192.0.2.1", false),
            ("fe80::1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(tcp.allows_plain(local.parse().unwrap()), allowed, "{local}");
        }
        tcp.settings.insecure = true;
        assert!(tcp.allows_plain("192.0.2.1".parse().unwrap()));
    }
}

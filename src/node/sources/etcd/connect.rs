//! A connection to one endpoint.
//!
//! Certificates, keys and the password are read from their files each time, so one that was renewed is used from
//! the next connection on, without a restart.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};

use crate::node::sources::etcd::trouble::{Kind, Trouble};

/// Until a connection stands, and with it TLS and the login.
const CONNECT: Duration = Duration::from_secs(5);
/// Until a call is answered. etcd itself gives up on a write or a read without a quorum after 7 s
/// (`server/etcdserver/config.go`, `ReqTimeout`), and says why then.
const CALL: Duration = Duration::from_secs(10);
/// A ping that goes unanswered is the only sign of a server that froze or a cable that was cut: a watch on it
/// waits for ever. The server refuses more than one every 5 s (`--grpc-keepalive-min-time`).
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));

/// Where etcd is, and how one gets in.
#[derive(Clone, Debug)]
pub struct Access {
    /// `http://host:port` or `https://host:port` each, at least one.
    pub servers: Vec<String>,
    pub ca_file: Option<PathBuf>,
    /// The certificate and its key.
    pub client: Option<(PathBuf, PathBuf)>,
    /// A name, and the file that holds its password.
    pub user: Option<(String, PathBuf)>,
}

impl Access {
    /// Connects to one of the servers, and logs in.
    ///
    /// # Errors
    /// Also when a file cannot be read.
    pub async fn connect(&self, server: usize) -> Result<Client, Trouble> {
        let server = self.servers.get(server).map(String::as_str).unwrap_or_default();
        let connecting = async {
            // A server that freezes is noticed by pings; `with_timeout` would cut nothing of a watch.
            let mut options = ConnectOptions::new()
                .with_connect_timeout(CONNECT)
                .with_keep_alive(PING.0, PING.1)
                .with_keep_alive_while_idle(true)
                .with_tcp_keepalive(Duration::from_secs(30))
                // A member that lost the others ends its watches instead of going silent.
                .with_require_leader(true)
                // A token lives for 5 minutes: once, a refused call logs in anew and is tried again.
                .with_auto_token_refresh(true);
            if server.starts_with("https://") {
                options = options.with_tls(self.tls().await?);
            }
            if let Some((name, password)) = &self.user {
                let password = read(password).await?;
                let password = String::from_utf8_lossy(&password);
                options = options.with_user(name, password.trim_end_matches(['\r', '\n']));
            }
            Client::connect([server], Some(options)).await.map_err(Trouble::from)
        };
        call(connecting).await
    }

    async fn tls(&self) -> Result<TlsOptions, Trouble> {
        let mut tls = TlsOptions::new();
        tls = match &self.ca_file {
            Some(path) => tls.ca_certificate(Certificate::from_pem(read(path).await?)),
            None => tls.ca_certificates(roots().into_iter().map(Certificate::from_pem)),
        };
        if let Some((cert, key)) = &self.client {
            tls = tls.identity(Identity::from_pem(read(cert).await?, read(key).await?));
        }
        Ok(tls)
    }
}

/// Waits for an answer, but not for ever.
pub async fn call<T, E: Into<Trouble>>(answer: impl Future<Output = Result<T, E>>) -> Result<T, Trouble> {
    match tokio::time::timeout(CALL, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Trouble::new(Kind::Away, format!("it did not answer within {} s", CALL.as_secs()))),
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    let owned = path.to_owned();
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(owned)).await;
    let bytes = bytes.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    bytes.map_err(|error| Trouble::new(Kind::Denied, format!("{} cannot be read: {error}", path.display())))
}

/// The authorities that this machine trusts.
fn roots() -> Vec<String> {
    let pem = |der: &[u8]| {
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der))
    };
    rustls_native_certs::load_native_certs().certs.iter().map(|der| pem(der)).collect()
}

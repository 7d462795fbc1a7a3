//! Flags of the API over TCP.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::node::api::tcp::Settings;

/// Where the API listens, beside its unix socket
#[derive(clap::Args)]
pub struct Tcp {
    /// Address at which the API listens: IPv4 or IPv6
    #[arg(long, env = "PODKEEPER_ADDRESS", hide_env_values = true, value_name = "IP", default_value = "127.0.0.1", value_parser = literal)]
    address: IpAddr,

    /// Port of the API; 0: no TCP at all
    #[arg(long, env = "PODKEEPER_PORT", hide_env_values = true, value_name = "N", default_value_t = 10250)]
    port: u16,

    /// The API's certificate in PEM, with those that lead to its issuer; read again when it changes [default:
    /// one signed by itself, made on the first start]
    #[arg(
        long,
        env = "PODKEEPER_TLS_CERT_FILE",
        hide_env_values = true,
        value_name = "PATH",
        requires = "tls_private_key_file"
    )]
    tls_cert_file: Option<PathBuf>,

    /// The private key of --tls-cert-file, in PEM
    #[arg(
        long,
        env = "PODKEEPER_TLS_PRIVATE_KEY_FILE",
        hide_env_values = true,
        value_name = "PATH",
        requires = "tls_cert_file"
    )]
    tls_private_key_file: Option<PathBuf>,

    /// Who signs client certificates, in PEM: whoever has one needs no token
    #[arg(long, env = "PODKEEPER_CLIENT_CA_FILE", hide_env_values = true, value_name = "PATH")]
    client_ca_file: Option<PathBuf>,

    /// Take plain HTTP at every address, not at loopback alone: whoever listens in gets the token
    #[arg(long, env = "PODKEEPER_INSECURE_BIND", hide_env_values = true)]
    insecure_bind: bool,
}

impl Tcp {
    /// `None`: no TCP at all.
    pub fn settings(self, state_dir: &Path, node: String) -> Option<Settings> {
        (self.port != 0).then(|| Settings {
            address: SocketAddr::new(self.address, self.port),
            insecure: self.insecure_bind,
            certificate: self.tls_cert_file.zip(self.tls_private_key_file),
            client_ca: self.client_ca_file,
            // It is told to others, who are elsewhere.
            state_dir: std::path::absolute(state_dir).unwrap_or_else(|_| state_dir.to_owned()),
            node,
        })
    }
}

/// An address without a name: `127.0.0.1`, `::1`, and `[::1]` as it stands in a URL.
fn literal(text: &str) -> Result<IpAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().map_err(|_| "write an address as in 127.0.0.1, ::1, 0.0.0.0 or ::".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_literals_of_either_family() {
        for (text, expected) in [
            ("127.0.0.1", Some("127.0.0.1")),
            ("::1", Some("::1")),
            ("[::1]", Some("::1")),
            ("::", Some("::")),
            ("localhost", None),
            ("127.0.0.1:10250", None),
            ("", None),
        ] {
            assert_eq!(literal(text).ok().map(|ip| ip.to_string()).as_deref(), expected, "{text}");
        }
    }
}

//! Flags of the API over TCP.

use std::net::{IpAddr, SocketAddr};

/// Where the API listens, beside its unix socket
#[derive(clap::Args)]
pub struct Tcp {
    /// Address at which the API listens: IPv4 or IPv6
    #[arg(long, env = "PODKEEPER_ADDRESS", hide_env_values = true, value_name = "IP", default_value = "127.0.0.1", value_parser = literal)]
    address: IpAddr,

    /// Port of the API; 0: no TCP at all
    #[arg(long, env = "PODKEEPER_PORT", hide_env_values = true, value_name = "N", default_value_t = 10250)]
    port: u16,
}

impl Tcp {
    /// `None`: no TCP at all.
    pub fn address(&self) -> Option<SocketAddr> {
        (self.port != 0).then(|| SocketAddr::new(self.address, self.port))
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

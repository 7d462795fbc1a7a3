//! `podkeeper kubeconfig`: what kubectl needs to talk to the running agent.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use serde_json::{Value, json};

use crate::cli::ask::ask;
use crate::cli::escape::Safe;
use crate::cli::failure::Failure;
use crate::cli::live::block_on;
use crate::cli::output::print;
use crate::cli::yaml;
use crate::node::api::{default_socket, tls, token};

/// Print a kubeconfig with which kubectl talks to the running agent
#[derive(clap::Args)]
#[command(
    after_help = "Example:  podkeeper kubeconfig > node.conf && kubectl --kubeconfig node.conf get pods"
)]
pub struct Args {
    /// Where kubectl reaches the agent [default: https://, with the address and port at which it listens]
    #[arg(long, value_name = "URL", value_parser = server)]
    server: Option<String>,

    /// The agent's socket [default: /run/podkeeper/podkeeper.sock, for an ordinary user under
    /// $XDG_RUNTIME_DIR]
    #[arg(long, env = "PODKEEPER_SOCKET", hide_env_values = true, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let socket = args.socket.unwrap_or_else(default_socket);
    let config = block_on(ask(&socket, "/configz"))?;
    let agent = &config["podkeeper"];
    let api = &agent["api"];
    let (Some(address), Some(certificate), Some(token_file)) = (
        api["address"].as_str().and_then(|address| address.parse().ok()),
        api["certificate"].as_str(),
        api["tokenFile"].as_str(),
    ) else {
        return Err(Failure::error(
            "the agent serves no TCP, which kubectl needs: start it without --port 0",
        ));
    };
    if let Some(error) = api["error"].as_str() {
        warn(&format!("the agent does not listen yet: {error}"));
    }
    let token = token(Path::new(token_file))?;
    let server = args.server.unwrap_or_else(|| format!("https://{}", reachable(address)));
    let node = agent["node"].as_str().unwrap_or("podkeeper");
    print(yaml::text(&kubeconfig(node, &server, certificate, &token)))?;
    Ok(ExitCode::SUCCESS)
}

fn warn(message: &str) {
    // Nobody may be listening, and what was asked for is there all the same.
    let _ = writeln!(io::stderr(), "warning: {}", Safe(message));
}

fn token(path: &Path) -> Result<String, Failure> {
    let token = token::known(path).map_err(|error| {
        Failure::error(format!(
            "the agent's token {} cannot be read: {error}; run this as root or as the agent's user",
            path.display()
        ))
    })?;
    Ok(token.secret().to_owned())
}

/// From this machine. An address that means all of them cannot be connected to everywhere.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// kubectl sends no token over plain HTTP.
fn server(text: &str) -> Result<String, String> {
    let uri: Option<Uri> = text.parse().ok();
    match uri {
        Some(uri) if uri.scheme_str() == Some("https") && uri.host().is_some() => Ok(text.to_owned()),
        _ => Err("write it as in https://192.0.2.7:10250; kubectl sends no token over http".to_owned()),
    }
}

fn kubeconfig(node: &str, server: &str, certificate: &str, token: &str) -> Value {
    let mut cluster = json!({
        "server": server,
        "certificate-authority-data": STANDARD.encode(certificate),
    });
    let host = server.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_for = |host: &str| tls::is_for(certificate.as_bytes(), host);
    // The node may be reached by an address that its certificate does not know (NAT, all addresses).
    if !is_for(host)
        && let Some(name) = [node, "localhost"].into_iter().find(|name| is_for(name))
    {
        cluster["tls-server-name"] = json!(name);
    }
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": node, "cluster": cluster }],
        "users": [{ "name": node, "user": { "token": token } }],
        "contexts": [{ "name": node, "context": { "cluster": node, "user": node, "namespace": "default" } }],
        "current-context": node,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_https_url() {
        for (text, good) in [
            ("https://192.0.2.7:10250", true),
            ("https://[2001:db8::1]:10250", true),
            ("https://node-1", true),
            ("http://127.0.0.1:10250", false),
            ("192.0.2.7:10250", false),
            ("https://", false),
            ("", false),
        ] {
            assert_eq!(server(text).is_ok(), good, "{text}");
        }
    }

    #[test]
    fn an_address_that_means_all_is_reached_at_loopback() {
        for (address, expected) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("192.0.2.7:1", "192.0.2.7:1"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(reachable(address.parse().unwrap()).to_string(), expected);
        }
    }

    #[test]
    fn a_server_that_the_certificate_does_not_know_is_checked_by_the_nodes_name() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "node-1".to_owned(), "::1".to_owned()];
        let files = crate::node::api::certificate::ensure(dir.path(), &names).unwrap();
        let pem = std::fs::read_to_string(files.certificate).unwrap();
        for (server, name) in [
            ("https://127.0.0.1:1", None),
            ("https://[::1]:1", None),
            ("https://NODE-1:1", None),
            ("https://192.0.2.7:1", Some("node-1")),
        ] {
            let config = kubeconfig("node-1", server, &pem, "secret");
            assert_eq!(config["clusters"][0]["cluster"]["tls-server-name"].as_str(), name, "{server}");
        }
        let other = kubeconfig("renamed", "https://192.0.2.7:1", &pem, "secret");
        assert_eq!(other["clusters"][0]["cluster"]["tls-server-name"], "localhost");
    }
}

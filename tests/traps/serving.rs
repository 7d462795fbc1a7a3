//! Traps in what the agent serves, and in how it is started.

use crate::client::{ask, bearer, connect, connect_socket, get};
use crate::pod;
use crate::server::{Server, Setup, until};
use std::net::TcpListener;
use std::process::Command;

#[test]
fn trap_13_ipv6_is_an_address() {
    let mut setup = Setup::new();
    setup.tcp.address = "[::1]:0".parse().unwrap();
    let server = setup.start();
    assert!(server.address.is_ipv6());
    assert_eq!(ask(&mut connect(server.address), get("/healthz", "")).code, 200);
}

#[test]
fn trap_14_a_taken_port_is_waited_for_and_the_socket_is_served_meanwhile() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut setup = Setup::new();
    setup.tcp.address = other.local_addr().unwrap();
    let server = setup.start();
    assert_eq!(ask(&mut connect_socket(&server.socket()), get("/healthz", "")).code, 200);
    drop(other);
    until("the API listens", || std::net::TcpStream::connect(server.address).is_ok());
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/yaml\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn trap_20_pods_are_declared_read_and_taken_back_one_by_one() {
    let server = Server::start();
    let mut stream = connect_socket(&server.socket());
    let pods = "/api/v1/namespaces/default/pods";
    for name in ["one", "two"] {
        assert_eq!(ask(&mut stream, post(pods, &pod(name, ""))).code, 201, "{name}");
    }
    let delete = format!("DELETE {pods}/one HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(ask(&mut stream, delete).code, 200);
    assert_eq!(ask(&mut stream, post(pods, &pod("two", ""))).code, 409, "the other is still declared");
}

#[test]
fn trap_22_whoever_has_no_token_is_refused() {
    let server = Server::start();
    let code = |path: &str, more: &str| ask(&mut connect(server.address), get(path, more)).code;
    for path in ["/pods", "/containerInfo?container=x", "/api/v1/pods"] {
        assert_eq!(code(path, ""), 401, "{path}");
        assert_eq!(code(path, &bearer("wrong")), 401, "{path}");
    }
    assert_eq!(code("/pods", &bearer(&server.token())), 200);
}

/// Of several servers the next one is asked: `tests/etcd` shows it with three members.
#[cfg(feature = "etcd")]
#[test]
fn trap_26_several_etcd_servers_may_be_named_and_no_program_asked_for_the_name() {
    let run = |servers: &str| {
        let dir = tempfile::tempdir().unwrap();
        // A socket in a directory that is a file: the agent ends after it has read its flags.
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_podkeeper"))
            .args(["run", "--etcd-servers", servers, "--port", "0"])
            .arg("--socket")
            .arg(file.join("s"))
            .arg("--state-dir")
            .arg(dir.path().join("state"))
            .args(["--engine", "unix:///nonexistent/docker.sock", "--node-name", "trap-26"])
            .env("PATH", "/nonexistent")
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run("http://10.0.0.1:2379,http://10.0.0.2:2379").contains("--socket"));
    assert!(run("http://10.0.0.1:2379,nonsense").contains("nonsense"));
}

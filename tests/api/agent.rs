//! The built binary: `run` without an engine serves, `kubeconfig` tells how to come in.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::client::{ask, bearer, believing, get, secure};
use crate::server::until;

struct Agent {
    dir: tempfile::TempDir,
    /// No other agent of this machine may have it.
    node: String,
    child: Child,
}

fn podkeeper() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_podkeeper"));
    command.env_remove("PODKEEPER_SOCKET").env_remove("PODKEEPER_CONFIG");
    command
}

impl Agent {
    fn start(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let node = format!("test-api-{}-{}", flags.join("").replace('-', ""), std::process::id());
        let child = podkeeper()
            .args(["run", "--engine", "unix:///nonexistent", "--node-name", &node, "--state-dir"])
            .arg(dir.path().join("state"))
            .arg("--socket")
            .arg(dir.path().join("s"))
            .args(flags)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let agent = Self { dir, node, child };
        until("the agent answers", || agent.ask(&["get", "sources"]).status.success());
        agent
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        podkeeper().args(arguments).arg("--socket").arg(self.dir.path().join("s")).output().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The value of a line `key: "value"`.
fn value<'a>(config: &'a str, key: &str) -> &'a str {
    let line = config.lines().find(|line| line.trim_start().starts_with(key)).expect(key);
    line.split('"').nth(1).unwrap()
}

#[test]
fn what_kubeconfig_prints_opens_the_agent() {
    let port = free_port();
    let agent = Agent::start(&["--address", "127.0.0.1", "--port", &port.to_string()]);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    until("the agent listens", || std::net::TcpStream::connect(address).is_ok());
    let config = String::from_utf8(agent.ask(&["kubeconfig"]).stdout).unwrap();
    assert_eq!(value(&config, "server:"), format!("https://{address}"));
    assert_eq!(value(&config, "current-context:"), agent.node);
    let trusted = agent.dir.path().join("ca.crt");
    std::fs::write(&trusted, STANDARD.decode(value(&config, "certificate-authority-data:")).unwrap())
        .unwrap();
    let token = bearer(value(&config, "token:"));
    let mut stream = secure(address, "127.0.0.1", believing(&trusted));
    assert_eq!(ask(&mut stream, get("/pods", &token)).code, 200);
    assert_is_0600(&agent.dir.path().join("state/token"));
    let remote = agent.ask(&["kubeconfig", "--server", "https://192.0.2.7:10250"]);
    let remote = String::from_utf8(remote.stdout).unwrap();
    assert_eq!(value(&remote, "tls-server-name:"), agent.node);
}

fn assert_is_0600(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn port_0_serves_no_tcp_and_kubeconfig_says_what_to_do() {
    let agent = Agent::start(&["--port", "0"]);
    let refusal = agent.ask(&["kubeconfig"]);
    assert_eq!(refusal.status.code(), Some(1));
    let said = String::from_utf8(refusal.stderr).unwrap();
    assert!(said.contains("serves no TCP") && said.lines().count() == 1, "{said}");
    assert!(!agent.dir.path().join("state/token").exists());
}

#[test]
fn the_agent_ends_by_sigterm_with_a_client_that_never_asked() {
    let port = free_port();
    let mut agent = Agent::start(&["--port", &port.to_string()]);
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut silent = None;
    until("the agent listens", || {
        silent = std::net::TcpStream::connect(address).ok();
        silent.is_some()
    });
    let pid = rustix::process::Pid::from_child(&agent.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    until("the agent has ended", || agent.child.try_wait().unwrap().is_some());
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
    assert!(!agent.dir.path().join("s").exists());
}

#[test]
fn half_a_certificate_is_wrong_usage_and_a_bad_one_is_said_at_the_start() {
    let refused = |flags: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = podkeeper();
        command.args(["run", "--engine", "unix:///nonexistent", "--state-dir"]);
        command.arg(dir.path()).args(["--node-name", &format!("test-api-{}", std::process::id())]);
        let output = command.arg("--socket").arg(dir.path().join("s")).args(flags).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = refused(&["--tls-cert-file", "/a.crt"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("--tls-private-key-file"), "{said}");
    let (code, said) = refused(&["--tls-cert-file", "/none.crt", "--tls-private-key-file", "/none.key"]);
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "error: /none.crt cannot be read: No such file or directory (os error 2)\n")
    );
    let (code, said) = refused(&["--address", "localhost"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("127.0.0.1, ::1"), "{said}");
}

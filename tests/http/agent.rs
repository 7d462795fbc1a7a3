//! The built binary with URLs: `run` without an engine, and the commands that take a URL for a PATH.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::rig::manifests;
use crate::server::{Server, response};

/// Far beyond what any step takes; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn podkeeper() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_podkeeper"));
    command.env_remove("PODKEEPER_CONFIG").env_remove("PODKEEPER_MANIFEST_URL");
    command
}

fn start(dir: &Path, urls: &str) -> Agent {
    let log = File::create(dir.join("log")).unwrap();
    let mut command = podkeeper();
    command.args(["run", "--engine", "unix:///nonexistent/docker.sock", "--node-name", "n"]);
    command.arg("--state-dir").arg(dir.join("state")).arg("--socket").arg(dir.join("socket"));
    command.env("PODKEEPER_MANIFEST_URL", urls).env("PODKEEPER_MANIFEST_URL_HEADER", "X-Key: canary");
    command.env("NO_COLOR", "1").args(["-http_check_frequency=1h"]);
    Agent(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not seen: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_agent_reads_urls_wakes_by_a_signal_and_writes_no_secret_anywhere() {
    let (server, dir) = (Server::start(), tempfile::tempdir().unwrap());
    server.answer(response(200, &[], &manifests(&["web"])));
    let secret = server.url("/pods").replace("//", "//me:canary@");
    let mut agent = start(dir.path(), &format!("{secret} {}", server.url("/more?sig=canary")));
    let log = || fs::read_to_string(dir.path().join("log")).unwrap();
    until("both URLs asked for", || server.asked().len() >= 2);
    assert!(server.asked().iter().all(|asked| asked.contains("x-key: canary")));
    server.answer(response(503, &[], b""));
    let pid = rustix::process::Pid::from_child(&agent.0);
    // The agent reads its signals once it serves.
    until("the socket", || dir.path().join("socket").exists());
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    until("the failure in the log", || log().contains("503 Service Unavailable"));
    assert!(log().contains("its pod is kept as it was read last; next try in 1"), "{}", log());
    // An orderly end leaves everything on disk.
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(agent.0.wait().unwrap().success());
    let kept = fs::read_to_string(dir.path().join("state/manifests-http.json")).unwrap();
    assert!(kept.contains("web") && !kept.contains("canary"), "{kept}");
    assert!(!log().contains("canary"), "{}", log());
}

/// An agent that sees a hosts file of its own at `/etc/hosts`. `None`, with a line that says so, where this process may
/// not mount.
fn start_with_hosts(dir: &Path, hosts: &Path, url: &str) -> Option<Agent> {
    const SCRIPT: &str = r#"mount --bind "$1" /etc/hosts && shift && exec "$@""#;
    let may = Command::new("unshare").args(["-m", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: only root may have a view of the files of its own");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", SCRIPT, "sh"]).arg(hosts).arg(env!("CARGO_BIN_EXE_podkeeper"));
    command.args(["run", "--engine", "unix:///nonexistent/docker.sock", "--node-name", "n", "--port", "0"]);
    command.arg("--state-dir").arg(dir.join("state")).arg("--socket").arg(dir.join("socket"));
    command.args(["--http-check-frequency=1h", "--manifest-url", url]).env("NO_COLOR", "1");
    command.env_remove("PODKEEPER_CONFIG").env_remove("PODKEEPER_MANIFEST_URL");
    let log = File::create(dir.join("log")).unwrap();
    Some(Agent(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()))
}

#[test]
fn h13_a_name_that_leads_elsewhere_is_followed_and_one_that_leads_nowhere_takes_no_pod_away() {
    let (old, dir) = (Server::start(), tempfile::tempdir().unwrap());
    let new = Server::listen_at(([127, 0, 0, 2], old.address.port()).into());
    old.answer(response(200, &[], &manifests(&["web"])));
    new.answer(response(200, &[], &manifests(&["web"])));
    let hosts = dir.path().join("hosts");
    fs::write(&hosts, "127.0.0.1 manifests.test\n").unwrap();
    let url = format!("http://manifests.test:{}/pods", old.address.port());
    let Some(agent) = start_with_hosts(dir.path(), &hosts, &url) else { return };
    let log = || fs::read_to_string(dir.path().join("log")).unwrap();
    until("the first address is asked", || !old.asked().is_empty());
    until("the socket", || dir.path().join("socket").exists());
    let hang_up = || {
        let pid = rustix::process::Pid::from_child(&agent.0);
        rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    };
    // The old server goes on to serve, and a connection that was kept would go on to lead there.
    let asked = old.asked().len();
    fs::write(&hosts, "127.0.0.2 manifests.test\n").unwrap();
    hang_up();
    until("the second address is asked", || !new.asked().is_empty());
    assert_eq!(old.asked().len(), asked);
    fs::write(&hosts, "").unwrap();
    hang_up();
    until("that it leads nowhere is told", || log().contains("the name manifests.test cannot be resolved"));
    assert!(log().contains("its pod is kept as it was read last"), "{}", log());
    let asked = new.asked().len();
    fs::write(&hosts, "127.0.0.2 manifests.test\n").unwrap();
    hang_up();
    until("it is asked again", || new.asked().len() > asked);
}

#[test]
fn validate_takes_a_url() {
    let server = Server::start();
    let wrong = String::from_utf8(manifests(&["web"])).unwrap().replace("image:", "imaeg: x, image:");
    server.answer(response(200, &[], wrong.as_bytes()));
    let url = server.url("/pods").replace("//", "//me:canary@");
    let output =
        podkeeper().args(["validate", &url, "--manifest-url-header", "X-Node: n1"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with(&format!("{}:5:", server.url("/pods"))) && text.contains("imaeg"), "{text}");
    assert!(server.asked()[0].contains("x-node: n1"));
    server.answer(response(404, &[], b""));
    let output = podkeeper().args(["validate", &url]).output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with(&format!("{}:1:1: error:", server.url("/pods"))), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn wrong_flags_are_refused_without_repeating_what_is_secret() {
    for (flags, words) in [
        (&["--manifest-url", "ftp://me:canary@h/x"][..], "only http and https"),
        (&["--manifest-url", "http://a@h/x", "--manifest-url", "http://b:canary@h/x"], "is given twice"),
        (&["--manifest-url-header", "Host: canary"], "host is set by podkeeper itself"),
        (&["--manifest-url-header", "canary"], "without a colon"),
        (
            &["--manifest-url-token-file", "x", "--manifest-url-header", "Authorization: canary"],
            "contradict each other",
        ),
        (&["--manifest-url-client-cert-file", "x"], "--manifest-url-client-key-file"),
        (&["--http-check-frequency", "0s"], "must be longer than nothing"),
    ] {
        let output = podkeeper().arg("run").args(flags).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {text}");
        assert!(text.contains(words) && !text.contains("canary"), "{flags:?}: {text}");
    }
}

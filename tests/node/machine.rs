//! An agent of its own for each test: the built binary with its own node name, state, socket and manifests.
//!
//! Nothing waits for a fixed time: [`Machine::until`] asks the agent's socket again and again, up to a limit.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::proxy::Proxy;

/// Far beyond what any step takes; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(90);

pub struct Machine {
    pub dir: tempfile::TempDir,
    pub node: String,
    engine: Option<String>,
    /// Of the API; 0: its socket alone.
    pub port: u16,
    /// More of them for `run`.
    pub flags: Vec<String>,
    agent: Option<Child>,
}

impl Machine {
    /// `name` makes the node's name unique among the tests of one run.
    pub fn new(name: &str) -> Self {
        need_docker();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pods")).unwrap();
        let node = format!("test-{name}-{}", std::process::id());
        Self { dir, node, engine: None, port: 0, flags: Vec::new(), agent: None }
    }

    /// An agent whose engine is not there.
    pub fn without_engine(name: &str) -> Self {
        let mut machine = Self::new(name);
        machine.engine = Some("unix:///nonexistent/docker.sock".into());
        machine
    }

    /// An agent that reaches the engine through a socket that can be cut.
    pub fn behind_proxy(name: &str) -> (Self, Proxy) {
        let mut machine = Self::new(name);
        let path = machine.dir.path().join("proxy.sock");
        machine.engine = Some(format!("unix://{}", path.display()));
        (machine, Proxy::start(path))
    }

    pub fn pods_dir(&self) -> PathBuf {
        self.dir.path().join("pods")
    }

    pub fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("podkeeper.sock")
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_podkeeper"));
        command.env_remove("PODKEEPER_CONFIG");
        command
    }

    fn run(&self) -> Command {
        let log = File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let mut command = self.command();
        command.arg("run").arg("--config").arg(self.pods_dir()).arg("--node-name").arg(&self.node);
        command.args(["--port", &self.port.to_string()]).args(&self.flags);
        command.arg("--state-dir").arg(self.state_dir()).arg("--socket").arg(self.socket());
        if let Some(engine) = &self.engine {
            command.arg("--engine").arg(engine).args(["--sync-frequency", "1s"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command
    }

    pub fn start(&mut self) {
        self.agent = Some(self.run().spawn().unwrap());
    }

    /// Starts a second agent beside the first and waits for its end; returns what it said.
    pub fn start_twin(&self) -> (bool, String) {
        let output = self.run().stderr(Stdio::piped()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn signal(&self, signal: Signal) {
        let agent = self.agent.as_ref().expect("no agent runs");
        kill_process(Pid::from_child(agent), signal).unwrap();
    }

    /// SIGTERM; returns the exit status.
    pub fn stop(&mut self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.agent.take()?.wait().unwrap().code()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let mut agent = self.agent.take().expect("no agent runs");
        agent.kill().unwrap();
        agent.wait().unwrap();
    }

    /// `podkeeper get pods`, as a person sees it.
    pub fn table(&self) -> String {
        let output = self.command().args(["get", "pods", "--socket"]).arg(self.socket()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = UnixStream::connect(self.socket()).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// Sends a manifest, or nothing, over the socket; the code and the whole answer.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
        let kind = format!("Content-Type: application/yaml\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all([head, kind, body.to_owned()].concat().as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }

    pub fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_str(&self.get(path)?.1).ok()
    }

    /// Asks again and again until the agent says it, and fails with all that is known when it never does.
    #[track_caller]
    pub fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            if Instant::now() > deadline {
                panic!("never: {what}\n{}\n{}", self.table(), self.log());
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    pub fn until_pod(&self, name: &str, word: &str) {
        self.until(&format!("{name} is {word}"), || self.word(name).as_deref() == Some(word));
    }

    #[track_caller]
    pub fn until_gone(&self, name: &str) {
        self.until(&format!("{name} is gone"), || self.listed().is_some() && self.word(name).is_none());
    }

    /// Nothing is due, nothing is under way.
    #[track_caller]
    pub fn until_settled(&self) {
        self.until("settled", || {
            self.get("/readyz").is_some_and(|(code, _)| code == 200)
                && self.json("/plan").is_some_and(|plan| {
                    let none = |field: &str| plan[field].as_array().is_some_and(Vec::is_empty);
                    none("actions") && none("underWay")
                })
        });
    }

    fn listed(&self) -> Option<Vec<Value>> {
        self.json("/pods")?["items"].as_array().cloned()
    }

    fn pod(&self, name: &str) -> Option<Value> {
        self.listed()?.into_iter().find(|pod| pod["metadata"]["name"] == name)
    }

    /// The word of the table.
    pub fn word(&self, name: &str) -> Option<String> {
        Some(self.pod(name)?["status"]["reason"].as_str()?.to_owned())
    }

    /// The id of a pod's first container, while it runs.
    pub fn container(&self, name: &str) -> Option<String> {
        let pod = self.pod(name)?;
        let status = &pod["status"]["containerStatuses"][0];
        status["state"]["running"].as_object()?;
        Some(status["containerID"].as_str()?.trim_start_matches("docker://").to_owned())
    }

    pub fn write(&self, file: &str, manifest: &str) {
        fs::write(self.pods_dir().join(file), manifest).unwrap();
    }

    /// Every container of this node with its state, by the engine's own account.
    pub fn containers(&self) -> Vec<String> {
        let label = format!("label=io.podkeeper.node={}", self.node);
        let mut lines: Vec<String> =
            docker(&["ps", "-a", "--no-trunc", "--filter", &label, "--format", "{{.ID}} {{.State}}"])
                .lines()
                .map(str::to_owned)
                .collect();
        lines.sort();
        lines
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        for container in self.containers() {
            remove(&container[..64]);
        }
    }
}

/// Runs `docker` and returns what it prints.
#[track_caller]
pub fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("the docker command is needed");
    assert!(
        output.status.success(),
        "docker {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn remove(container: &str) {
    let _ = Command::new("docker").args(["rm", "-f", container]).output();
}

/// The image of all tests: busybox and nothing else, made here because no registry may be asked.
pub const IMAGE: &str = "podkeeper-node-test:1";

fn need_docker() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let version = Command::new("docker").args(["version", "--format", "{{.Server.Version}}"]).output();
        assert!(
            version.is_ok_and(|output| output.status.success()),
            "these tests need Docker: start it (scripts/test does) and let this user use it"
        );
        let there = Command::new("docker").args(["image", "inspect", IMAGE]).output().unwrap();
        if !there.status.success() {
            import();
        }
        sweep();
    });
}

/// A static one: `scripts/test` names one where the machine has none.
fn busybox() -> std::ffi::OsString {
    std::env::var_os("PODKEEPER_BUSYBOX").unwrap_or_else(|| "/bin/busybox".into())
}

/// Removes what a test left behind whose process was killed: the process id is the end of its node's name.
fn sweep() {
    let format = "{{.ID}} {{.Label \"io.podkeeper.node\"}}";
    for line in docker(&["ps", "-a", "--filter", "label=io.podkeeper.node", "--format", format]).lines() {
        let Some((container, node)) = line.split_once(' ') else { continue };
        let Some((_, pid)) = node.strip_prefix("test-").and_then(|rest| rest.rsplit_once('-')) else {
            continue;
        };
        if pid.parse::<u32>().is_ok() && !std::path::Path::new("/proc").join(pid).exists() {
            remove(container);
        }
    }
}

fn import() {
    let root = tempfile::tempdir().unwrap();
    let bin = root.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::copy(busybox(), bin.join("busybox")).expect("these tests need the package busybox-static");
    for applet in ["sh", "sleep", "cat"] {
        std::os::unix::fs::symlink("busybox", bin.join(applet)).unwrap();
    }
    let archive = root.path().join("root.tar");
    let tar = Command::new("tar").arg("-C").arg(root.path()).arg("-cf").arg(&archive).arg("bin").status();
    assert!(tar.unwrap().success());
    docker(&["import", archive.to_str().unwrap(), IMAGE]);
}

/// A pod that runs until it is told to stop. `more` is put into its container.
pub fn pod(name: &str, more: &str) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Pod\n\
         metadata: {{name: {name}}}\n\
         spec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - name: app\n    image: {IMAGE}\n    \
         imagePullPolicy: Never\n    command: [sleep, \"100000\"]\n{}",
        more.lines().map(|line| format!("    {line}\n")).collect::<String>()
    )
}

//! The agent under test: started on a directory of its own, measured from `/proc`.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::engine::{COMMAND, IMAGE};

pub const NODE: &str = "bench";

/// A directory with manifests, and beside it one in which they are written before they are moved in.
pub struct Place {
    pub root: PathBuf,
}

impl Place {
    pub fn new() -> Result<Self, String> {
        let root = std::env::temp_dir().join(format!("podkeeper-bench-{}", std::process::id()));
        for dir in ["pods", "next", "state"] {
            fs::create_dir_all(root.join(dir)).map_err(|error| format!("{}: {error}", root.display()))?;
        }
        Ok(Self { root })
    }

    /// Makes these pods appear, all but at once.
    pub fn declare(&self, pods: std::ops::Range<usize>) -> Result<(), String> {
        let fails = |error: std::io::Error| format!("{}: {error}", self.root.display());
        for i in pods.clone() {
            fs::write(self.root.join(format!("next/bench-{i}.yaml")), manifest(&format!("bench-{i}"))?)
                .map_err(fails)?;
        }
        for i in pods {
            let name = format!("bench-{i}.yaml");
            fs::rename(self.root.join("next").join(&name), self.root.join("pods").join(&name))
                .map_err(fails)?;
        }
        Ok(())
    }

    pub fn undeclare_all(&self) -> Result<(), String> {
        let fails = |error: std::io::Error| format!("{}: {error}", self.root.display());
        for entry in fs::read_dir(self.root.join("pods")).map_err(fails)? {
            fs::remove_file(entry.map_err(fails)?.path()).map_err(fails)?;
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A pod of one container that runs until it is told to end.
pub fn manifest(name: &str) -> Result<String, String> {
    let command = serde_json::to_string(&COMMAND).map_err(|error| error.to_string())?;
    Ok(format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    \
         image: {IMAGE}\n    imagePullPolicy: IfNotPresent\n    command: {command}\n"
    ))
}

pub struct Agent {
    child: Child,
}

impl Agent {
    pub fn start(
        place: &Place,
        binary: &str,
        socket: &str,
        sync: &str,
        flags: &[&str],
    ) -> Result<Self, String> {
        let path = |name: &str| place.root.join(name);
        let log = fs::File::create(path("agent.log")).map_err(|error| error.to_string())?;
        let child = Command::new(binary)
            .args(["run", "--node-name", NODE, "--sync-frequency", sync])
            .args(flags)
            .args([
                "--engine",
                &format!("unix://{socket}"),
                "--engine-concurrency",
                "4",
                "--allow-mass-delete",
            ])
            .arg("--config")
            .arg(path("pods"))
            .arg("--state-dir")
            .arg(path("state"))
            .arg("--socket")
            .arg(path("podkeeper.sock"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{binary}: {error}"))?;
        Ok(Self { child })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, and until it has ended. Containers stay.
    pub fn stop(&mut self) {
        // Its number may be somebody else's once it was waited for.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = Command::new("kill").arg(self.pid().to_string()).status();
        let _ = self.child.wait();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop();
    }
}

/// CPU time of a process in nanoseconds: all of its threads, to the nanosecond (`schedstat`).
pub fn cpu(pid: u32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return 0 };
    let of = |path: PathBuf| {
        fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.flatten().filter_map(|task| of(task.path())).sum::<u64>()
}

/// CPU time of the engine behind a socket, and of the containerd that it has started, in nanoseconds.
pub fn cpu_of_engine(socket: &str) -> u64 {
    let Ok(stream) = UnixStream::connect(socket) else { return 0 };
    let Ok(peer) = rustix::net::sockopt::socket_peercred(&stream) else { return 0 };
    let engine = peer.pid.as_raw_nonzero().get().unsigned_abs();
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| memory(*pid, "PPid") == u64::from(engine);
    let children: u64 = pids.filter(is_child).map(cpu).sum();
    cpu(engine) + children
}

/// A line of `/proc/<pid>/status`: kB, or a number.
pub fn memory(pid: u32, line: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let value = status.lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':'));
    value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

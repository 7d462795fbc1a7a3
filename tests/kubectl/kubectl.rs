//! Running kubectl with the agent's own kubeconfig and a home of its own.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use crate::machine::Machine;

/// Lets a machine serve its API over TCP too, at a port that is free now.
pub fn with_tcp(mut machine: Machine) -> Machine {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    machine.port = listener.local_addr().unwrap().port();
    machine
}

pub struct Kubectl {
    home: PathBuf,
}

/// What it printed, and whether it was content.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Kubectl {
    #[track_caller]
    pub fn of(machine: &Machine) -> Self {
        let home = machine.dir.path().join("home");
        fs::create_dir_all(&home).unwrap();
        machine.until("kubeconfig is printed", || {
            let mut command = machine.command();
            let output = command.args(["kubeconfig", "--socket"]).arg(machine.socket()).output().unwrap();
            fs::write(home.join("config"), output.stdout).unwrap();
            output.status.success()
        });
        Self { home }
    }

    /// The arguments are parted by blanks.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("kubectl");
        // With `--request-timeout` nothing hangs for longer than that; a watch and a log go on for as long.
        command.args(arguments.split_whitespace()).arg("--request-timeout=60s");
        command
            .env("KUBECONFIG", self.home.join("config"))
            .env("HOME", &self.home)
            .env_remove("KUBECTL_COMMAND_HEADERS");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    pub fn run(&self, arguments: &str) -> Said {
        said(self.command(arguments).output().expect("these tests need kubectl: scripts/test installs it"))
    }

    /// Hands it a manifest (`-f -` is added).
    #[track_caller]
    pub fn with(&self, arguments: &str, manifest: &str) -> Said {
        let mut child =
            self.command(arguments).args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("kubectl");
        child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
        said(child.wait_with_output().unwrap())
    }

    /// One that goes on by itself.
    #[track_caller]
    pub fn start(&self, arguments: &str) -> Running {
        let mut child = self.command(arguments).spawn().expect("kubectl");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { child, lines }
    }
}

impl Said {
    /// It was content; returns what it printed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// It was content; returns what it said beside that.
    #[track_caller]
    pub fn said(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.err
    }

    /// It was not; returns what it complained of.
    #[track_caller]
    pub fn refused(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        self.err
    }
}

fn said(output: Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Reads until a line is as wanted; fails when the output ends before.
    #[track_caller]
    pub fn until(&mut self, what: &str, is_it: impl Fn(&str) -> bool) {
        let mut seen = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if is_it(&line) {
                return;
            }
            seen.push(line);
        }
        panic!("it ended without {what}: {seen:#?}");
    }

    /// All that comes until it ends by itself.
    pub fn rest(&mut self) -> Vec<String> {
        self.lines.by_ref().map(Result::unwrap).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

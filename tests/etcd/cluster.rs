//! etcd servers of a test's own: own ports, own directories, ended with the test.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use etcd_client::{Client, ConnectOptions};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

/// Far beyond what any step takes; only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One server.
pub struct Member {
    pub url: String,
    pub data: PathBuf,
    arguments: Vec<String>,
    process: Option<Child>,
}

/// Servers of one cluster, in a directory that ends with it.
pub struct Cluster {
    pub members: Vec<Member>,
    pub dir: tempfile::TempDir,
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Cluster {
    /// Starts so many members and waits until they answer.
    pub async fn start(members: usize) -> Self {
        Self::with(members, &[]).await
    }

    pub async fn with(members: usize, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ports: Vec<(u16, u16)> = (0..members).map(|_| (free_port(), free_port())).collect();
        let peer = |index: usize| format!("http://127.0.0.1:{}", ports[index].1);
        let all: Vec<String> = (0..members).map(|index| format!("m{index}={}", peer(index))).collect();
        let member = |index: usize| {
            let url = format!("http://127.0.0.1:{}", ports[index].0);
            let data = dir.path().join(format!("m{index}"));
            let own = [
                ("--name", format!("m{index}")),
                ("--data-dir", data.display().to_string()),
                ("--listen-client-urls", url.clone()),
                ("--advertise-client-urls", url.clone()),
                ("--listen-peer-urls", peer(index)),
                ("--initial-advertise-peer-urls", peer(index)),
                ("--initial-cluster", all.join(",")),
            ];
            let own = own.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
            let arguments = own.chain(arguments.iter().map(|text| (*text).to_owned())).collect();
            Member { url, data, arguments, process: None }
        };
        let mut cluster = Self { members: (0..members).map(member).collect(), dir };
        cluster.members.iter_mut().for_each(Member::start);
        cluster.answers().await;
        cluster
    }

    /// Waits until every member that runs answers.
    pub async fn answers(&self) {
        for member in self.members.iter().filter(|member| member.process.is_some()) {
            member.answers().await;
        }
    }

    pub fn urls(&self) -> Vec<String> {
        self.members.iter().map(|member| member.url.clone()).collect()
    }

    /// A client of the test's own.
    pub async fn client(&self) -> Client {
        self.members.iter().find(|member| member.process.is_some()).unwrap().client().await
    }
}

impl Member {
    pub fn start(&mut self) {
        let path = self.data.with_extension("log");
        let log = fs::File::options().create(true).append(true).open(path).unwrap();
        let mut command = Command::new("etcd");
        command.args(&self.arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        // Variables of the machine would be flags too.
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ETCD_")) {
            command.env_remove(name);
        }
        self.process = Some(command.spawn().expect("these tests need etcd: scripts/test installs it"));
    }

    /// The flag `flag` has another value from the next start on.
    pub fn change(&mut self, flag: &str, value: &str) {
        self.arguments.push(format!("{flag}={value}"));
    }

    /// SIGKILL, as when power goes.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    pub fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("it runs");
        kill_process(Pid::from_child(process), signal).unwrap();
    }

    pub async fn client(&self) -> Client {
        let options = ConnectOptions::new().with_connect_timeout(Duration::from_secs(2));
        Client::connect([&self.url], Some(options)).await.unwrap()
    }

    async fn answers(&self) {
        let deadline = Instant::now() + PATIENCE;
        while self.client().await.get("x", None).await.is_err() {
            let log = || fs::read_to_string(self.data.with_extension("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "{} does not answer:\n{}", self.url, log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Copies a directory of etcd's, as a backup does.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, target) = (entry.unwrap(), to.join(""));
        let target = target.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

//! The agent with its four sources, each of which declares one pod that bears its name.

use std::collections::BTreeMap;

use rustix::process::Signal;
use tokio::runtime::Runtime;

use crate::cluster::Cluster;
use crate::machine::{Machine, pod};
use crate::server::{Server, response};

pub const NAMES: [&str; 4] = ["file", "api", "http", "etcd"];

pub struct Four {
    pub machine: Machine,
    pub server: Server,
    cluster: Cluster,
    runtime: Runtime,
}

/// A pod that differs by the colour, and only by it.
pub fn coloured(name: &str, colour: &str) -> String {
    pod(name, &format!("env: [{{name: COLOUR, value: {colour}}}]"))
}

impl Four {
    /// Starts everything and waits until all four pods run.
    #[track_caller]
    pub fn start(name: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (cluster, server) = (runtime.block_on(Cluster::start(1)), Server::start());
        let mut machine = Machine::new(name);
        // So seldom that only a signal explains why a change is seen.
        let flags =
            ["--http-check-frequency", "1h", "--manifest-url", &server.url("/pods"), "--etcd-servers"];
        machine.flags = flags.map(str::to_owned).into();
        machine.flags.extend(cluster.urls());
        let mut four = Self { machine, server, cluster, runtime };
        four.machine.write("file.yaml", &coloured("file", "red"));
        four.http("red");
        four.put_etcd("red");
        four.machine.start();
        four.machine.until("the API answers", || four.machine.get("/healthz").is_some());
        four.api("POST", "api", &coloured("api", "red"));
        four.until_all_run();
        four
    }

    #[track_caller]
    pub fn until_all_run(&self) {
        NAMES.iter().for_each(|name| self.machine.until_pod(name, "Running"));
        self.machine.until_settled();
    }

    /// What the HTTP server says from now on.
    pub fn http(&self, colour: &str) {
        self.server.answer(response(200, &[], coloured("http", colour).as_bytes()));
    }

    pub fn put_etcd(&self, colour: &str) {
        let key = format!("/podkeeper/nodes/{}/pods/default/etcd", self.machine.node);
        self.runtime.block_on(async {
            self.cluster.client().await.put(key, coloured("etcd", colour), None).await.unwrap();
        });
    }

    /// SIGKILL, as when power goes.
    pub fn kill_etcd(&mut self) {
        self.cluster.members[0].kill();
    }

    pub fn start_etcd(&mut self) {
        self.cluster.members[0].start();
        self.runtime.block_on(self.cluster.answers());
    }

    /// SIGHUP.
    pub fn hang_up(&self) {
        self.machine.signal(Signal::HUP);
    }

    /// Writes a pod through the API, or lets go of it.
    #[track_caller]
    pub fn api(&self, method: &str, name: &str, body: &str) {
        let pods = "/api/v1/namespaces/default/pods";
        let path = if method == "POST" { pods.to_owned() } else { format!("{pods}/{name}") };
        let (code, said) = self.machine.send(method, &path, body);
        assert!(matches!(code, 200 | 201), "{said}");
    }

    /// Waits until a source is in this state, and tells of an error or of none.
    #[track_caller]
    pub fn until_source(&self, kind: &str, state: &str, fails: bool) {
        let what = format!("{kind} is {state}, with an error: {fails}");
        self.machine.until(&what, || {
            let sources = self.machine.json("/sources").unwrap_or_default();
            let source = sources["items"].as_array().and_then(|all| all.iter().find(|s| s["kind"] == kind));
            source.is_some_and(|source| source["state"] == state && source["error"].is_string() == fails)
        });
    }

    /// The container of each of the four pods. All of them run.
    #[track_caller]
    pub fn ids(&self) -> BTreeMap<&'static str, String> {
        let id = |name| (name, self.machine.container(name).unwrap_or_else(|| panic!("{name} does not run")));
        NAMES.map(id).into()
    }

    /// Waits until a pod runs in another container than before, and returns its id.
    #[track_caller]
    pub fn until_replaced(&self, name: &str, before: &str) -> String {
        let mut now = None;
        self.machine.until(&format!("{name} is replaced"), || {
            now = self.machine.container(name).filter(|id| id != before);
            now.is_some()
        });
        now.unwrap()
    }

    /// By the engine's own account: what runs is what ran, no container more and none less.
    #[track_caller]
    pub fn until_as_before(&self, before: &[String]) {
        self.machine.until_settled();
        self.machine.until("the containers are those of before", || self.machine.containers() == before);
    }

    /// A pod comes, changes and goes in the directory, while `before` runs on beside it.
    #[track_caller]
    pub fn prove_the_file_source_works(&self, before: &[String]) {
        let machine = &self.machine;
        machine.write("extra.yaml", &coloured("extra", "red"));
        machine.until_pod("extra", "Running");
        let extra = machine.container("extra").expect("it runs");
        machine.write("extra.yaml", &coloured("extra", "blue"));
        self.until_replaced("extra", &extra);
        std::fs::remove_file(machine.pods_dir().join("extra.yaml")).unwrap();
        machine.until_gone("extra");
        self.until_as_before(before);
    }
}

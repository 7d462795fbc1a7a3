//! The real source, writing into a real store, on a node called `n`.

use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use podkeeper::node::clock::Clock;
use podkeeper::node::keep::Kept;
use podkeeper::node::sources::etcd::{self, Access, MOST_KEYS, Pace, Settings};
use podkeeper::node::sources::wake::Waker;
use podkeeper::node::store::{Declarations, SourceReport, SourceState, Store};
use podkeeper::plan::{Node, SourceKind};
use tokio::sync::{oneshot, watch};

use crate::cluster::PATIENCE;

/// On a thread of its own, which ends with it.
pub struct Source {
    reader: watch::Receiver<Declarations>,
    pub waker: Waker,
    _store: Store,
    state: Arc<tempfile::TempDir>,
    thread: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

pub fn key(pod: &str) -> String {
    format!("/podkeeper/nodes/n/pods/default/{pod}")
}

pub const LIST: &str = "/registry/hosts/n/kubelet";

/// A pod of that image.
pub fn manifest(name: &str, image: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - {{name: app, image: \"{image}\"}}\n"
    )
}

impl Source {
    pub fn start(servers: &[String]) -> Self {
        Self::with(servers, |_| {})
    }

    pub fn with(servers: &[String], change: impl FnOnce(&mut Settings)) -> Self {
        Self::keeping(servers, Arc::new(tempfile::tempdir().unwrap()), change)
    }

    /// The agent ends, and another one with these servers goes on in its place.
    pub fn again(self, servers: &[String]) -> Self {
        let state = self.state.clone();
        drop(self);
        Self::keeping(servers, state, |_| {})
    }

    /// Quick where a fleet would be patient.
    fn keeping(
        servers: &[String],
        state: Arc<tempfile::TempDir>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let store = Store::new(node.clone());
        let access = Access { servers: servers.to_vec(), ca_file: None, client: None, user: None };
        let mut settings = Settings {
            access,
            prefix: "/podkeeper".into(),
            node,
            allow_mass_delete: false,
            kept: Kept::new(state.path(), "etcd"),
            pace: Pace {
                back_off: (Duration::from_millis(200), Duration::from_secs(1)),
                relist: Duration::from_secs(3600),
                second_look: Duration::from_millis(300),
            },
            most_keys: MOST_KEYS,
        };
        change(&mut settings);
        let (writer, (stop, stopped), (tell, told)) =
            (store.writer(SourceKind::Etcd), oneshot::channel(), mpsc::channel());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tell.send(etcd::spawn(settings, writer, Clock::start())).unwrap();
                let _ = stopped.await;
            });
        });
        let waker = told.recv().unwrap();
        Self { reader: store.reader(), waker, _store: store, state, thread: Some((stop, thread)) }
    }

    pub fn report(&self) -> SourceReport {
        let now = self.reader.borrow();
        now.sources.get(&SourceKind::Etcd).map(|reports| reports[0].clone()).unwrap_or_default()
    }

    /// The pods that are desired, each as `name=image`, with an exclamation mark when they may be old.
    pub fn pods(&self) -> String {
        let now = self.reader.borrow();
        let pods = now.desired.pods().values();
        let pods: Vec<String> = pods
            .map(|declared| format!("{}={}", declared.key.name, declared.pod.spec.containers[0].image))
            .collect();
        let mark = if self.report().state == SourceState::Known { "" } else { "!" };
        format!("{mark}{}", pods.join(" "))
    }

    pub fn uid(&self, pod: &str) -> Option<String> {
        let now = self.reader.borrow();
        let declared = now.desired.pods().values().find(|declared| &*declared.key.name == pod)?;
        Some(declared.uid.0.to_string())
    }

    /// Waits until it is so. The store wakes nobody for a report alone, so it is looked at in between too.
    #[track_caller]
    pub fn until<'a>(
        &'a mut self,
        what: &'a str,
        is_so: impl Fn(&Self) -> bool + 'a,
    ) -> impl Future<Output = ()> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let deadline = tokio::time::Instant::now() + PATIENCE;
            while !is_so(self) {
                let now = tokio::time::Instant::now();
                assert!(now < deadline, "{caller}: never: {what}; {}\n{:#?}", self.pods(), self.report());
                let _ = tokio::time::timeout(Duration::from_millis(50), self.reader.changed()).await;
            }
        }
    }

    /// Waits until these are the pods.
    #[track_caller]
    pub fn until_pods<'a>(&'a mut self, pods: &'a str) -> impl Future<Output = ()> + 'a {
        self.until(pods, move |source| source.pods() == pods)
    }

    /// Waits until it is told that etcd cannot be read.
    #[track_caller]
    pub fn until_error<'a>(&'a mut self, part: &'a str) -> impl Future<Output = ()> + 'a {
        self.until(part, move |source| source.report().error.is_some_and(|error| error.contains(part)))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}

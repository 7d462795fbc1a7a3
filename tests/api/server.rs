//! The API of a node that knows what a test says, on a thread of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use im::OrdMap;
use podkeeper::model::{Places, Pod, Time};
use podkeeper::node::api::kube::Kube;
use podkeeper::node::api::tcp::{Listening, Settings, Tcp};
use podkeeper::node::api::{Api, Limits, Stopper, bind, serve, stopping};
use podkeeper::node::bollard::{Endpoint, Engine};
use podkeeper::node::clock::Clock;
use podkeeper::node::events::Events;
use podkeeper::node::keep::Kept;
use podkeeper::node::snapshot::{EngineStatus, Snapshot, Snapshots};
use podkeeper::node::sources::api as written;
use podkeeper::node::store::Store;
use podkeeper::plan::{Declared, Node, Observed, Slot, SourceKind};
use tokio::sync::watch;

/// Far beyond what any step takes; only a failing test waits so long. Less than hyper's own 30 s for a head,
/// so that a limit that we forgot to set is seen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Linux lets a socket's buffers grow to some megabytes.
pub const BULK: usize = 32 << 20;

pub struct Setup {
    pub limits: Limits,
    pub tcp: Settings,
    /// Bytes that `/pods` is made of, beside what it always is.
    bulk: usize,
    dir: tempfile::TempDir,
}

pub struct Server {
    pub address: SocketAddr,
    pub dir: PathBuf,
    stopper: Option<Stopper>,
    thread: Option<JoinHandle<()>>,
    _dir: tempfile::TempDir,
}

impl Setup {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tcp = Settings {
            address: "127.0.0.1:0".parse().unwrap(),
            insecure: false,
            certificate: None,
            client_ca: None,
            state_dir: dir.path().to_owned(),
            node: "node-1".into(),
        };
        Self { limits: Limits::default(), tcp, bulk: 0, dir }
    }

    pub fn limited(limits: Limits) -> Self {
        Self { limits, ..Self::new() }
    }

    /// With so much to read that no buffer between two processes holds it.
    pub fn bulky(limits: Limits) -> Self {
        Self { bulk: BULK, ..Self::limited(limits) }
    }

    /// Where the test may put files for the server.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Begins to serve; over TCP at once, or later when the port is taken.
    pub fn start(self) -> Server {
        let (tell, told) = mpsc::channel();
        let (stopper, stop) = stopping();
        let (limits, bulk, settings) = (self.limits, self.bulk, self.tcp.clone());
        let socket = self.dir.path().join("s");
        let kept = Kept::new(self.dir.path(), "api");
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let tcp = Tcp::open(settings).unwrap();
                let mut listening = tcp.listening.subscribe();
                let (snapshots, _rounds) = snapshots(bulk);
                let kube = kube(kept, snapshots.clone());
                let api = Api { snapshots, clock: Clock::start(), limits, kube, tcp: Some(tcp) };
                let socket = bind(&socket).unwrap();
                let telling = async {
                    let heard = listening.wait_for(|listening| *listening != Listening::NotYet).await;
                    tell.send(heard.unwrap().clone()).unwrap();
                };
                tokio::join!(serve(socket, Arc::new(api), stop), telling);
            });
        });
        let address = match told.recv_timeout(PATIENCE).expect("the server does not start") {
            Listening::At(address) => address,
            Listening::NotYet | Listening::Fails(_) => self.tcp.address,
        };
        let dir = self.dir.path().to_owned();
        Server { address, dir, stopper: Some(stopper), thread: Some(thread), _dir: self.dir }
    }
}

impl Server {
    pub fn start() -> Self {
        Setup::new().start()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }

    pub fn token(&self) -> String {
        std::fs::read_to_string(self.dir.join("token")).unwrap().trim().to_owned()
    }

    pub fn tell_to_stop(&mut self) {
        self.stopper.take().expect("it has been told").stop();
    }

    /// Fails when the server does not come to its end.
    #[track_caller]
    pub fn wait_for_end(&mut self) {
        let thread = self.thread.take().expect("it has ended");
        until("the server ends", || thread.is_finished());
        thread.join().unwrap();
    }
}

#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The API source, and an engine that is not there.
fn kube(kept: Kept<written::Remembered>, snapshots: Snapshots) -> Kube {
    let node = snapshots.now().desired.node;
    let writer = Store::new(node.clone()).writer(SourceKind::Api);
    let settings = written::Settings { node, kept, allow_mass_delete: false, snapshots: snapshots.clone() };
    let pods = written::spawn(settings, writer, Clock::start());
    let engine = Engine::new(Endpoint::Unix("/nonexistent".into())).unwrap();
    Kube::new(pods, snapshots, engine, Events::new(Time(0)).recent())
}

fn snapshots(bulk: usize) -> (Snapshots, watch::Sender<Arc<Snapshot>>) {
    let store = Store::new(Node { name: "node-1".into(), key: [0; 16], sandbox_image: "pause".into() });
    let mut pod = Pod::default();
    (pod.metadata.namespace, pod.metadata.name) = ("default".into(), "web".into());
    pod.metadata.annotations.insert("bulk".into(), "x".repeat(bulk));
    let declarations = store.reader();
    let desired = declarations.borrow().desired.clone();
    let places = Places { file: "web.yaml".into(), fields: [("".into(), (1, 1))].into() };
    let declared = Arc::new(Declared::new(&desired.node, SourceKind::File, pod, places));
    let slot = Slot::Known(OrdMap::unit(declared.key.clone(), declared));
    let snapshot = Snapshot {
        at: Time(0),
        desired: desired.with_slot(SourceKind::File, slot),
        observed: Observed::default(),
        sources: OrdMap::new(),
        engine: EngineStatus::Connecting,
        disk_trouble: None,
    };
    let rounds = watch::Sender::new(Arc::new(snapshot));
    (Snapshots::new(rounds.subscribe(), declarations), rounds)
}

//! The real sources, HTTP and etcd, in one store, on a runtime of their own as in the agent.

use std::sync::mpsc;
use std::time::Duration;

use podkeeper::node::clock::Clock;
use podkeeper::node::keep::Kept;
use podkeeper::node::sources::etcd::{self, MOST_KEYS, Pace};
use podkeeper::node::sources::http::{self, Limits, ManifestUrl};
use podkeeper::node::sources::wake::Waker;
use podkeeper::node::store::{Declarations, Reports, Store};
use podkeeper::plan::{Node, SourceKind};
use tokio::sync::watch;

/// As on a quick network, for the servers are near.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(2),
    head: Duration::from_millis(300),
    idle: Duration::from_millis(300),
    total: Duration::from_secs(2),
};
/// A thousand times quicker than a fleet.
const PACE: Pace = Pace {
    back_off: (Duration::from_millis(20), Duration::from_millis(200)),
    relist: Duration::from_millis(600),
    second_look: Duration::from_millis(50),
};

pub struct Agent {
    pub reader: watch::Receiver<Declarations>,
    waker: Waker,
    _state: tempfile::TempDir,
}

impl Agent {
    pub fn start(node: Node, url: String, etcd: String) -> Self {
        let (store, state) = (Store::new(node.clone()), tempfile::tempdir().unwrap());
        let http = http::Settings {
            urls: vec![ManifestUrl::parse(&url).unwrap()],
            access: http::Access { limits: LIMITS, ..http::Access::default() },
            node: node.clone(),
            // The test decides when: it wakes the source, which ends any pause.
            check: Duration::from_secs(3600),
            allow_mass_delete: false,
            kept: Kept::new(state.path(), "manifests-http"),
        };
        let etcd = etcd::Settings {
            access: etcd::Access { servers: vec![etcd], ca_file: None, client: None, user: None },
            prefix: "/podkeeper".into(),
            node,
            allow_mass_delete: false,
            kept: Kept::new(state.path(), "manifests-etcd"),
            pace: PACE,
            most_keys: MOST_KEYS,
        };
        let (to_test, from_agent) = mpsc::channel();
        let reader = store.reader();
        // Lives as long as the test's process.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let clock = Clock::start();
                etcd::spawn(etcd, store.writer(SourceKind::Etcd), clock);
                to_test.send(http::spawn(http, store.writer(SourceKind::Http), clock)).unwrap();
                std::future::pending::<()>().await;
            });
        });
        Self { reader, waker: from_agent.recv().unwrap(), _state: state }
    }

    /// The HTTP source asks now.
    pub fn ask(&self) {
        self.waker.wake();
    }

    pub fn reports(&self) -> Reports {
        self.reader.borrow().sources.clone()
    }
}

//! The real source, writing into a real store, reading from our server.
//!
//! Its polls are far apart, so that a test decides when the next one comes ([`Rig::ask`]); and it waits for what a
//! report says, never for a time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use podkeeper::node::clock::Clock;
use podkeeper::node::keep::Kept;
use podkeeper::node::sources::http::{Access, Limits, ManifestUrl, Settings, spawn};
use podkeeper::node::sources::wake::Waker;
use podkeeper::node::store::{Declarations, SourceReport, SourceState, Store};
use podkeeper::plan::{Declared, Node, Slot, SourceKind};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Far beyond what any step takes; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Far below the real ones, for servers that do nothing.
pub const SHORT: Limits = Limits {
    connect: Duration::from_secs(10),
    head: Duration::from_millis(300),
    idle: Duration::from_millis(300),
    total: Duration::from_secs(10),
};

pub struct Rig {
    runtime: Runtime,
    reader: watch::Receiver<Declarations>,
    waker: Waker,
}

impl Rig {
    pub fn start(urls: &[String]) -> Self {
        Self::with(urls, Access::default())
    }

    pub fn with(urls: &[String], access: Access) -> Self {
        let state = tempfile::tempdir().unwrap();
        Self::keeping(urls, access, state.path())
    }

    /// An agent that keeps what it read in this directory.
    pub fn keeping(urls: &[String], access: Access, state: &Path) -> Self {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let store = Store::new(node.clone());
        let settings = Settings {
            urls: urls.iter().map(|url| ManifestUrl::parse(url).unwrap()).collect(),
            access,
            node,
            check: Duration::from_secs(3600),
            allow_mass_delete: false,
            kept: Kept::new(state, "manifests-http"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let waker =
            runtime.block_on(async { spawn(settings, store.writer(SourceKind::Http), Clock::start()) });
        Self { runtime, reader: store.reader(), waker }
    }

    /// As SIGHUP does.
    pub fn ask(&self) {
        self.waker.wake();
    }

    /// Waits for this of the first URL, and returns its report.
    pub fn until(&self, wanted: impl Fn(&SourceReport) -> bool) -> SourceReport {
        self.until_of(0, wanted)
    }

    pub fn until_of(&self, url: usize, wanted: impl Fn(&SourceReport) -> bool) -> SourceReport {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let reports = self.reader.borrow().sources.get(&SourceKind::Http).cloned();
            let report = reports.and_then(|reports| reports.get(url).cloned());
            match report {
                Some(report) if wanted(&report) => return report,
                other => assert!(Instant::now() < deadline, "still {other:#?}"),
            }
            // The source runs while the test waits.
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(2)).await });
        }
    }

    /// Asks, and waits for trouble with these words; all pods stay as they are.
    pub fn fails(&self, words: &str) -> SourceReport {
        let before = self.pods();
        self.ask();
        let report = self.until(|report| report.error.as_ref().is_some_and(|error| error.contains(words)));
        assert_same(&before, &self.pods());
        assert_eq!(report.state, if before.is_empty() { SourceState::Unknown } else { SourceState::Stale });
        report
    }

    /// Asks, and waits until it is read without trouble.
    pub fn reads(&self) -> SourceReport {
        let before = self.until(|_| true);
        self.ask();
        self.until(|now| now.state == SourceState::Known && now.read_at > before.read_at)
    }

    /// Waits for the first good answer, which comes without asking.
    pub fn begins(&self) -> SourceReport {
        self.until(|report| report.state == SourceState::Known)
    }

    pub fn slot(&self) -> Slot {
        self.reader.borrow().desired.slot(SourceKind::Http).clone()
    }

    pub fn pods(&self) -> BTreeMap<String, Arc<Declared>> {
        let declared = self.slot();
        let pods = declared.pods().into_iter().flatten();
        pods.map(|(key, pod)| (key.name.to_string(), pod.clone())).collect()
    }

    /// Names with the image of the first container.
    pub fn images(&self) -> Vec<String> {
        let image =
            |(name, pod): (&String, &Arc<Declared>)| format!("{name}={}", pod.pod.spec.containers[0].image);
        self.pods().iter().map(image).collect()
    }
}

/// The same ones, untouched.
fn assert_same(before: &BTreeMap<String, Arc<Declared>>, after: &BTreeMap<String, Arc<Declared>>) {
    let identities = |pods: &BTreeMap<String, Arc<Declared>>| {
        pods.iter().map(|(name, pod)| (name.clone(), Arc::as_ptr(pod))).collect::<Vec<_>>()
    };
    assert_eq!(identities(before), identities(after));
}

/// Manifests of pods, `name=image` each.
pub fn manifests(pods: &[&str]) -> Vec<u8> {
    let pod = |pod: &&str| {
        let (name, image) = pod.split_once('=').unwrap_or((pod, "x:1"));
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: \"{image}\"}}]}}\n"
        )
    };
    pods.iter().map(pod).collect::<String>().into_bytes()
}

//! What is known of the API's pods at the start, when their store is whole, new, wiped or damaged.

use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::*;
use crate::model::{ContainerId, Uid};
use crate::node::snapshot::EngineStatus;
use crate::node::store::{Declarations, Store};
use crate::plan::{Fingerprint, Instance, Observed, Role, State};

/// An agent whose engine runs what the test says.
struct Agent {
    dir: tempfile::TempDir,
    rounds: watch::Sender<Arc<Snapshot>>,
    declarations: watch::Receiver<Declarations>,
    pods: ApiPods,
}

impl Agent {
    fn start(dir: tempfile::TempDir, allow_mass_delete: bool) -> Self {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let store = Store::new(node.clone());
        let declarations = store.reader();
        let snapshot = Snapshot {
            at: crate::model::Time(0),
            desired: declarations.borrow().desired.clone(),
            observed: Observed::default(),
            sources: OrdMap::new(),
            engine: EngineStatus::Connecting,
            disk_trouble: None,
        };
        let rounds = watch::Sender::new(Arc::new(snapshot));
        let snapshots = Snapshots::new(rounds.subscribe(), declarations.clone());
        let settings = Settings { node, kept: Kept::new(dir.path(), "api"), allow_mass_delete, snapshots };
        let pods = spawn(settings, store.writer(SourceKind::Api), Clock::start());
        Self { dir, rounds, declarations, pods }
    }

    fn new() -> Self {
        Self::start(tempfile::tempdir().unwrap(), false)
    }

    /// It is killed and comes back.
    fn again(self, allow_mass_delete: bool) -> Self {
        Self::start(self.dir, allow_mass_delete)
    }

    fn damage(&self) {
        for name in ["api.json", "api.json.1"] {
            std::fs::write(self.dir.path().join(name), b"{").unwrap();
        }
    }

    /// The engine is listed, and this runs.
    fn list(&self, running: &[&str]) {
        let pods = running.iter().map(|name| {
            let key = PodKey::new("default", name);
            let instance = Instance {
                id: ContainerId(name.repeat(64).into()),
                name: (*name).into(),
                pod: key.clone(),
                uid: Uid("u".into()),
                role: Role::Sandbox,
                attempt: 0,
                source: Some(SourceKind::Api),
                fingerprint: Fingerprint("1".into()),
                grace: None,
                state: State::Running { started_at: None },
                created_at: None,
                ip: None,
                network_mode: "default".into(),
                ports: Default::default(),
                config: None,
                probes: Default::default(),
            };
            (key, Arc::new(PodObserved { instances: vec![Arc::new(instance)] }))
        });
        let observed = Observed { listed: true, pods: pods.collect(), ..Observed::default() };
        self.rounds.send_modify(|round| *round = Arc::new(Snapshot { observed, ..Snapshot::clone(round) }));
    }

    async fn write(&self, name: &str) -> Result<(), Unwritten> {
        let key = PodKey::new("default", name);
        let mut pod = Pod::default();
        (pod.metadata.namespace, pod.metadata.name) = ("default".into(), name.into());
        let written =
            Written { object: json!({}), pod, version: 1, size: 2, legacy: false, applied: BTreeMap::new() };
        self.pods
            .write(move |set| {
                set.pods.insert(key, Arc::new(written));
                Ok(())
            })
            .await
    }

    /// Waits until the source is in that state; returns its pods.
    async fn until(&mut self, state: SourceState) -> Vec<String> {
        let is_so = |now: &Declarations| SourceState::from(now.desired.slot(SourceKind::Api)) == state;
        let wait = self.declarations.wait_for(is_so);
        let now =
            tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("never").unwrap();
        now.desired.pods().keys().map(|key| key.name.to_string()).collect()
    }

    fn held(&self) -> Option<String> {
        self.declarations.borrow().sources.get(&SourceKind::Api)?[0].held.clone()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_was_kept_is_all_there_is() {
    let mut agent = Agent::new();
    agent.write("web").await.unwrap();
    agent.list(&["web"]);
    agent.until(SourceState::Known).await;
    agent.write("db").await.unwrap();
    let mut agent = agent.again(false);
    assert_eq!(agent.until(SourceState::Known).await, ["db", "web"], "before the engine is listed");
}

#[tokio::test(flavor = "current_thread")]
async fn an_older_generation_serves_and_is_not_taken_for_all_there_is_w10() {
    let agent = Agent::new();
    agent.list(&[]);
    for name in ["web", "db"] {
        agent.write(name).await.unwrap();
    }
    std::fs::write(agent.dir.path().join("api.json"), b"{").unwrap();
    let mut agent = agent.again(false);
    agent.list(&["web", "db"]);
    assert_eq!(agent.until(SourceState::Stale).await, ["web"], "db may not be removed");
    // An old file in the place of the new one: the one before it lacks the last write too.
    let agent = Agent::new();
    agent.list(&[]);
    agent.write("a").await.unwrap();
    let old = std::fs::read(agent.dir.path().join("api.json")).unwrap();
    for name in ["b", "c"] {
        agent.write(name).await.unwrap();
    }
    std::fs::write(agent.dir.path().join("api.json"), old).unwrap();
    let mut agent = agent.again(false);
    agent.list(&["a", "b", "c"]);
    assert_eq!(agent.until(SourceState::Stale).await, ["a", "b"], "c may not be removed");
}

#[tokio::test(flavor = "current_thread")]
async fn a_node_where_nothing_runs_has_lost_nothing() {
    let mut agent = Agent::new();
    agent.until(SourceState::Stale).await;
    agent.list(&[]);
    agent.until(SourceState::Known).await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_store_that_was_wiped_or_damaged_removes_no_pod_until_all_are_written_again_w9_w10() {
    let agent = Agent::new();
    agent.list(&[]);
    agent.write("web").await.unwrap();
    agent.damage();
    let mut agent = agent.again(false);
    agent.list(&["web", "db"]);
    assert!(agent.until(SourceState::Stale).await.is_empty());
    agent.write("web").await.unwrap();
    // That it was lost is not forgotten by a further restart.
    let mut agent = agent.again(false);
    assert_eq!(agent.until(SourceState::Stale).await, ["web"]);
    agent.list(&["web", "db"]);
    let told = agent.declarations.wait_for(|now| now.sources[&SourceKind::Api][0].held.is_some());
    tokio::time::timeout(std::time::Duration::from_secs(20), told).await.expect("never").unwrap();
    assert!(agent.held().is_some_and(|held| held.contains("default/db")), "{:?}", agent.held());
    agent.write("db").await.unwrap();
    agent.list(&["web", "db"]);
    assert_eq!(agent.until(SourceState::Known).await, ["db", "web"]);
    assert_eq!(agent.held(), None);
}

#[tokio::test(flavor = "current_thread")]
async fn a_person_may_say_that_what_is_written_is_all_there_is() {
    let agent = Agent::new();
    agent.damage();
    let mut agent = agent.again(true);
    agent.list(&["web"]);
    assert!(agent.until(SourceState::Known).await.is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn writes_that_wait_together_cost_one_write_to_the_disk_w6() {
    let agent = Agent::new();
    agent.write("first").await.unwrap();
    let names: Vec<String> = (0..200).map(|n| format!("pod-{n}")).collect();
    let written = futures_util::future::join_all(names.iter().map(|name| agent.write(name))).await;
    assert!(written.iter().all(Result::is_ok), "{written:?}");
    let pods = |file: &str| {
        let text = std::fs::read(agent.dir.path().join(file)).unwrap();
        let kept: serde_json::Value = serde_json::from_slice(&text).unwrap();
        kept["value"]["pods"].as_array().unwrap().len()
    };
    assert_eq!((pods("api.json.1"), pods("api.json")), (1, 201), "nothing was kept between the two");
}

#[tokio::test(flavor = "current_thread")]
async fn an_edit_that_fails_leaves_the_others_of_its_batch_alone() {
    let agent = Agent::new();
    let refused = agent.pods.write(|set| {
        set.pods.clear();
        Err::<(), _>(Unwritten::Full("no".into()))
    });
    let broken = agent.pods.write(|set| -> Result<(), Unwritten> {
        set.pods.clear();
        panic!("as a fault of our own would")
    });
    let (first, refused, broken, last) = tokio::join!(agent.write("a"), refused, broken, agent.write("b"));
    assert_eq!((first, refused, last), (Ok(()), Err(Unwritten::Full("no".into())), Ok(())));
    assert!(matches!(broken, Err(Unwritten::Failed(_))));
    assert_eq!(agent.again(false).pods.now().pods.len(), 2);
}

/// Panics the first time that something is not written.
#[derive(Debug)]
struct Poison;

static IS_POISONOUS: AtomicBool = AtomicBool::new(true);

impl From<Unwritten> for Poison {
    fn from(_: Unwritten) -> Self {
        assert!(!IS_POISONOUS.swap(false, Ordering::Relaxed), "a fault of ours");
        Poison
    }
}

/// A7: not in an edit, but in the task itself, while it answers.
#[tokio::test(flavor = "current_thread")]
async fn a_task_that_panics_serves_again_and_holds_what_the_disk_has() {
    let agent = Agent::new();
    agent.write("web").await.unwrap();
    let away = agent.dir.path().with_extension("away");
    std::fs::rename(agent.dir.path(), &away).unwrap();
    let poisoned = agent.pods.write(|set| {
        set.pods.clear();
        Ok::<_, Poison>(())
    });
    assert!(poisoned.await.is_err());
    assert!(!IS_POISONOUS.load(Ordering::Relaxed), "it panicked");
    std::fs::rename(&away, agent.dir.path()).unwrap();
    let written = tokio::time::timeout(std::time::Duration::from_secs(20), agent.write("db")).await;
    assert_eq!(written, Ok(Ok(())));
    let names: Vec<String> = agent.pods.now().pods.keys().map(|key| key.name.to_string()).collect();
    assert_eq!(names, ["db", "web"]);
}

//! What is written to etcd: how pods are, and what happened to them.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{AlarmAction, AlarmOptions, AlarmType, Client, GetOptions};
use podkeeper::model::{Container, Places, Pod, PodKey, Time};
use podkeeper::node::events::{Event, Events, Kind};
use podkeeper::node::snapshot::{EngineStatus, Snapshot, Snapshots};
use podkeeper::node::sources::etcd::{Access, Pace, writeback};
use podkeeper::node::store::Store;
use podkeeper::plan::{Declared, Desired, Node, Observed, Slot, SourceKind};
use serde_json::Value;
use tokio::sync::watch;

use crate::cluster::{Cluster, PATIENCE};
use crate::source::{Source, key, manifest};

/// An agent, as far as this needs one: it knows which pods there are, and tells what happens.
struct Agent {
    rounds: watch::Sender<Arc<Snapshot>>,
    events: Events,
    _store: Store,
}

fn node() -> Node {
    Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() }
}

/// A round in which these pods are desired, and none has been started.
fn round(pods: &[&str]) -> Arc<Snapshot> {
    let declared = |name: &&str| {
        let mut pod = Pod::default();
        pod.metadata.name = (*name).to_owned();
        pod.metadata.namespace = "default".to_owned();
        pod.spec.containers.push(Container { name: "app".into(), ..Container::default() });
        let places = Places { file: "f".into(), fields: Default::default() };
        let declared = Declared::new(&node(), SourceKind::File, pod, places);
        (declared.key.clone(), Arc::new(declared))
    };
    let slot = Slot::Known(pods.iter().map(declared).collect());
    let desired = Desired::new(node()).with_slot(SourceKind::File, slot);
    let (observed, engine) = (Observed::default(), EngineStatus::Connecting);
    Arc::new(Snapshot {
        at: Time(0),
        desired,
        observed,
        sources: Default::default(),
        engine,
        disk_trouble: None,
    })
}

impl Agent {
    fn start(cluster: &Cluster, pods: &[&str]) -> Self {
        let (store, rounds) = (Store::new(node()), watch::Sender::new(round(pods)));
        let events = Events::new(Time(0));
        let access = Access { servers: cluster.urls(), ca_file: None, client: None, user: None };
        let back_off = (Duration::from_millis(200), Duration::from_secs(1));
        let pace = Pace { back_off, ..Pace::default() };
        let settings = writeback::Settings { access, prefix: "/podkeeper".into(), node: "n".into(), pace };
        let snapshots = Snapshots::new(rounds.subscribe(), store.reader());
        tokio::spawn(writeback::run(settings, snapshots, events.listen()));
        Self { rounds, events, _store: store }
    }

    fn happens(&self, pod: &str) {
        let (pod, container) = (PodKey::new("default", pod), Some("app".to_owned()));
        let (kind, reason, message) = (Kind::Normal, "Started", "start container".to_owned());
        self.events.tell(Event {
            at: Time(1_700_000_000_000),
            pod,
            uid: None,
            container,
            kind,
            reason,
            message,
        });
    }
}

/// The keys below one of the node's folders, with values and leases.
async fn written(client: &mut Client, folder: &str) -> Vec<(String, Value, i64)> {
    let options = GetOptions::new().with_prefix();
    let folder = format!("/podkeeper/nodes/n/{folder}/default/");
    let Ok(answer) = client.get(folder.as_str(), Some(options)).await else { return Vec::new() };
    let entry = |kv: &etcd_client::KeyValue| {
        let key = kv.key_str().unwrap().trim_start_matches(&folder).to_owned();
        (key, serde_json::from_slice(kv.value()).unwrap(), kv.lease())
    };
    answer.kvs().iter().map(entry).collect()
}

/// Waits until these keys are below a folder, and returns what they hold.
async fn until(client: &mut Client, folder: &str, names: &[&str]) -> Vec<(String, Value, i64)> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now = written(client, folder).await;
        let is_so = now.len() == names.len()
            && now.iter().zip(names).all(|((key, _, _), name)| key.starts_with(name));
        if is_so {
            return now;
        }
        assert!(tokio::time::Instant::now() < deadline, "never: {names:?}; {now:?}");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

#[tokio::test]
async fn statuses_are_written_under_the_lease_of_the_node_and_events_under_one_of_48_hours() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    let agent = Agent::start(&cluster, &["a", "b"]);
    let statuses = until(&mut client, "status", &["a", "b"]).await;
    assert_eq!(statuses[0].1["phase"], "Pending");
    let lease = client.lease_time_to_live(statuses[0].2, None).await.unwrap();
    assert_eq!((lease.granted_ttl(), statuses[1].2), (30, statuses[0].2));
    agent.rounds.send_replace(round(&["b", "c"]));
    until(&mut client, "status", &["b", "c"]).await;
    agent.happens("a");
    let events = until(&mut client, "events", &["a/"]).await;
    let (_, event, lease) = &events[0];
    assert_eq!(event["involvedObject"]["fieldPath"], "spec.containers{app}");
    assert_eq!(event["firstTimestamp"], "2023-11-14T22:13:20Z");
    let lease = client.lease_time_to_live(*lease, None).await.unwrap();
    assert_eq!(lease.granted_ttl(), 48 * 3600);
}

#[tokio::test]
async fn a_status_that_is_as_it_was_is_not_written_again() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    let agent = Agent::start(&cluster, &["a"]);
    until(&mut client, "status", &["a"]).await;
    let revision = |answer: etcd_client::GetResponse| answer.header().unwrap().revision();
    let before = revision(client.get("x", None).await.unwrap());
    // Rounds without news, and then one with: when that is written, the others have been looked at.
    for _ in 0..5 {
        agent.rounds.send_replace(round(&["a"]));
        tokio::task::yield_now().await;
    }
    agent.rounds.send_replace(round(&["a", "b"]));
    until(&mut client, "status", &["a", "b"]).await;
    assert_eq!(revision(client.get("x", None).await.unwrap()), before + 1);
}

#[tokio::test]
async fn e9_when_the_lease_is_gone_everything_is_written_under_a_new_one() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    let _agent = Agent::start(&cluster, &["a"]);
    let lease = until(&mut client, "status", &["a"]).await[0].2;
    // As when the agent was stopped for longer than the lease lives.
    client.lease_revoke(lease).await.unwrap();
    assert!(written(&mut client, "status").await.is_empty());
    assert_ne!(until(&mut client, "status", &["a"]).await[0].2, lease);
}

#[tokio::test]
async fn e18_a_full_etcd_is_read_on_and_written_again_when_it_has_space() {
    let cluster = Cluster::with(1, &["--quota-backend-bytes", "6000000"]).await;
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    let agent = Agent::start(&cluster, &["a"]);
    until(&mut client, "status", &["a"]).await;
    while client.put("/filler", vec![b'x'; 1 << 20], None).await.is_ok() {}
    agent.rounds.send_replace(round(&["a", "b"]));
    agent.happens("a");
    // A deletion takes no space, so etcd takes it; and the source hears of it.
    client.delete(key("a"), None).await.unwrap();
    source.until_pods("").await;
    let revision = client.delete("/filler", None).await.unwrap().header().unwrap().revision();
    client.compact(revision, None).await.unwrap();
    client.defragment().await.unwrap();
    let member = client.status().await.unwrap().header().unwrap().member_id();
    let mut options = AlarmOptions::new();
    options.with_member(member);
    client.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(options)).await.unwrap();
    until(&mut client, "status", &["a", "b"]).await;
    until(&mut client, "events", &["a/"]).await;
}

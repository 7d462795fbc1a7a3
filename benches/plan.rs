//! How long judgement takes: `plan` of a large settled node, one change in it, reading manifests, and merging sources.
//! Prints rows of a Markdown table. `scripts/bench` calls it.

use std::fmt::Write;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use im::OrdMap;
use podkeeper::model::{Places, Pod, PodKey, Time, read};
use podkeeper::plan::{
    BUILTIN_SANDBOX_IMAGE, Declared, Desired, Image, Instance, Node, Observed, PodObserved, Role, Rounds,
    Slot, SourceKind, State, labels, plan,
};

const PODS: usize = 10_000;
const ROUNDS: usize = 31;

fn main() {
    judgement();
    reading();
    merging();
}

/// 9: ten thousand settled pods of two containers, as a whole and with one change among them.
fn judgement() {
    let node = Node { name: "bench".into(), key: [7; 16], sandbox_image: BUILTIN_SANDBOX_IMAGE.into() };
    let declared: Vec<Arc<Declared>> = (0..PODS).map(|i| Arc::new(declare(&node, i, "a:1"))).collect();
    let slot =
        |pods: &[Arc<Declared>]| Slot::Known(pods.iter().map(|p| (p.key.clone(), p.clone())).collect());
    let desired = Desired::new(node.clone()).with_slot(SourceKind::File, slot(&declared));
    let observed = settled(&declared);
    assert_eq!(plan(&desired, &observed).first(), None, "the node is not settled");

    let whole = median(|| {
        black_box(plan(black_box(&desired), black_box(&observed)));
    });

    let mut rounds = Rounds::default();
    rounds.plan(&desired, &observed);
    let mut changed = declared.clone();
    let mut version = 1;
    let mut one = Vec::new();
    for _ in 0..ROUNDS {
        version += 1;
        changed[PODS / 2] = Arc::new(declare(&node, PODS / 2, &format!("a:{version}")));
        let key = changed[PODS / 2].key.clone();
        let Slot::Known(pods) = desired.slot(SourceKind::File) else { unreachable!("it was written above") };
        let pods = pods.update(key, changed[PODS / 2].clone());
        let desired = desired.with_slot(SourceKind::File, Slot::Known(pods));
        let began = Instant::now();
        let due = rounds.plan(&desired, &observed);
        one.push(began.elapsed());
        assert!(!due.is_empty(), "the change is not seen");
    }
    one.sort();
    println!(
        "| 9 | `plan()` of 10 000 settled pods × 2 containers; 1 change among them | {}; {} | ≤ 10 ms; ≤ 50 µs |",
        show(whole),
        show(one[ROUNDS / 2])
    );
}

/// 12: four sources of 2 500 pods, of which one, a hundred, or all of one source's change.
fn merging() {
    let node = Node { name: "bench".into(), key: [7; 16], sandbox_image: BUILTIN_SANDBOX_IMAGE.into() };
    let of = |kind: usize, image: &str, count: usize| -> OrdMap<PodKey, Arc<Declared>> {
        let all = (kind * 2500..kind * 2500 + count).map(|i| Arc::new(declare(&node, i, image)));
        all.map(|declared| (declared.key.clone(), declared)).collect()
    };
    let mut desired = Desired::new(node.clone());
    for (i, kind) in SourceKind::ALL.into_iter().enumerate() {
        desired = desired.with_slot(kind, Slot::Known(of(i, "a:1", 2500)));
    }
    let before = desired.slot(SourceKind::File).pods().cloned().unwrap_or_default();
    let [one, hundred, all] = [1, 100, 2500].map(|count| {
        let changed = of(0, "a:2", count).into_iter();
        let after = Slot::Known(changed.fold(before.clone(), |pods, (key, pod)| pods.update(key, pod)));
        median(|| drop(black_box(desired.with_slot(SourceKind::File, black_box(after.clone())))))
    });
    println!(
        "| 12 | merging 4 sources × 2 500 pods: 1 change; 100; 2 500 | {}; {}; {} | ≤ 1 ms for 1 |",
        show(one),
        show(hundred),
        show(all)
    );
}

/// 10: a thousand pods as YAML.
fn reading() {
    let mut text = String::new();
    for i in 0..1000 {
        let _ = writeln!(
            text,
            "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-{i}\n  labels: {{app: a, tier: b}}\nspec:\n  \
             containers:\n  - name: app\n    image: a:1\n    command: [a, --port, \"80\"]\n    env:\n    - {{name: A, \
             value: b}}\n    - {{name: C, value: d}}\n    ports:\n    - {{containerPort: 80}}\n    resources:\n      \
             limits: {{cpu: 100m, memory: 64Mi}}\n  - name: side\n    image: b:1"
        );
    }
    let options = read::Options::default();
    let reading = read::read("bench.yaml", text.as_bytes(), &options);
    assert_eq!(
        reading.pods.iter().filter(|pod| pod.pod.is_some()).count(),
        1000,
        "{:?}",
        reading.diagnoses.first()
    );
    let took = median(|| {
        black_box(read::read("bench.yaml", black_box(text.as_bytes()), &options));
    });
    println!(
        "| 10 | reading 1 000 YAML pods ({} kB) | {} ({:.1} MB/s) | reported |",
        text.len() / 1000,
        show(took),
        text.len() as f64 / 1e6 / took.as_secs_f64()
    );
}

fn declare(node: &Node, i: usize, image: &str) -> Declared {
    let container = |name: &str| podkeeper::model::Container {
        name: name.into(),
        image: image.into(),
        ..podkeeper::model::Container::default()
    };
    let mut pod = Pod::default();
    pod.metadata.namespace = "default".into();
    pod.metadata.name = format!("pod-{i:05}");
    pod.spec.containers = vec![container("app"), container("side")];
    let places = Places { file: "bench.yaml".into(), fields: Default::default() };
    Declared::new(node, SourceKind::File, pod, places)
}

/// What the engine shows once all of them run.
fn settled(declared: &[Arc<Declared>]) -> Observed {
    let at = Time(1_796_064_732_000);
    let pods = declared.iter().enumerate().map(|(i, declared)| {
        let sandbox = format!("{i:064x}");
        let names = declared.pod.spec.containers.iter().map(|c| Role::Container(c.name.as_str().into()));
        let parts =
            std::iter::once((Role::Sandbox, &declared.fingerprint)).chain(names.zip(&declared.containers));
        let instances = parts.enumerate().map(|(part, (role, fingerprint))| {
            let id = if part == 0 { sandbox.clone() } else { format!("{part}{i:063x}") };
            let network = if part == 0 { "default".into() } else { format!("container:{sandbox}") };
            Arc::new(Instance {
                id: id.as_str().into(),
                name: labels::container_name(&role, &declared.key, &declared.uid, 0).into(),
                pod: declared.key.clone(),
                uid: declared.uid.clone(),
                role,
                attempt: 0,
                source: Some(SourceKind::File),
                fingerprint: fingerprint.clone(),
                grace: Some(30),
                state: State::Running { started_at: Some(at) },
                created_at: Some(at),
                ip: (part == 0).then_some(IpAddr::V4(Ipv4Addr::new(172, 17, (i >> 8) as u8, i as u8))),
                network_mode: network.into(),
                ports: Vec::new(),
                config: None,
                probes: Default::default(),
            })
        });
        let key: PodKey = declared.key.clone();
        (key, Arc::new(PodObserved::new(instances.collect())))
    });
    let image = Image::Present { id: "sha256:1".into(), pulled_at: None };
    let images: [(Arc<str>, Image); 2] =
        [("a:1".into(), image.clone()), (BUILTIN_SANDBOX_IMAGE.into(), image)];
    Observed {
        at,
        listed: true,
        pods: pods.collect(),
        images: images.into_iter().collect(),
        ..Observed::default()
    }
}

fn median(mut task: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            task();
            began.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn show(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.1} µs", seconds * 1e6),
        seconds => format!("{:.2} ms", seconds * 1e3),
    }
}

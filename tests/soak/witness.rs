//! Sees everything that an agent is told, holds it against what was declared, and lets a simulated node do it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use podkeeper::model::PodKey;
use podkeeper::node::store::Declarations;
use podkeeper::plan::{Desired, Node};
use podkeeper::sim::World;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::history::Histories;

/// How long it takes to notice the end.
const LOOK: Duration = Duration::from_millis(20);

/// A thread of its own, so that it is no slower than an agent.
pub struct Witness {
    pub histories: Arc<Mutex<Histories>>,
    told: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<u64, String>>>,
}

impl Witness {
    pub fn of(reader: watch::Receiver<Declarations>, node: Node, histories: Histories) -> Self {
        let (histories, told, ends) =
            (Arc::new(Mutex::new(histories)), Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let watching = (histories.clone(), told.clone(), ends.clone());
        let thread = std::thread::spawn(move || {
            let (histories, told, ends) = watching;
            watch(reader, World::new(node), &histories, &told, &ends)
        });
        Self { histories, told, ends, thread: Some(thread) }
    }

    /// How often something new was told.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// It has seen what cannot be.
    pub fn objects(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// How many containers were started in all.
    ///
    /// # Errors
    /// What cannot be.
    pub fn account(&mut self) -> Result<u64, String> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn watch(
    mut reader: watch::Receiver<Declarations>,
    mut world: World,
    histories: &Mutex<Histories>,
    told: &AtomicU64,
    ends: &AtomicBool,
) -> Result<u64, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    loop {
        let desired = reader.borrow_and_update().desired.clone();
        told.fetch_add(1, Ordering::Relaxed);
        obey(&mut world, desired, &mut histories.lock().unwrap())?;
        // A time limit is of a runtime, so it is made inside.
        while runtime.block_on(async { timeout(LOOK, reader.changed()).await }).is_err() {
            if ends.load(Ordering::Relaxed) {
                return no_needless_restarts(&world, &histories.lock().unwrap());
            }
        }
    }
}

/// Does what is desired now.
fn obey(world: &mut World, desired: Desired, histories: &mut Histories) -> Result<(), String> {
    let pods = desired.pods().values();
    let pods = pods.map(|pod| (pod.key.name.to_string(), pod.pod.spec.containers[0].image.clone()));
    let moved = histories.see(&pods.collect::<BTreeMap<_, _>>())?;
    let before = world.engine.changes();
    world.desired = desired;
    // Ten seconds: a list.
    world.pass(Duration::from_secs(10));
    come_to_rest(world)?;
    if moved.is_empty() && world.engine.changes() != before {
        return Err("what is desired is as it was, and containers are changed".to_owned());
    }
    moved.iter().try_for_each(|pod| started_as_often(world, pod, histories.versions_of(pod)))
}

fn come_to_rest(world: &mut World) -> Result<(), String> {
    for _ in 0..1000 {
        world.settle(100)?;
        match world.next_moment() {
            Some(next) => world.engine.pass_to(next),
            None => return Ok(()),
        }
    }
    Err("the node comes to no rest".to_owned())
}

/// A new version is a new container; all others go on.
fn started_as_often(world: &World, pod: &str, versions: usize) -> Result<(), String> {
    let starts = world.engine.starts(&PodKey::new("default", pod), "app").len();
    if starts == versions {
        return Ok(());
    }
    let key = PodKey::new("default", pod);
    let lives: Vec<String> = world
        .engine
        .containers()
        .iter()
        .filter(|seen| seen.config.name.contains(&format!("_{pod}_")))
        .map(|seen| format!("{} {} {:?}", seen.config.name, seen.config.image, seen.started_at))
        .collect();
    let now = world.desired.pods().get(&key).map(|now| (&now.uid, &now.pod.spec.containers[0].image));
    Err(format!(
        "{pod} was told in {versions} versions and was started {starts} times; it is {now:?} now, and there are {lives:#?}"
    ))
}

fn no_needless_restarts(world: &World, histories: &Histories) -> Result<u64, String> {
    histories.versions().try_for_each(|(pod, versions)| started_as_often(world, pod, versions))?;
    let running = world.engine.containers().iter().filter(|container| container.up).count();
    let desired = world.desired.pods().len();
    if running != 2 * desired {
        return Err(format!("{desired} pods are desired, and {running} containers run, sandboxes too"));
    }
    Ok(histories.versions().map(|(_, versions)| versions as u64).sum())
}

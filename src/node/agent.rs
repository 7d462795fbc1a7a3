//! The agent's loop: what happened → what is known → what is due → the engine, and around again.
//!
//! One task does all of it. Calls to the engine run side by side inside it; each outcome is folded into what
//! is known and the next round is planned at once, so a chain of five steps costs five calls and no list.
//!
//! # Guarantees
//! Nothing is planned while the engine is gone, has not been listed, or has to be listed again because
//! nobody can say what a call did. A list never overwrites what was learnt while it was under way.

use std::collections::BTreeSet;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::docker::{DockerError, Look};
use crate::executor::{self, Outcome};
use crate::model::{PodKey, Uid};
use crate::node::bollard::Engine;
use crate::node::clock::Clock;
use crate::node::events::Events;
use crate::node::snapshot::{EngineStatus, Snapshot, Snapshots};
use crate::node::sources::wake::Waker;
use crate::node::state::StateDir;
use crate::node::store::Declarations;
use crate::observer;
use crate::plan::{Action, Call, Desired, Instance, Observed, Rounds};

mod checkpoint;
mod journal;
mod lanes;
mod link;
mod signals;

use checkpoint::Checkpoint;
use journal::Journal;
pub use lanes::Lanes;
use link::{Change, Link};
use signals::{Signals, Told};

/// How long actions that are under way may take to end after SIGTERM.
const FAREWELL: Duration = Duration::from_secs(8);
/// A moment that has passed and led to nothing must not make the loop spin.
const SHORTEST_SLEEP: Duration = Duration::from_millis(20);
/// How much that has happened already is taken into one round.
const BATCH: usize = 64;
/// After a list that was wanted while calls were under way.
const SECOND_LOOK: Duration = Duration::from_secs(1);

pub struct Settings {
    pub engine: Engine,
    pub state: StateDir,
    pub clock: Clock,
    /// The longest time between two full lists.
    pub sync: Duration,
    /// Creates and starts at once.
    pub concurrency: usize,
}

type Listing = Pin<Box<dyn Future<Output = Result<Vec<Instance>, DockerError>>>>;
type Running = Pin<Box<dyn Future<Output = Ended>>>;

/// An action that has come to its end.
struct Ended {
    action: Action,
    took: Duration,
    outcome: Outcome,
}

enum Input {
    Declared,
    Link(Change),
    Listed(Result<Vec<Instance>, DockerError>),
    Ended(Box<Ended>),
    Told(Told),
    Timer,
}

pub struct Agent {
    settings: Settings,
    declarations: watch::Receiver<Declarations>,
    wakers: Vec<Waker>,
    snapshots: watch::Sender<Arc<Snapshot>>,
    link: Link,
    status: EngineStatus,
    desired: Desired,
    observed: Observed,
    rounds: Rounds,
    lanes: Lanes,
    journal: Journal,
    running: FuturesUnordered<Running>,
    listing: Option<Listing>,
    /// Pods of which something was learnt since the list was asked for: it says nothing new of them.
    touched: BTreeSet<PodKey>,
    /// Nobody knows what a call did, or a container is unknown: list before the next plan.
    unsure: bool,
    next_list: Instant,
    checkpoint: Checkpoint,
}

impl Agent {
    pub fn new(settings: Settings, declarations: watch::Receiver<Declarations>, wakers: Vec<Waker>) -> Self {
        let now = declarations.borrow().clone();
        let ledger = settings.state.ledger();
        let observed = Observed { at: settings.clock.now(), ledger: ledger.clone(), ..Observed::default() };
        let snapshot = Snapshot {
            at: observed.at,
            desired: now.desired.clone(),
            observed: observed.clone(),
            sources: now.sources,
            engine: EngineStatus::Connecting,
            disk_trouble: settings.state.trouble(),
        };
        let journal = Journal::new(snapshot.at);
        Self {
            link: Link::new(settings.engine.clone(), now.desired.node.name.to_string()),
            lanes: Lanes::new(settings.concurrency),
            snapshots: watch::Sender::new(Arc::new(snapshot)),
            status: EngineStatus::Connecting,
            desired: now.desired,
            observed,
            rounds: Rounds::default(),
            journal,
            running: FuturesUnordered::new(),
            listing: None,
            touched: BTreeSet::new(),
            unsure: false,
            next_list: Instant::now(),
            checkpoint: Checkpoint::new(ledger),
            settings,
            declarations,
            wakers,
        }
    }

    /// What others may read of it.
    pub fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.snapshots.subscribe(), self.declarations.clone())
    }

    /// Where it tells what happens to pods.
    pub fn events(&self) -> Events {
        self.journal.events.clone()
    }

    /// Runs until SIGTERM or SIGINT. Containers stay as they are.
    ///
    /// # Errors
    /// When the process may not listen to signals.
    pub async fn run(mut self) -> Result<(), String> {
        let mut signals = Signals::listen()?;
        while self.gather(&mut signals).await {
            self.round();
        }
        self.farewell(&mut signals).await;
        Ok(())
    }

    /// Waits for something to happen, and takes with it what has happened already: an outcome and its event
    /// come together, and one round is enough for both. False when it is time to stop.
    async fn gather(&mut self, signals: &mut Signals) -> bool {
        let mut input = self.next(signals).await;
        for left in (0..BATCH).rev() {
            let goes_on = match input {
                Input::Told(Told::Stop) => return false,
                Input::Timer => false,
                other => {
                    self.take(other);
                    left > 0
                }
            };
            let more = if goes_on { self.next(signals).now_or_never() } else { None };
            match more {
                Some(more) => input = more,
                None => break,
            }
        }
        self.observed.at = self.settings.clock.now();
        true
    }

    async fn next(&mut self, signals: &mut Signals) -> Input {
        let timer = self.timer();
        let listing = async {
            match &mut self.listing {
                Some(listing) => listing.await,
                None => pending().await,
            }
        };
        tokio::select! {
            told = signals.next() => Input::Told(told),
            Ok(()) = self.declarations.changed() => Input::Declared,
            Some(ended) = self.running.next() => Input::Ended(Box::new(ended)),
            change = self.link.next() => Input::Link(change),
            listed = listing => Input::Listed(listed),
            () = tokio::time::sleep_until(timer) => Input::Timer,
        }
    }

    /// When to look at the clock again although nothing happens.
    fn timer(&self) -> Instant {
        let wake = self.rounds.wake_at().filter(|_| self.link.is_up());
        let wake = wake.map(|wake| Instant::now() + self.settings.clock.until(wake).max(SHORTEST_SLEEP));
        let list = (self.link.is_up() && self.listing.is_none()).then_some(self.next_list);
        let far = Instant::now() + Duration::from_secs(3600);
        let stops = self.lanes.due(Instant::now());
        [wake, list, stops, self.checkpoint.due()].into_iter().flatten().min().unwrap_or(far)
    }

    fn take(&mut self, input: Input) {
        let at = self.settings.clock.now();
        self.observed.at = at;
        match input {
            Input::Declared => {
                // A pod that was gone altogether and is declared again begins anew, without the back-off of its
                // earlier life.
                if self.observed.listed {
                    observer::tidy(&mut self.observed, &self.desired);
                }
                self.desired = self.declarations.borrow_and_update().desired.clone();
                observer::heirs(&mut self.observed, &self.desired);
            }
            Input::Link(change) => self.linked(change),
            Input::Listed(Ok(instances)) => {
                self.listing = None;
                self.relist(instances);
            }
            Input::Listed(Err(error)) => {
                let change = self.link.lost(error);
                self.linked(change);
            }
            Input::Ended(ended) => self.ended(*ended),
            Input::Told(Told::Reread) => {
                tracing::info!("SIGHUP: reading the sources again");
                self.wakers.iter().for_each(Waker::wake);
            }
            Input::Timer | Input::Told(Told::Stop) => {}
        }
    }

    fn linked(&mut self, change: Change) {
        match change {
            Change::Up(connected) => {
                let version = connected.version;
                tracing::info!(engine = %self.settings.engine.endpoint(), version = version.version, api = version.api, "connected");
                if self.settings.engine.cannot_lower_oom_scores() {
                    tracing::warn!(
                        "the engine has no CAP_SYS_RESOURCE: pods run, and the OOM killer spares none of them; where dockerd itself \
                         runs in a container, start that with --cap-add SYS_RESOURCE"
                    );
                }
                self.observed.memory_bytes = version.memory_bytes;
                self.status = EngineStatus::Up(Arc::new(version));
                self.relist(connected.instances);
            }
            Change::Event(id, hint) => {
                let at = self.observed.at;
                let pod = self.observed.pods.iter().find(|(_, pod)| pod.instances.iter().any(|i| i.id == id));
                self.touched.extend(pod.map(|(key, _)| key.clone()));
                // A list that is under way may have been taken before this.
                if observer::hint(&mut self.observed, at, &id, hint) {
                    self.listing = None;
                    self.unsure = true;
                }
            }
            Change::Down(trouble, pause) => {
                self.listing = None;
                self.touched.clear();
                self.unsure = true;
                let message = trouble.message();
                let known = matches!(&self.status, EngineStatus::Down(known) if **known == *message);
                if !known && !pause.is_zero() {
                    tracing::error!(retry = ?pause, "{message}");
                }
                self.status = EngineStatus::Down(message.into());
            }
        }
    }

    /// A list replaces what is known, except of pods of which something was learnt since it was asked for.
    fn relist(&mut self, instances: Vec<Instance>) {
        let touched = std::mem::take(&mut self.touched);
        let at = self.observed.at;
        observer::relist_others(&mut self.observed, at, instances, touched);
        self.journal.lookalikes(&self.observed);
        observer::tidy(&mut self.observed, &self.desired);
        // A pod that was busy may be the one that the list was wanted for.
        let again = self.unsure && !self.observed.in_flight.is_empty();
        self.unsure = false;
        self.next_list = Instant::now() + if again { SECOND_LOOK } else { self.settings.sync };
    }

    fn ended(&mut self, ended: Ended) {
        let Ended { action, took, outcome } = ended;
        let at = self.observed.at;
        self.lanes.leave(&action);
        let uid = uid(&action, &self.observed, &self.desired);
        self.journal.action(at, uid, &action, took, &outcome);
        self.touched.insert(action.pod.clone());
        let unsure = observer::fold(&mut self.observed, at, &action, &outcome);
        if unsure {
            self.listing = None;
            self.unsure = true;
            // What the list says of this pod is what is asked for.
            self.touched.remove(&action.pod);
        }
    }

    /// Plans, begins what may begin, and tells what is known.
    fn round(&mut self) {
        if self.link.is_up() && self.listing.is_none() && (self.unsure || Instant::now() >= self.next_list) {
            self.list();
        }
        if self.link.is_up() && !self.unsure {
            let plan = self.rounds.plan(&self.desired, &self.observed);
            let admitted = self.lanes.admit(Instant::now(), plan);
            // That a container of a pod that goes on was stopped, and has not finished, must outlive a crash:
            // see `Memo::stopped`.
            let stops = admitted.iter().any(|action| {
                matches!(action.call, Call::StopContainer { .. } | Call::UpdateContainer { .. })
                    && self.desired.get(&action.pod).is_some()
            });
            admitted.into_iter().for_each(|action| self.begin(action));
            if stops {
                self.checkpoint.finish(&self.settings.state, &self.observed.ledger);
            }
            self.journal.waits(self.observed.at, &self.desired, self.rounds.waits());
        }
        self.checkpoint.tend(&self.settings.state, &self.observed.ledger);
        let sources = self.declarations.borrow().sources.clone();
        self.snapshots.send_replace(Arc::new(Snapshot {
            at: self.observed.at,
            desired: self.desired.clone(),
            observed: self.observed.clone(),
            sources,
            engine: self.status.clone(),
            disk_trouble: self.settings.state.trouble(),
        }));
    }

    fn list(&mut self) {
        let (engine, node) = (self.settings.engine.clone(), self.desired.node.name.clone());
        self.touched.clear();
        self.listing = Some(Box::pin(async move { engine.list(&node).await }));
    }

    fn begin(&mut self, action: Action) {
        observer::begin(&mut self.observed, &action);
        let engine = self.settings.engine.clone();
        self.running.push(Box::pin(async move {
            let began = Instant::now();
            let outcome = executor::execute(&engine, &action).await;
            Ended { took: began.elapsed(), action, outcome }
        }));
    }

    /// Lets what is under way come to its end, for a while, and remembers what it led to.
    async fn farewell(&mut self, signals: &mut Signals) {
        let until = Instant::now() + FAREWELL;
        if !self.running.is_empty() {
            tracing::info!(actions = self.running.len(), "stopping: waiting for what is under way");
        }
        while !self.running.is_empty() {
            tokio::select! {
                Some(ended) = self.running.next() => {
                    self.observed.at = self.settings.clock.now();
                    self.ended(ended);
                }
                () = tokio::time::sleep_until(until) => break,
                Told::Stop = signals.next() => break,
            }
        }
        self.checkpoint.finish(&self.settings.state, &self.observed.ledger);
        tracing::info!("stopped; containers keep running");
    }
}

/// Of the pod that an action was about: that of the container, which may be left of an earlier pod of the name.
fn uid(action: &Action, observed: &Observed, desired: &Desired) -> Option<Uid> {
    let instances = || observed.pods.get(&action.pod).into_iter().flat_map(|pod| &pod.instances);
    let id = action.call.id();
    let of_container = id.and_then(|id| instances().find(|instance| instance.id == *id));
    let declared = || desired.get(&action.pod).map(|declared| declared.uid.clone());
    let of_container = of_container.map(|instance| instance.uid.clone());
    of_container.or_else(declared).or_else(|| instances().next().map(|instance| instance.uid.clone()))
}

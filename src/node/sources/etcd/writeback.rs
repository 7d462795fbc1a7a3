//! Writes to etcd how the pods are and what happened to them.
//!
//! A task of its own, with a connection of its own: the agent never waits for it, and whatever goes wrong here,
//! pods run on. Statuses are under a lease that the node keeps alive: a node that is gone has none. Events have
//! one that nobody keeps alive.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use etcd_client::{Client, LeaseKeepAliveStream, LeaseKeeper, PutOptions, Txn, TxnOp};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::node::api::pods::status_of;
use crate::node::chance;
use crate::node::events::Event;
use crate::node::snapshot::{Snapshot, Snapshots};
use crate::node::sources::backoff::{BackOff, spread};
use crate::node::sources::etcd::connect::call;
use crate::node::sources::etcd::outbox::{Outbox, Write};
use crate::node::sources::etcd::trouble::{Kind, Trouble};
use crate::node::sources::etcd::{AT_ONCE, Access, GOOD, Keys, Pace, Rotation};
use crate::plan;

/// The lease of the node, in seconds. A third of it may pass without a sign of life.
const NODE_LEASE: i64 = 30;
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// Events live for 48 hours, as those of the 2014 kubelet did (`pkg/kubelet/kubelet.go`, `LogEvent`).
const EVENT_LEASE: i64 = 48 * 3600;
/// Events of so long a time share a lease: one for each would cost etcd more than the event.
const SHARED: Duration = Duration::from_secs(600);
/// Between two transactions of statuses: what changes and changes back in it is never written.
const COALESCE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Settings {
    pub access: Access,
    pub prefix: String,
    pub node: String,
    pub pace: Pace,
}

/// What is written, and where it comes from.
struct Desk {
    keys: Keys,
    node: String,
    snapshots: Snapshots,
    happenings: Receiver<Event>,
    outbox: Outbox,
    /// The snapshots have something new.
    is_news: bool,
    /// Told apart from others of the same millisecond.
    count: u64,
}

/// A connection with what is kept on it.
struct Session {
    client: Client,
    lease: i64,
    keeper: LeaseKeeper,
    alive: LeaseKeepAliveStream,
    event_lease: Option<(i64, Instant)>,
}

/// Writes for as long as the runtime lives.
pub async fn run(settings: Settings, snapshots: Snapshots, happenings: Receiver<Event>) -> Infallible {
    let Settings { access, prefix, node, pace } = settings;
    let back_off = BackOff::new(pace.back_off.0, pace.back_off.1);
    let mut rotation = Rotation::new(access.servers.len(), 0, back_off);
    let keys = Keys::new(&prefix, &node);
    let (outbox, is_news, count) = (Outbox::default(), true, 0);
    let mut desk = Desk { keys, node, snapshots, happenings, outbox, is_news, count };
    let mut told = String::new();
    loop {
        let began = Instant::now();
        let server = access.servers.get(rotation.at()).map(String::as_str).unwrap_or_default();
        let trouble = match Session::begin(&access, rotation.at()).await {
            Ok(mut session) => session.write(&mut desk, &mut told).await,
            Err(trouble) => trouble,
        };
        if began.elapsed() >= GOOD {
            rotation.served();
            desk.idle(spread(AT_ONCE, 0.0, chance::fraction())).await;
            continue;
        }
        let pause = trouble.patience(rotation.failed(chance::fraction()));
        if !pause.is_zero() && told != trouble.message {
            tracing::warn!(
                source = "etcd",
                "statuses and events are not written to etcd at {server}: {}; pods run on",
                trouble.message
            );
            told = trouble.message;
        }
        desk.idle(pause).await;
    }
}

impl Desk {
    /// Waits for something to write, so long at most.
    async fn gather(&mut self, at_most: Duration) {
        tokio::select! {
            () = self.snapshots.changed() => self.is_news = true,
            happened = self.happenings.recv() => self.happened(happened).await,
            () = tokio::time::sleep(at_most) => {}
        }
    }

    async fn happened(&mut self, happened: Result<Event, RecvError>) {
        match happened {
            Ok(event) => {
                self.count += 1;
                let id = format!("{:013}-{:06}", event.at.0, self.count);
                let name = format!("{}.{id}", event.pod.name);
                let value = event.to_json(&self.node, &name).to_string();
                self.outbox.add_event(self.keys.event(&event.pod, &id), value);
            }
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(source = "etcd", missed, "events are not written");
            }
            // The agent has ended, and there is nothing more to write.
            Err(RecvError::Closed) => pending().await,
        }
    }

    /// Lets time pass, and takes what happens meanwhile.
    async fn idle(&mut self, pause: Duration) {
        let until = Instant::now() + pause;
        while Instant::now() < until {
            let event = tokio::time::timeout_at(until, self.happenings.recv()).await;
            if let Ok(event) = event {
                self.happened(event).await;
            }
        }
        self.is_news = true;
    }

    /// Puts down how the pods are now. On a thread of its own: it is milliseconds for thousands of pods.
    async fn look(&mut self) {
        let (now, keys) = (self.snapshots.now(), self.keys.clone());
        match tokio::task::spawn_blocking(move || statuses(&now, &keys)).await {
            Ok(statuses) => self.outbox.want(statuses),
            // A fault of ours is one of this task's.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
        self.is_news = false;
    }
}

fn statuses(now: &Snapshot, keys: &Keys) -> BTreeMap<String, String> {
    let statuses = plan::status(&now.desired, &now.observed);
    statuses.iter().map(|status| (keys.status(&status.key), status_of(status).to_string())).collect()
}

impl Session {
    async fn begin(access: &Access, server: usize) -> Result<Self, Trouble> {
        let mut client = access.connect(server).await?;
        let lease = call(client.lease_grant(NODE_LEASE, None)).await?.id();
        let (keeper, alive) = call(client.lease_keep_alive(lease)).await?;
        Ok(Self { client, lease, keeper, alive, event_lease: None })
    }

    /// Writes until something goes wrong.
    async fn write(&mut self, desk: &mut Desk, told: &mut String) -> Trouble {
        desk.outbox.lost();
        let mut next_sign = Instant::now() + SIGN_OF_LIFE;
        let mut next_look = Instant::now();
        loop {
            let now = Instant::now();
            let wake = if desk.is_news { next_look.min(next_sign) } else { next_sign };
            if now < wake {
                desk.gather(wake - now).await;
            }
            let mut done = Ok(());
            if desk.is_news && Instant::now() >= next_look {
                desk.look().await;
                done = self.put_values(&mut desk.outbox).await;
                next_look = Instant::now() + spread(COALESCE, 0.8, chance::fraction());
            }
            if done.is_ok() {
                done = self.put_events(&mut desk.outbox).await;
            }
            if done.is_ok() && Instant::now() >= next_sign {
                done = self.live().await;
                next_sign = Instant::now() + SIGN_OF_LIFE;
            }
            match done {
                Ok(()) if !told.is_empty() => {
                    tracing::info!(source = "etcd", "statuses and events are written again");
                    told.clear();
                }
                Ok(()) => {}
                Err(trouble) => return trouble,
            }
        }
    }

    /// A sign of life. An agent that slept too long learns that its lease is gone, and begins anew.
    async fn live(&mut self) -> Result<(), Trouble> {
        call(self.keeper.keep_alive()).await?;
        match call(self.alive.message()).await? {
            Some(answer) if answer.ttl() > 0 => Ok(()),
            Some(_) | None => Err(Trouble::new(Kind::Away, "the lease of this node is gone")),
        }
    }

    async fn put_values(&mut self, outbox: &mut Outbox) -> Result<(), Trouble> {
        loop {
            let writes = outbox.values();
            if writes.is_empty() {
                return Ok(());
            }
            self.put(&writes, self.lease).await?;
            outbox.wrote_values(writes);
        }
    }

    async fn put_events(&mut self, outbox: &mut Outbox) -> Result<(), Trouble> {
        loop {
            let writes = outbox.events();
            if writes.is_empty() {
                return Ok(());
            }
            let lease = match self.event_lease {
                Some((lease, since)) if since.elapsed() < SHARED => lease,
                Some(_) | None => {
                    let lease = call(self.client.lease_grant(EVENT_LEASE, None)).await?.id();
                    self.event_lease = Some((lease, Instant::now()));
                    lease
                }
            };
            self.put(&writes, lease).await?;
            outbox.wrote_events(&writes);
        }
    }

    async fn put(&mut self, writes: &[Write], lease: i64) -> Result<(), Trouble> {
        let operation = |(key, value): &Write| match value {
            Some(value) => {
                TxnOp::put(key.as_str(), value.as_str(), Some(PutOptions::new().with_lease(lease)))
            }
            None => TxnOp::delete(key.as_str(), None),
        };
        let operations: Vec<TxnOp> = writes.iter().map(operation).collect();
        call(self.client.txn(Txn::new().and_then(operations))).await?;
        Ok(())
    }
}

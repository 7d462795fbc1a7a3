//! The agent's API, on its unix socket and over TCP: one router for both.
//!
//! `server` accepts and bounds connections, `access` says who may come in, `routes` answers. Reads come
//! from the last round, without asking the engine.

use crate::node::clock::Clock;
use crate::node::snapshot::Snapshots;

mod access;
pub mod answer;
pub mod body;
pub mod certificate;
pub mod client;
mod configz;
mod connection;
mod ending;
pub mod fresh;
mod host;
pub mod kube;
mod limits;
mod overview;
pub mod pods;
pub mod refusal;
mod routes;
mod server;
mod socket;
mod sources;
mod stall;
mod stop;
pub mod tcp;
mod thread;
pub mod tls;
pub mod token;

pub use limits::Limits;
pub use server::serve;
pub use socket::{bind, default_socket};
pub use stop::{Stop, Stopper, stopping};
pub use thread::serve_beside;

/// What requests are answered from.
pub struct Api {
    pub snapshots: Snapshots,
    pub clock: Clock,
    pub limits: Limits,
    pub kube: kube::Kube,
    /// `None`: the unix socket alone.
    pub tcp: Option<tcp::Tcp>,
}

#[cfg(test)]
impl Api {
    /// Of a node that knows nothing yet, and can keep nothing.
    pub(super) fn of_a_node(engine: crate::node::snapshot::EngineStatus) -> Self {
        Self::kept_in(std::path::Path::new("/nonexistent"), engine).0
    }

    /// Of a node that knows nothing yet. What is written is kept in a directory, and the test may be a source.
    pub(super) fn kept_in(
        dir: &std::path::Path,
        engine: crate::node::snapshot::EngineStatus,
    ) -> (Self, crate::node::store::Store) {
        use std::sync::Arc;

        use tokio::sync::watch;

        use crate::node::snapshot::Snapshot;
        use crate::node::store::Store;
        use crate::plan::{Node, Observed};

        let store = Store::new(Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() });
        let declarations = store.reader();
        let snapshot = Snapshot {
            at: crate::model::Time(0),
            desired: declarations.borrow().desired.clone(),
            observed: Observed::default(),
            sources: im::OrdMap::new(),
            engine,
            disk_trouble: None,
        };
        let rounds = watch::Sender::new(Arc::new(snapshot)).subscribe();
        let snapshots = Snapshots::new(rounds, declarations);
        let clock = Clock::start();
        let settings = crate::node::sources::api::Settings {
            node: snapshots.now().desired.node,
            kept: crate::node::keep::Kept::new(dir, "api"),
            allow_mass_delete: false,
            snapshots: snapshots.clone(),
        };
        let pods =
            crate::node::sources::api::spawn(settings, store.writer(crate::plan::SourceKind::Api), clock);
        let endpoint = crate::node::bollard::Endpoint::Unix("/nonexistent".into());
        let engine = crate::node::bollard::Engine::new(endpoint).unwrap_or_else(|error| panic!("{error}"));
        let events = crate::node::events::Events::new(crate::model::Time(0)).recent();
        let kube = kube::Kube::new(pods, snapshots.clone(), engine, events);
        (Self { snapshots, clock, limits: Limits::default(), kube, tcp: None }, store)
    }
}

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
pub mod tls;
pub mod token;

pub use limits::Limits;
pub use server::serve;
pub use socket::{bind, default_socket};
pub use stop::{Stop, Stopper, stopping};

/// What requests are answered from.
pub struct Api {
    pub snapshots: Snapshots,
    pub clock: Clock,
    pub limits: Limits,
    /// `None`: the unix socket alone.
    pub tcp: Option<tcp::Tcp>,
}

#[cfg(test)]
impl Api {
    /// Of a node that knows nothing yet.
    pub(super) fn of_a_node(engine: crate::node::snapshot::EngineStatus) -> Self {
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
        };
        let rounds = watch::Sender::new(Arc::new(snapshot)).subscribe();
        let snapshots = Snapshots::new(rounds, declarations);
        Self { snapshots, clock: Clock::start(), limits: Limits::default(), tcp: None }
    }
}

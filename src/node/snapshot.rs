//! What the agent knows at the end of a round, for those who ask: an immutable value, taken without waiting
//! for the engine.

use std::sync::Arc;

use tokio::sync::watch;

use crate::docker::EngineVersion;
use crate::model::Time;
use crate::node::store::{Declarations, Reports};
use crate::plan::{Desired, Observed};

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Time,
    pub desired: Desired,
    pub observed: Observed,
    pub sources: Reports,
    pub engine: EngineStatus,
}

#[derive(Clone, Debug)]
pub enum EngineStatus {
    Connecting,
    Up(Arc<EngineVersion>),
    /// Why, in one line that says what to do.
    Down(Arc<str>),
}

/// Where to read what is known now.
#[derive(Clone)]
pub struct Snapshots {
    rounds: watch::Receiver<Arc<Snapshot>>,
    declarations: watch::Receiver<Declarations>,
}

impl Snapshots {
    pub fn new(rounds: watch::Receiver<Arc<Snapshot>>, declarations: watch::Receiver<Declarations>) -> Self {
        Self { rounds, declarations }
    }

    /// The last round, and how the sources are doing at this moment: they are read without a round, too.
    pub fn now(&self) -> Snapshot {
        let round = Arc::clone(&self.rounds.borrow());
        Snapshot { sources: self.declarations.borrow().sources.clone(), ..Snapshot::clone(&round) }
    }

    /// Waits for a round or a declaration.
    pub async fn changed(&mut self) {
        tokio::select! {
            Ok(()) = self.rounds.changed() => {}
            Ok(()) = self.declarations.changed() => {}
            else => std::future::pending().await,
        }
    }
}

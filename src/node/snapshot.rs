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
    /// Why what is learnt cannot be kept on disk, if so.
    pub disk_trouble: Option<String>,
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

    /// The last round, and what is desired at this moment, which the agent may not have seen yet.
    pub fn latest(&self) -> (Arc<Snapshot>, Desired) {
        (Arc::clone(&self.rounds.borrow()), self.declarations.borrow().desired.clone())
    }

    /// What was read last is out of date. Whoever asks has read it then.
    pub fn take_news(&mut self) -> bool {
        let news = |changed: Result<bool, _>| changed.unwrap_or(false);
        let is_new = news(self.rounds.has_changed()) | news(self.declarations.has_changed());
        self.rounds.mark_unchanged();
        self.declarations.mark_unchanged();
        is_new
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

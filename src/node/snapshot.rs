//! What the agent knows at the end of a round, for those who ask: an immutable value, taken without waiting
//! for the engine.

use std::sync::Arc;

use im::OrdMap;
use tokio::sync::watch;

use crate::docker::EngineVersion;
use crate::model::Time;
use crate::node::store::SourceReport;
use crate::plan::{Desired, Observed, SourceKind};

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Time,
    pub desired: Desired,
    pub observed: Observed,
    pub sources: OrdMap<SourceKind, SourceReport>,
    pub engine: EngineStatus,
}

#[derive(Clone, Debug)]
pub enum EngineStatus {
    Connecting,
    Up(Arc<EngineVersion>),
    /// Why, in one line that says what to do.
    Down(Arc<str>),
}

pub type Snapshots = watch::Receiver<Arc<Snapshot>>;

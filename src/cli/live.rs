//! Reaching the engine that the flags name.

use std::future::Future;
use std::time::Duration;

use crate::cli::failure::Failure;
use crate::cli::look;
use crate::cli::target::Target;
use crate::docker::{EngineVersion, Look};
use crate::node::bollard::{Endpoint, Engine};
use crate::node::{clock, state};
use crate::plan::Observed;

/// How long work that cannot be called off may hold up the end.
const LAST_WORK: Duration = Duration::from_secs(2);

/// Runs a command that waits for an engine. One thread is enough: the engine does the work.
pub fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::error(format!("cannot start: {error}: raise the limits on processes or open files"))
    })?;
    let result = runtime.block_on(command);
    // A name that is being resolved cannot be called off; what is being written to the disk gets its time.
    runtime.shutdown_timeout(LAST_WORK);
    result
}

/// Reaches the engine and agrees on an API version.
pub async fn connect(target: &Target) -> Result<(Engine, EngineVersion), Failure> {
    let endpoint = Endpoint::parse(&target.engine()).map_err(Failure::Usage)?;
    let engine = Engine::new(endpoint).map_err(Failure::Error)?;
    let version = engine.connect().await.map_err(|trouble| Failure::error(trouble.message()))?;
    Ok((engine, version))
}

/// One list of the node's containers, with what its agent remembers.
pub async fn list(engine: &impl Look, target: &Target, version: &EngineVersion) -> Result<Observed, Failure> {
    let ledger = state::known_ledger(&target.state_dir(), &target.node_name());
    let listed = look::list(engine, &target.node_name(), ledger, version.memory_bytes, clock::wall()).await;
    listed.map_err(|error| Failure::error(format!("engine {}: {error}", target.engine())))
}

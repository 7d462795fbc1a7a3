//! A source that fails by a fault of ours starts again, and takes nothing else along.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use crate::plan::SourceKind;

/// Between a fault and the next start: doubled each time.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Runs a source's task for ever: one that panics is started again after a pause. What it said stays said.
pub async fn supervise<F: Future<Output = Infallible>>(kind: SourceKind, mut start: impl FnMut() -> F) {
    let mut pause = FIRST;
    loop {
        // The task is made anew, so nothing half done is used again.
        let Err(_) = AssertUnwindSafe(start()).catch_unwind().await;
        tracing::error!(source = kind.as_str(), retry = ?pause, "the {kind} source failed and starts again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
    }
}

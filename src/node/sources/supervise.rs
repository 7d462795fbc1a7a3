//! A source's task that fails by a fault of ours starts again, and takes nothing else along.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use crate::node::chance;
use crate::node::sources::backoff::BackOff;
use crate::plan::SourceKind;

/// Between a fault and the next start: doubled each time.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Runs a source's task for ever: one that panics is started again after a pause. What it said stays said.
///
/// `task` is what the log calls it: its source may have several.
pub async fn supervise<F: Future<Output = Infallible>>(
    kind: SourceKind,
    task: &str,
    start: impl FnMut() -> F,
) {
    again_and_again(kind, task, BackOff::new(FIRST, LONGEST), start).await;
}

async fn again_and_again<F: Future<Output = Infallible>>(
    kind: SourceKind,
    task: &str,
    mut pauses: BackOff,
    mut start: impl FnMut() -> F,
) {
    loop {
        // The task is made anew, so nothing half done is used again.
        let Err(_) = AssertUnwindSafe(start()).catch_unwind().await;
        let pause = pauses.failed(chance::fraction());
        tracing::error!(source = kind.as_str(), retry = ?pause, "the {kind} {task} failed and starts again");
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::mpsc;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_task_that_panics_is_made_anew_until_it_runs() {
        let (tell, told) = mpsc::channel();
        let mut starts = 0;
        let pauses = BackOff::new(Duration::from_millis(1), Duration::from_millis(4));
        let task = again_and_again(SourceKind::Etcd, "source", pauses, || {
            starts += 1;
            let (start, tell) = (starts, tell.clone());
            async move {
                tell.send(start).unwrap();
                match start {
                    // At once, and after it has waited for something.
                    1 => panic!("a fault of ours"),
                    2 => {
                        tokio::task::yield_now().await;
                        panic!("another one")
                    }
                    _ => pending().await,
                }
            }
        });
        let third = async {
            while told.try_recv() != Ok(3) {
                tokio::task::yield_now().await;
            }
        };
        let runs = async {
            tokio::select! {
                () = task => unreachable!("it runs for ever"),
                () = third => {}
            }
        };
        tokio::time::timeout(Duration::from_secs(20), runs).await.expect("it is not started again");
    }
}

//! A source's task that fails by a fault of ours starts again, and takes nothing else along.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;

use crate::node::chance;
use crate::node::sources::backoff::BackOff;
use crate::plan::SourceKind;

/// Between a fault and the next start: doubled each time.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// A run that lasted so long was a good one: the fault that ended it is a first one.
const GOOD: Duration = Duration::from_secs(600);

/// Runs a source's task for ever: one that panics is started again after a pause. What it said stays said.
///
/// `task` is what the log calls it: its source may have several.
pub async fn supervise<F: Future<Output = Infallible>>(
    kind: SourceKind,
    task: &str,
    start: impl FnMut() -> F,
) {
    again_and_again(kind, task, BackOff::new(FIRST, LONGEST), GOOD, start).await;
}

async fn again_and_again<F: Future<Output = Infallible>>(
    kind: SourceKind,
    task: &str,
    mut pauses: BackOff,
    good: Duration,
    mut start: impl FnMut() -> F,
) {
    loop {
        let began = Instant::now();
        // The task is made anew, so nothing half done is used again.
        let Err(_) = AssertUnwindSafe(async { start().await }).catch_unwind().await;
        if began.elapsed() >= good {
            pauses.succeeded();
        }
        let pause = pauses.failed(chance::fraction());
        tracing::error!(source = kind.as_str(), retry = ?pause, "the {kind} {task} failed and starts again");
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, read_to_string};
    use std::future::pending;
    use std::sync::mpsc;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Waits until a task has said `last`.
    async fn until(what: &str, told: &mpsc::Receiver<u32>, last: u32) {
        let heard = async {
            while told.try_recv() != Ok(last) {
                tokio::task::yield_now().await;
            }
        };
        let heard = tokio::time::timeout(Duration::from_secs(20), heard).await;
        assert!(heard.is_ok(), "never: {what}");
    }

    /// A7: each fault is logged, and the tasks of other sources do not notice.
    #[tokio::test(flavor = "current_thread")]
    async fn a_task_that_panics_is_made_anew_until_it_runs_and_others_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(File::create(&log).unwrap());
        let _guard = tracing::subscriber::set_default(lines.finish());
        let ((tell, told), (tick, ticked)) = (mpsc::channel(), mpsc::channel());
        let other = supervise(SourceKind::Http, "source", move || {
            let tick = tick.clone();
            async move {
                loop {
                    tick.send(0).unwrap();
                    tokio::task::yield_now().await;
                }
            }
        });
        let mut starts = 0;
        let pauses = BackOff::new(MILLISECOND, 4 * MILLISECOND);
        let task = again_and_again(SourceKind::Etcd, "source", pauses, GOOD, move || {
            starts += 1;
            let (start, tell) = (starts, tell.clone());
            tell.send(start).unwrap();
            // While it is made, at once, and after it has waited for something.
            assert_ne!(start, 1, "a fault of ours");
            async move {
                match start {
                    2 => panic!("a fault of ours"),
                    3 => {
                        tokio::task::yield_now().await;
                        panic!("another one")
                    }
                    _ => pending().await,
                }
            }
        });
        tokio::spawn(other);
        tokio::spawn(task);
        until("a fourth start", &told, 4).await;
        while ticked.try_recv().is_ok() {}
        until("the other one goes on", &ticked, 0).await;
        let log = read_to_string(log).unwrap();
        assert_eq!(log.matches("the etcd source failed and starts again").count(), 3, "{log}");
        assert!(!log.contains("the http source"), "{log}");
    }

    /// With no good run counted, the tenth pause would be a second and the thirtieth a week.
    #[tokio::test(flavor = "current_thread")]
    async fn a_fault_after_a_long_good_run_is_a_first_one() {
        let (tell, told) = mpsc::channel();
        let mut starts = 0;
        let (pauses, good) = (BackOff::new(MILLISECOND, Duration::from_secs(7 * 24 * 3600)), 2 * MILLISECOND);
        let task = again_and_again(SourceKind::Etcd, "source", pauses, good, move || {
            starts += 1;
            tell.send(starts).unwrap();
            async move {
                tokio::time::sleep(good).await;
                panic!("a fault of ours")
            }
        });
        tokio::select! {
            () = task => unreachable!("it runs for ever"),
            () = until("thirty starts", &told, 30) => {}
        }
    }
}

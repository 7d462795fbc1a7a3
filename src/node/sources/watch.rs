//! The file source's thread, and the watch that wakes it.
//!
//! A watch is a hint: it may overflow, run out, or not see a network file system. Whatever it says means
//! "look again", and the periodic look finds the rest. Between events the thread sleeps.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::model::Time;
use crate::node::chance;
use crate::node::clock::{self, Clock};
use crate::node::keep::Kept;
use crate::node::sources::backoff::BackOff;
use crate::node::sources::file::{Scan, Scanner};
use crate::node::sources::publish::Publisher;
use crate::node::sources::reading::Remembered;
use crate::node::sources::settle::Now;
use crate::node::sources::wake::Waker;
use crate::node::store::{SourceReport, SourceState, Writer};
use crate::plan::Node;

/// A burst of writes is looked at once.
const BURST: Duration = Duration::from_millis(20);
/// How often to look when nothing can be watched.
const POLL: Duration = Duration::from_secs(10);
/// After a fault of our own: the first pause and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// What the file source needs to know.
pub struct Settings {
    pub path: PathBuf,
    pub node: Node,
    /// The longest time between two looks.
    pub check: Duration,
    pub allow_mass_delete: bool,
    /// Where what was said last is kept.
    pub kept: Kept<Remembered>,
}

/// Starts the source. It ends with the process.
///
/// # Errors
/// When the machine gives no thread.
pub fn spawn(settings: Settings, writer: Writer, clock: Clock) -> std::io::Result<Waker> {
    let (sender, receiver) = sync_channel(1);
    // A full channel holds a wake-up already.
    let waker = Waker::new(move || {
        let _ = sender.try_send(());
    });
    let watch = Watch::new(settings.path.clone(), waker.clone());
    let origin = settings.path.display().to_string();
    let mut scanner = Scanner::new(settings.path, settings.node, settings.allow_mass_delete);
    let publisher = Publisher::new(writer, settings.kept, clock);
    if let Some(remembered) = publisher.recall() {
        scanner.recall(remembered);
    }
    let mut source =
        Source { scanner, watch, publisher, clock, check: settings.check, origin, read_at: None };
    let pauses = BackOff::new(BACK_OFF.0, BACK_OFF.1);
    std::thread::Builder::new()
        .name("file-source".into())
        .spawn(move || again_and_again(&receiver, pauses, || source.look()))?;
    Ok(waker)
}

/// Looks until nobody is left who could wake it. `look` returns how long to sleep.
fn again_and_again(wake: &Receiver<()>, mut pauses: BackOff, mut look: impl FnMut() -> Duration) {
    loop {
        // A fault in reading manifests must not take the agent's other work along.
        let Ok(wait) = catch_unwind(AssertUnwindSafe(&mut look)) else {
            let pause = pauses.failed(chance::fraction());
            tracing::error!(source = "file", retry = ?pause, "the file source failed and starts again");
            std::thread::sleep(pause);
            continue;
        };
        pauses.succeeded();
        match wake.recv_timeout(wait) {
            Ok(()) => std::thread::sleep(BURST),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while wake.try_recv().is_ok() {}
    }
}

struct Source {
    scanner: Scanner,
    watch: Watch,
    publisher: Publisher,
    clock: Clock,
    check: Duration,
    origin: String,
    /// The last time that it was read without trouble.
    read_at: Option<Time>,
}

impl Source {
    /// One look; returns how long to sleep.
    fn look(&mut self) -> Duration {
        // Before the look, so that what changes during it is not missed.
        let watched = self.watch.refresh();
        let now = Now { wall: clock::wall(), elapsed: self.clock.elapsed() };
        let Scan { said, next } = self.scanner.scan(now);
        if said.error.is_none() {
            self.read_at = Some(self.clock.now());
        }
        let report = SourceReport {
            origin: self.origin.clone(),
            state: SourceState::from(&said.slot),
            read_at: self.read_at,
            revision: None,
            error: said.error,
            next_try: None,
            held: said.held,
            pods: said.slot.pods().map_or(0, im::OrdMap::len),
            diagnoses: Arc::new(said.diagnoses),
        };
        self.publisher.publish(said.slot, vec![report], || self.scanner.remember());
        let check = if watched { self.check } else { self.check.min(POLL) };
        next.map_or(check, |next| next.min(check))
    }
}

/// Watches the path and its parent. A watch belongs to an inode, so one on a file dies with the file that
/// took its place, and a directory that was made anew is another one.
struct Watch {
    path: PathBuf,
    watcher: Option<RecommendedWatcher>,
    /// What is watched, by inode.
    watched: Vec<(PathBuf, (u64, u64))>,
    warned: bool,
}

impl Watch {
    fn new(path: PathBuf, waker: Waker) -> Self {
        let path = std::path::absolute(&path).unwrap_or(path);
        let ours = path.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.map_or(true, |event| concerns(&event, &ours)) {
                waker.wake();
            }
        });
        Self { path, watcher: watcher.ok(), watched: Vec::new(), warned: false }
    }

    /// Watches what is there now. False when only looking again and again can tell.
    fn refresh(&mut self) -> bool {
        let path = self.path.clone();
        let mut watching = self.watch(&path);
        if let Some(parent) = path.parent() {
            watching &= self.watch(parent);
        }
        if !watching && !std::mem::replace(&mut self.warned, true) {
            let path = self.path.display();
            tracing::warn!(source = "file", %path, "cannot be watched (inotify limit or file system): looking every {} s", POLL.as_secs());
        }
        watching
    }

    fn watch(&mut self, target: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let inode =
            std::fs::metadata(target).ok().filter(|meta| meta.is_dir()).map(|meta| (meta.dev(), meta.ino()));
        let known = self.watched.iter().position(|(path, _)| path == target);
        if known.map(|at| self.watched[at].1) == inode {
            return true;
        }
        let Some(watcher) = &mut self.watcher else { return inode.is_none() };
        if let Some(known) = known {
            self.watched.remove(known);
            // The old directory may be gone, and its watch with it.
            let _ = watcher.unwatch(target);
        }
        let Some(inode) = inode else { return true };
        let watched = watcher.watch(target, RecursiveMode::NonRecursive).is_ok();
        if watched {
            self.watched.push((target.to_owned(), inode));
        }
        watched
    }
}

/// Our own reading makes events too; and a neighbour in the parent directory is nobody's business. The
/// names that begin with `..` are those through which a ConfigMap volume swaps all files at once.
fn concerns(event: &Event, path: &Path) -> bool {
    let about = |at: &PathBuf| {
        at.starts_with(path) || at.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".."))
    };
    let touched = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    };
    event.need_rescan() || touched && event.paths.iter().any(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::store::Store;
    use crate::plan::SourceKind;

    /// The only test of the real watch: everything else about files is driven by hand.
    #[test]
    fn a_change_is_seen_without_waiting_for_the_next_look() {
        let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let store = Store::new(node.clone());
        let mut reader = store.reader();
        let settings = Settings {
            path: dir.path().to_owned(),
            node,
            check: Duration::from_secs(3600),
            allow_mass_delete: false,
            kept: Kept::new(state.path(), "file"),
        };
        let _waker = spawn(settings, store.writer(SourceKind::File), Clock::start()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut until = async |wanted: &dyn Fn(&SourceReport) -> bool| {
                let change = reader.wait_for(|now| {
                    now.sources.get(&SourceKind::File).is_some_and(|reports| wanted(&reports[0]))
                });
                tokio::time::timeout(Duration::from_secs(20), change)
                    .await
                    .expect("nothing was seen")
                    .unwrap();
            };
            until(&|report| report.state == SourceState::Known).await;
            // A link that leads nowhere is reported, so it tells that the directory was looked at.
            std::os::unix::fs::symlink("/nonexistent", dir.path().join("web.yaml")).unwrap();
            until(&|report| !report.diagnoses.is_empty()).await;
            std::fs::remove_dir_all(dir.path()).unwrap();
            until(&|report| report.state == SourceState::Stale).await;
            std::fs::create_dir(dir.path()).unwrap();
            until(&|report| report.state == SourceState::Known && report.diagnoses.is_empty()).await;
        });
    }

    /// A7.
    #[test]
    fn a_look_that_panics_is_tried_again_and_one_that_goes_well_waits_to_be_woken() {
        let (wake, woken) = sync_channel(1);
        let (tell, told) = sync_channel(8);
        let pauses = BackOff::new(Duration::from_millis(1), Duration::from_millis(4));
        let mut looks = 0;
        let thread = std::thread::spawn(move || {
            again_and_again(&woken, pauses, || {
                looks += 1;
                tell.send(looks).unwrap();
                assert!(![1, 2, 4].contains(&looks), "a fault of ours");
                Duration::from_secs(3600)
            });
        });
        let look = || told.recv_timeout(Duration::from_secs(20));
        assert_eq!([look(), look(), look()], [Ok(1), Ok(2), Ok(3)]);
        wake.send(()).unwrap();
        assert_eq!([look(), look()], [Ok(4), Ok(5)]);
        drop(wake);
        thread.join().unwrap();
    }

    #[test]
    fn our_own_reading_and_neighbours_do_not_wake_the_source() {
        let event = |kind, path: &str| Event::new(kind).add_path(path.into());
        let path = Path::new("/etc/pods");
        let write = EventKind::Access(AccessKind::Close(AccessMode::Write));
        assert!(concerns(&event(write, "/etc/pods/web.yaml"), path));
        assert!(concerns(&event(EventKind::Any, "/etc/pods/..data"), path));
        assert!(!concerns(
            &event(EventKind::Access(AccessKind::Open(AccessMode::Read)), "/etc/pods/web.yaml"),
            path
        ));
        assert!(!concerns(&event(EventKind::Any, "/etc/passwd"), path));
        let overflow = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert!(concerns(&overflow, path));
    }
}

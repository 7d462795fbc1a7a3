//! The etcd source: a list at one revision, then a watch from the next one, for as long as both hold.
//!
//! # Guarantees
//! Whatever goes wrong, what was read last stays. A revision counts as read only when etcd said so: never
//! because nothing came. Nothing is asked for again without a pause that grows.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::node::chance;
use crate::node::clock::Clock;
use crate::node::keep::Kept;
use crate::node::sources::backoff::{BackOff, spread};
use crate::node::sources::publish::Publisher;
use crate::node::sources::reading::{Manifests, Remembered};
use crate::node::sources::supervise::supervise;
use crate::node::sources::wake::Waker;
use crate::node::store::Writer;
use crate::plan::{Node, SourceKind};

mod book;
pub mod connect;
mod history;
pub mod keys;
mod list;
mod outbox;
mod rotation;
mod session;
mod trouble;
mod values;
mod watch;
mod words;
pub mod writeback;

use book::Book;
pub use connect::Access;
use history::History;
use keys::Keys;
use rotation::Rotation;
use session::Session;
use trouble::{Kind, Trouble};
use values::Values;

/// A connection that lasted so long was a good one: the next try is made at once.
const GOOD: Duration = Duration::from_secs(10);
/// At once, for one of many agents whose server restarts.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What the etcd source needs to know.
pub struct Settings {
    pub access: Access,
    /// Before the keys of all nodes: `/podkeeper`.
    pub prefix: String,
    pub node: Node,
    pub allow_mass_delete: bool,
    /// Where what was said last is kept.
    pub kept: Kept<Remembered>,
    pub pace: Pace,
    /// So many keys are read: [`MOST_KEYS`].
    pub most_keys: usize,
}

/// Far more pods than a machine carries, and little memory.
pub const MOST_KEYS: usize = 5_000;

/// How often things are done.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between tries: the first pause and the longest.
    pub back_off: (Duration, Duration),
    /// The longest time between two full lists; a third of it at least. A watch may lose what it should have
    /// told (etcd#18089, etcd#20221), and only a list finds that.
    pub relist: Duration,
    /// Until a mass deletion is read a second time: time for whoever did it to notice.
    pub second_look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            back_off: (Duration::from_secs(2), Duration::from_secs(60)),
            relist: Duration::from_secs(15 * 60),
            second_look: Duration::from_secs(10),
        }
    }
}

/// Starts the source. It ends with the runtime.
pub fn spawn(settings: Settings, writer: Writer, clock: Clock) -> Waker {
    let Settings { access, prefix, node, allow_mass_delete, kept, pace, most_keys } = settings;
    let keys = Keys::new(&prefix, &node.name);
    let origin = format!("{}{prefix}", access.servers.join(","));
    let begin = u64::from_le_bytes(std::array::from_fn(|at| node.name.as_bytes().get(at).map_or(0, |b| *b)));
    let values = Values::new(keys.clone(), node.name.clone());
    let manifests = Manifests::new(SourceKind::Etcd, node, allow_mass_delete);
    let publisher = Publisher::new(writer, kept, clock);
    let book = Book::new(manifests, values, publisher, clock, origin, most_keys);
    let (book, wake) = (Arc::new(Mutex::new(book)), Arc::new(Notify::new()));
    let ours = wake.clone();
    tokio::spawn(supervise(SourceKind::Etcd, "source", move || {
        let (servers, back_off) = (access.servers.len(), BackOff::new(pace.back_off.0, pace.back_off.1));
        let source = Source {
            servers: access.servers.clone(),
            session: Session::new(access.clone(), &keys, pace, Shared(book.clone()), ours.clone()),
            rotation: Rotation::new(servers, begin, back_off),
            book: Shared(book.clone()),
            wake: ours.clone(),
        };
        source.run()
    }));
    Waker::new(move || wake.notify_one())
}

/// The book, for tasks that must not block.
#[derive(Clone)]
struct Shared(Arc<Mutex<Book>>);

impl Shared {
    /// Works with it on a thread of its own. A panic in there is one of the task's.
    async fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Book) -> T + Send + 'static) -> T {
        let book = self.0.clone();
        // What a panic left half done is whole again after the next list.
        let work = move || work(&mut book.lock().unwrap_or_else(PoisonError::into_inner));
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

/// Why nothing is read, when the last server of a round failed.
fn unreadable(servers: &[String], last: usize, why: &str) -> String {
    let server = &servers[last];
    match servers.len() {
        1 => format!("etcd at {server} cannot be read: {why}"),
        all => format!("none of the {all} etcd servers can be read, {server} neither: {why}"),
    }
}

struct Source {
    servers: Vec<String>,
    session: Session,
    rotation: Rotation,
    book: Shared,
    wake: Arc<Notify>,
}

impl Source {
    async fn run(mut self) -> Infallible {
        loop {
            let at = self.rotation.at();
            let trouble = self.session.run(at).await;
            let lasted = self.session.watching_since().map(|since| since.elapsed());
            let pause = if lasted.is_some_and(|lasted| lasted >= GOOD) {
                self.rotation.served();
                tracing::info!(
                    source = "etcd",
                    "etcd at {}: {}; connecting again",
                    self.servers[at],
                    trouble.message
                );
                spread(AT_ONCE, 0.0, chance::fraction())
            } else {
                self.bad(at, trouble).await
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => {}
            }
        }
    }

    /// A try that led to nothing, or not to much. Returns the pause before the next one.
    async fn bad(&mut self, at: usize, trouble: Trouble) -> Duration {
        let pause = trouble.patience(self.rotation.failed(chance::fraction()));
        if trouble.kind == Kind::Compacted {
            let server = &self.servers[at];
            tracing::info!(
                source = "etcd",
                "etcd at {server} has dropped the history that was read so far: reading everything again"
            );
            return pause;
        }
        // The next server may do, so nobody need hear of this one.
        if !pause.is_zero() {
            let why = unreadable(&self.servers, at, &trouble.message);
            self.book.with(move |book| book.failed(why, pause)).await;
        }
        pause
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures_util::FutureExt;

    use super::*;
    use crate::node::store::Store;

    /// A7: [`supervise`] hears of it, and the book is still there for the next try.
    #[tokio::test(flavor = "current_thread")]
    async fn a_panic_over_the_book_is_one_of_the_task_and_the_book_outlives_it() {
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let dir = tempfile::tempdir().unwrap();
        let writer = Store::new(node.clone()).writer(SourceKind::Etcd);
        let publisher = Publisher::new(writer, Kept::new(dir.path(), "etcd"), Clock::start());
        let (keys, manifests) = (Keys::new("/podkeeper", "n"), Manifests::new(SourceKind::Etcd, node, false));
        let values = Values::new(keys, "n".into());
        let book = Book::new(manifests, values, publisher, Clock::start(), "etcd".into(), 7);
        let shared = Shared(Arc::new(Mutex::new(book)));
        let task = AssertUnwindSafe(shared.with(|_| panic!("a fault of ours"))).catch_unwind();
        assert!(task.await.is_err());
        assert_eq!(shared.with(|book| book.most).await, 7);
    }
}

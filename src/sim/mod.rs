//! Pretence: an engine made of values, for tests, dry runs and simulations.
//!
//! [`Engine`] answers what Docker would, refusals included, at once and in virtual time. [`World`] puts an
//! agent and its sources beside it. [`Story`] lets things happen there and tells what came of them:
//!
//! ```
//! use std::time::Duration;
//! use podkeeper::sim::{Event, Program, Story, story::key};
//!
//! let mut story = Story::new("A crashing container is restarted, later each time.");
//! story.file("web.yaml", "
//! apiVersion: v1
//! kind: Pod
//! metadata: {name: web}
//! spec: {containers: [{name: app, image: \"nginx:1.27\"}]}
//! ");
//! story.program("web", "app", |_attempt| Program::exits(1, Duration::from_secs(5)));
//! story.passes(Duration::from_secs(60));
//! story.happens(Event::Killed { pod: key("web"), container: "POD".into() }).passes(Duration::from_secs(5));
//!
//! assert!(story.told().contains("CrashLoopBackOff until"));
//! assert_eq!(story.world.engine.starts(&key("web"), "app").len(), 5);
//! ```
//!
//! # Guarantees
//! Deterministic: the same calls lead to the same account, byte for byte. A clone of an [`Engine`] is a
//! snapshot. `tests/conformance.rs` asks the simulated and a real engine the same questions.
//!
//! # Assumptions
//! Calls of one engine come one after another; what two calls at the same moment do to each other is not
//! simulated. Images have no layers, networks no packets, programs no files.

pub mod bytes;
pub mod cast;
mod container;
pub mod engine;
pub mod event;
mod fault;
mod happening;
mod machine;
mod refusal;
mod rehearsal;
mod sources;
pub mod story;
mod transcript;
pub mod world;

use std::pin::pin;
use std::task::{Context, Poll, Waker};

pub use bytes::Bytes;
pub use container::Program;
pub use engine::{Engine, Seen};
pub use event::Event;
pub use fault::{Fault, Verb};
pub use refusal::NO_COMMAND;
pub use rehearsal::{Rehearsal, rehearse};
pub use story::Story;
pub use world::{Round, World};

/// The result of a future that never waits, as all those of [`Engine`] are.
///
/// # Panics
/// When the future has to wait for something.
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => {
            panic!("a future of the simulated engine waits for something: it must be ready at once")
        }
    }
}

//! Pretence: an engine made of values, for tests, dry runs and simulations.

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

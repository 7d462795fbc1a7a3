//! Calls that go wrong: which, when and how.

use crate::docker::DockerError;

/// What is asked of an engine, one word for each method of the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Version,
    List,
    Inspect,
    Image,
    Create,
    Start,
    Stop,
    Unpause,
    Remove,
    Update,
    Pull,
    Load,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 500, and nothing was done.
    Error,
    /// 500, although it was done.
    ErrorAfterEffect,
    /// No answer, and nothing was done.
    Timeout,
    /// No answer, although it was done.
    ReplyLost,
    /// The engine cannot be reached.
    Unreachable,
}

/// A fault that waits for its call.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// `None` is any call.
    verb: Option<Verb>,
    /// How many such calls go well before.
    skip: u32,
    fault: Fault,
}

impl Fault {
    pub(crate) fn error(self) -> DockerError {
        match self {
            Fault::Error | Fault::ErrorAfterEffect => {
                DockerError::Refused { status: 500, message: "something went wrong in the engine".into() }
            }
            Fault::Timeout | Fault::ReplyLost => {
                DockerError::Uncertain { message: "the engine did not answer in time".into() }
            }
            Fault::Unreachable => DockerError::Unreachable { message: "connection refused".into() },
        }
    }
}

/// Faults that wait for their calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    planned: Vec<Planned>,
}

impl Faults {
    pub fn add(&mut self, verb: Option<Verb>, skip: u32, fault: Fault) {
        self.planned.push(Planned { verb, skip, fault });
    }

    /// The fault that hits this call, if any. Counts the call for all that wait for a later one.
    pub fn take(&mut self, verb: Verb) -> Option<Fault> {
        let mut hit = None;
        for (i, planned) in self.planned.iter_mut().enumerate() {
            if planned.verb.is_none_or(|v| v == verb) {
                match planned.skip.checked_sub(1) {
                    Some(less) => planned.skip = less,
                    None => hit = hit.or(Some(i)),
                }
            }
        }
        hit.map(|i| self.planned.remove(i).fault)
    }
}

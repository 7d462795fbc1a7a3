//! Judgement: what should happen next, and why. Pure.
//!
//! [`plan`] takes what is desired and what is observed and returns the engine calls that are due. The
//! same judgement also says when to look again ([`wake_at`]) and what to tell people ([`status`]), so
//! that what the agent does, when it wakes and what it reports cannot disagree.
//!
//! **Invariant:** no clock, no log, no `async`, no `Result`, no randomness, no unordered map.

pub mod action;
pub mod config;
pub mod decision;
pub mod desired;
pub mod fingerprint;
pub mod labels;
pub mod ledger;
pub mod observed;
pub mod status;

pub use action::{Action, Call, Cause, Change};
pub use config::ContainerConfig;
pub use decision::{Decision, Reason, Wait};
pub use desired::{Declared, Desired, Node, Slot, SourceKind};
pub use fingerprint::Fingerprint;
pub use ledger::Ledger;
pub use observed::{Exit, Image, Instance, Observed, PodObserved, Role, State};
pub use status::PodStatus;

use crate::model::Time;

/// The engine calls that are due now. Empty when there is nothing to do or nothing to do *yet*.
pub fn plan(_desired: &Desired, _observed: &Observed) -> Vec<Action> {
    Vec::new()
}

/// Everything that is not done now, why, and until when.
pub fn waits(_desired: &Desired, _observed: &Observed) -> Vec<Wait> {
    Vec::new()
}

/// The first moment at which [`plan`] may say something else although nothing else has changed.
pub fn wake_at(_desired: &Desired, _observed: &Observed) -> Option<Time> {
    None
}

/// What to tell people, one entry for each pod that is desired or observed.
pub fn status(_desired: &Desired, _observed: &Observed) -> Vec<PodStatus> {
    Vec::new()
}

/// The same judgement as [`plan`], [`wake_at`] and [`status`], remembering the last round, so that a round
/// costs what has changed and not what there is.
///
/// It holds no facts of its own: dropping it and starting anew changes no answer.
#[derive(Default)]
pub struct Rounds {}

impl Rounds {
    pub fn plan(&mut self, desired: &Desired, observed: &Observed) -> Vec<Action> {
        plan(desired, observed)
    }

    pub fn wake_at(&self) -> Option<Time> {
        None
    }
}

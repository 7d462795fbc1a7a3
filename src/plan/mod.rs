//! Judgement: what should happen next, and why. Pure.
//!
//! [`plan`] takes what is desired and what is observed and returns the engine calls that are due. The
//! same judgement also says when to look again ([`wake_at`]) and what to tell people ([`status`]), so
//! that what the agent does, when it wakes and what it reports cannot disagree.
//!
//! **Invariant:** no clock, no log, no `async`, no `Result`, no randomness, no unordered map.

pub mod action;
pub mod backoff;
pub mod config;
pub mod decision;
pub mod desired;
pub mod fingerprint;
pub mod labels;
pub mod ledger;
pub mod observed;
pub mod status;

mod changes;
mod conditions;
mod garbage;
mod images;
mod init;
mod phase;
mod pod;
pub mod ports;
mod regular;
mod render;
mod rounds;
mod sandbox;
mod scene;
mod start;
mod teardown;

pub use action::{Action, Call, Cause, Change};
pub use config::ContainerConfig;
pub use decision::{Decision, Reason, Wait};
pub use desired::{Declared, Desired, Node, Slot, SourceKind};
pub use fingerprint::Fingerprint;
pub use images::BUILTIN_SANDBOX_IMAGE;
pub use ledger::Ledger;
pub use observed::{Exit, Image, Instance, Observed, PodObserved, Role, State};
pub use rounds::Rounds;
pub use scene::Verdict;
pub use status::PodStatus;

use crate::model::Time;

/// The engine calls that are due now. Empty when there is nothing to do, or nothing to do *yet*.
pub fn plan(desired: &Desired, observed: &Observed) -> Vec<Action> {
    if !observed.listed {
        return Vec::new();
    }
    let mut acts = Vec::new();
    rounds::for_each_pod(desired, observed, |key, declared, pod| {
        acts.extend(pod::judge(desired, observed, key, declared, pod).acts);
    });
    rounds::due(observed, acts.iter())
}

/// Everything that is not done now, why, and until when.
pub fn waits(desired: &Desired, observed: &Observed) -> Vec<Wait> {
    let mut waits = Vec::new();
    if observed.listed {
        rounds::for_each_pod(desired, observed, |key, declared, pod| {
            waits.extend(pod::judge(desired, observed, key, declared, pod).waits);
        });
    }
    waits
}

/// The first moment at which [`plan`] may say something else although nothing else has changed.
pub fn wake_at(desired: &Desired, observed: &Observed) -> Option<Time> {
    waits(desired, observed).iter().filter_map(|wait| wait.until).min()
}

/// What to tell people, one entry for each pod that is desired or observed.
pub fn status(desired: &Desired, observed: &Observed) -> Vec<PodStatus> {
    let mut out = Vec::new();
    rounds::for_each_pod(desired, observed, |key, declared, pod| {
        let verdict = pod::judge(desired, observed, key, declared, pod);
        out.push(status::of_pod(desired, observed, key, declared, pod, &verdict));
    });
    out
}

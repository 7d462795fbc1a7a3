//! Docker → `Observed`: a list replaces what was known, events and outcomes are folded in between.
//!
//! Pure functions over a value. Who calls them knows the clock: `observed.at` is set before each.

use crate::executor::Outcome;
use crate::model::{ContainerId, Time};
use crate::plan::{Action, Instance, Observed};

/// A full list of the engine: replaces all instances, keeps what was inspected of those that did not
/// change, and images, memory and in-flight actions as they are.
pub fn relist(observed: &mut Observed, at: Time, instances: Vec<Instance>) {
    let _ = (observed, at, instances);
}

/// An action was handed to the executor: until [`fold`], nothing that it could disturb is planned.
pub fn begin(observed: &mut Observed, action: &Action) {
    let _ = (observed, action);
}

/// What became of an action that was begun. Returns true when the engine must be read again before the
/// next plan, because nobody can say what it did.
#[must_use]
pub fn fold(observed: &mut Observed, at: Time, action: &Action, outcome: &Outcome) -> bool {
    let _ = (observed, at, action, outcome);
    false
}

/// What the engine's event stream tells of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Started,
    Died,
    Oom,
    Destroyed,
    Paused,
    Unpaused,
}

/// An engine event. Returns true when it is about a container that is not known, so that only a list can
/// tell more. Events are hints: losing, doubling or reordering them costs time, never truth.
#[must_use]
pub fn hint(observed: &mut Observed, at: Time, id: &ContainerId, hint: Hint) -> bool {
    let _ = (observed, at, id, hint);
    false
}

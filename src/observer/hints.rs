//! Engine events, folded in between two lists.

use crate::model::{ContainerId, Time};
use crate::plan::{Instance, Observed, State};

use super::{gone, put};

/// What the engine's event stream tells of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Started,
    Died,
    Destroyed,
    Paused,
    Unpaused,
}

/// An engine event. Returns true when it is about a container that is not known, so that only a list can
/// tell more. Events are hints: losing, doubling or reordering them costs time, never truth.
#[must_use]
pub fn hint(observed: &mut Observed, at: Time, id: &ContainerId, hint: Hint) -> bool {
    observed.at = at;
    let known = observed.pods.values().flat_map(|pod| &pod.instances).find(|instance| instance.id == *id);
    let Some(known) = known.cloned() else {
        // One that is not ours is none of our business, however often it ends and starts.
        return hint != Hint::Destroyed && !observed.lookalikes.contains_key(id);
    };
    let state = match (hint, &known.state) {
        (Hint::Destroyed, _) => {
            gone(observed, id);
            return false;
        }
        // Already known, by the outcome of our own call.
        (Hint::Died, State::Exited(_)) => return false,
        (Hint::Started | Hint::Unpaused, State::Running { started_at: Some(_) })
            if observed.in_flight.contains_key(&known.pod) =>
        {
            return false;
        }
        (Hint::Started, State::Running { started_at: Some(started) }) if at.since(*started).as_secs() < 2 => {
            return false;
        }
        (Hint::Died, _) => State::Exited(None),
        (Hint::Started, _) => State::Running { started_at: Some(at) },
        (Hint::Unpaused, State::Paused) => State::Running { started_at: None },
        (Hint::Unpaused, _) => return false,
        (Hint::Paused, _) => State::Paused,
    };
    put(observed, Instance { state, ..(*known).clone() });
    false
}

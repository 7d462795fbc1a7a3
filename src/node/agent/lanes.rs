//! How many calls of which kind may be under way at once.
//!
//! A lane bounds what costs the engine or the machine; lanes do not wait for each other, so a slow pull or a
//! hanging stop never holds up a start. What finds no place is planned again after the next outcome.

use std::collections::BTreeSet;

use crate::model::PodKey;
use crate::plan::{Action, Call};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// An inspect is a third of a millisecond of the engine's time; more than four at once gain nothing.
    Look,
    /// Create, start, update: CPU in dockerd and runc.
    Start,
    /// They share the network.
    Pull,
    /// A stop waits for a process, so it costs nothing but patience.
    Stop,
    /// Removing, and stopping a sandbox, which ends at once and gives its network back: CPU in dockerd.
    Remove,
}

impl Lane {
    const ALL: [Lane; 5] = [Lane::Look, Lane::Start, Lane::Pull, Lane::Stop, Lane::Remove];

    fn of(action: &Action) -> Self {
        match &action.call {
            Call::InspectImage { .. } | Call::InspectContainer { .. } => Lane::Look,
            Call::PullImage { .. } | Call::LoadSandboxImage { .. } => Lane::Pull,
            Call::CreateSandbox { .. }
            | Call::CreateContainer { .. }
            | Call::StartContainer { .. }
            | Call::UpdateContainer { .. } => Lane::Start,
            Call::StopContainer { .. } if action.container.is_none() => Lane::Remove,
            Call::StopContainer { .. } | Call::UnpauseContainer { .. } => Lane::Stop,
            Call::RemoveContainer { .. } => Lane::Remove,
        }
    }
}

/// The places that are taken.
pub struct Lanes {
    places: [usize; Lane::ALL.len()],
    taken: [usize; Lane::ALL.len()],
}

impl Lanes {
    /// `concurrency` is how many creates and starts the engine does at once without losing by it.
    pub fn new(concurrency: usize) -> Self {
        let concurrency = concurrency.max(1);
        let places = Lane::ALL.map(|lane| match lane {
            Lane::Look => 4,
            Lane::Start | Lane::Remove => concurrency,
            Lane::Pull => 3,
            Lane::Stop => 64,
        });
        Self { places, taken: [0; Lane::ALL.len()] }
    }

    /// Those of a plan that may begin now, in its order. When one of a pod finds no place, the pod's later
    /// ones wait too, so that a pod's actions keep their order.
    pub fn admit(&mut self, plan: Vec<Action>) -> Vec<Action> {
        let mut waiting: BTreeSet<PodKey> = BTreeSet::new();
        let mut admitted = Vec::new();
        for action in plan {
            let lane = Lane::of(&action) as usize;
            if waiting.contains(&action.pod) || self.taken[lane] >= self.places[lane] {
                waiting.insert(action.pod);
            } else {
                self.taken[lane] += 1;
                admitted.push(action);
            }
        }
        admitted
    }

    pub fn leave(&mut self, action: &Action) {
        let lane = Lane::of(action) as usize;
        self.taken[lane] = self.taken[lane].saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Cause;

    fn action(pod: &str, call: Call) -> Action {
        Action {
            pod: PodKey::new("default", pod),
            container: None,
            call,
            cause: Cause::NotStarted,
            seen: None,
        }
    }

    fn start(pod: &str) -> Action {
        action(pod, Call::StartContainer { id: pod.into() })
    }

    fn names(actions: &[Action]) -> String {
        actions.iter().map(|a| &*a.pod.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_full_lane_holds_up_its_own_kind_and_the_same_pod_only() {
        let mut lanes = Lanes::new(2);
        let stop = |pod: &str| action(pod, Call::StopContainer { id: pod.into(), grace: None });
        let plan = vec![start("a"), start("b"), start("c"), stop("c"), stop("d"), start("d")];
        assert_eq!(
            names(&lanes.admit(plan)),
            "a b d",
            "c's stop comes after its start, d's start finds no place"
        );
        lanes.leave(&start("a"));
        assert_eq!(names(&lanes.admit(vec![start("c"), start("d")])), "c");
    }
}

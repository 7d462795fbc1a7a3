//! How many calls of which kind may be under way at once.
//!
//! A lane bounds what costs the engine or the machine; lanes do not wait for each other, so a slow pull or a
//! hanging stop never holds up a start. What finds no place is planned again after the next outcome.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

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
    /// A stop that takes long waits for a process, and costs nothing but patience: see [`YOUNG`].
    Stop,
    /// Removing, and stopping a sandbox, which ends at once and gives its network back. Half of that is
    /// waiting for the kernel to take a network namespace down, so twice as many go as of starts (50 pods
    /// on two cores: 4.3 s at 4, 3.6 s at 8, 4.2 s at 16).
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

/// A stop that ends within this time was work: most processes end when they are asked, and then the engine
/// cleans up. Too many of these at once keep it from taking the first pods down to the end.
const YOUNG: Duration = Duration::from_secs(1);

/// The places that are taken.
pub struct Lanes {
    places: [usize; Lane::ALL.len()],
    taken: [usize; Lane::ALL.len()],
    /// Stops that are under way, by whom they stop, and since when.
    stops: BTreeMap<Stopped, Instant>,
    /// How many of them may be young.
    young: usize,
    /// A stop found the places of the young ones taken.
    crowded: bool,
}

type Stopped = (PodKey, Option<String>);

fn stopped(action: &Action) -> Stopped {
    (action.pod.clone(), action.container.clone())
}

impl Lanes {
    /// `concurrency` is how many creates and starts the engine does at once without losing by it.
    pub fn new(concurrency: usize) -> Self {
        let concurrency = concurrency.max(1);
        let places = Lane::ALL.map(|lane| match lane {
            Lane::Look => 4,
            Lane::Start => concurrency,
            Lane::Remove => 2 * concurrency,
            Lane::Pull => 3,
            Lane::Stop => 64,
        });
        Self {
            places,
            taken: [0; Lane::ALL.len()],
            stops: BTreeMap::new(),
            young: 3 * concurrency,
            crowded: false,
        }
    }

    /// Those of a plan that may begin now, in its order. When one of a pod finds no place, the pod's later
    /// ones wait too, so that a pod's actions keep their order.
    pub fn admit(&mut self, now: Instant, plan: Vec<Action>) -> Vec<Action> {
        let mut waiting: BTreeSet<PodKey> = BTreeSet::new();
        let mut admitted = Vec::new();
        let mut young = self.stops.values().filter(|since| now < **since + YOUNG).count();
        self.crowded = false;
        for action in plan {
            let lane = Lane::of(&action);
            let crowded = lane == Lane::Stop && young >= self.young;
            self.crowded |= crowded;
            if crowded
                || waiting.contains(&action.pod)
                || self.taken[lane as usize] >= self.places[lane as usize]
            {
                waiting.insert(action.pod);
                continue;
            }
            self.taken[lane as usize] += 1;
            if lane == Lane::Stop {
                young += 1;
                self.stops.insert(stopped(&action), now);
            }
            admitted.push(action);
        }
        admitted
    }

    /// When there is room for another stop although none has ended.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let grown_up = self.stops.values().map(|since| *since + YOUNG).filter(|due| *due > now);
        grown_up.min().filter(|_| self.crowded)
    }

    pub fn leave(&mut self, action: &Action) {
        let lane = Lane::of(action);
        self.taken[lane as usize] = self.taken[lane as usize].saturating_sub(1);
        if lane == Lane::Stop {
            self.stops.remove(&stopped(action));
        }
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

    fn stop(pod: &str) -> Action {
        Action {
            container: Some("app".into()),
            ..action(pod, Call::StopContainer { id: pod.into(), grace: None })
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
        let (mut lanes, now) = (Lanes::new(2), Instant::now());
        let plan = vec![start("a"), start("b"), start("c"), stop("c"), stop("d"), start("d")];
        assert_eq!(
            names(&lanes.admit(now, plan)),
            "a b d",
            "c's stop comes after its start, d's start finds no place"
        );
        lanes.leave(&start("a"));
        assert_eq!(names(&lanes.admit(now, vec![start("c"), start("d")])), "c");
    }

    #[test]
    fn stops_that_take_long_make_room_for_others() {
        let (mut lanes, now) = (Lanes::new(1), Instant::now());
        let plan: Vec<Action> = ["a", "b", "c", "d", "e"].map(stop).into();
        assert_eq!(names(&lanes.admit(now, plan.clone())), "a b c");
        assert_eq!(lanes.due(now), Some(now + YOUNG));
        lanes.leave(&stop("b"));
        assert_eq!(names(&lanes.admit(now, plan[3..].into())), "d", "one has ended");
        assert_eq!(names(&lanes.admit(now + YOUNG, plan[4..].into())), "e", "the others wait for a process");
        assert_eq!(lanes.due(now + YOUNG), None, "nothing waits");
    }
}

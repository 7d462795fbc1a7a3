//! Laws that need no faults: what the engine tells is a hint, a dry run says what happens, waiting is exact.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use podkeeper::model::{Pod, PodKey, Time};
use podkeeper::plan::{Action, Desired, Fingerprint, PodObserved, Slot, SourceKind};
use podkeeper::sim::world::{START, nowhere};
use podkeeper::sim::{Bytes, Event, Program, World, cast, rehearse};
use proptest::prelude::*;

use crate::play::{come_to_rest, list_again};

/// Pods that are declared one after another, some of them edits of earlier ones.
fn pods() -> impl Strategy<Value = Vec<Pod>> {
    let pod = proptest::collection::vec(any::<u8>(), 8).prop_map(|bytes| cast::pod(&mut Bytes::new(&bytes)));
    proptest::collection::vec(pod, 1..5)
}

fn rest(world: &mut World) -> Result<(), TestCaseError> {
    come_to_rest(world, &mut |_, _| ()).map_err(TestCaseError::fail)?;
    list_again(world);
    come_to_rest(world, &mut |_, _| ()).map_err(TestCaseError::fail).map(|_| ())
}

/// What runs, without ids and times.
fn outcome(world: &World) -> Vec<(String, bool, Option<i64>)> {
    let mut all: Vec<_> =
        world.engine.containers().into_iter().map(|c| (c.config.name.clone(), c.up, c.code)).collect();
    all.sort();
    all
}

/// What is done, without ids: which call is made for which container.
fn kinds<'a>(actions: impl Iterator<Item = &'a Action>) -> BTreeSet<String> {
    let kind = |action: &Action| {
        let call = format!("{:?}", action.call);
        let verb = call.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        format!("{} {:?} {verb}", action.pod, action.container)
    };
    actions.filter(|action| !action.call.is_look()).map(kind).collect()
}

proptest! {
    #![proptest_config(crate::config_of_quiet_laws())]

    #[test]
    fn without_events_the_end_is_the_same(pods in pods(), killed in any::<[u8; 4]>()) {
        let (mut told, mut deaf) = (World::default(), World::default());
        let (pod, container) = (PodKey::new("default", ["a", "b", "c"][usize::from(killed[0]) % 3]), "app".to_owned());
        let hits = [Event::Killed { pod: pod.clone(), container: container.clone() }, Event::Vanishes { pod, container }];
        let events = pods.into_iter().map(|pod| Event::Apply { source: SourceKind::File, pod: Box::new(pod) }).chain(hits);
        for event in events {
            for (world, loses) in [(&mut told, false), (&mut deaf, true)] {
                world.happen(&event);
                world.happen(if loses { &Event::EventsLost } else { &Event::EventsDoubled });
                rest(world)?;
            }
        }
        prop_assert_eq!(outcome(&told), outcome(&deaf));
        prop_assert!(told.engine.changes().abs_diff(deaf.engine.changes()) <= 1);
    }

    #[test]
    fn a_rehearsal_says_what_the_agent_then_does(pods in pods()) {
        let mut world = World::default();
        for pod in pods {
            world.declare(SourceKind::File, pod, nowhere("a.yaml"));
            world.read();
            let rehearsal = rehearse(&world.desired, &world.observed);
            prop_assert!(rehearsal.settled);
            let mut done = Vec::new();
            come_to_rest(&mut world, &mut |_, step| {
                if let crate::play::Step::CarriedOut(action) = step {
                    done.push(action.clone());
                }
            }).map_err(TestCaseError::fail)?;
            let (said, done) = (kinds(rehearsal.steps.iter()), kinds(done.iter()));
            let differs: Vec<_> = said.symmetric_difference(&done).collect();
            prop_assert!(differs.is_empty(), "only one of the two did {differs:?}");
            let again = rehearse(&world.desired, &world.observed);
            prop_assert!(again.settled && again.steps.is_empty(), "{:#?}", again.steps);
        }
    }

    /// A label of another version is compared by what inspect says, and nothing is touched.
    #[test]
    fn an_upgrade_is_silent(pods in pods()) {
        let mut world = World::default();
        for pod in pods {
            world.declare(SourceKind::File, pod, nowhere("a.yaml"));
        }
        rest(&mut world)?;
        let mut observed = world.observed.clone();
        for (key, pod) in &world.observed.pods {
            let older = pod.instances.iter().map(|instance| {
                let mut instance = (**instance).clone();
                instance.fingerprint = Fingerprint("0 of=another-version".into());
                Arc::new(instance)
            });
            observed.pods.insert(key.clone(), Arc::new(PodObserved { instances: older.collect() }));
        }
        let rehearsal = rehearse(&world.desired, &observed);
        prop_assert!(rehearsal.steps.is_empty(), "{:#?}", rehearsal.steps);
    }

    /// In which order the pods of a source were declared does not matter.
    #[test]
    fn the_order_of_arrival_does_not_matter(pods in pods()) {
        let mut world = World::default();
        let mut last: BTreeMap<String, Pod> = BTreeMap::new();
        for pod in pods {
            last.insert(pod.metadata.name.clone(), pod);
        }
        for pod in last.into_values().rev() {
            world.declare(SourceKind::File, pod, nowhere("a.yaml"));
        }
        let Slot::Known(declared) = world.desired.slot(SourceKind::File) else { unreachable!("the source is read") };
        let forwards = Desired::new(world.desired.node.clone()).with_slot(SourceKind::File, Slot::Known(declared.clone()));
        world.read();
        let one = podkeeper::plan::plan(&world.desired, &world.observed);
        prop_assert_eq!(one, podkeeper::plan::plan(&forwards, &world.observed));
    }

    /// Sources come and go, the agent dies, lists are late and events are lost, for a year: as long as what is
    /// declared stays, so does everything that runs.
    #[test]
    fn a_year_of_bad_network_changes_nothing(
        pods in pods(),
        mishaps in proptest::collection::vec(any::<u8>(), 60),
    ) {
        const SOURCES: [SourceKind; 3] = [SourceKind::File, SourceKind::Http, SourceKind::Etcd];
        let mut world = World::default();
        for (pod, source) in pods.into_iter().zip(SOURCES.into_iter().cycle()) {
            world.declare(source, pod, nowhere("a.yaml"));
        }
        rest(&mut world)?;
        let settled = world.engine.changes();
        for mishap in mishaps {
            let source = SOURCES[usize::from(mishap / 8) % SOURCES.len()];
            match mishap % 8 {
                0 | 1 => world.happen(&Event::SourceGoesStale { source }),
                2 | 3 => world.happen(&Event::SourceIsRead { source }),
                4 => world.happen(&Event::AgentDies),
                5 => world.happen(&Event::StaleList),
                6 => world.happen(&Event::EventsLost),
                _ => world.lose_connection(),
            }
            world.pass(Duration::from_secs(146 * 3600));
            rest(&mut world)?;
            prop_assert_eq!(world.engine.changes(), settled, "after mishap {}", mishap);
        }
    }

    /// A restart comes exactly when its back-off is over: 0, 10, 20 … 300 s after the end, counted anew after
    /// ten minutes of running.
    #[test]
    fn restarts_come_exactly_when_they_may(runs in proptest::collection::vec(1..900_u64, 1..12)) {
        let mut world = World::default();
        let pod = cast::pod(&mut Bytes::new(&[]));
        let key = PodKey::new(&pod.metadata.namespace, &pod.metadata.name);
        let script = runs.clone();
        world.script(&key, "app", move |attempt| match script.get(attempt as usize) {
            Some(&seconds) => Program::exits(1, Duration::from_secs(seconds)),
            None => Program::FOREVER,
        });
        world.declare(SourceKind::File, pod, nowhere("a.yaml"));
        rest(&mut world)?;
        let mut expected = vec![START];
        let (mut at, mut streak) = (START, 0_u32);
        for seconds in runs {
            streak = if seconds >= 600 { 0 } else { streak };
            let delay = if streak == 0 { 0 } else { (10_u64 << (streak - 1).min(5)).min(300) };
            at = at + Duration::from_secs(seconds + delay);
            expected.push(at);
            streak += 1;
        }
        let starts: Vec<Time> = world.engine.starts(&key, "app");
        prop_assert_eq!(starts, expected);
    }
}

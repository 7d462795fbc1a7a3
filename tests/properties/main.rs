//! The laws of the planner, each tried on many simulated nodes.
//!
//! `PROPTEST_CASES` says on how many: 256 without it, 20 000 in CI, where `--profile laws` makes them quick.
//! A case is a [`Tale`]: bytes that say what happens.

mod oracle;
mod play;
mod quiet;

use std::collections::BTreeSet;
use std::time::Duration;

use play::{Step, Tale, come_to_rest, play};
use podkeeper::model::{ContainerId, RestartPolicy, Uid};
use podkeeper::plan::{Call, Cause, Fingerprint, Image, Observed, Rounds, SourceKind};
use podkeeper::sim::{Event, World};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};

/// The laws without faults need fewer tales: one is of a handful of edits.
fn config_of_quiet_laws() -> Config {
    let config = config();
    Config { cases: (config.cases / 8).max(32), ..config }
}

fn config() -> Config {
    let failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("regressions")) as _);
    Config { failure_persistence, max_shrink_iters: 20_000, ..Config::default() }
}

/// As many events as a law speaks of, each with bytes enough for the largest pod.
fn tales() -> impl Strategy<Value = Tale> {
    let scene = proptest::collection::vec(any::<u8>(), 1..16);
    proptest::collection::vec(scene, 0..play::MOST_EVENTS).prop_map(Tale)
}

/// Rounds with something to do after the last fault: the longest chain that a pod of the cast can need
/// (make everything of it go, then look, pull, create and start for a sandbox, three init containers and
/// a regular one), for two pods that hand over a port.
const MOST_ROUNDS: usize = 80;

proptest! {
    #![proptest_config(config())]

    /// Eventually stable, and as the documentation says.
    #[test]
    fn after_any_faults_a_node_comes_to_rest_and_stays_so(tale in tales()) {
        let mut world = play(&tale, |_, _| ());
        world.calm();
        let mut watch = |_: &World, _: Step| ();
        let mut busy = come_to_rest(&mut world, &mut watch).map_err(TestCaseError::fail)?;
        play::list_again(&mut world);
        busy += come_to_rest(&mut world, &mut watch).map_err(TestCaseError::fail)?;
        prop_assert!(busy <= MOST_ROUNDS, "it took {busy} rounds");
        let complaints = oracle::complaints(&world, tale.may_finish_something());
        prop_assert!(complaints.is_empty(), "{complaints:#?}");
        let changes = world.engine.changes();
        for _ in 0..50 {
            play::list_again(&mut world);
            let planned = world.round().planned;
            prop_assert!(planned.is_empty(), "at rest, and then {planned:#?}");
        }
        world.pass(Duration::from_secs(3600));
        let planned = world.round().planned;
        prop_assert!(planned.is_empty(), "at rest, and after an hour {planned:#?}");
        prop_assert_eq!(world.engine.changes(), changes);
    }

    /// At most one running container of one name in one pod, and never a hand on what is not ours.
    #[test]
    fn nothing_runs_twice_and_bystanders_are_left_alone(tale in tales()) {
        let mut by_hand = false;
        let mut wrong = Vec::new();
        let mut watch = |world: &World, step: Step| {
            by_hand |= matches!(step, Step::Event(Event::Started { .. }));
            if !by_hand {
                wrong.extend(twice(world));
            }
        };
        let mut world = play(&tale, &mut watch);
        world.calm();
        come_to_rest(&mut world, &mut watch).map_err(TestCaseError::fail)?;
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
        let touched = world.engine.touched();
        let strangers: Vec<ContainerId> = play::bystanders(&world);
        prop_assert!(strangers.iter().all(|id| !touched.contains(id)));
    }

    /// Two calls agree, and the remembered judgement is the judgement.
    #[test]
    fn the_same_facts_lead_to_the_same_plan(tale in tales()) {
        let mut rounds = Rounds::default();
        let mut wrong = Vec::new();
        play(&tale, |world, step| {
            if let Step::Event(Event::AgentDies) = step {
                rounds = Rounds::default();
            }
            if let Step::Event(_) | Step::CarriedOut(_) = step {
                let planned = podkeeper::plan::plan(&world.desired, &world.observed);
                if planned != podkeeper::plan::plan(&world.desired, &world.observed) {
                    wrong.push("two calls disagree".to_owned());
                }
                let remembered = rounds.plan(&world.desired, &world.observed);
                if planned != remembered {
                    wrong.push(format!("from scratch: {planned:#?}\nremembered: {remembered:#?}"));
                }
                if rounds.wake_at() != podkeeper::plan::wake_at(&world.desired, &world.observed) {
                    wrong.push("the wake-up times disagree".to_owned());
                }
            }
        });
        prop_assert!(wrong.is_empty(), "{}", wrong[0]);
    }

    /// A plan changes by itself only at the moment that was announced.
    #[test]
    fn nothing_is_planned_before_the_wake_up(tale in tales(), fraction in 0..1000_i64) {
        let mut wrong = Vec::new();
        play(&tale, |world, step| {
            // While a call is under way its outcome is awaited anyway.
            let Step::Planned(_) = step else { return };
            if world.in_flight() > 0 {
                return;
            }
            let (now, wake) = (world.observed.at, podkeeper::plan::wake_at(&world.desired, &world.observed));
            let span = wake.map_or(7_200_000, |wake| (wake.0 - now.0).max(1)) - 1;
            let later = Observed { at: now + Duration::from_millis((span * fraction / 1000).max(0) as u64), ..world.observed.clone() };
            let before = podkeeper::plan::plan(&world.desired, &world.observed);
            let after = podkeeper::plan::plan(&world.desired, &later);
            if before.is_empty() && calls(world, &before) != calls(world, &after) {
                wrong.push(format!("wake at {wake:?}, now {now:?}: {before:#?}\nat {:?}: {after:#?}", later.at));
            }
        });
        prop_assert!(wrong.is_empty(), "{}", wrong[0]);
    }

    /// While a source cannot be read, nothing is removed because of what it does not say.
    #[test]
    fn a_source_that_cannot_be_read_removes_nothing(tale in tales()) {
        let mut wrong = Vec::new();
        play(&tale, |world, step| {
            if let Step::Planned(planned) = step
            {
                let removed = planned.iter().filter(|action| match &action.cause {
                    Cause::Removed { source } => {
                        let known = SourceKind::parse(source).is_some_and(|source| world.desired.knows(source));
                        !known && world.desired.get(&action.pod).is_none()
                    }
                    _ => false,
                });
                wrong.extend(removed.cloned());
            }
        });
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// A container of a `Never` pod that is known to have finished never runs again.
    #[test]
    fn run_once_means_once(tale in tales()) {
        let mut finished: BTreeSet<(Uid, String, String)> = BTreeSet::new();
        let mut wrong = Vec::new();
        let mut watch = |world: &World, step: Step| match step {
            Step::Event(Event::Apply { pod, .. }) => finished.retain(|(uid, _, _)| uid_of(world, pod) != Some(uid.clone())),
            Step::Event(Event::Delete { .. } | Event::Started { .. }) => finished.clear(),
            // What was learnt in the last second may not be on disk yet.
            Step::Event(Event::AgentDies) => {
                let remembered: BTreeSet<_> = ended(world).into_iter().collect();
                finished.retain(|one| remembered.contains(one));
            }
            Step::Event(_) => {}
            Step::Planned(_) => finished.extend(ended(world)),
            Step::CarriedOut(action) => {
                if let Call::CreateContainer { config } = &action.call
                    && let Some(key) = life(&config.labels)
                    && finished.contains(&key)
                {
                    wrong.push(format!("{action:#?}"));
                }
            }
        };
        let mut world = play(&tale, &mut watch);
        world.calm();
        come_to_rest(&mut world, &mut watch).map_err(TestCaseError::fail)?;
        prop_assert!(wrong.is_empty(), "{}", wrong[0]);
    }
}

/// What is asked, without the reasons, which may name how long something took. An image that is there and is
/// pulled afresh because a minute is over can wait for whatever else is waited for.
fn calls<'a>(world: &World, actions: &'a [podkeeper::plan::Action]) -> Vec<&'a Call> {
    let there = |image: &str| matches!(world.observed.images.get(image), Some(Image::Present { .. }));
    let calls = actions.iter().map(|action| &action.call);
    calls.filter(|call| !matches!(call, Call::PullImage { image } if there(image))).collect()
}

fn twice(world: &World) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let up = world.engine.containers().into_iter().filter(|seen| seen.up);
    let ours = up.filter_map(|s| Some((oracle::pod_of(&s)?, oracle::name_of(&s).to_owned())));
    ours.filter(|one| !seen.insert(one.clone()))
        .map(|(pod, name)| format!("{pod}[{name}] runs twice"))
        .collect()
}

fn uid_of(world: &World, pod: &podkeeper::model::Pod) -> Option<Uid> {
    world.declared().find(|d| *d.key.name == *pod.metadata.name).map(|d| d.uid.clone())
}

/// The regular containers of `Never` pods that the agent knows to have finished.
fn ended(world: &World) -> Vec<(Uid, String, String)> {
    let never = world.declared().filter(|d| d.pod.spec.restart_policy == RestartPolicy::Never);
    let mut found = Vec::new();
    for declared in never {
        for (container, fingerprint) in declared.containers() {
            let memo = world.observed.ledger.memo(&declared.uid, &container.name);
            let regular = declared.pod.spec.containers.iter().any(|c| c.name == container.name);
            // The newest run counts: a definition that is declared again after another one may run again. Which is the
            // newest the engine knows too: what was learnt in the last second before a crash is not in the memo.
            let pod = world.observed.pods.get(&declared.key);
            let seen = pod.and_then(|pod| pod.of(&container.name).map(|instance| instance.attempt).max());
            let newest =
                memo.and_then(|m| m.ended.as_ref().filter(|end| m.attempt.max(seen) == Some(end.attempt)));
            if regular && newest.is_some_and(|end| end.fingerprint == *fingerprint) {
                found.push((declared.uid.clone(), container.name.clone(), fingerprint.to_string()));
            }
        }
    }
    found
}

fn life(labels: &std::collections::BTreeMap<String, String>) -> Option<(Uid, String, String)> {
    use podkeeper::plan::labels::{CONTAINER_NAME, FINGERPRINT, POD_UID};
    let label = |key: &str| labels.get(key).cloned();
    let fingerprint = Fingerprint(label(FINGERPRINT)?.into());
    Some((Uid(label(POD_UID)?.into()), label(CONTAINER_NAME)?, fingerprint.to_string()))
}

//! The kubelet's image rows (decision table §19): what is asked of the engine, and what is said meanwhile.

use std::time::Duration;

use podkeeper::docker::DockerError;
use podkeeper::executor::{Fact, Outcome};
use podkeeper::model::pod::PullPolicy;
use podkeeper::observer;
use podkeeper::plan::{Action, Call, Desired, Observed, plan, waits};

use crate::row::{NOW, base};

/// One pod whose first container has this policy and an image of which nothing is known.
fn world(policy: PullPolicy) -> (Desired, Observed) {
    let mut row = base().only(&["foo2", "foo3"]);
    row.pod.spec.containers[0].image = "example/app:1".into();
    row.pod.spec.containers[0].image_pull_policy = policy;
    row.worlds()
}

/// Goes on until the plan is empty or the container is created; says what was asked and what is waited for.
fn asked(desired: &Desired, observed: &mut Observed, is_there: bool, pull: Result<(), &str>) -> String {
    let mut asked = Vec::new();
    for _ in 0..5 {
        for action in plan(desired, observed) {
            let there = || Outcome::Done(Fact::Image(Some("sha256:2".into())));
            let outcome = match &action.call {
                Call::InspectImage { .. } if is_there => there(),
                Call::InspectImage { .. } => Outcome::Done(Fact::Image(None)),
                Call::PullImage { .. } => match pull {
                    Ok(()) => there(),
                    Err(message) => Outcome::Refused(DockerError::NotFound { message: message.into() }),
                },
                Call::CreateContainer { .. } => return [asked, vec!["create".into()]].concat().join(", "),
                call => panic!("no row needs {call:?}"),
            };
            asked.push(match action.call {
                Call::PullImage { .. } => "pull".to_owned(),
                _ => "look".to_owned(),
            });
            let at = observed.at;
            assert!(!observer::fold(observed, at, &action, &outcome), "nothing here is uncertain");
        }
    }
    asked.extend(waits(desired, observed).iter().map(|wait| wait.reason.word.to_owned()));
    asked.join(", ")
}

#[test]
fn an_image_is_looked_up_or_pulled_as_its_policy_says() {
    let gone = Err("manifest for example/app:1 not found");
    for (policy, is_there, pull, expected) in [
        (PullPolicy::IfNotPresent, false, Ok(()), "look, pull, create"),
        (PullPolicy::IfNotPresent, true, gone, "look, create"),
        (PullPolicy::Always, true, Ok(()), "pull, create"),
        (PullPolicy::Always, true, gone, "pull, ImagePullBackOff"),
        (PullPolicy::Never, true, gone, "look, create"),
        (PullPolicy::Never, false, gone, "look, ErrImageNeverPull"),
        (PullPolicy::IfNotPresent, false, gone, "look, pull, ImagePullBackOff"),
    ] {
        let (desired, mut observed) = world(policy);
        let found = asked(&desired, &mut observed, is_there, pull);
        assert_eq!(found, expected, "{policy:?}, on the engine: {is_there}, pull: {pull:?}");
    }
}

#[test]
fn a_failed_pull_waits_longer_each_time_and_keeps_the_last_error() {
    let (desired, mut observed) = world(PullPolicy::IfNotPresent);
    let mut pulls = Vec::new();
    while pulls.len() < 8 {
        if asked(&desired, &mut observed, false, Err("no such host")).contains("pull") {
            pulls.push(observed.at);
        }
        let wait = waits(&desired, &observed).remove(0);
        assert_eq!(wait.reason.message, "Back-off pulling image \"example/app:1\": no such host");
        let until = wait.until.unwrap();
        observed.at = until - Duration::from_millis(1);
        assert_eq!(plan(&desired, &observed), [], "one millisecond before the wake-up");
        observed.at = until;
    }
    let pauses: Vec<u64> = pulls.windows(2).map(|pair| pair[1].since(pair[0]).as_secs()).collect();
    assert_eq!(pauses, [10, 20, 40, 80, 160, 300, 300]);
}

#[test]
fn an_image_that_is_loaded_during_a_back_off_is_found_within_ten_seconds() {
    let (desired, mut observed) = world(PullPolicy::IfNotPresent);
    for _ in 0..5 {
        asked(&desired, &mut observed, false, Err("no such host"));
        observed.at = waits(&desired, &observed)[0].until.unwrap();
    }
    asked(&desired, &mut observed, false, Err("no such host"));
    let until = waits(&desired, &observed)[0].until.unwrap();
    assert!(until.since(observed.at).as_secs() <= 10);
    observed.at = until;
    assert_eq!(asked(&desired, &mut observed, true, Err("no such host")), "look, create");
}

#[test]
fn an_image_that_was_loaded_by_hand_is_found_at_the_next_try() {
    let (desired, mut observed) = world(PullPolicy::Never);
    assert_eq!(asked(&desired, &mut observed, false, Ok(())), "look, ErrImageNeverPull");
    observed.at = NOW + Duration::from_secs(10);
    assert_eq!(asked(&desired, &mut observed, true, Ok(())), "look, create");
}

#[test]
fn an_engine_that_does_not_say_whether_an_image_is_there_is_asked_again_after_a_back_off() {
    let (desired, mut observed) = world(PullPolicy::IfNotPresent);
    let mut pauses = Vec::new();
    for _ in 0..3 {
        let asked = plan(&desired, &observed);
        assert!(matches!(asked[..], [Action { call: Call::InspectImage { .. }, .. }]), "{asked:#?}");
        let error = DockerError::Refused { status: 500, message: "layer store is broken".into() };
        let at = observed.at;
        assert!(!observer::fold(&mut observed, at, &asked[0], &Outcome::Refused(error)));
        assert_eq!(plan(&desired, &observed), [], "nothing is asked before the back-off ends");
        let wait = waits(&desired, &observed).remove(0);
        assert!(wait.reason.message.contains("layer store is broken"), "{wait:?}");
        pauses.push(wait.until.unwrap().since(at).as_secs());
        observed.at = wait.until.unwrap();
    }
    assert_eq!(pauses, [1, 2, 4]);
}

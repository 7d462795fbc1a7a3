//! A declared pod runs, and comes back when it ends.

use std::time::Duration;

use im::OrdMap;
use podkeeper::plan::SourceKind;
use podkeeper::sim::story::key;
use podkeeper::sim::{Event, Program, Story};

use crate::{WEB, compare};

const ONCE: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: job}
spec: {restartPolicy: Never, containers: [{name: app, image: \"busybox:1\"}]}
";

#[test]
fn a_declared_pod_is_brought_up_step_by_step() {
    let mut story = Story::new("A declared pod gets a sandbox and its containers, each after what it needs.");
    story.file("web.yaml", WEB).settles();
    compare("running", "a_declared_pod_is_brought_up_step_by_step", &story);
}

#[test]
fn a_pod_that_is_no_longer_declared_goes() {
    let mut story =
        Story::new("A pod that its source no longer declares is stopped and removed, its sandbox last.");
    story.file("web.yaml", WEB).settles();
    story.no_file("web.yaml").settles();
    assert_eq!(story.world.engine.containers(), []);
    compare("running", "a_pod_that_is_no_longer_declared_goes", &story);
}

#[test]
fn a_pod_that_is_let_go_with_a_grace_period_is_stopped_with_that_one() {
    let mut story =
        Story::new("Whoever deletes a pod may say how long it may take, whatever its manifest says.");
    story.says(SourceKind::Api, "web", WEB).says(SourceKind::Api, "db", &WEB.replace("web", "db")).settles();
    let uid = story.world.desired.get(&key("web")).unwrap().uid.clone();
    story.world.desired = story.world.desired.clone().with_graces(OrdMap::unit(uid, 3));
    story.takes_back(SourceKind::Api, "web").takes_back(SourceKind::Api, "db").settles();
    compare("running", "a_pod_that_is_let_go_with_a_grace_period_is_stopped_with_that_one", &story);
}

#[test]
fn a_container_killed_by_hand_is_back_at_once() {
    let mut story = Story::new("A container that somebody kills is started again at once.");
    story.file("web.yaml", WEB).settles().passes(Duration::from_secs(3600));
    story.happens(Event::Killed { pod: key("web"), container: "app".into() }).settles();
    compare("running", "a_container_killed_by_hand_is_back_at_once", &story);
}

#[test]
fn a_crashing_container_waits_longer_each_time() {
    let mut story = Story::new(
        "A container that keeps ending is restarted after 0, 10, 20, 40, 80, 160 and then 300 seconds.",
    );
    story.file("web.yaml", WEB).program("web", "app", |_| Program::exits(1, Duration::from_secs(1)));
    story.starts_of("web", "app", Duration::from_secs(2000));
    compare("running", "a_crashing_container_waits_longer_each_time", &story);
}

#[test]
fn ten_minutes_of_running_clear_the_back_off() {
    let mut story = Story::new("After ten minutes of running the back-off begins anew.");
    let runs = |attempt| Duration::from_secs(if attempt == 4 { 600 } else { 1 });
    story.file("web.yaml", WEB).program("web", "app", move |attempt| Program::exits(1, runs(attempt)));
    story.starts_of("web", "app", Duration::from_secs(900));
    compare("running", "ten_minutes_of_running_clear_the_back_off", &story);
}

#[test]
fn a_never_pod_runs_once_even_after_a_prune() {
    let mut story = Story::new("A container of a Never pod runs once, also when all trace of it is pruned.");
    story.file("job.yaml", ONCE).program("job", "app", |_| Program::exits(3, Duration::from_secs(5)));
    story.passes(Duration::from_secs(60));
    story.happens(Event::Pruned).passes(Duration::from_secs(60));
    story.happens(Event::AgentDies).passes(Duration::from_secs(60));
    compare("running", "a_never_pod_runs_once_even_after_a_prune", &story);
}

#[test]
fn a_removed_sandbox_takes_the_pod_with_it() {
    let mut story = Story::new("When somebody removes a sandbox, its containers go and the pod starts over.");
    story.file("web.yaml", WEB).settles();
    story
        .happens(Event::Vanishes { pod: key("web"), container: "POD".into() })
        .passes(Duration::from_secs(5));
    compare("running", "a_removed_sandbox_takes_the_pod_with_it", &story);
}

#[test]
fn a_killed_sandbox_takes_the_pod_with_it() {
    let mut story = Story::new("When somebody kills a sandbox, its containers go and the pod starts over.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::Killed { pod: key("web"), container: "POD".into() }).passes(Duration::from_secs(5));
    compare("running", "a_killed_sandbox_takes_the_pod_with_it", &story);
}

#[test]
fn a_paused_container_is_left_alone() {
    let mut story = Story::new("A container that somebody paused is left alone until it is resumed.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::Paused { pod: key("web"), container: "app".into() }).settles();
    compare("running", "a_paused_container_is_left_alone", &story);
}

#[test]
fn what_podkeeper_itself_stopped_has_not_finished() {
    let mut story = Story::new(
        "A container that podkeeper stopped with its lost sandbox has not finished, whatever its exit code.",
    );
    story.file("web.yaml", &WEB.replace("spec: {", "spec: {restartPolicy: OnFailure, ")).settles();
    story.happens(Event::Killed { pod: key("web"), container: "POD".into() }).passes(Duration::from_secs(5));
    compare("running", "what_podkeeper_itself_stopped_has_not_finished", &story);
}

//! Init containers run one after another to their end; sidecars stay.

use std::time::Duration;

use podkeeper::sim::{Program, Story};

use crate::compare;

const TWO: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers: [{name: first, image: \"busybox:1\"}, {name: second, image: \"busybox:1\"}]
  containers: [{name: app, image: \"busybox:1\"}]
";

const SIDECAR: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  restartPolicy: Never
  initContainers: [{name: proxy, image: \"busybox:1\", restartPolicy: Always}]
  containers: [{name: app, image: \"busybox:1\"}]
";

#[test]
fn init_containers_run_one_after_another() {
    let mut story =
        Story::new("Init containers run in order, each to its end, before the regular ones start.");
    story.file("web.yaml", TWO).passes(Duration::from_secs(10));
    compare("init", "init_containers_run_one_after_another", &story);
}

#[test]
fn a_failing_init_container_is_tried_again() {
    let mut story = Story::new("An init container that fails is tried again, later each time.");
    let fails_twice = |attempt| Program::exits(i64::from(attempt < 2), Duration::from_secs(1));
    story.file("web.yaml", TWO).program("web", "first", fails_twice);
    story.starts_of("web", "first", Duration::from_secs(60));
    story.starts_of("web", "app", Duration::ZERO);
    compare("init", "a_failing_init_container_is_tried_again", &story);
}

#[test]
fn a_failing_init_container_of_a_never_pod_ends_the_pod() {
    let mut story = Story::new("In a Never pod one failing init container is the end of the pod.");
    let never = TWO.replace("spec:\n", "spec:\n  restartPolicy: Never\n");
    story.file("web.yaml", &never).program("web", "first", |_| Program::exits(1, Duration::from_secs(1)));
    story.passes(Duration::from_secs(600));
    compare("init", "a_failing_init_container_of_a_never_pod_ends_the_pod", &story);
}

#[test]
fn a_sidecar_starts_first_and_goes_last() {
    let mut story =
        Story::new("A sidecar starts before the regular containers and ends when they have finished.");
    story.file("web.yaml", SIDECAR).program("web", "app", |_| Program::exits(0, Duration::from_secs(30)));
    story.passes(Duration::from_secs(60));
    compare("init", "a_sidecar_starts_first_and_goes_last", &story);
}

//! A changed manifest changes exactly what it has to.

use podkeeper::sim::Story;

use crate::{WEB, compare};

/// Brings `before` up, then changes it to `after`.
fn edit(rule: &str, before: &str, after: &str) -> Story {
    let mut story = Story::new(rule);
    story.file("web.yaml", before).settles();
    story.file("web.yaml", after).settles();
    story
}

#[test]
fn a_new_image_is_pulled_before_the_old_container_stops() {
    let story = edit(
        "When the image changes, the new one is pulled before the old container stops.",
        WEB,
        &WEB.replace("1.27", "1.28"),
    );
    compare("changing", "a_new_image_is_pulled_before_the_old_container_stops", &story);
}

#[test]
fn a_changed_variable_replaces_the_container_only() {
    let with = |value: &str| WEB.replace("\"}]", &format!("\", env: [{{name: COLOR, value: {value}}}]}}]"));
    let story = edit(
        "When a variable changes, the container is replaced and its sandbox stays.",
        &with("red"),
        &with("blue"),
    );
    compare("changing", "a_changed_variable_replaces_the_container_only", &story);
}

#[test]
fn a_changed_cpu_limit_is_applied_in_place() {
    let with = |cpu: &str| WEB.replace("\"}]", &format!("\", resources: {{limits: {{cpu: {cpu}}}}}}}]"));
    let story = edit(
        "When a CPU limit changes, it is changed in place and nothing stops.",
        &with("500m"),
        &with("250m"),
    );
    compare("changing", "a_changed_cpu_limit_is_applied_in_place", &story);
}

#[test]
fn a_memory_limit_that_goes_needs_a_new_container() {
    let with = WEB.replace("\"}]", "\", resources: {limits: {memory: 64Mi}}}]");
    let story = edit("Docker cannot take a memory limit away, so the container is replaced.", &with, WEB);
    compare("changing", "a_memory_limit_that_goes_needs_a_new_container", &story);
}

#[test]
fn a_changed_host_port_makes_a_new_sandbox() {
    let with =
        |port: u16| WEB.replace("\"}]", &format!("\", ports: [{{containerPort: 80, hostPort: {port}}}]}}]"));
    let story = edit(
        "Ports belong to the sandbox, so a changed host port makes a new pod.",
        &with(8080),
        &with(9090),
    );
    compare("changing", "a_changed_host_port_makes_a_new_sandbox", &story);
}

#[test]
fn a_changed_restart_policy_does_nothing_at_all() {
    let with = WEB.replace("spec: {", "spec: {restartPolicy: OnFailure, ");
    let mut story =
        Story::new("The restart policy is podkeeper's own business: changing it touches no container.");
    story.file("web.yaml", WEB).settles();
    let before = story.changes();
    story.file("web.yaml", &with).settles();
    assert_eq!(story.changes(), before);
    compare("changing", "a_changed_restart_policy_does_nothing_at_all", &story);
}

#[test]
fn a_broken_edit_keeps_the_pod_as_it_was() {
    let story = edit(
        "A manifest that cannot be read changes nothing: the last good version stays.",
        WEB,
        &WEB.replace("image:", "imagee:"),
    );
    compare("changing", "a_broken_edit_keeps_the_pod_as_it_was", &story);
}

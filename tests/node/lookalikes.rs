//! D43, D45: names that were changed and labels that were copied, on the real engine.

use std::fs;

use crate::machine::{Machine, docker, pod, remove};

#[test]
fn a_copy_with_all_our_labels_is_left_alone_and_a_renamed_container_stays_ours() {
    let mut machine = Machine::new("copy");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_settled();
    let ours = machine.container("web").unwrap();
    let image = format!("podkeeper-node-test:copy-{}", std::process::id());
    docker(&["commit", &ours, &image]);
    let copy = docker(&["run", "-d", &image]);
    docker(&["rename", &ours, &format!("kept-{}", std::process::id())]);
    machine.until("the copy is told of", || machine.log().contains("carries the labels of default/web[app]"));
    machine.until_settled();
    let before = machine.containers();
    assert_eq!(before.len(), 3, "the sandbox, the container and its copy: {before:?}");

    machine.kill();
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    assert_eq!(machine.container("web").as_deref(), Some(&*ours), "found by its labels and its sandbox");

    fs::remove_file(machine.pods_dir().join("web.yaml")).unwrap();
    machine.until_gone("web");
    machine.until("only the copy is left", || machine.containers() == [format!("{copy} running")]);
    assert_eq!(
        machine.log().matches("carries the labels").count(),
        2,
        "once by each agent: {}",
        machine.log()
    );
    remove(&copy);
    docker(&["rmi", &image]);
}

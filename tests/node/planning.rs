//! Planning beside an agent that runs.

use crate::machine::{Machine, pod};

#[test]
fn a_plan_of_one_file_beside_an_agent_of_more_says_first_what_it_replaces() {
    let mut machine = Machine::new("planning");
    for name in ["a", "b", "c"] {
        machine.write(&format!("{name}.yaml"), &pod(name, ""));
    }
    machine.start();
    for name in ["a", "b", "c"] {
        machine.until_pod(name, "Running");
    }
    machine.until_settled();
    let plan = |path: &std::path::Path| {
        let mut command = machine.command();
        command.arg("plan").arg(path).args(["--node-name", &machine.node, "--socket"]).arg(machine.socket());
        let output = command.arg("--state-dir").arg(machine.state_dir()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (all, one) = (machine.pods_dir(), machine.pods_dir().join("a.yaml"));
    let (out, err) = plan(&one);
    let (all_shown, one_shown) = (all.display(), one.display());
    let expected = format!(
        "note: the running agent reads {all_shown}, and this plan puts {one_shown} in its place: 2 pods that {one_shown} \
         does not declare would go. To see it added, name both.\n"
    );
    assert_eq!(err, expected);
    assert!(out.contains("2 to remove"), "{out}");
    assert_eq!(plan(&all), ("Nothing to do: what runs is what is declared.\n".to_owned(), String::new()));
}

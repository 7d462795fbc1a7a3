//! What a person sees who declares pods in a directory and leaves the rest to the agent.

use std::fs;
use std::net::TcpListener;

use crate::machine::{IMAGE, Machine, docker, pod, remove};

#[test]
fn declared_pods_run_come_back_change_and_go() {
    let mut machine = Machine::new("life");
    machine.write("web.yaml", &pod("web", ""));
    machine.write("db.yaml", &pod("db", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_pod("db", "Running");
    let (web, db) = (machine.container("web").unwrap(), machine.container("db").unwrap());

    docker(&["kill", &web]);
    machine.until("web is back", || machine.container("web").is_some_and(|now| now != web));
    docker(&["rm", "-f", &machine.container("web").unwrap()]);
    machine.until("web is back again", || machine.container("web").is_some());

    let before = machine.container("web").unwrap();
    machine.write("web.yaml", &pod("web", "env: [{name: COLOUR, value: blue}]"));
    machine.until("web is replaced", || machine.container("web").is_some_and(|now| now != before));
    let env = docker(&["inspect", "--format", "{{.Config.Env}}", &machine.container("web").unwrap()]);
    assert!(env.contains("COLOUR=blue"), "{env}");

    fs::remove_file(machine.pods_dir().join("web.yaml")).unwrap();
    machine.until_gone("web");
    machine.until_settled();
    assert_eq!(machine.container("db"), Some(db), "nobody touched it");
    assert_eq!(machine.containers().len(), 2, "db and its sandbox");
    assert!(!machine.log().contains("blue"), "values of env are never logged");
}

#[test]
fn an_agent_that_ends_or_is_killed_changes_no_container() {
    let mut machine = Machine::new("restart");
    for name in ["a", "b", "c"] {
        machine.write(&format!("{name}.yaml"), &pod(name, ""));
    }
    machine.start();
    for name in ["a", "b", "c"] {
        machine.until_pod(name, "Running");
    }
    machine.until_settled();
    let before = machine.containers();
    assert_eq!(before.len(), 6);
    for _ in 0..2 {
        assert_eq!(machine.stop(), Some(0));
        machine.start();
        machine.until_settled();
        machine.kill();
        machine.start();
        machine.until_settled();
    }
    assert_eq!(machine.containers(), before);
    let (came, why) = machine.start_twin();
    assert!(!came && why.contains("is in use by process"), "{why}");
}

#[test]
fn what_changed_while_the_agent_was_down_is_caught_up_with() {
    let mut machine = Machine::new("away");
    machine.write("a.yaml", &pod("a", ""));
    machine.write("b.yaml", &pod("b", ""));
    machine.start();
    machine.until_pod("a", "Running");
    machine.until_pod("b", "Running");
    assert_eq!(machine.stop(), Some(0));
    fs::remove_file(machine.pods_dir().join("a.yaml")).unwrap();
    machine.write("c.yaml", &pod("c", ""));
    docker(&["kill", &machine.containers()[0][..64]]);
    machine.start();
    machine.until_gone("a");
    machine.until_pod("b", "Running");
    machine.until_pod("c", "Running");
}

#[test]
fn what_is_not_ours_is_never_touched_even_when_it_has_our_name() {
    let mut machine = Machine::new("foreign");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    let ours = machine.container("web").unwrap();
    let name = docker(&["inspect", "--format", "{{.Name}}", &ours]).trim_start_matches('/').to_owned();
    // The next attempt's name is taken by somebody else.
    let next = format!("{}1", name.strip_suffix('0').unwrap());
    let foreign = docker(&["run", "-d", "--name", &next, IMAGE, "sleep", "100000"]);
    docker(&["kill", &ours]);
    machine.until("the conflict is told", || machine.table().contains(&foreign[..12]));
    assert_eq!(docker(&["inspect", "--format", "{{.State.Running}}", &foreign]), "true");
    remove(&foreign);
    machine.until_pod("web", "Running");
}

#[test]
fn a_taken_port_and_a_missing_image_hold_up_nobody_else() {
    let mut machine = Machine::new("trouble");
    let holder = TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let port = holder.local_addr().unwrap().port();
    machine.write("port.yaml", &pod("port", &format!("ports: [{{containerPort: 80, hostPort: {port}}}]")));
    machine.write("image.yaml", &pod("image", "").replace(IMAGE, "podkeeper-node-test:never"));
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_pod("image", "ErrImageNeverPull");
    machine.until("the port's holder is told of", || machine.table().contains(&port.to_string()));
    drop(holder);
    machine.until_pod("port", "Running");
}

#[test]
fn wrong_manifests_and_a_missing_directory_hurt_no_running_pod() {
    let mut machine = Machine::new("wrong");
    let whole = pod("web", "");
    machine.write("web.yaml", &whole);
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_settled();
    let before = machine.containers();

    machine.write("web.yaml", &whole[..whole.len() / 2]);
    machine.until("the half-written file is told of", || machine.table().contains("web.yaml:"));
    machine.write("web.yaml", &whole.replace("imagePullPolicy", "imagePulPolicy"));
    machine.until("the unknown field is told of", || machine.table().contains("imagePulPolicy"));
    let away = machine.pods_dir().with_extension("away");
    fs::rename(machine.pods_dir(), &away).unwrap();
    machine.until("the missing directory is told of", || machine.table().contains("No such file"));
    machine.until_settled();
    fs::rename(&away, machine.pods_dir()).unwrap();
    machine.write("web.yaml", &whole);
    machine.until("all is well", || !machine.table().contains("web.yaml:"));
    machine.until_settled();
    assert_eq!(machine.containers(), before);
}

#[test]
fn a_manifest_that_broke_while_the_agent_was_down_keeps_its_pod() {
    let mut machine = Machine::new("broken");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_settled();
    assert_eq!(machine.stop(), Some(0));
    let before = machine.containers();
    machine.write("web.yaml", "apiVersion: v1\nkind: [");
    machine.start();
    machine.until("the broken file is told of", || machine.table().contains("web.yaml:"));
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    docker(&["kill", &machine.container("web").unwrap()]);
    machine.until("web comes back from its last good manifest", || {
        machine.container("web").is_some_and(|id| !before.iter().any(|old| old.starts_with(&id)))
    });
}

#[test]
fn without_an_engine_the_socket_is_served_and_says_what_to_do() {
    let mut machine = Machine::without_engine("alone");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until("the engine's absence is told", || {
        machine.table().contains("engine unix:///nonexistent/docker.sock is not there: start it")
    });
    assert_eq!(machine.get("/livez").map(|(code, _)| code), Some(200));
    assert_eq!(machine.get("/readyz").map(|(code, _)| code), Some(503));
    assert_eq!(machine.stop(), Some(0));
    assert!(machine.table().contains("no agent listens at"), "{}", machine.table());
    assert_eq!(machine.log().matches("is not there").count(), 1, "{}", machine.log());
}

#[test]
fn an_engine_that_goes_away_is_caught_up_with_when_it_is_back() {
    let (mut machine, proxy) = Machine::behind_proxy("away-engine");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    let before = machine.container("web").unwrap();
    proxy.cut();
    machine.until("the engine's absence is told", || machine.table().contains("is not there: start it"));
    docker(&["kill", &before]);
    machine.write("db.yaml", &pod("db", ""));
    assert_eq!(machine.get("/livez").map(|(code, _)| code), Some(200));
    proxy.mend();
    machine.until("web is back", || machine.container("web").is_some_and(|now| now != before));
    machine.until_pod("db", "Running");
}

#[test]
fn a_settled_node_costs_one_list_each_time_and_nothing_between() {
    let (mut machine, proxy) = Machine::behind_proxy("idle");
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_settled();
    proxy.requests();
    let mut seen: Vec<String> = Vec::new();
    machine.until("three requests", || {
        seen.extend(proxy.requests());
        seen.len() >= 3
    });
    assert!(seen.iter().all(|request| request == "GET /containers/json"), "{seen:?}");
}

#[test]
fn a_value_that_was_expanded_into_a_command_is_shown_nowhere() {
    let mut machine = Machine::new("canary");
    let command = r#"command: ["/bin/canary-$(TOKEN)"]"#;
    let whole = pod("web", "env: [{name: TOKEN, value: hunter2}]");
    machine.write("web.yaml", &whole.replace(r#"command: [sleep, "100000"]"#, command));
    machine.start();
    machine.until("the refusal is told", || machine.table().contains("/bin/canary-<hidden>"));
    machine.until_settled();
    let pods = machine.get("/pods").unwrap().1;
    // The manifest itself is in the list, as its author wrote it.
    assert_eq!(pods.matches("hunter2").count(), 1, "{pods}");
    assert_eq!(machine.stop(), Some(0));
    assert!(!machine.log().contains("hunter2"), "{}", machine.log());
    let ledger = fs::read_to_string(machine.state_dir().join("ledger.json")).unwrap();
    assert!(ledger.contains("canary-<hidden>") && !ledger.contains("hunter2"), "{ledger}");
}

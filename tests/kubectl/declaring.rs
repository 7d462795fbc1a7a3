//! Everything by which kubectl changes what is declared. No engine is needed to write down what is wanted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::kubectl::{Kubectl, with_tcp};
use crate::machine::{Machine, pod};

fn agent(name: &str) -> (Machine, Kubectl) {
    let mut machine = with_tcp(Machine::without_engine(name));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    (machine, kubectl)
}

#[test]
fn kubectl_changes_a_pod_in_every_way_that_it_knows() {
    let (machine, kubectl) = agent("kubectl-patch");
    let labels = || kubectl.run("get pod web -o jsonpath={.metadata.labels}").ok();
    let first =
        |path: &str| kubectl.run(&format!("get pod web -o jsonpath={{.spec.containers[0]{path}}}")).ok();
    kubectl.with("create", &pod("web", "")).ok();
    kubectl.run("label pod web a=1 b=2").ok();
    kubectl.run("annotate pod web note=yes").ok();
    assert_eq!(labels(), r#"{"a":"1","b":"2"}"#);
    kubectl.run(r#"patch pod web --type=merge -p {"metadata":{"labels":{"a":null,"c":"3"}}}"#).ok();
    kubectl
        .run(r#"patch pod web --type=json -p [{"op":"add","path":"/metadata/labels/d","value":"4"}]"#)
        .ok();
    assert_eq!(labels(), r#"{"b":"2","c":"3","d":"4"}"#);
    kubectl
        .run(r#"patch pod web -p {"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}"#)
        .ok();
    kubectl
        .run(r#"patch pod web -p {"spec":{"containers":[{"name":"app","env":[{"name":"B","value":"2"}]}]}}"#)
        .ok();
    assert_eq!(first(".env[*].name"), "A B");
    assert_eq!(first(".command[0]"), "sleep", "nothing else was touched");
    kubectl.run("set image pod/web app=other:2").ok();
    assert_eq!(first(".image"), "other:2");

    let editor = machine.dir.path().join("editor");
    fs::write(&editor, "#!/bin/sh\nsed -i 's/b: \"2\"/b: edited/' \"$1\"\n").unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    let edited = kubectl.command("edit pod web").env("EDITOR", &editor).output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    assert_eq!(labels(), r#"{"b":"edited","c":"3","d":"4"}"#);
    kubectl.with("replace", &pod("web", "")).ok();
    assert_eq!((labels(), first(".env")), (String::new(), String::new()));
}

#[test]
fn what_one_manager_applies_on_the_server_another_may_not_take_unasked() {
    let (_machine, kubectl) = agent("kubectl-server");
    let env = |value: &str| pod("web", &format!("env: [{{name: A, value: \"{value}\"}}]"));
    let value = || kubectl.run("get pod web -o jsonpath={.spec.containers[0].env[0].value}").ok();
    assert_eq!(kubectl.with("apply --server-side", &env("1")).ok(), "pod/web serverside-applied\n");
    kubectl.with("apply --server-side", &env("2")).ok();
    assert_eq!(value(), "2");
    let refused = kubectl.with("apply --server-side --field-manager=other", &env("3")).refused();
    assert!(refused.contains(r#"conflict with "kubectl""#), "{refused}");
    kubectl.with("apply --server-side --field-manager=other --force-conflicts", &env("3")).ok();
    assert_eq!(value(), "3");
    assert_eq!(kubectl.with("diff --server-side --field-manager=other", &env("3")).ok(), "");
    kubectl.with("apply --server-side --field-manager=other", &pod("web", "")).ok();
    assert_eq!(value(), "", "what it no longer applies is gone");
}

#[test]
fn many_pods_are_selected_and_deleted_together() {
    let (_machine, kubectl) = agent("kubectl-many");
    for name in ["a", "b", "c"] {
        let labels =
            format!("{{name: {name}, labels: {{set: {}}}}}", if name == "c" { "two" } else { "one" });
        kubectl.with("apply", &pod(name, "").replace(&format!("{{name: {name}}}"), &labels)).ok();
    }
    kubectl.with("apply -n other", &pod("a", "")).ok();
    let names = |arguments: &str| {
        kubectl.run(&format!("get pods {arguments} -o jsonpath={{.items[*].metadata.name}}")).ok()
    };
    assert_eq!(
        (names(""), names("-l set=one"), names("-l set!=one")),
        ("a b c".into(), "a b".into(), "c".into())
    );
    assert_eq!(names("-A"), "a b c a");
    assert_eq!(names("--field-selector metadata.name=b,status.phase=Pending"), "b");
    assert_eq!(kubectl.run("get ns -o name").ok(), "namespace/default\nnamespace/other\n");
    kubectl.run("delete pods -l set=one --wait=false").ok();
    kubectl.run("delete --raw /api/v1/namespaces/other/pods").ok();
    let leaving = "-A -o custom-columns=N:.metadata.namespace,P:.metadata.name,D:.metadata.deletionTimestamp --no-headers";
    let rows = kubectl.run(&format!("get pods {leaving}")).ok();
    let stays: Vec<&str> = rows.lines().filter(|row| row.contains("<none>")).collect();
    assert_eq!(stays.len(), 1, "{rows}");
    assert!(stays[0].starts_with("default") && stays[0].contains(" c "), "{rows}");
}

#[test]
fn a_dry_run_of_a_delete_deletes_nothing() {
    let (_machine, kubectl) = agent("kubectl-dry");
    kubectl.with("create", &pod("web", "")).ok();
    for arguments in ["pod web", "pods --all", "pods -l !none"] {
        let said = kubectl.run(&format!("delete {arguments} --dry-run=server --wait=false")).ok();
        assert_eq!(said, "pod \"web\" deleted (server dry run)\n", "{arguments}");
        let leaving = kubectl.run("get pod web -o jsonpath={.metadata.deletionTimestamp}").ok();
        assert_eq!(leaving, "", "{arguments}");
    }
}

#[test]
fn mistakes_are_named_by_field_without_turning_validation_off() {
    let (_machine, kubectl) = agent("kubectl-wrong");
    let refused = kubectl.with("apply", &pod("web", "imgae: x\nports: [{containerPort: 99999}]")).refused();
    for words in ["spec.containers[0].imgae is not a field; did you mean image?", "must be from 1 to 65535"] {
        assert!(refused.contains(words), "{refused}");
    }
    let said = kubectl.with("apply", &(pod("web", "") + "  serviceAccountName: x\n"));
    assert!(said.err.contains("Warning: spec.serviceAccountName is ignored"), "{said:?}");
    said.ok();
    // Before 1.25 kubectl cannot ask for less than all.
    if !kubectl.run("version --client").out.contains("v1.20") {
        let misspelt = pod("odd", "imagePulPolicy: Never");
        let warned = kubectl.with("apply --validate=warn", &misspelt).said();
        assert!(warned.contains("Warning: spec.containers[0].imagePulPolicy is not a field"), "{warned}");
        assert_eq!(kubectl.with("apply --validate=ignore", &misspelt).said(), "", "as it was asked for");
    }
    // Before 1.27 kubectl explains by another document, which this agent leaves empty.
    if !kubectl.run("version --client").out.contains("v1.20") {
        assert!(kubectl.run("explain pod.spec.containers").ok().contains("imagePullPolicy"));
    }
    assert!(kubectl.run("get services").refused().contains("resource type"));
    let made = kubectl.run("run once --image=busybox:1 --restart=Never --dry-run=server -o yaml").ok();
    assert!(made.contains("restartPolicy: Never") && made.contains("uid:"), "{made}");
    assert!(kubectl.run("get pod once").refused().contains("not found"));
}

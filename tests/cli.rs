//! The command line from outside: the built binary, its output, its exit statuses. No engine is needed.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use podkeeper::docker::Look;
use podkeeper::executor;
use podkeeper::model::read;
use podkeeper::observer;
use podkeeper::plan::{Action, Call, Cause, Observed, SourceKind};
use podkeeper::sim::{World, ready};
use serde_json::{Value, json};

/// A node that has run before: its key on disk, and what its engine showed, as `observe` writes it.
struct Before {
    dir: tempfile::TempDir,
}

impl Before {
    /// Lets a simulated node bring up `tests/cli/before.yaml`.
    fn new() -> Self {
        Self::from(SourceKind::File)
    }

    fn from(source: SourceKind) -> Self {
        let mut world = World::default();
        let text = fs::read(manifest("before.yaml")).unwrap();
        for pod in read::read("before.yaml", &text, &read::Options::default()).pods {
            world.declare(source, pod.pod.expect("before.yaml is valid"), pod.places);
        }
        world.settle(200).unwrap();
        let observed = inspected(&world);
        let engine = ready(world.engine.version()).unwrap();
        let node = &world.desired.node;
        let snapshot = json!({"version": 1, "node": *node.name, "engine": engine, "observed": observed});
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("node.key"), node.key).unwrap();
        fs::write(dir.path().join("observed.json"), snapshot.to_string()).unwrap();
        Self { dir }
    }

    fn plan(&self, file: &str, more: &[&str]) -> Output {
        let (dir, observed) = (self.dir.path(), self.dir.path().join("observed.json"));
        let mut command = podkeeper(&["plan", file]);
        command.arg("--state-dir").arg(dir).arg("--observed").arg(observed).args(more);
        command.output().unwrap()
    }
}

/// What is known of the world, with every container looked at.
fn inspected(world: &World) -> Observed {
    let mut observed = world.observed.clone();
    let instances: Vec<_> = observed.pods.values().flat_map(|pod| pod.instances.clone()).collect();
    for instance in instances {
        let look = Action {
            pod: instance.pod.clone(),
            container: None,
            call: Call::InspectContainer { id: instance.id.clone() },
            cause: Cause::Unknown { fact: "state" },
            seen: None,
        };
        let outcome = ready(executor::look(&world.engine, &look)).expect("it is a look");
        let at = observed.at;
        assert!(!observer::fold(&mut observed, at, &look, &outcome));
    }
    observed
}

fn manifest(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(name)
}

/// The binary, run where the manifests are and without anything of this machine's environment.
fn podkeeper(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_podkeeper"));
    command.args(args).current_dir(manifest("")).env_clear().stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    podkeeper(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What was printed, and how it ended.
fn transcript(output: &Output) -> String {
    format!("{}{}exit status {}\n", text(&output.stdout), text(&output.stderr), output.status.code().unwrap())
}

fn assert_told(name: &str, told: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/cli");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

#[test]
fn a_plan_shows_what_changes_and_why_pod_by_pod() {
    let output = Before::new().plan("after.yaml", &[]);
    assert_told("a_plan_shows_what_changes_and_why_pod_by_pod", &transcript(&output));
}

#[test]
fn pods_of_sources_that_are_not_planned_for_are_one_line() {
    let output = Before::from(SourceKind::Etcd).plan("after.yaml", &[]);
    let told = transcript(&output);
    assert!(told.contains("\n1 pod of another source (etcd) is left alone.\nPlan: 1 to add"), "{told}");
    assert!(!told.contains("default/old"), "{told}");
}

#[test]
fn a_plan_of_what_runs_already_is_empty() {
    let output = Before::new().plan("before.yaml", &["--detailed-exitcode"]);
    assert_told("a_plan_of_what_runs_already_is_empty", &transcript(&output));
}

#[test]
fn the_detailed_exit_status_tells_that_there_is_something_to_do() {
    let before = Before::new();
    assert_eq!(before.plan("after.yaml", &["--detailed-exitcode"]).status.code(), Some(2));
    assert_eq!(before.plan("after.yaml", &[]).status.code(), Some(0));
    assert_eq!(before.plan("missing.yaml", &["--detailed-exitcode"]).status.code(), Some(1));
    let wrong = before.plan("after.yaml", &["--detailed-exitcode", "--no-such-flag"]);
    assert_eq!(wrong.status.code(), Some(1), "2 is news, and this is none");
}

#[test]
fn a_plan_as_json_counts_the_same_and_names_every_cause() {
    let output = Before::new().plan("after.yaml", &["-o", "json"]);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let actions: Vec<&Value> =
        plan["pods"].as_array().unwrap().iter().flat_map(|pod| pod["actions"].as_array().unwrap()).collect();
    assert_eq!(plan["summary"], json!({"add": 1, "change": 1, "remove": 1, "actions": actions.len()}));
    for (i, action) in actions.iter().enumerate() {
        assert_eq!(action["number"], json!(i + 1));
        assert!(action["cause"]["because"].is_string() && action["because"].is_string(), "{action}");
    }
    let image =
        plan["pods"][2]["parts"][0]["fields"].as_array().unwrap().iter().find(|f| f["field"] == "image");
    let image = image.expect("the image changed");
    assert_eq!((&image["old"], &image["new"]), (&json!("nginx:1.25"), &json!("nginx:1.26")));
    assert_eq!(image["place"], json!({"file": "after.yaml", "line": 7, "column": 7}));
}

#[test]
fn no_value_of_an_environment_variable_is_ever_printed() {
    let before = Before::new();
    for format in ["text", "json"] {
        let told = transcript(&before.plan("after.yaml", &["-o", format]));
        assert!(told.contains("PASSWORD"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
}

#[test]
fn hostile_text_is_shown_and_not_obeyed() {
    let told = transcript(&Before::new().plan("hostile.yaml", &[]));
    assert_told("hostile_text_is_shown_and_not_obeyed", &told);
    assert!(!told.contains(['\u{1b}', '\u{202e}']), "{told:?}");
}

#[test]
fn a_plan_needs_the_key_that_made_the_digests() {
    let before = Before::new();
    fs::remove_file(before.dir.path().join("node.key")).unwrap();
    let output = before.plan("after.yaml", &[]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    assert!(
        complaint.contains("no node key can be read in") && complaint.lines().count() == 1,
        "{complaint}"
    );
}

#[test]
fn with_one_bad_document_the_others_are_planned_and_nothing_is_removed() {
    let before = Before::new();
    let bad = before.dir.path().join("bad.yaml");
    let new = "apiVersion: v1\nkind: Pod\nmetadata: {name: new}\nspec: {containers: [{name: c, image: x}]}\n";
    let wrong = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {container: []}\n";
    fs::write(&bad, [new, wrong].concat()).unwrap();
    let output = before.plan(bad.to_str().unwrap(), &["--detailed-exitcode"]);
    assert_eq!(output.status.code(), Some(1));
    let (plan, told) = (text(&output.stdout), text(&output.stderr));
    assert!(plan.contains("Plan: 1 to add, 0 to change, 0 to remove"), "{plan}");
    assert!(told.contains("bad.yaml:9:") && told.contains("no pod is removed"), "{told}");
}

#[test]
fn what_cannot_be_read_is_an_error_of_validate_beside_all_others() {
    let output = run(&["validate", "missing.yaml", manifest("hostile.yaml").to_str().unwrap(), "gone.yaml"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for path in ["missing.yaml:1:1: error: it cannot be read", "gone.yaml:1:1: error: it cannot be read"] {
        assert!(told.contains(path), "{told}");
    }
    assert!(told.contains("in 3 files"), "{told}");
}

#[test]
fn what_cannot_be_read_is_named_in_one_line_with_the_way_out() {
    for (args, expected) in [
        (&["plan", "missing.yaml"][..], "missing.yaml"),
        (&["plan", "--observed", "missing.json", "after.yaml"], "snapshot missing.json"),
        (&["plan", "--observed", "after.yaml", "after.yaml"], "podkeeper observe"),
        (&["observe", "--engine", "unix:///nowhere/docker.sock"], "unix:///nowhere/docker.sock"),
        (&["plan", "--engine", "unix:///nowhere/docker.sock", "after.yaml"], "unix:///nowhere/docker.sock"),
    ] {
        let output = run(args);
        let complaint = text(&output.stderr);
        assert_eq!((output.status.code(), complaint.lines().count()), (Some(1), 1), "{args:?}: {complaint}");
        assert!(complaint.starts_with("error: ") && complaint.contains(expected), "{args:?}: {complaint}");
    }
}

#[test]
fn wrong_usage_ends_with_status_2_and_help_with_0() {
    for (args, status) in [
        (&[][..], 2),
        (&["plna"], 2),
        (&["plan"], 2),
        (&["plan", "--nonsense", "after.yaml"], 2),
        (&["plan", "-o", "xml", "after.yaml"], 2),
        (&["plan", "--engine", "ftp://h", "after.yaml"], 2),
        (&["apply", "--timeout", "soon", "after.yaml"], 2),
        (&["completion", "csh"], 2),
        (&["--help"], 0),
        (&["plan", "--help"], 0),
        (&["--version"], 0),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", text(&output.stderr));
        let (expected, other) =
            if status == 0 { (output.stdout, output.stderr) } else { (output.stderr, output.stdout) };
        assert!(
            !expected.is_empty() && other.is_empty(),
            "{args:?}: results and complaints have a stream each"
        );
    }
}

#[test]
fn every_command_shows_an_example_in_its_help() {
    let help = text(&run(&["--help"]).stdout);
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    for command in names.filter(|name| *name != "help") {
        let help = text(&run(&[command, "--help"]).stdout);
        assert!(
            help.contains(&format!("podkeeper {command}")) && help.contains("Example"),
            "{command}: {help}"
        );
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child =
        podkeeper(&["completion", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closes the pipe before anything, or almost anything, was read.
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.code(), complaint.as_str()), (Some(0), ""));
}

#[test]
fn the_completion_script_is_taken_by_bash() {
    let script = run(&["completion", "bash"]).stdout;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("podkeeper.bash");
    fs::write(&file, script).unwrap();
    // What bash would offer after `podkeeper pl`.
    let ask = "source \"$0\" && COMP_WORDS=(podkeeper pl) COMP_CWORD=1 && _podkeeper podkeeper pl podkeeper && \
               echo \"${COMPREPLY[@]}\"";
    let offered = Command::new("bash").args(["--norc", "-c", ask]).arg(&file).output().unwrap();
    assert_eq!(text(&offered.stdout).trim(), "plan", "{}", text(&offered.stderr));
}

#[test]
fn the_manual_page_has_every_command() {
    let page = text(&run(&["man"]).stdout);
    for command in ["RUN", "PLAN", "APPLY", "VALIDATE", "OBSERVE", "GET", "COMPLETION"] {
        assert!(page.contains(&format!(".SH \"PODKEEPER {command}\"")), "{command}");
    }
}

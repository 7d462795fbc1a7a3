//! What the agent keeps on disk, and what it does when it cannot: W10 and W12 to W14, with real file systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::machine::{Machine, docker, pod};

/// A file system that goes with the test.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, with a line that says so, where this process may not mount.
    fn new(at: &Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let output = Command::new("mount").args(arguments).arg(at).output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            eprintln!("skipped: only root may mount a file system of its own: {}", why.trim());
            return None;
        }
        Some(Self(at.to_owned()))
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: a failing test's agent may still be in it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// W12: a state directory on a disk that is full when the agent starts.
#[test]
fn a_full_disk_stops_no_pod_and_is_written_again_when_there_is_room() {
    let mut machine = Machine::new("full");
    let state = machine.state_dir();
    let options = ["-t", "tmpfs", "-o", "size=128k,mode=700", "podkeeper-test"];
    let Some(_disk) = Mounted::new(&state, &options) else { return };
    let filler = state.join("filler");
    fs::write(&filler, [0; 1 << 20]).unwrap_err();

    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until("the full disk is told of", || machine.table().contains("No space left on device"));
    assert_eq!(machine.get("/readyz").map(|(code, _)| code), Some(200), "its pods are kept");
    machine.write("db.yaml", &pod("db", ""));
    machine.until_pod("db", "Running");

    fs::remove_file(&filler).unwrap();
    machine.until("the disk is written again", || {
        ["ledger.json", "node.key"].iter().all(|file| state.join(file).exists())
    });
    // What the source says is kept when it is read again.
    machine.write("web.yaml", &(pod("web", "") + "# again\n"));
    machine.until("nothing is wrong any more", || !machine.table().contains("agent:"));
    machine.until_settled();
    let before = machine.containers();
    machine.kill();
    machine.start();
    machine.until_settled();
    assert_eq!(machine.containers(), before, "the key in memory is the one on the disk");
    assert_eq!(machine.log().matches("No space left on device").count(), 1, "{}", machine.log());
}

/// W12: nothing that was written through the API is applied that the disk does not have.
#[test]
fn a_write_to_the_api_that_a_full_disk_refuses_changes_nothing_and_says_so() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    const WEB: &str = "/api/v1/namespaces/default/pods/web";
    let mut machine = Machine::new("full-api");
    let state = machine.state_dir();
    let options = ["-t", "tmpfs", "-o", "size=256k,mode=700", "podkeeper-test"];
    let Some(_disk) = Mounted::new(&state, &options) else { return };
    machine.start();
    machine.until("the API answers", || machine.get("/healthz").is_some());
    assert_eq!(machine.send("POST", PODS, &pod("web", "")).0, 201);
    machine.until_pod("web", "Running");
    machine.until_settled();
    let before = machine.containers();
    let filler = state.join("filler");
    machine.until("the disk is full", || {
        // What the agent wrote anew may have made room.
        let _ = fs::write(&filler, [0; 1 << 20]);
        machine.send("POST", PODS, &pod("db", "")).0 == 507
    });

    let other = pod("web", "env: [{name: COLOUR, value: blue}]");
    for (method, path, body) in
        [("POST", PODS, pod("db", "")), ("PUT", WEB, other.clone()), ("DELETE", WEB, String::new())]
    {
        let (code, said) = machine.send(method, path, &body);
        assert_eq!(code, 507, "{method} {path}: {said}");
        let status = said.split_once("\r\n\r\n").unwrap().1;
        let status: serde_json::Value = serde_json::from_str(status).unwrap();
        assert_eq!((&status["kind"], &status["reason"]), (&"Status".into(), &"InsufficientStorage".into()));
        assert!(status["message"].as_str().unwrap().contains("free space in --state-dir"), "{said}");
    }
    assert_eq!(machine.get(&format!("{PODS}/db")).map(|(code, _)| code), Some(404));
    let web = machine.json(WEB).unwrap();
    assert!(web["spec"]["containers"][0]["env"].is_null() && web["metadata"]["deletionTimestamp"].is_null());
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    machine.kill();
    machine.start();
    machine.until_settled();
    assert_eq!(machine.containers(), before, "a later agent knows no more than this one did");

    fs::remove_file(&filler).unwrap();
    assert_eq!(machine.send("POST", PODS, &pod("db", "")).0, 201);
    machine.until_pod("db", "Running");
    assert_eq!(machine.send("PUT", WEB, &other).0, 200);
    machine.until("web is another one", || {
        machine.container("web").is_some_and(|id| !before.iter().any(|old| old.starts_with(&id)))
    });
}

/// W13: a state directory that can only be read, from the start and with an earlier agent's key in it.
#[test]
fn a_read_only_disk_stops_no_pod_and_changes_none() {
    let mut machine = Machine::new("readonly");
    let state = machine.state_dir();
    let Some(disk) = Mounted::new(&state, &["-t", "tmpfs", "-o", "size=1m,mode=700", "podkeeper-test"])
    else {
        return;
    };
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine
        .until("all is kept", || state.join("ledger.json").exists() && state.join("manifests.json").exists());
    machine.until_settled();
    let before = machine.containers();
    assert_eq!(machine.stop(), Some(0));

    disk.remount("ro");
    machine.start();
    machine.until("the disk is told of", || machine.table().contains("Read-only file system"));
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    let (came, why) = machine.start_twin();
    assert!(!came && why.contains("is in use by process"), "{why}");
    docker(&["kill", &machine.container("web").unwrap()]);
    machine.until("web is back", || {
        machine.container("web").is_some_and(|id| !before.iter().any(|old| old.starts_with(&id)))
    });

    disk.remount("rw");
    machine.until("nothing is wrong any more", || !machine.table().contains("agent:"));
    assert_eq!(machine.log().matches("can be written again").count(), 1, "{}", machine.log());
}

/// W10: everything that was kept is damaged, and the source cannot be read.
#[test]
fn without_any_memory_nothing_is_removed_until_the_source_has_spoken() {
    let mut machine = Machine::new("amnesia");
    machine.write("a.yaml", &pod("a", ""));
    machine.write("b.yaml", &pod("b", ""));
    machine.start();
    machine.until_pod("a", "Running");
    machine.until_pod("b", "Running");
    machine.until_settled();
    assert_eq!(machine.stop(), Some(0));
    let before = machine.containers();
    for file in ["ledger.json", "ledger.json.1", "manifests.json", "manifests.json.1", "node.key"] {
        fs::write(machine.state_dir().join(file), "rubbish").unwrap();
    }
    let away = machine.pods_dir().with_extension("away");
    fs::rename(machine.pods_dir(), &away).unwrap();

    machine.start();
    machine.until("the missing directory is told of", || machine.table().contains("No such file"));
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    assert!(machine.state_dir().join("manifests.json.damaged").exists());
    fs::rename(&away, machine.pods_dir()).unwrap();
    machine.until("the directory is read", || !machine.table().contains("No such file"));
    machine.until_pod("a", "Running");
    machine.until_settled();
    assert_eq!(machine.containers(), before, "another key replaces nothing");
    fs::remove_file(machine.pods_dir().join("a.yaml")).unwrap();
    machine.until_gone("a");
}

/// W14: somebody restores what was kept before the last change.
#[test]
fn an_older_state_never_wins_over_what_the_source_says_now() {
    let mut machine = Machine::new("older");
    machine.write("web.yaml", &pod("web", "env: [{name: COLOUR, value: red}]"));
    machine.write("gone.yaml", &pod("gone", ""));
    machine.start();
    machine.until_pod("web", "Running");
    machine.until_pod("gone", "Running");
    machine.until_settled();
    assert_eq!(machine.stop(), Some(0));
    let files = ["ledger.json", "ledger.json.1", "manifests.json", "manifests.json.1"];
    let old: Vec<Option<Vec<u8>>> =
        files.iter().map(|file| fs::read(machine.state_dir().join(file)).ok()).collect();
    machine.write("web.yaml", &pod("web", "env: [{name: COLOUR, value: blue}]"));
    fs::remove_file(machine.pods_dir().join("gone.yaml")).unwrap();
    machine.start();
    machine.until_gone("gone");
    machine.until_pod("web", "Running");
    machine.until_settled();
    assert_eq!(machine.stop(), Some(0));
    let before = machine.containers();

    for (file, bytes) in files.iter().zip(&old) {
        let path = machine.state_dir().join(file);
        match bytes {
            Some(bytes) => fs::write(path, bytes).unwrap(),
            None => drop(fs::remove_file(path)),
        }
    }
    machine.start();
    machine.until_settled();
    assert_eq!(machine.containers(), before);
    assert_eq!(machine.word("gone"), None);
}

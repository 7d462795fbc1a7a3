//! Looking at pods that run: tables, watches, logs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::kubectl::{Kubectl, with_tcp};
use crate::machine::{IMAGE, Machine, docker, pod};

/// A pod of which the container counts on its standard output and ends when it has counted to ten.
fn counting() -> String {
    let count = "for i in 0 1 2 3 4 5 6 7 8 9; do echo \"line $i\"; sleep 0.1; done; echo done >&2";
    pod("count", "").replace("[sleep, \"100000\"]", &format!("[sh, -c, '{count}']"))
        + "  restartPolicy: Never\n"
}

#[test]
fn a_pod_is_applied_waited_for_shown_changed_and_deleted() {
    let mut machine = with_tcp(Machine::new("kubectl-life"));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    let web = pod("web", "");
    assert_eq!(kubectl.with("apply", &web).ok(), "pod/web created\n");
    let mut watch = kubectl.start("get pods --watch");
    kubectl.run("wait --for=condition=Ready pod/web --timeout=60s").ok();

    let row = kubectl.run("get pods -o wide --no-headers").ok();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((&cells[..4], cells[6]), (&["web", "1/1", "Running", "0"][..], &*machine.node), "{row}");
    let address = docker(&[
        "ps",
        "-q",
        "--filter",
        &format!("label=io.podkeeper.node={}", machine.node),
        "--filter",
        "name=k8s_POD_web_",
    ]);
    let address = docker(&["inspect", "--format", "{{.NetworkSettings.IPAddress}}", &address]);
    assert_eq!(cells[5], address);
    let yaml = kubectl.run("get pod web -o yaml").ok();
    assert!(yaml.contains(&format!("image: {IMAGE}")) && yaml.contains("phase: Running"), "{yaml}");
    let described = kubectl.run("describe pod web").ok();
    for words in ["Restart Count:  0", "Ready:          True", &format!("Node:         {}", machine.node)] {
        assert!(described.contains(words), "{described}");
    }

    assert_eq!(kubectl.with("apply", &web).ok(), "pod/web unchanged\n");
    assert_eq!(kubectl.with("diff", &web).ok(), "");
    let (blue, before) = (pod("web", "env: [{name: COLOUR, value: blue}]"), machine.container("web"));
    let difference = kubectl.with("diff", &blue);
    assert!(difference.code == Some(1) && difference.out.contains("+    - name: COLOUR"), "{difference:?}");
    assert_eq!(kubectl.with("apply", &blue).ok(), "pod/web configured\n");
    machine.until("web is replaced", || {
        let now = machine.container("web");
        now.is_some() && now != before
    });
    let env = docker(&["inspect", "--format", "{{.Config.Env}}", &machine.container("web").unwrap()]);
    assert!(env.contains("COLOUR=blue"), "{env}");

    let mut gone = kubectl.start("wait --for=delete pod/web --timeout=60s");
    assert_eq!(kubectl.run("delete pod web").ok(), "pod \"web\" deleted\n");
    gone.rest();
    assert!(machine.containers().is_empty(), "kubectl waits until all of it is gone");
    assert_eq!(kubectl.run("get pods --no-headers").ok(), "");
    watch.until("a row that runs", |row| row.contains("1/1") && row.contains("Running"));
    watch.until("a row that ends", |row| row.contains("1/1") && row.contains("Terminating"));
}

/// The container ignores SIGTERM, as every process without a handler does that is the first of its namespace.
#[test]
fn a_pod_that_would_take_minutes_to_stop_goes_as_soon_as_whoever_deletes_it_says() {
    let (machine, proxy) = Machine::behind_proxy("kubectl-grace");
    let mut machine = with_tcp(machine);
    machine.start();
    let kubectl = Kubectl::of(&machine);
    let names = ["short", "now", "force", "later"];
    for name in names {
        let slow = pod(name, "").replace("GracePeriodSeconds: 1", "GracePeriodSeconds: 600");
        kubectl.with("apply", &slow).ok();
    }
    names.iter().for_each(|name| machine.until_pod(name, "Running"));
    kubectl.run("delete pod short --grace-period=1").ok();
    kubectl.run("delete pod now --now").ok();
    kubectl.run("delete pod force --force").ok();
    ["short", "now", "force"].iter().for_each(|name| machine.until_gone(name));

    // What was said outlives the agent, and an engine that is away.
    machine.until_settled();
    proxy.cut();
    kubectl.run("delete pod later --grace-period=1 --wait=false").ok();
    machine.kill();
    machine.start();
    proxy.mend();
    machine.until("all of it is gone", || machine.containers().is_empty());
}

#[test]
fn what_happened_to_a_pod_is_described_listed_counted_and_watched() {
    let mut machine = with_tcp(Machine::new("kubectl-events"));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    let mut watch = kubectl.start("get events --watch --no-headers");
    kubectl.with("create", &pod("web", "")).ok();
    let fails = pod("fails", "").replace("[sleep, \"100000\"]", "[sh, -c, exit 1]");
    kubectl.with("create", &fails).ok();
    machine.until_pod("fails", "CrashLoopBackOff");
    machine.until_pod("web", "Running");

    let events = |pod: &str| {
        let described = kubectl.run(&format!("describe pod {pod}")).ok();
        described.split_once("\nEvents:").expect("a part about events").1.to_owned()
    };
    let (web, fails) = (events("web"), events("fails"));
    for words in ["Created", "Started", "podkeeper"] {
        assert!(web.contains(words), "{web}");
    }
    assert!(!web.contains("BackOff"), "of another pod: {web}");
    assert!(fails.contains("(x2 over ") && fails.contains("CrashLoopBackOff"), "{fails}");
    let warnings = kubectl.run("get events -A --field-selector type=Warning --no-headers").ok();
    assert!(warnings.contains("CrashLoopBackOff   pod/fails") && !warnings.contains("Started"), "{warnings}");
    assert!(kubectl.run("get events -n other").said().contains("No resources found"));
    watch.until("a start", |row| row.contains("Started") && row.contains("pod/web"));
}

#[test]
fn logs_are_read_followed_and_cut() {
    let mut machine = with_tcp(Machine::new("kubectl-logs"));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    kubectl.with("create", &counting()).ok();
    machine.until("it has begun", || !kubectl.run("logs count").out.is_empty());
    let followed = kubectl.start("logs -f count").rest();
    let expected: Vec<String> = (0..10).map(|n| format!("line {n}")).chain(["done".to_owned()]).collect();
    assert_eq!(followed, expected, "both streams, from the first line to the end of the container");
    assert_eq!(kubectl.run("logs count --tail=2").ok(), "line 9\ndone\n");
    assert_eq!(kubectl.run("logs count --limit-bytes=8").ok(), "line 0\nl");
    let stamped = kubectl.run("logs count --timestamps --tail=1").ok();
    assert!(stamped.starts_with("20") && stamped.ends_with("Z done\n"), "{stamped}");
    assert!(kubectl.run("logs count --previous").refused().contains("previous terminated container"));
    assert!(kubectl.run("logs count -c nix").refused().contains("container nix is not valid for pod count"));
    assert!(kubectl.run("logs nix").refused().contains("not found"));
    machine.until_pod("count", "Completed");
    assert_eq!(kubectl.run("get pod count -o jsonpath={.status.phase}").ok(), "Succeeded");
}

#[test]
fn a_pod_of_a_file_is_shown_and_is_edited_there() {
    let mut machine = with_tcp(Machine::without_engine("kubectl-file"));
    machine.write("web.yaml", &pod("web", ""));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    machine.until("the file is read", || kubectl.run("get pod web").code == Some(0));
    let source = r"get pod web -o jsonpath={.metadata.annotations.kubernetes\.io/config\.source}";
    assert_eq!(kubectl.run(source).ok(), "file");
    let place = format!("declared in {}:1: edit it there", machine.pods_dir().join("web.yaml").display());
    for refused in [
        kubectl.run("delete pod web"),
        kubectl.run("label pod web a=b"),
        kubectl.with("create", &pod("web", "")),
        kubectl.with("apply", &pod("web", "")),
    ] {
        let said = refused.refused();
        assert!(said.contains(&place), "{said}");
    }
}

#[test]
fn what_kubectl_created_is_there_after_a_kill_w8() {
    let mut machine = with_tcp(Machine::new("kubectl-kill"));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    kubectl.with("create", &pod("web", "")).ok();
    machine.kill();
    machine.start();
    machine.until_pod("web", "Running");
    let before = machine.container("web");
    kubectl.with("create", &pod("db", "")).ok();
    kubectl.run("delete pod db --wait=false").ok();
    machine.kill();
    machine.start();
    machine.until_gone("db");
    // The engine may still be making what the killed agent asked for.
    machine.until("web and its sandbox are all there is", || machine.containers().len() == 2);
    assert_eq!(machine.container("web"), before);
}

#[test]
fn a_flood_of_writes_never_keeps_the_agent_from_its_pods_w6() {
    let mut machine = with_tcp(Machine::new("kubectl-flood"));
    machine.start();
    let kubectl = Kubectl::of(&machine);
    kubectl.with("create", &pod("web", "")).ok();
    machine.until_pod("web", "Running");
    let before = machine.container("web").unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let floods: Vec<_> = (0..8).map(|_| scope.spawn(|| flood(&machine.socket(), &over))).collect();
        docker(&["kill", &before]);
        machine.until("web is back", || machine.container("web").is_some_and(|now| now != before));
        over.store(true, Ordering::Relaxed);
        let written: u32 = floods.into_iter().map(|flood| flood.join().unwrap()).sum();
        assert!(written > 0);
    });
}

/// Writes as fast as one connection can; returns how many were carried out. Nothing else may be answered than that
/// it was, or that it has to wait.
fn flood(socket: &Path, over: &AtomicBool) -> u32 {
    let mut stream = BufReader::new(UnixStream::connect(socket).unwrap());
    let mut written = 0;
    for n in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let body = format!("{{\"metadata\": {{\"labels\": {{\"n\": \"{n}\"}}}}}}");
        let request = format!(
            "PATCH /api/v1/namespaces/default/pods/web HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
             application/merge-patch+json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        match head.split(' ').nth(1) {
            Some("200") => written += 1,
            Some("429") => {}
            other => panic!("{other:?}"),
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    }
    written
}

//! Every field counts: one field of a running pod is changed, and just what it needs is done.

use podkeeper::model::RestartPolicy;
use podkeeper::model::pod::{
    Container, ContainerPort, DnsConfig, DnsPolicy, EnvVar, HostAlias, Pod, Protocol, PullPolicy,
};

use crate::row::{Row, base, check, with_init};

const NOTHING: &str = "nothing";
const CONTAINER: &str = "stop foo2, start foo2";
const UPDATE: &str = "update foo2";
const POD: &str = "stop sandbox foo1 foo2 foo3, new sandbox 1, start foo1 foo2 foo3";

type Change = fn(&mut Pod);

fn foo2(pod: &mut Pod) -> &mut Container {
    &mut pod.spec.containers[1]
}

fn port(pod: &mut Pod) -> &mut ContainerPort {
    let port = ContainerPort { container_port: 80, host_port: Some(8080), ..ContainerPort::default() };
    foo2(pod).ports = vec![port];
    &mut foo2(pod).ports[0]
}

/// A row whose pod ran as `before` made it and is now declared as `after` makes it.
fn row(mut row: Row, before: Change, after: Change) -> Row {
    before(&mut row.pod);
    row.made_from = Some(row.pod.clone());
    after(&mut row.pod);
    row
}

fn rows(expected: &'static str, changes: &[(&'static str, Change)]) {
    let rows = changes.iter().map(|(field, change)| (*field, row(base(), |_| {}, *change), expected));
    check(rows.collect());
}

#[test]
fn what_only_podkeeper_itself_needs_changes_nothing_on_the_engine() {
    rows(
        NOTHING,
        &[
            ("metadata.labels", |pod| drop(pod.metadata.labels.insert("a".into(), "b".into()))),
            ("metadata.annotations", |pod| drop(pod.metadata.annotations.insert("a".into(), "b".into()))),
            ("restartPolicy", |pod| pod.spec.restart_policy = RestartPolicy::OnFailure),
            ("terminationGracePeriodSeconds", |pod| pod.spec.termination_grace_period_seconds = 5),
            ("imagePullPolicy", |pod| foo2(pod).image_pull_policy = PullPolicy::Never),
            ("a port that is not published", |pod| port(pod).host_port = None),
            ("dnsPolicy without a cluster", |pod| pod.spec.dns_policy = DnsPolicy::Default),
        ],
    );
}

#[test]
fn what_a_container_is_made_of_needs_a_new_container() {
    rows(
        CONTAINER,
        &[
            ("image", |pod| foo2(pod).image = "bar:1".into()),
            ("command", |pod| foo2(pod).command = vec!["sleep".into()]),
            ("args", |pod| foo2(pod).args = vec!["1".into()]),
            ("workingDir", |pod| foo2(pod).working_dir = Some("/".into())),
            ("env", |pod| foo2(pod).env = vec![EnvVar { name: "A".into(), value: "b".into() }]),
            ("stdin", |pod| foo2(pod).stdin = true),
            ("stdinOnce", |pod| foo2(pod).stdin_once = true),
            ("tty", |pod| foo2(pod).tty = true),
        ],
    );
}

#[test]
fn limits_are_changed_in_place() {
    rows(
        UPDATE,
        &[
            ("limits.cpu", |pod| foo2(pod).resources.cpu_limit_milli = Some(500)),
            ("requests.cpu", |pod| foo2(pod).resources.cpu_request_milli = Some(500)),
            ("limits.memory", |pod| foo2(pod).resources.memory_limit_bytes = Some(64 << 20)),
        ],
    );
}

#[test]
fn what_the_containers_share_needs_a_new_sandbox() {
    rows(
        POD,
        &[
            ("hostname", |pod| pod.spec.hostname = Some("other".into())),
            ("hostPID", |pod| pod.spec.host_pid = true),
            ("hostIPC", |pod| pod.spec.host_ipc = true),
            ("shareProcessNamespace", |pod| pod.spec.share_process_namespace = true),
            ("hostAliases", |pod| {
                pod.spec.host_aliases = vec![HostAlias { ip: "1.2.3.4".into(), hostnames: vec!["a".into()] }];
            }),
            ("dnsConfig", |pod| {
                let nameservers = vec!["1.1.1.1".into()];
                pod.spec.dns_config = Some(DnsConfig { nameservers, ..DnsConfig::default() });
            }),
            ("hostPort", |pod| port(pod).host_port = Some(80)),
            ("hostIP", |pod| port(pod).host_ip = Some("127.0.0.1".into())),
            ("protocol", |pod| port(pod).protocol = Protocol::Udp),
        ],
    );
}

#[test]
fn containers_come_and_go_alone() {
    let extra: Change = |pod| {
        let container = Container { name: "foo2b".into(), image: "bar:1".into(), ..Container::default() };
        pod.spec.containers.push(container);
    };
    check(vec![
        ("a container is added", row(base(), |_| {}, extra), "start foo2b"),
        (
            "a container is taken away",
            row(base(), |_| {}, |pod| drop(pod.spec.containers.remove(1))),
            "stop foo2",
        ),
    ]);
}

#[test]
fn changing_an_init_container_starts_the_pod_over() {
    let running = || {
        ["foo1", "foo2", "foo3"]
            .into_iter()
            .fold(with_init(), |row, name| row.is(name, crate::row::running()))
    };
    let over = "stop sandbox foo1 foo2 foo3, new sandbox 1, start init1";
    check(vec![
        ("nothing is changed", row(running(), |_| {}, |_| {}), NOTHING),
        (
            "its image",
            row(running(), |_| {}, |pod| pod.spec.init_containers[0].image = "busybox:1".into()),
            over,
        ),
        ("one is taken away", row(running(), |_| {}, |pod| drop(pod.spec.init_containers.remove(2))), over),
    ]);
}

/// A finished container of a `Never` pod runs again only when it became another one.
#[test]
fn a_changed_definition_of_a_finished_pod_runs_once_more() {
    let finished = |change: Change| {
        let done = ["foo1", "foo2", "foo3"]
            .into_iter()
            .fold(base(), |row, name| row.is(name, crate::row::exited(1)));
        row(done.policy(RestartPolicy::Never).sandbox(Some((false, 0))), |_| {}, change)
    };
    check(vec![
        ("nothing is changed", finished(|_| {}), NOTHING),
        ("a label", finished(|pod| drop(pod.metadata.labels.insert("a".into(), "b".into()))), NOTHING),
        ("a command", finished(|pod| foo2(pod).command = vec!["sleep".into()]), "new sandbox 1, start foo2"),
        (
            "the hostname, which all of them share",
            finished(|pod| pod.spec.hostname = Some("other".into())),
            "new sandbox 1, start foo1 foo2 foo3",
        ),
    ]);
}

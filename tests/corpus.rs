//! What real people write, and what they get wrong: every file of `tests/corpus` gets what its first lines ask for.
//!
//! A file in `manifests` says `# expect: accept …` or what else should be said of it; a file in `invalid` says
//! `want: line 9: …`. JSON has no comments: there `INDEX.tsv` and the tables below speak.

#[path = "corpus/shown.rs"]
mod shown;

use std::collections::BTreeMap;
use std::path::Path;

use podkeeper::model::diagnosis::{Diagnosis, Severity};
use podkeeper::model::pod::{PullPolicy, RestartPolicy};
use podkeeper::model::read::{Options, Reading, read};
use podkeeper::model::{Pod, PodKey};

/// What is said of manifests that are not simply accepted: file, severity, line, what the message says.
const SAID: [(&str, Severity, u32, &str); 18] = [
    ("018", Severity::Error, 4, "not supported yet: kind DaemonSet"),
    // Podman writes volume names with dots. Refused, as Kubernetes does, with the name that would do.
    ("025", Severity::Error, 28, "must be lower case letters, digits or '-'"),
    ("026", Severity::Note, 4, "kind Service is not something this agent runs"),
    ("041", Severity::Error, 25, "'./html' is not absolute"),
    ("045", Severity::Error, 12, "mount options like :Z are Podman's"),
    ("065", Severity::Note, 3, "konlet declaration of pod 'test-simple'"),
    ("066", Severity::Note, 3, "konlet declaration"),
    ("068", Severity::Error, 15, "volume source gcePersistentDisk is not supported here"),
    ("080", Severity::Note, 3, "v1beta3 is of 2015 and read as v1"),
    ("081", Severity::Warning, 3, "'version:' should be 'apiVersion:'"),
    ("085", Severity::Warning, 7, "spec.nodeName is 'edge-01' and this node is 'this-node'"),
    ("086", Severity::Error, 4, "not supported yet: kind ConfigMap"),
    ("095", Severity::Note, 3, "'x-common' is no field of a Pod"),
    ("105", Severity::Warning, 29, "spec.nodeName is 'worker-1'"),
    (
        "115",
        Severity::Error,
        13,
        "volume sources that are not supported here: nfs (n), csi (c), ephemeral (e)",
    ),
    ("115", Severity::Warning, 16, "no container mounts volume unused"),
    ("116", Severity::Error, 7, "spec.os.name is windows, and this node runs Linux containers"),
    ("125", Severity::Note, 3, "konlet declaration of pod 'inventory'"),
];

#[test]
fn every_manifest_gets_what_its_expect_line_says() {
    let index = json_expectations();
    for (name, bytes) in files("manifests") {
        let text = String::from_utf8(bytes.clone()).expect("UTF-8");
        let reading = reading(&name, &bytes);
        let comment = text.lines().nth(1).and_then(|line| line.strip_prefix("# expect: "));
        let expect =
            comment.unwrap_or_else(|| index.get(&name).unwrap_or_else(|| panic!("{name}: nothing expected")));
        for (_, severity, line, words) in said_of(&name) {
            assert!(
                reading.diagnoses.iter().any(|d| says(d, *line, words) && d.severity == *severity),
                "{name}: no {severity} at line {line} says '{words}':\n{}",
                rendered(&reading)
            );
        }
        let odd =
            |d: &&Diagnosis| d.severity != Severity::Note && !d.message.starts_with("not supported yet: ");
        let unasked = |d: &&Diagnosis| !said_of(&name).any(|(_, _, line, words)| says(d, *line, words));
        // Two pods that want one port are both well-formed; the planner, which knows all pods, refuses one.
        if expect.starts_with("accept") || name.starts_with("121") {
            let wrong: Vec<_> = reading.diagnoses.iter().filter(odd).filter(unasked).collect();
            assert!(wrong.is_empty(), "{name}: {expect}\n{}", rendered(&reading));
            let all = reading.diagnoses.iter().any(Diagnosis::is_error);
            assert!(all || !reading.pods.is_empty(), "{name}: no pod");
            assert!(all || reading.pods.iter().all(|read| read.pod.is_some()), "{name}: a pod is missing");
        } else {
            assert!(said_of(&name).next().is_some(), "{name}: '{expect}' is in no table of this test");
        }
    }
}

#[test]
fn what_is_accepted_is_what_was_written() {
    let argv = pod("066-konlet-args-quotes.yaml");
    assert_eq!(argv.spec.containers[0].args, ["-n", "Hello \" world", "Welco'me"]);
    assert_eq!(argv.spec.restart_policy, RestartPolicy::Never);

    let old = pod("075-cm-v1beta2-restart-never.yaml");
    let container = &old.spec.containers[0];
    assert_eq!(container.resources.cpu_limit_milli, Some(250));
    assert_eq!(container.resources.memory_limit_bytes, Some(67_108_864));
    assert_eq!(container.image_pull_policy, PullPolicy::IfNotPresent);
    assert_eq!(old.spec.restart_policy, RestartPolicy::Never);

    let pair = pod("073-cm-v1beta1-registry-pair.yaml");
    assert_eq!(pair.metadata.name, "private-app");
    assert_eq!(pair.spec.containers[0].env[0].name, "GCS_BUCKET");
    assert_eq!(pod("071-cm-v1beta1-netcat.yaml").metadata.name, "simple-echo");

    let empties = pod("113-nulls-and-empties.yaml");
    assert_eq!(
        (empties.metadata.namespace.as_str(), &empties.spec.containers[0].working_dir),
        ("default", &None)
    );
    assert_eq!(pod("051-podman-dep-replace-demo-args-only.yaml").spec.containers[2].command.len(), 0);

    let scalars = pod("100-block-scalars.yaml");
    let expected = [
        "sh",
        "-c",
        "echo keep trailing newlines\n\n",
        "  indented by two\n",
        "line one\nline two\ttab \u{263a} A",
        "it's single",
        "plain multi line text",
        "double folded",
    ];
    assert_eq!(scalars.spec.containers[0].command, expected);
    assert_eq!(scalars.metadata.annotations["folded"], "one two\nthree\n");
    assert_eq!(
        pod("096-crlf-line-endings.yaml").spec.containers[0].command[2],
        "if true; then\n  echo ok\nfi\n"
    );

    let opts = pod("050-podman-java-opts-equals.yaml");
    let values: Vec<_> = opts.spec.containers[0].env.iter().map(|env| env.value.as_str()).collect();
    assert_eq!(values[1..4], ["", "", "  two leading, one trailing "]);
}

#[test]
fn the_places_of_an_old_manifest_are_found_under_the_new_names() {
    let (name, bytes) = file("manifests", "075-cm-v1beta2-restart-never.yaml");
    let places = &reading(&name, &bytes).pods[0].places;
    for (field, line) in [
        ("", 3),
        ("metadata.name", 4),
        ("spec.containers[0].image", 7),
        ("spec.containers[0].resources.limits.cpu", 9),
        ("spec.containers[0].resources.limits.memory", 10),
        ("spec.restartPolicy", 13),
        // Not written: the nearest ancestor that was.
        ("spec.containers[0].env[0].name", 6),
    ] {
        assert_eq!(places.of(field).line, line, "{field}");
    }
}

/// What is said of each invalid file: file, line (0: anywhere), a part of the message.
const WANTED: [(&str, u32, &str); 77] = [
    ("001", 9, "command must be a list of strings"),
    ("003", 13, "env[1].value must be a string, got the number 8585"),
    ("003", 15, "must be a string, got the number 8586"),
    ("005", 13, "'yes' is a boolean in YAML 1.1"),
    ("006", 9, "env must be a list of name/value entries, got a map"),
    ("008", 6, "spec.containers must be a list, got a map with key 'main'"),
    ("010", 9, "ports must be a list, got a map"),
    ("011", 9, "port is not a field; did you mean ports?"),
    ("013", 15, "command[5] must be a string, got the number 10"),
    ("015", 12, "'0999' is read as a number by Kubernetes' YAML"),
    ("016", 8, "metadata.labels.replica must be a string, got the number 1"),
    ("016", 9, "got the number 3.0"),
    ("018", 11, "resources.limits.cpu: '1000ms' is not a quantity"),
    ("020", 11, "resources.limits.memory: '1g' is not a quantity"),
    ("021", 12, "resources.limits.memory '3500m' means 3.5 bytes"),
    ("023", 14, "resources.requests.memory 512Mi is more than limits.memory 256Mi (line 12)"),
    ("025", 12, "secret.defaultMode must be a number, got the string \"0640\""),
    ("026", 16, "defaultMode: 0008 is no octal number"),
    ("028", 9, "imagePullpolicy is not a field; did you mean imagePullPolicy?"),
    ("030-misspelt-restarpolicy-v1beta1.yaml", 9, "restarPolicy is not a field; did you mean restartPolicy?"),
    ("030-misspelt-restarpolicy-v1beta1.yaml", 7, "trailing comma"),
    ("030-misspelt-restarpolicy-v1beta1.json", 8, "restarPolicy is not a field; did you mean restartPolicy?"),
    ("030-misspelt-restarpolicy-v1beta1.json", 6, "trailing comma"),
    ("031", 6, "metadata.restartPolicy is not a field; it belongs to spec"),
    ("033", 4, "labels is not a field; did you mean metadata.labels?"),
    ("035", 14, "spec.volumes[2] has the fields of a container (image, command, volumeMounts)"),
    ("035", 0, "spec.containers is required"),
    ("036", 8, "empty-dir is not a field; did you mean emptyDir?"),
    ("038", 11, "in version v1beta2 a volume source is source: {hostDir: {path: …}}, got hostPath"),
    ("040", 10, "env[0].key is not a field; it is called name in v1"),
    ("040", 10, "env[0].name is required"),
    ("041", 8, "spec.containers[0].image is required"),
    ("043", 4, "metadata.name is required"),
    ("045", 2, "apiVersion is missing"),
    ("046", 3, "kind Namespace is not something this agent runs"),
    ("048", 9, "spec.containers[0].image is required"),
    ("050", 3, "Ankaios state file"),
    ("051", 2, "version '2' is unknown; supported: v1beta1, v1beta2"),
    ("053", 4, "containers[0].name is required"),
    ("055", 9, "the file ends inside the quote"),
    ("056", 0, "binary, a vim swap file: NUL at byte 244"),
    ("058", 0, "UTF-16 (little-endian"),
    ("060", 7, "a blank is missing after the first colon"),
    ("061", 8, "'image' is indented by 5, its siblings by 4"),
    ("063", 7, "opened here is not closed before line 8"),
    ("065", 9, "'{{ … }}' is an unrendered template"),
    ("065", 10, "'{% … %}' is an unrendered template"),
    (
        "066",
        8,
        "image '${REGISTRY}/web:${TAG}' is not an image reference: it looks like unexpanded shell variables",
    ),
    ("068", 9, "alias *defaults has no anchor &defaults in this document"),
    ("070", 8, "key 'name' is given twice in one map (first at line 7)"),
    ("070", 10, "key 'image' is given twice in one map (first at line 9)"),
    ("071", 12, "key 'volumeMounts' is given twice in one map (first at line 9)"),
    ("073", 5, "metadata.name 'myFirstPod' must be lower case letters, digits, '-' or '.'"),
    ("075", 5, "metadata.name '-01jaz8' must start with a letter or digit"),
    ("075", 8, "containers[0].name '-01jaz8' must start with a letter or digit"),
    ("075", 9, "containers[0].image is empty"),
    ("076", 12, "has 68 characters, at most 63"),
    ("078", 10, "ports[0].name 'zookeeper-client-port' has 21 characters, at most 15"),
    ("078", 12, "tcpSocket.port 'zookeeper-client-port' has 21 characters"),
    ("080", 14, "hostPort 5432/TCP is already used by container pg (line 10)"),
    ("081", 10, "volumes[1].name 'secret-volume' is used twice (first at line 9)"),
    ("083", 11, "volumeMounts[1].mountPath '/home/runner/repo' is used twice (first at line 10)"),
    ("085", 11, "livenessProbe has two handlers (httpGet at line 10 and tcpSocket)"),
    ("086", 12, "env[0] has both value (line 11) and valueFrom"),
    ("088", 6, "it is not one of Always, OnFailure, Never; did you mean Never?"),
    (
        "090",
        6,
        "'on-failure' is Docker's spelling: it is not one of Always, OnFailure, Never; did you mean OnFailure?",
    ),
    ("091", 6, "'no' without quotes is the boolean false in YAML 1.1"),
    ("091", 6, "did you mean Never?"),
    ("093", 9, "emptyDir.medium 'Tablet' is unknown; use '' (the disk) or Memory"),
    ("095", 7, "data.username is not base64"),
    ("095", 8, "data.password is not base64"),
    ("096", 8, "data.username is a plain word that happens to be base64"),
    ("098", 6, "data.'datacenters.yaml' ends with a newline because of '|'"),
    ("100", 9, "hostPath.type: 'directory' is not one of"),
    ("100", 9, "did you mean Directory?"),
    ("068", 3, "not supported yet: kind ConfigMap"),
    ("095", 3, "not supported yet: kind Secret"),
];

#[test]
fn every_mistake_is_diagnosed_where_it_was_made() {
    let files = files("invalid");
    for (prefix, _, _) in WANTED {
        assert!(files.iter().any(|(name, _)| name.starts_with(prefix)), "{prefix}: no such file");
    }
    for (name, bytes) in files {
        let reading = reading(&name, &bytes);
        let wanted: Vec<_> = WANTED.iter().filter(|(prefix, _, _)| name.starts_with(prefix)).collect();
        assert!(!wanted.is_empty(), "{name} is in no table of this test");
        for (_, line, words) in wanted {
            let found = reading.diagnoses.iter().any(|d| says(d, *line, words));
            assert!(found, "{name}: nothing at line {line} says '{words}':\n{}", rendered(&reading));
        }
        for line in wanted_lines(&bytes) {
            let found = reading.diagnoses.iter().any(|d| d.place.line == line);
            assert!(found, "{name}: nothing is said of line {line}:\n{}", rendered(&reading));
        }
    }
}

#[test]
fn a_mistake_is_not_followed_by_false_alarms() {
    // How many diagnoses beside those that later versions will drop.
    for (prefix, expected) in
        [("028", 1), ("035", 5), ("041", 1), ("043", 1), ("061", 1), ("065", 3), ("076", 1), ("080", 1)]
    {
        let (name, bytes) =
            files("invalid").into_iter().find(|(name, _)| name.starts_with(prefix)).expect(prefix);
        let reading = reading(&name, &bytes);
        let count = reading
            .diagnoses
            .iter()
            .filter(|d| d.is_error() && !d.message.starts_with("not supported yet"))
            .count();
        assert_eq!(count, expected, "{name}:\n{}", rendered(&reading));
    }
}

/// The lines that the first line of an invalid file asks for.
fn wanted_lines(bytes: &[u8]) -> Vec<u32> {
    let text = String::from_utf8_lossy(bytes);
    let Some((_, want)) = text.lines().next().unwrap_or("").split_once("want: ") else { return Vec::new() };
    let number =
        |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
    let mut lines: Vec<u32> = want.strip_prefix("line ").and_then(number).into_iter().collect();
    for before in ["; line ", "; same for line "] {
        lines.extend(want.split(before).skip(1).filter_map(number));
    }
    if let Some((_, list)) = want.split_once("every such line: ") {
        lines.extend(list.split(", ").filter_map(number));
    }
    lines
}

fn says(diagnosis: &Diagnosis, line: u32, words: &str) -> bool {
    (line == 0 || diagnosis.place.line == line) && diagnosis.message.contains(words)
}

fn said_of(name: &str) -> impl Iterator<Item = &'static (&'static str, Severity, u32, &'static str)> {
    SAID.iter().filter(move |(prefix, _, _, _)| name.starts_with(prefix))
}

fn rendered(reading: &Reading) -> String {
    reading.diagnoses.iter().map(ToString::to_string).collect()
}

fn pod(file_name: &str) -> Pod {
    let (name, bytes) = file("manifests", file_name);
    let reading = reading(&name, &bytes);
    reading
        .pods
        .first()
        .and_then(|read| read.pod.clone())
        .unwrap_or_else(|| panic!("{name}:\n{}", rendered(&reading)))
}

fn reading(name: &str, bytes: &[u8]) -> Reading {
    let options = Options { node_name: Some("this-node".into()), ..Options::default() };
    read(name, bytes, &options)
}

/// From `INDEX.tsv`, by the name with the ending `.json`.
fn json_expectations() -> BTreeMap<String, String> {
    let index = std::fs::read_to_string(corpus("manifests").join("INDEX.tsv")).expect("INDEX.tsv");
    let rows = index.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    rows.map(|row| (row[0].replace(".yaml", ".json"), row[4].to_owned())).collect()
}

fn corpus(dir: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(dir)
}

fn file(dir: &str, name: &str) -> (String, Vec<u8>) {
    (name.to_owned(), std::fs::read(corpus(dir).join(name)).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn files(dir: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(corpus(dir)).unwrap_or_else(|error| panic!("{dir}: {error}"));
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".tsv"))
        .collect();
    names.sort();
    assert!(names.len() > 50, "{dir} is not whole");
    names.iter().map(|name| file(dir, name)).collect()
}

#[test]
fn the_corpus_names_pods_by_namespace_and_name() {
    let (name, bytes) = file("manifests", "021-talos-podlist.yaml");
    let keys: Vec<_> = reading(&name, &bytes).pods.into_iter().filter_map(|read| read.key).collect();
    assert_eq!(
        keys,
        [PodKey::new("kube-system", "kube-apiserver"), PodKey::new("kube-system", "kube-scheduler")]
    );
}

//! The rules of Kubernetes' validation, each with what keeps it and what breaks it.

use crate::model::read::{Options, read};

/// The errors of a pod, but for those that later versions drop.
fn errors(spec: &str, container: &str) -> Vec<String> {
    let text = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec} containers: [{{name: c, image: 'x:1', {container}}}]}}}}"
    );
    let reading = read("x.yaml", text.as_bytes(), &Options::default());
    let errors =
        reading.diagnoses.iter().filter(|d| d.is_error() && !d.message.starts_with("not supported yet"));
    errors.map(|d| d.message.clone()).collect()
}

/// Each row: fields of spec, fields of the container, and what one error says; none when all is well.
fn table(rows: &[(&str, &str, Option<&str>)]) {
    for (spec, container, expected) in rows {
        let errors = errors(spec, container);
        match expected {
            None => assert!(errors.is_empty(), "{{{spec}}} {{{container}}}: {errors:?}"),
            Some(words) => {
                let found = errors.iter().any(|error| error.contains(words));
                assert!(found, "{{{spec}}} {{{container}}}: no error says '{words}': {errors:?}");
            }
        }
    }
}

#[test]
fn ports_have_numbers_and_names_and_no_two_want_one() {
    table(&[
        ("", "ports: [{containerPort: 1}, {containerPort: 65535, hostPort: 0}]", None),
        ("", "ports: [{containerPort: 0}]", Some("containerPort is 0, must be from 1 to 65535")),
        ("", "ports: [{containerPort: 65536}]", Some("must be from 1 to 65535")),
        ("", "ports: [{hostPort: 80}]", Some("containerPort is required")),
        ("", "ports: [{containerPort: 80, hostPort: 70000}]", Some("hostPort is 70000")),
        ("", "ports: [{containerPort: 80, protocol: tcp}]", Some("did you mean TCP?")),
        (
            "",
            "ports: [{containerPort: 80, hostIP: localhost}]",
            Some("hostIP 'localhost' is not an IP address"),
        ),
        ("", "ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]", Some("'a' is used twice")),
        (
            "",
            "ports: [{containerPort: 1, hostPort: 5}, {containerPort: 2, hostPort: 5}]",
            Some("already used by container c"),
        ),
        (
            "",
            "ports: [{containerPort: 1, hostPort: 5}, {containerPort: 1, hostPort: 5, protocol: UDP}]",
            None,
        ),
        (
            "",
            "ports: [{containerPort: 1, hostPort: 5, hostIP: 127.0.0.1}, {containerPort: 1, hostPort: 5, hostIP: 127.0.0.2}]",
            None,
        ),
        (
            "",
            "ports: [{containerPort: 1, hostPort: 5, hostIP: 127.0.0.1}, {containerPort: 1, hostPort: 5, hostIP: 0.0.0.0}]",
            Some("already used"),
        ),
        ("hostNetwork: true,", "ports: [{containerPort: 80}]", None),
        (
            "hostNetwork: true,",
            "ports: [{containerPort: 80, hostPort: 81}]",
            Some("must equal containerPort 80"),
        ),
        (
            "hostNetwork: true, initContainers: [{name: i, image: x, restartPolicy: Always, ports: [{containerPort: 80}]}],",
            "ports: [{containerPort: 80}]",
            Some("already used by container c"),
        ),
        (
            "initContainers: [{name: i, image: x, ports: [{containerPort: 1, hostPort: 5}]}],",
            "ports: [{containerPort: 1, hostPort: 5}]",
            None,
        ),
    ]);
}

#[test]
fn containers_and_volumes_have_names_of_their_own() {
    table(&[
        ("initContainers: [{name: i, image: x}],", "", None),
        ("initContainers: [{name: c, image: x}],", "", Some("spec.containers[0].name 'c' is used twice")),
        ("initContainers: [{name: I, image: x}],", "", Some("initContainers[0].name 'I' must be lower case")),
        ("volumes: [{name: v, emptyDir: {}}],", "volumeMounts: [{name: v, mountPath: /v}]", None),
        ("volumes: [{name: v}],", "volumeMounts: [{name: v, mountPath: /v}]", None),
        ("", "volumeMounts: [{name: v, mountPath: /v}]", Some("'v' is no volume of this pod")),
        ("volumes: [{name: v, emptyDir: {}, hostPath: {path: /x}}],", "", Some("has two sources")),
        ("volumes: [{name: v, hostPath: {path: /a/../b}}],", "", Some("must not contain '..'")),
        ("volumes: [{name: v, hostPath: {path: /a/..b}}],", "", None),
        ("volumes: [{name: v, hostPath: {}}],", "", Some("hostPath.path is required")),
        ("volumes: [{name: v, emptyDir: {sizeLimit: -1}}],", "", Some("less than nothing")),
        (
            "volumes: [{name: v, projected: {sources: [{secret: {name: a}, configMap: {name: b}}]}}],",
            "",
            Some("has two sources"),
        ),
    ]);
}

#[test]
fn mounts_stay_inside_their_volume() {
    let mount = |more: &str| format!("volumeMounts: [{{name: v, mountPath: /v, {more}}}]");
    let volumes = "volumes: [{name: v, emptyDir: {}}],";
    for (more, expected) in [
        ("subPath: a/b", None),
        ("subPath: a/..b", None),
        ("subPath: /a", Some("must be relative")),
        ("subPath: a/../..", Some("must not leave the volume")),
        ("subPath: a, subPathExpr: b", Some("has both subPath")),
        ("mountPropagation: HostToContainer", None),
        ("mountPropagation: Bidirectional", Some("needs a privileged container")),
        ("recursiveReadOnly: Enabled", Some("needs readOnly: true")),
        ("recursiveReadOnly: Enabled, readOnly: true", None),
        (
            "recursiveReadOnly: Enabled, readOnly: true, mountPropagation: HostToContainer",
            Some("does not go with"),
        ),
    ] {
        table(&[(volumes, &mount(more), expected)]);
    }
    table(&[(
        volumes,
        "securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]",
        None,
    )]);
}

#[test]
fn variables_have_a_name_and_one_source() {
    table(&[
        ("", "env: [{name: 'a.b c', value: x}, {name: A}, {name: A, value: ''}]", None),
        ("", "env: [{name: 'A=B'}]", Some("must be printable ASCII without '='")),
        ("", "env: [{value: x}]", Some("env[0].name is required")),
        ("", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]", None),
        ("", "env: [{name: A, valueFrom: {}}]", Some("valueFrom needs one source")),
        (
            "",
            "env: [{name: A, valueFrom: {fieldRef: {fieldPath: a}, secretKeyRef: {name: a, key: b}}}]",
            Some("has two sources"),
        ),
        ("", "envFrom: [{configMapRef: {name: a}}, {prefix: P_, secretRef: {name: b}}]", None),
        ("", "envFrom: [{prefix: P_}]", Some("envFrom[0] needs one source")),
        ("", "envFrom: [{prefix: 'P=', secretRef: {name: b}}]", Some("without '='")),
    ]);
}

#[test]
fn probes_have_one_handler_and_sane_numbers() {
    table(&[
        ("", "livenessProbe: {exec: {command: [a]}, initialDelaySeconds: 0}", None),
        ("", "livenessProbe: {periodSeconds: 5}", Some("livenessProbe needs one handler")),
        ("", "livenessProbe: {exec: {}, periodSeconds: 1}", Some("exec.command is required")),
        ("", "livenessProbe: {tcpSocket: {port: 0}}", Some("port is 0")),
        ("", "livenessProbe: {tcpSocket: {}}", Some("port is required")),
        ("", "livenessProbe: {grpc: {port: 70000}}", Some("grpc.port is 70000")),
        (
            "",
            "livenessProbe: {httpGet: {port: 80, scheme: ftp}}",
            Some("scheme: 'ftp' is not one of HTTP, HTTPS"),
        ),
        (
            "",
            "livenessProbe: {httpGet: {port: 80, httpHeaders: [{name: 'a b', value: ''}]}}",
            Some("must be letters, digits and '-'"),
        ),
        (
            "",
            "livenessProbe: {exec: {command: [a]}, successThreshold: 2}",
            Some("successThreshold is 2, must be 1"),
        ),
        ("", "startupProbe: {exec: {command: [a]}, successThreshold: 2}", Some("must be 1")),
        ("", "readinessProbe: {exec: {command: [a]}, successThreshold: 2}", None),
        (
            "",
            "readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 2}",
            Some("a readiness probe stops nothing"),
        ),
        (
            "",
            "livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}",
            Some("must be at least 1"),
        ),
        ("", "livenessProbe: {exec: {command: [a]}, periodSeconds: -1}", Some("must be at least 0")),
        (
            "initContainers: [{name: i, image: x, livenessProbe: {exec: {command: [a]}}}],",
            "",
            Some("not allowed on an init container"),
        ),
        (
            "initContainers: [{name: i, image: x, restartPolicy: Always, livenessProbe: {exec: {command: [a]}}}],",
            "",
            None,
        ),
    ]);
}

#[test]
fn hooks_have_one_handler_that_works_and_ends_in_time() {
    table(&[
        ("", "lifecycle: {preStop: {sleep: {seconds: 30}}}", None),
        (
            "",
            "lifecycle: {preStop: {sleep: {seconds: 31}}}",
            Some("longer than terminationGracePeriodSeconds (30)"),
        ),
        ("terminationGracePeriodSeconds: 60,", "lifecycle: {preStop: {sleep: {seconds: 31}}}", None),
        ("", "lifecycle: {preStop: {sleep: {seconds: -1}}}", Some("must be at least 0")),
        ("", "lifecycle: {preStop: {}}", None),
        ("", "lifecycle: {postStart: {tcpSocket: {port: 1}}}", Some("never worked in a hook")),
        ("", "lifecycle: {stopSignal: SIGUSR1}", Some("needs spec.os.name")),
        (
            "initContainers: [{name: i, image: x, lifecycle: {preStop: {exec: {command: [a]}}}}],",
            "",
            Some("not allowed on an init"),
        ),
    ]);
}

#[test]
fn resources_are_known_positive_and_within_their_limit() {
    table(&[
        ("", "resources: {limits: {cpu: 1, memory: 64Mi}, requests: {cpu: 500m, memory: 64Mi}}", None),
        (
            "",
            "resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}",
            Some("requests.cpu 1001m is more than limits.cpu 1"),
        ),
        ("", "resources: {limits: {cpu: -1}}", Some("less than nothing")),
        ("", "resources: {limits: {cpus: 1}}", Some("limits.cpus is no resource")),
        ("", "resources: {limits: {memory: [1]}}", Some("must be a quantity")),
        ("", "resources: {claims: [{name: a}]}", Some("resource claims need a cluster's device drivers")),
    ]);
}

#[test]
fn names_and_resolvers_fit_their_grammar() {
    table(&[
        ("hostname: a-b,", "", None),
        ("hostname: a.b,", "", Some("spec.hostname 'a.b' must be lower case")),
        ("subdomain: A,", "", Some("spec.subdomain 'A'")),
        ("hostAliases: [{ip: 1.2.3.4, hostnames: [a.b]}],", "", None),
        ("hostAliases: [{hostnames: [a]}],", "", Some("hostAliases[0].ip is required")),
        ("hostAliases: [{ip: 1.2.3, hostnames: [a]}],", "", Some("is not an IP address")),
        ("hostAliases: [{ip: '::1', hostnames: [a_b]}],", "", Some("hostnames[0] 'a_b'")),
        ("dnsPolicy: None,", "", Some("needs at least one entry in spec.dnsConfig.nameservers")),
        ("dnsPolicy: none,", "", Some("did you mean None?")),
        ("dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3]},", "", None),
        (
            "dnsConfig: {nameservers: [1.1.1.1, 1.1.1.2, 1.1.1.3, 1.1.1.4]},",
            "",
            Some("has 4 entries, at most 3"),
        ),
        ("dnsConfig: {nameservers: [a]},", "", Some("nameservers[0] 'a' is not an IP address")),
        ("dnsConfig: {searches: [., a.b., a_b]},", "", None),
        ("dnsConfig: {searches: ['a b']},", "", Some("searches[0]")),
        ("dnsConfig: {options: [{value: x}]},", "", Some("options[0].name is required")),
    ]);
}

#[test]
fn security_settings_do_not_contradict_each_other() {
    table(&[
        ("hostPID: true,", "", None),
        ("hostPID: true, shareProcessNamespace: true,", "", Some("cannot both be true")),
        ("", "securityContext: {runAsUser: 2147483647}", None),
        ("", "securityContext: {runAsUser: -1}", Some("runAsUser is -1, must be at least 0")),
        ("", "securityContext: {runAsUser: 2147483648}", Some("runAsUser is 2147483648")),
        (
            "",
            "securityContext: {allowPrivilegeEscalation: false, privileged: true}",
            Some("does not go with a privileged container"),
        ),
        (
            "",
            "securityContext: {allowPrivilegeEscalation: false, capabilities: {add: [SYS_ADMIN]}}",
            Some("SYS_ADMIN"),
        ),
        ("", "securityContext: {seccompProfile: {type: Localhost}}", Some("localhostProfile is required")),
        (
            "",
            "securityContext: {seccompProfile: {type: RuntimeDefault, localhostProfile: a}}",
            Some("only for type Localhost"),
        ),
        (
            "securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}, {name: kernel/shm_rmid_forced, value: '1'}]},",
            "",
            None,
        ),
        (
            "securityContext: {sysctls: [{name: vm.swappiness, value: '1'}]},",
            "",
            Some("belongs to the whole machine"),
        ),
        (
            "hostNetwork: true, securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]},",
            "",
            Some("host's network"),
        ),
        (
            "securityContext: {sysctls: [{name: net.a, value: ''}, {name: net.a, value: ''}]},",
            "",
            Some("used twice"),
        ),
        (
            "securityContext: {sysctls: [{name: 'Net a', value: ''}]},",
            "",
            Some("not the name of a kernel setting"),
        ),
    ]);
}

#[test]
fn a_pod_has_a_container_and_its_words_and_numbers_are_in_range() {
    table(&[
        ("terminationGracePeriodSeconds: 0,", "", None),
        ("terminationGracePeriodSeconds: -1,", "", Some("must be at least 0")),
        ("activeDeadlineSeconds: 0,", "", Some("must be at least 1")),
        ("restartPolicy: always,", "", Some("did you mean Always?")),
        ("ephemeralContainers: [{name: e}],", "", Some("a manifest cannot declare them")),
        (
            "initContainers: [{name: i, image: x, restartPolicy: Sometimes}],",
            "",
            Some("not one of Always, OnFailure, Never"),
        ),
        ("", "image: Nginx", Some("given twice")),
        ("", "imagePullPolicy: Sometimes", Some("not one of Always, IfNotPresent, Never")),
        ("os: {name: linux},", "", None),
    ]);
    let text = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}";
    let reading = read("x.yaml", text.as_bytes(), &Options::default());
    assert_eq!(reading.diagnoses[0].message, "spec.containers is empty: a pod needs a container");
}

#[test]
fn metadata_keys_and_values_fit_their_grammar() {
    for (metadata, expected) in [
        ("name: a.b-c, labels: {a.b/c_D: v.1}", None),
        ("name: a..b", Some("has an empty part")),
        ("namespace: a.b, name: a", Some("metadata.namespace 'a.b'")),
        ("name: a, uid: a_b", Some("metadata.uid 'a_b'")),
        ("name: a, labels: {'-a': b}", Some("the key '-a' must be letters")),
        ("name: a, labels: {a: 'b c'}", Some("metadata.labels.a 'b c'")),
        ("name: a, annotations: {'a b': c}", Some("the key 'a b'")),
        ("name: a, annotations: {a: 'any text: at all'}", None),
    ] {
        let text = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{{metadata}}}, spec: {{containers: [{{name: c, image: x}}]}}}}"
        );
        let reading = read("x.yaml", text.as_bytes(), &Options::default());
        match expected {
            None => assert!(reading.diagnoses.is_empty(), "{metadata}: {:?}", reading.diagnoses),
            Some(words) => assert!(
                reading.diagnoses.iter().any(|d| d.message.contains(words)),
                "{metadata}: {:?}",
                reading.diagnoses
            ),
        }
    }
    let big = "x".repeat(256 * 1024);
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{a: {big}}}}}\nspec: {{containers: [{{name: c, image: x}}]}}\n"
    );
    let reading = read("x.yaml", text.as_bytes(), &Options::default());
    assert!(
        reading.diagnoses[0].message.contains("262145 bytes together, at most 262144"),
        "{:?}",
        reading.diagnoses
    );
}

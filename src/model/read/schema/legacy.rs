//! The ContainerManifest of 2014 (`version: v1beta1`, `v1beta2`), as its documents were written.
//!
//! Only names and types are checked against this table: the document is then turned into a v1 Pod
//! ([`crate::model::read::legacy`]) and judged as one.

use super::Kind::{Any, Bool, IntOrText, List, Object, Text, Word};
use super::{ANY_INT, COUNT, PORT_OR_NONE, Shape, field, need, shape};

static OLD_ENV: Shape = shape("OldEnvVar", &[field("name", Text), field("key", Text), field("value", Text)]);

static OLD_PORT: Shape = shape(
    "OldPort",
    &[
        field("name", Text),
        field("hostPort", PORT_OR_NONE),
        need("containerPort", PORT_OR_NONE),
        field("protocol", Text),
        field("hostIP", Text),
    ],
);

static OLD_MOUNT: Shape = shape(
    "OldVolumeMount",
    &[
        need("name", Text),
        field("readOnly", Bool),
        field("mountPath", Text),
        field("path", Text),
        field("mountType", Text),
    ],
);

static OLD_HTTP_GET: Shape =
    shape("OldHTTPGet", &[field("path", Text), field("port", IntOrText), field("host", Text)]);
static OLD_TCP: Shape = shape("OldTCPSocket", &[field("port", IntOrText)]);
static OLD_EXEC: Shape = shape("OldExec", &[field("command", List(&Text))]);

static OLD_PROBE: Shape = shape(
    "OldProbe",
    &[
        field("type", Text),
        field("httpGet", Object(&OLD_HTTP_GET)),
        field("tcpSocket", Object(&OLD_TCP)),
        field("exec", Object(&OLD_EXEC)),
        field("initialDelaySeconds", ANY_INT),
        field("timeoutSeconds", ANY_INT),
    ],
);

static OLD_HANDLER: Shape =
    shape("OldHandler", &[field("exec", Object(&OLD_EXEC)), field("httpGet", Object(&OLD_HTTP_GET))]);
static OLD_LIFECYCLE: Shape = shape(
    "OldLifecycle",
    &[field("postStart", Object(&OLD_HANDLER)), field("preStop", Object(&OLD_HANDLER))],
);

static OLD_CONTAINER: Shape = shape(
    "OldContainer",
    &[
        need("name", Text),
        need("image", Text),
        field("command", List(&Text)),
        field("workingDir", Text),
        field("ports", List(&Object(&OLD_PORT))),
        field("env", List(&Object(&OLD_ENV))),
        field("cpu", COUNT),
        field("memory", ANY_INT),
        field("volumeMounts", List(&Object(&OLD_MOUNT))),
        field("livenessProbe", Object(&OLD_PROBE)),
        field("readinessProbe", Object(&OLD_PROBE)),
        field("lifecycle", Object(&OLD_LIFECYCLE)),
        field("terminationMessagePath", Text),
        field("privileged", Bool),
        field(
            "imagePullPolicy",
            Word(&["PullAlways", "PullIfNotPresent", "PullNever", "Always", "IfNotPresent", "Never"]),
        ),
    ],
);

static OLD_HOST_DIR: Shape = shape("OldHostDir", &[need("path", Text)]);

static OLD_SOURCE: Shape = shape(
    "OldVolumeSource",
    &[
        field("hostDir", Object(&OLD_HOST_DIR)),
        field("emptyDir", Any),
        field("persistentDisk", Any),
        field("gitRepo", Any),
    ],
);

static OLD_VOLUME: Shape = shape(
    "OldVolume",
    &[
        need("name", Text),
        field("source", Object(&OLD_SOURCE)),
        // v1's way to say it; accepted with a warning.
        field("hostPath", Object(&OLD_HOST_DIR)),
        field("emptyDir", Any),
    ],
);

static OLD_POLICY: Shape =
    shape("OldRestartPolicy", &[field("always", Any), field("onFailure", Any), field("never", Any)]);

pub static CONTAINER_MANIFEST: Shape = shape(
    "ContainerManifest",
    &[
        need("version", Text),
        field("id", Text),
        field("uuid", Text),
        field("namespace", Text),
        need("containers", List(&Object(&OLD_CONTAINER))),
        field("volumes", List(&Object(&OLD_VOLUME))),
        field("restartPolicy", Object(&OLD_POLICY)),
        field("dnsPolicy", Text),
        field("hostNetwork", Bool),
    ],
);

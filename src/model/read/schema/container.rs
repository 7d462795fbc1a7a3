//! Containers and what stands in them.

use super::Kind::{Bool, List, Map, Object, Quantity, Text, Word};
use super::probe::{LIFECYCLE, PROBE};
use super::security::SECURITY_CONTEXT;
use super::{ANY_INT, NO_DRIVERS, PORT, PORT_OR_NONE, Shape, field, need, shape};

pub static CONFIG_MAP_KEY_SELECTOR: Shape =
    shape("ConfigMapKeySelector", &[need("key", Text), need("name", Text), field("optional", Bool)]);

pub static FILE_KEY_SELECTOR: Shape = shape(
    "FileKeySelector",
    &[need("key", Text), field("optional", Bool), need("path", Text), need("volumeName", Text)],
);

pub static OBJECT_FIELD_SELECTOR: Shape =
    shape("ObjectFieldSelector", &[field("apiVersion", Text), need("fieldPath", Text)]);

pub static RESOURCE_FIELD_SELECTOR: Shape = shape(
    "ResourceFieldSelector",
    &[field("containerName", Text), field("divisor", Quantity), need("resource", Text)],
);

pub static SECRET_KEY_SELECTOR: Shape =
    shape("SecretKeySelector", &[need("key", Text), need("name", Text), field("optional", Bool)]);

pub static ENV_VAR_SOURCE: Shape = shape(
    "EnvVarSource",
    &[
        field("configMapKeyRef", Object(&CONFIG_MAP_KEY_SELECTOR)),
        field("fieldRef", Object(&OBJECT_FIELD_SELECTOR)),
        field("fileKeyRef", Object(&FILE_KEY_SELECTOR)),
        field("resourceFieldRef", Object(&RESOURCE_FIELD_SELECTOR)),
        field("secretKeyRef", Object(&SECRET_KEY_SELECTOR)),
    ],
);

pub static ENV_VAR: Shape = shape(
    "EnvVar",
    &[need("name", Text), field("value", Text), field("valueFrom", Object(&ENV_VAR_SOURCE)).not_yet()],
);

pub static CONFIG_MAP_ENV_SOURCE: Shape =
    shape("ConfigMapEnvSource", &[need("name", Text), field("optional", Bool)]);

pub static SECRET_ENV_SOURCE: Shape =
    shape("SecretEnvSource", &[need("name", Text), field("optional", Bool)]);

pub static ENV_FROM_SOURCE: Shape = shape(
    "EnvFromSource",
    &[
        field("configMapRef", Object(&CONFIG_MAP_ENV_SOURCE)),
        field("prefix", Text),
        field("secretRef", Object(&SECRET_ENV_SOURCE)),
    ],
);

pub static CONTAINER_PORT: Shape = shape(
    "ContainerPort",
    &[
        need("containerPort", PORT),
        field("hostIP", Text),
        field("hostPort", PORT_OR_NONE),
        field("name", Text),
        field("protocol", Word(&["TCP", "UDP", "SCTP"])),
    ],
);

pub static CONTAINER_RESIZE_POLICY: Shape = shape(
    "ContainerResizePolicy",
    &[need("resourceName", Text), need("restartPolicy", Word(&["NotRequired", "RestartContainer"]))],
);

pub static CONTAINER_RESTART_RULE_ON_EXIT_CODES: Shape =
    shape("ContainerRestartRuleOnExitCodes", &[need("operator", Text), field("values", List(&ANY_INT))]);

pub static CONTAINER_RESTART_RULE: Shape = shape(
    "ContainerRestartRule",
    &[need("action", Text), field("exitCodes", Object(&CONTAINER_RESTART_RULE_ON_EXIT_CODES))],
);

pub static RESOURCE_CLAIM: Shape = shape("ResourceClaim", &[need("name", Text), field("request", Text)]);

pub static RESOURCE_REQUIREMENTS: Shape = shape(
    "ResourceRequirements",
    &[
        field("claims", List(&Object(&RESOURCE_CLAIM))).refused(NO_DRIVERS),
        field("limits", Map(&Quantity)).by_rule(),
        field("requests", Map(&Quantity)).by_rule(),
    ],
);

pub static VOLUME_DEVICE: Shape = shape("VolumeDevice", &[need("devicePath", Text), need("name", Text)]);

pub static VOLUME_MOUNT: Shape = shape(
    "VolumeMount",
    &[
        field("bindMountOptions", List(&Text)),
        need("mountPath", Text),
        field("mountPropagation", Word(&["None", "HostToContainer", "Bidirectional"])),
        need("name", Text),
        field("readOnly", Bool),
        field("recursiveReadOnly", Word(&["Disabled", "IfPossible", "Enabled"])),
        field("subPath", Text),
        field("subPathExpr", Text),
    ],
);

pub static CONTAINER: Shape = shape(
    "Container",
    &[
        field("args", List(&Text)),
        field("command", List(&Text)),
        field("env", List(&Object(&ENV_VAR))),
        field("envFrom", List(&Object(&ENV_FROM_SOURCE))).not_yet(),
        need("image", Text),
        field("imagePullPolicy", Word(&["Always", "IfNotPresent", "Never"])),
        field("lifecycle", Object(&LIFECYCLE)).not_yet(),
        field("livenessProbe", Object(&PROBE)).not_yet(),
        need("name", Text),
        field("ports", List(&Object(&CONTAINER_PORT))),
        field("readinessProbe", Object(&PROBE)).not_yet(),
        field("resizePolicy", List(&Object(&CONTAINER_RESIZE_POLICY))).not_yet(),
        field("resources", Object(&RESOURCE_REQUIREMENTS)),
        field("restartPolicy", Word(&["Always", "OnFailure", "Never"])),
        field("restartPolicyRules", List(&Object(&CONTAINER_RESTART_RULE))).not_yet(),
        field("securityContext", Object(&SECURITY_CONTEXT)),
        field("startupProbe", Object(&PROBE)).not_yet(),
        field("stdin", Bool),
        field("stdinOnce", Bool),
        field("terminationMessagePath", Text).not_yet().unless(&["/dev/termination-log"]),
        field("terminationMessagePolicy", Word(&["File", "FallbackToLogsOnError"]))
            .not_yet()
            .unless(&["File"]),
        field("tty", Bool),
        field("volumeDevices", List(&Object(&VOLUME_DEVICE))).not_yet(),
        field("volumeMounts", List(&Object(&VOLUME_MOUNT))).not_yet(),
        field("workingDir", Text),
    ],
);

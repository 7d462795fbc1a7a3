//! Probes and lifecycle hooks.

use super::Kind::{IntOrText, List, Object, Text, Word};
use super::{ANY_INT, AT_LEAST_ONE, COUNT, PORT, Shape, field, need, shape};

pub static EXEC_ACTION: Shape = shape("ExecAction", &[field("command", List(&Text))]);

pub static HTTP_HEADER: Shape = shape("HTTPHeader", &[need("name", Text), field("value", Text)]);

pub static HTTP_GET_ACTION: Shape = shape(
    "HTTPGetAction",
    &[
        field("host", Text),
        field("httpHeaders", List(&Object(&HTTP_HEADER))),
        field("path", Text),
        need("port", IntOrText),
        field("protocol", Text),
        field("scheme", Word(&["HTTP", "HTTPS"])),
    ],
);

pub static SLEEP_ACTION: Shape = shape("SleepAction", &[need("seconds", COUNT)]);

pub static TCP_SOCKET_ACTION: Shape =
    shape("TCPSocketAction", &[field("host", Text), need("port", IntOrText)]);

pub static LIFECYCLE_HANDLER: Shape = shape(
    "LifecycleHandler",
    &[
        field("exec", Object(&EXEC_ACTION)),
        field("httpGet", Object(&HTTP_GET_ACTION)),
        field("sleep", Object(&SLEEP_ACTION)),
        field("tcpSocket", Object(&TCP_SOCKET_ACTION)),
    ],
);

pub static LIFECYCLE: Shape = shape(
    "Lifecycle",
    &[
        field("postStart", Object(&LIFECYCLE_HANDLER)),
        field("preStop", Object(&LIFECYCLE_HANDLER)),
        field("stopSignal", Text),
    ],
);

pub static GRPC_ACTION: Shape =
    shape("GRPCAction", &[field("mode", Text), need("port", PORT), field("service", Text)]);

pub static PROBE: Shape = shape(
    "Probe",
    &[
        field("exec", Object(&EXEC_ACTION)),
        field("failureThreshold", COUNT),
        field("grpc", Object(&GRPC_ACTION)),
        field("httpGet", Object(&HTTP_GET_ACTION)),
        field("initialDelaySeconds", ANY_INT),
        field("periodSeconds", COUNT),
        field("successThreshold", COUNT),
        field("tcpSocket", Object(&TCP_SOCKET_ACTION)),
        field("terminationGracePeriodSeconds", AT_LEAST_ONE),
        field("timeoutSeconds", COUNT),
    ],
);

//! The pod itself.

use super::Kind::{Any, Bool, List, Map, Object, Quantity, Text, Word};
use super::container::{CONTAINER, RESOURCE_REQUIREMENTS};
use super::metadata::{LOCAL_OBJECT_REFERENCE, OBJECT_META};
use super::scheduling::{
    AFFINITY, EVICTION_RESPONDER, POD_READINESS_GATE, POD_RESOURCE_CLAIM, POD_SCHEDULING_GATE,
    POD_SCHEDULING_GROUP, TOLERATION, TOPOLOGY_SPREAD_CONSTRAINT,
};
use super::security::POD_SECURITY_CONTEXT;
use super::volume::VOLUME;
use super::{ANY_INT, AT_LEAST_ONE, COUNT, LONE, NO_API, NO_DRIVERS, Shape, field, need, shape};

pub static POD_DNS_CONFIG_OPTION: Shape =
    shape("PodDNSConfigOption", &[field("name", Text), field("value", Text)]);

pub static POD_DNS_CONFIG: Shape = shape(
    "PodDNSConfig",
    &[
        field("nameservers", List(&Text)),
        field("options", List(&Object(&POD_DNS_CONFIG_OPTION))),
        field("searches", List(&Text)),
    ],
);

pub static HOST_ALIAS: Shape = shape("HostAlias", &[field("hostnames", List(&Text)), need("ip", Text)]);

pub static POD_OS: Shape = shape("PodOS", &[need("name", Word(&["linux", "windows"]))]);

pub static POD_SPEC: Shape = shape(
    "PodSpec",
    &[
        field("activeDeadlineSeconds", AT_LEAST_ONE).not_yet(),
        field("affinity", Object(&AFFINITY)).noted(LONE),
        field("automountServiceAccountToken", Bool).noted(NO_API).unless(&["false"]),
        need("containers", List(&Object(&CONTAINER))),
        field("dnsConfig", Object(&POD_DNS_CONFIG)),
        field("dnsPolicy", Word(&["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"])),
        field("enableServiceLinks", Bool).ignored(),
        field("ephemeralContainers", Any)
            .refused("a manifest cannot declare them; they belong to a running pod"),
        field("evictionResponders", List(&Object(&EVICTION_RESPONDER))).ignored(),
        field("hostAliases", List(&Object(&HOST_ALIAS))),
        field("hostIPC", Bool),
        field("hostNetwork", Bool),
        field("hostPID", Bool),
        field("hostUsers", Bool).not_yet().unless(&["true"]),
        field("hostname", Text),
        field("hostnameOverride", Text).not_yet(),
        field("imagePullSecrets", List(&Object(&LOCAL_OBJECT_REFERENCE))).not_yet(),
        field("initContainers", List(&Object(&CONTAINER))),
        field("nodeName", Text).by_rule(),
        field("nodeSelector", Map(&Text)).noted(LONE),
        field("os", Object(&POD_OS)).by_rule(),
        field("overhead", Map(&Quantity)).ignored(),
        field("preemptionPolicy", Word(&["Never", "PreemptLowerPriority"])).ignored(),
        field("priority", ANY_INT).ignored(),
        field("priorityClassName", Text).ignored(),
        field("readinessGates", List(&Object(&POD_READINESS_GATE))).not_yet(),
        field("resourceClaims", List(&Object(&POD_RESOURCE_CLAIM))).refused(NO_DRIVERS),
        field("resources", Object(&RESOURCE_REQUIREMENTS)).not_yet(),
        field("restartPolicy", Word(&["Always", "OnFailure", "Never"])),
        field("runtimeClassName", Text).not_yet(),
        field("schedulerName", Text).ignored(),
        field("schedulingGates", List(&Object(&POD_SCHEDULING_GATE))).noted(LONE),
        field("schedulingGroup", Object(&POD_SCHEDULING_GROUP)).ignored(),
        field("securityContext", Object(&POD_SECURITY_CONTEXT)),
        field("serviceAccount", Text).noted(NO_API).unless(&["default"]),
        field("serviceAccountName", Text).noted(NO_API).unless(&["default"]),
        field("setHostnameAsFQDN", Bool).not_yet().unless(&["false"]),
        field("shareProcessNamespace", Bool),
        field("subdomain", Text).not_yet(),
        field("terminationGracePeriodSeconds", COUNT),
        field("tolerations", List(&Object(&TOLERATION))).ignored(),
        field("topologySpreadConstraints", List(&Object(&TOPOLOGY_SPREAD_CONSTRAINT))).noted(LONE),
        field("volumes", List(&Object(&VOLUME))).not_yet(),
    ],
);

pub static POD: Shape = shape(
    "Pod",
    &[
        field("apiVersion", Text),
        field("kind", Text),
        field("metadata", Object(&OBJECT_META)),
        field("spec", Object(&POD_SPEC)),
        field("status", Any).ignored(),
    ],
);

//! What a scheduler would read. A lone node has none: these fields are checked, then ignored.

use super::Kind::{List, Object, Text, Word};
use super::metadata::LABEL_SELECTOR;
use super::{ANY_INT, Shape, field, need, shape};

pub static NODE_SELECTOR_REQUIREMENT: Shape = shape(
    "NodeSelectorRequirement",
    &[
        need("key", Text),
        need("operator", Word(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])),
        field("values", List(&Text)),
    ],
);

pub static NODE_SELECTOR_TERM: Shape = shape(
    "NodeSelectorTerm",
    &[
        field("matchExpressions", List(&Object(&NODE_SELECTOR_REQUIREMENT))),
        field("matchFields", List(&Object(&NODE_SELECTOR_REQUIREMENT))),
    ],
);

pub static PREFERRED_SCHEDULING_TERM: Shape = shape(
    "PreferredSchedulingTerm",
    &[need("preference", Object(&NODE_SELECTOR_TERM)), need("weight", ANY_INT)],
);

pub static NODE_SELECTOR: Shape =
    shape("NodeSelector", &[need("nodeSelectorTerms", List(&Object(&NODE_SELECTOR_TERM)))]);

pub static NODE_AFFINITY: Shape = shape(
    "NodeAffinity",
    &[
        field("preferredDuringSchedulingIgnoredDuringExecution", List(&Object(&PREFERRED_SCHEDULING_TERM))),
        field("requiredDuringSchedulingIgnoredDuringExecution", Object(&NODE_SELECTOR)),
    ],
);

pub static POD_AFFINITY_TERM: Shape = shape(
    "PodAffinityTerm",
    &[
        field("labelSelector", Object(&LABEL_SELECTOR)),
        field("matchLabelKeys", List(&Text)),
        field("mismatchLabelKeys", List(&Text)),
        field("namespaceSelector", Object(&LABEL_SELECTOR)),
        field("namespaces", List(&Text)),
        need("topologyKey", Text),
    ],
);

pub static WEIGHTED_POD_AFFINITY_TERM: Shape = shape(
    "WeightedPodAffinityTerm",
    &[need("podAffinityTerm", Object(&POD_AFFINITY_TERM)), need("weight", ANY_INT)],
);

pub static POD_AFFINITY: Shape = shape(
    "PodAffinity",
    &[
        field("preferredDuringSchedulingIgnoredDuringExecution", List(&Object(&WEIGHTED_POD_AFFINITY_TERM))),
        field("requiredDuringSchedulingIgnoredDuringExecution", List(&Object(&POD_AFFINITY_TERM))),
    ],
);

pub static POD_ANTI_AFFINITY: Shape = shape(
    "PodAntiAffinity",
    &[
        field("preferredDuringSchedulingIgnoredDuringExecution", List(&Object(&WEIGHTED_POD_AFFINITY_TERM))),
        field("requiredDuringSchedulingIgnoredDuringExecution", List(&Object(&POD_AFFINITY_TERM))),
    ],
);

pub static AFFINITY: Shape = shape(
    "Affinity",
    &[
        field("nodeAffinity", Object(&NODE_AFFINITY)),
        field("podAffinity", Object(&POD_AFFINITY)),
        field("podAntiAffinity", Object(&POD_ANTI_AFFINITY)),
    ],
);

pub static TOLERATION: Shape = shape(
    "Toleration",
    &[
        field("effect", Word(&["NoSchedule", "PreferNoSchedule", "NoExecute"])),
        field("key", Text),
        field("operator", Word(&["Exists", "Equal", "Lt", "Gt"])),
        field("tolerationSeconds", ANY_INT),
        field("value", Text),
    ],
);

pub static TOPOLOGY_SPREAD_CONSTRAINT: Shape = shape(
    "TopologySpreadConstraint",
    &[
        field("labelSelector", Object(&LABEL_SELECTOR)),
        field("matchLabelKeys", List(&Text)),
        need("maxSkew", ANY_INT),
        field("minDomains", ANY_INT),
        field("nodeAffinityPolicy", Word(&["Honor", "Ignore"])),
        field("nodeTaintsPolicy", Word(&["Honor", "Ignore"])),
        need("topologyKey", Text),
        need("whenUnsatisfiable", Word(&["DoNotSchedule", "ScheduleAnyway"])),
    ],
);

pub static POD_SCHEDULING_GATE: Shape = shape("PodSchedulingGate", &[need("name", Text)]);

pub static POD_READINESS_GATE: Shape = shape("PodReadinessGate", &[need("conditionType", Text)]);

pub static POD_RESOURCE_CLAIM: Shape = shape(
    "PodResourceClaim",
    &[need("name", Text), field("resourceClaimName", Text), field("resourceClaimTemplateName", Text)],
);

pub static POD_SCHEDULING_GROUP: Shape = shape("PodSchedulingGroup", &[field("podGroupName", Text)]);

pub static EVICTION_RESPONDER: Shape =
    shape("EvictionResponder", &[need("name", Text), need("priority", ANY_INT)]);

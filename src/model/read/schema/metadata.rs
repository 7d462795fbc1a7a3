//! Metadata of every object, and label selectors.

use super::Kind::{Any, Bool, List, Map, Object, Text, Time, Word};
use super::{ANY_INT, Shape, field, need, shape};

pub static OWNER_REFERENCE: Shape = shape(
    "OwnerReference",
    &[
        need("apiVersion", Text),
        field("blockOwnerDeletion", Bool),
        field("controller", Bool),
        need("kind", Text),
        need("name", Text),
        need("uid", Text),
    ],
);

pub static OBJECT_META: Shape = shape(
    "ObjectMeta",
    &[
        field("annotations", Map(&Text)),
        field("creationTimestamp", Time).ignored(),
        field("deletionGracePeriodSeconds", ANY_INT).ignored(),
        field("deletionTimestamp", Time).ignored(),
        field("finalizers", List(&Text)).ignored(),
        field("generateName", Text).ignored(),
        field("generation", ANY_INT).ignored(),
        field("labels", Map(&Text)),
        field("managedFields", Any).ignored(),
        need("name", Text),
        field("namespace", Text),
        field("ownerReferences", List(&Object(&OWNER_REFERENCE))).ignored(),
        field("resourceVersion", Text).ignored(),
        field("selfLink", Text).ignored(),
        field("uid", Text),
    ],
);

pub static LABEL_SELECTOR_REQUIREMENT: Shape = shape(
    "LabelSelectorRequirement",
    &[
        need("key", Text),
        need("operator", Word(&["In", "NotIn", "Exists", "DoesNotExist"])),
        field("values", List(&Text)),
    ],
);

pub static LABEL_SELECTOR: Shape = shape(
    "LabelSelector",
    &[
        field("matchExpressions", List(&Object(&LABEL_SELECTOR_REQUIREMENT))),
        field("matchLabels", Map(&Text)),
    ],
);

pub static LOCAL_OBJECT_REFERENCE: Shape = shape("LocalObjectReference", &[need("name", Text)]);

//! Kinds beside the Pod.

use super::Kind::{Any, Bool, List, Map, Object, Text};
use super::metadata::OBJECT_META;
use super::{Shape, field, need, shape};

pub static SECRET: Shape = shape(
    "Secret",
    &[
        field("apiVersion", Text),
        field("kind", Text),
        need("metadata", Object(&OBJECT_META)),
        field("type", Text),
        // Values are judged by `secret`, which never shows one.
        field("data", Map(&Any)),
        field("stringData", Map(&Any)),
        field("immutable", Bool),
    ],
);

/// `List` and `PodList`; the items are judged one by one.
pub static LIST: Shape = shape(
    "List",
    &[field("apiVersion", Text), field("kind", Text), field("metadata", Any), need("items", List(&Any))],
);

//! No field of the Kubernetes Pod API is unknown to the table in `model::read::schema`.
//!
//! How it works: a `Deserializer` of our own hands out no data but watches what is asked for. When a type of k8s-openapi
//! deserializes itself it calls `deserialize_struct` with the names of its fields; the watcher gives it those fields one
//! after the other, so that each field's type shows itself in turn, and notes path and name. Lists and maps give one
//! element. So the names come from the API's own generated code and from no list of ours.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use k8s_openapi::api::core::v1::Pod;
use podkeeper::model::read::schema::{Kind, Shape, pod::POD};
use serde::de::value::Error;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Deeper than any path of a Pod; a type that contains itself would not end otherwise.
const DEEP: usize = 14;

#[test]
fn no_field_of_the_pod_api_is_unknown_to_the_table() {
    let watch = Watch { path: Vec::new(), seen: Rc::default() };
    let pod = Pod::deserialize(watch.clone());
    assert!(pod.is_ok(), "the watcher must satisfy every type: {pod:?}");
    let seen = watch.seen.borrow();
    assert!(seen.len() > 700, "only {} fields were seen", seen.len());
    for sample in [
        "spec.containers[].env[].valueFrom.secretKeyRef.optional",
        "spec.volumes[].projected.sources[].serviceAccountToken.audience",
        "status.containerStatuses[].state.terminated.exitCode",
    ] {
        assert!(seen.contains(sample), "{sample} was not seen");
    }
    let unknown: Vec<_> = seen.iter().filter(|path| !is_known(&POD, path)).collect();
    assert!(unknown.is_empty(), "the table does not know: {unknown:#?}");
}

#[test]
fn the_table_says_no_where_the_api_does() {
    for path in
        ["spec.replicas", "spec.containers[].port", "metadata.restartPolicy", "spec.containers[].env[].key"]
    {
        assert!(!is_known(&POD, path), "{path}");
    }
}

/// Whether the table leads to the field; everything below a field of any shape is known.
fn is_known(shape: &'static Shape, path: &str) -> bool {
    let (step, rest) = path.split_once('.').map_or((path, None), |(step, rest)| (step, Some(rest)));
    let name = step.trim_end_matches("[]").trim_end_matches("{}");
    let Some(field) = shape.field(name) else { return false };
    let mut kind = &field.kind;
    while let Kind::List(inner) | Kind::Map(inner) = kind {
        kind = inner;
    }
    match (kind, rest) {
        (Kind::Any, _) | (_, None) => true,
        (Kind::Object(shape), Some(rest)) => is_known(shape, rest),
        (_, Some(_)) => false,
    }
}

#[derive(Clone)]
struct Watch {
    path: Vec<String>,
    seen: Rc<RefCell<BTreeSet<String>>>,
}

impl Watch {
    fn at(&self, step: &str) -> Watch {
        let mut below = self.clone();
        below.path.push(step.into());
        below
    }

    /// The same place, one element of the list or map in it.
    fn inside(&self, mark: &str) -> Watch {
        let mut below = self.clone();
        if let Some(last) = below.path.last_mut() {
            last.push_str(mark);
        }
        below
    }
}

impl<'de> Deserializer<'de> for Watch {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let kind = if name == "Pod" { "Pod" } else { "" };
        let fields = if self.path.len() < DEEP { fields } else { &[] };
        visitor.visit_map(Fields { watch: self, fields: fields.iter(), field: "", kind })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(One(Some(self.inside("[]"))))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(One(Some(self.inside("{}"))))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(true)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i32(1)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(1)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(1.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    /// A text that is also a time, because times are read from texts.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str("2026-01-01T00:00:00Z")
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}

struct Fields {
    watch: Watch,
    fields: std::slice::Iter<'static, &'static str>,
    field: &'static str,
    /// What `kind` must say for a Pod to accept it.
    kind: &'static str,
}

impl<'de> MapAccess<'de> for Fields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(field) = self.fields.next() else { return Ok(None) };
        self.field = field;
        let path = self.watch.at(field).path.join(".");
        self.watch.seen.borrow_mut().insert(path);
        seed.deserialize(serde::de::value::StrDeserializer::new(field)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let fixed = match (self.kind, self.field) {
            ("Pod", "kind") => Some("Pod"),
            ("Pod", "apiVersion") => Some("v1"),
            _ => None,
        };
        match fixed {
            Some(text) => seed.deserialize(serde::de::value::StrDeserializer::new(text)),
            None => seed.deserialize(self.watch.at(self.field)),
        }
    }
}

/// One element of a list, one entry of a map.
struct One(Option<Watch>);

impl<'de> SeqAccess<'de> for One {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|watch| seed.deserialize(watch)).transpose()
    }
}

impl<'de> MapAccess<'de> for One {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        match self.0 {
            Some(_) => seed.deserialize(serde::de::value::StrDeserializer::new("key")).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let watch = self.0.take().ok_or_else(|| serde::de::Error::custom("a value without a key"))?;
        seed.deserialize(watch)
    }
}

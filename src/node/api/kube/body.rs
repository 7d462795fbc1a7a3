//! The object in a request's body: JSON as it must be, or YAML where Kubernetes takes it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::refuse;
use crate::model::read;
use crate::node::api::refusal::Refusal;

/// An object, whatever it is of.
///
/// # Errors
/// 400 with the place, 415 for another content type.
pub fn object(content_type: Option<&str>, bytes: &[u8]) -> Result<Value, Refusal> {
    let kind = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default().trim();
    let value = match kind {
        "application/json" | "" => json(bytes)?,
        "application/yaml" | "application/apply-patch+yaml" => yaml(bytes)?,
        other => {
            let message = format!("the body is {other}: send application/json or application/yaml");
            return Err(refuse::media_type(message));
        }
    };
    if value.is_object() {
        return Ok(value);
    }
    Err(Refusal::bad_request("the body must be an object: {\"apiVersion\": \"v1\", \"kind\": \"Pod\", …}"))
}

/// Strict JSON: a key that is given twice is an error, because one of the two would be lost.
///
/// # Errors
/// 400 with line and column.
pub fn json(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice::<Strict>(bytes)
        .map(|strict| strict.0)
        .map_err(|error| Refusal::bad_request(format!("the body is not JSON as it must be: {error}")))
}

fn yaml(bytes: &[u8]) -> Result<Value, Refusal> {
    read::value("body", bytes).map_err(|diagnoses| {
        let said: Vec<String> = diagnoses
            .iter()
            .filter(|diagnosis| diagnosis.is_error())
            .map(|diagnosis| {
                format!(
                    "line {}, column {}: {}",
                    diagnosis.place.line, diagnosis.place.column, diagnosis.message
                )
            })
            .collect();
        Refusal::bad_request(format!("the body is not YAML as it must be: {}", said.join("; ")))
    })
}

/// serde_json's own value keeps the last of two equal keys and says nothing. Its limit of depth holds here too.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Strictly).map(Strict)
    }
}

struct Strictly;

impl<'de> Visitor<'de> for Strictly {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(serde::de::Error::custom(format!("key '{key}' is given twice in one object")));
            }
            let Strict(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_read_strictly_and_yaml_where_it_is_said_w5() {
        let deep = "[".repeat(100_000);
        for (kind, body, expected) in [
            (
                None,
                r#"{"a": [1, -2, 0.5, "x", true, null], "b": {}}"#,
                Ok(json!({"a": [1, -2, 0.5, "x", true, null], "b": {}})),
            ),
            (Some("application/json; charset=utf-8"), r#"{"a": "\ud83d\ude00"}"#, Ok(json!({"a": "😀"}))),
            (
                Some("application/yaml"),
                "a: [1, x]\nb: 'yes'\nc: true\nd: null\ne: 1.5\n",
                Ok(json!({"a": [1, "x"], "b": "yes", "c": true, "d": null, "e": 1.5})),
            ),
            (None, r#"{"a": 1, "a": 2}"#, Err((400, "key 'a' is given twice"))),
            (None, r#"{"a": "#, Err((400, "EOF"))),
            (None, "", Err((400, "EOF"))),
            (None, "[]", Err((400, "must be an object"))),
            (None, "7", Err((400, "must be an object"))),
            (None, &deep, Err((400, "recursion limit"))),
            (Some("application/yaml"), "a: [", Err((400, "line "))),
            (Some("application/yaml"), "a: 1\na: 2", Err((400, "given twice"))),
            (
                Some("application/vnd.kubernetes.protobuf"),
                "k8s",
                Err((415, "application/vnd.kubernetes.protobuf")),
            ),
        ] {
            let found = object(kind, body.as_bytes());
            match expected {
                Ok(value) => assert_eq!(found.unwrap(), value, "{body}"),
                Err((code, words)) => {
                    let refusal = found.unwrap_err();
                    assert_eq!(refusal.code.as_u16(), code, "{body:.40}");
                    assert!(refusal.message.contains(words), "{}", refusal.message);
                }
            }
        }
    }
}

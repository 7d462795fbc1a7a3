//! Which pods or events a request is about: label and field selectors.

use serde_json::Value;

use super::query::Query;
use crate::node::api::refusal::Refusal;

/// All requirements have to be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldIs>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Missing,
    In(Vec<String>),
    /// A label that is missing is not in any set.
    NotIn(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldIs {
    pointer: &'static str,
    value: String,
    equal: bool,
}

/// Names of fields by which a kind is selected, each with its place in the object.
pub type Fields = &'static [(&'static str, &'static str)];

/// The fields of a pod that Kubernetes can select by, and this agent has.
pub const OF_PODS: Fields = &[
    ("metadata.name", "/metadata/name"),
    ("metadata.namespace", "/metadata/namespace"),
    ("metadata.uid", "/metadata/uid"),
    ("spec.nodeName", "/spec/nodeName"),
    ("spec.restartPolicy", "/spec/restartPolicy"),
    ("spec.schedulerName", "/spec/schedulerName"),
    ("status.phase", "/status/phase"),
    ("status.podIP", "/status/podIP"),
];

/// Those of an event (`pkg/registry/core/event/strategy.go`); `kubectl describe` uses the first four.
pub const OF_EVENTS: Fields = &[
    ("involvedObject.kind", "/involvedObject/kind"),
    ("involvedObject.namespace", "/involvedObject/namespace"),
    ("involvedObject.name", "/involvedObject/name"),
    ("involvedObject.uid", "/involvedObject/uid"),
    ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
    ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
    ("reason", "/reason"),
    ("source", "/source/component"),
    ("type", "/type"),
    ("metadata.name", "/metadata/name"),
    ("metadata.namespace", "/metadata/namespace"),
];

impl Selector {
    /// # Errors
    /// 400 that names what is not understood.
    pub fn of(query: &Query, known: Fields) -> Result<Self, Refusal> {
        let labels = query.get("labelSelector").map(labels).transpose();
        let fields = query.get("fieldSelector").map(|text| fields(text, known)).transpose();
        let both = labels.and_then(|labels| fields.map(|fields| (labels, fields)));
        let (labels, fields) = both.map_err(Refusal::bad_request)?;
        Ok(Self { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default() })
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(object))
            && self.fields.iter().all(|field| {
                let found = object.pointer(field.pointer).and_then(Value::as_str).unwrap_or_default();
                (found == field.value) == field.equal
            })
    }
}

impl Requirement {
    fn matches(&self, object: &Value) -> bool {
        let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(&self.key)?.as_str());
        let among = |values: &[String]| label.is_some_and(|label| values.iter().any(|value| value == label));
        match &self.operator {
            Operator::Exists => label.is_some(),
            Operator::Missing => label.is_none(),
            Operator::In(values) => among(values),
            Operator::NotIn(values) => !among(values),
        }
    }
}

fn fields(text: &str, all: Fields) -> Result<Vec<FieldIs>, String> {
    let parse = |term: &str| {
        let (name, value, equal) = if let Some((name, value)) = term.split_once("!=") {
            (name, value, false)
        } else {
            let (name, value) = term
                .split_once("==")
                .or_else(|| term.split_once('='))
                .ok_or_else(|| format!("field selector '{term}': write field=value"))?;
            (name, value, true)
        };
        let known = all.iter().find(|(field, _)| *field == name.trim());
        let (_, pointer) = known.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            format!("field selector: '{}' is not one of {}", name.trim(), names.join(", "))
        })?;
        Ok(FieldIs { pointer, value: value.trim().to_owned(), equal })
    };
    text.split(',').map(str::trim).filter(|term| !term.is_empty()).map(parse).collect()
}

fn labels(text: &str) -> Result<Vec<Requirement>, String> {
    terms(text).into_iter().filter(|term| !term.is_empty()).map(label).collect()
}

/// Splits at the commas that stand outside of brackets.
fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut depth) = (Vec::new(), 0, 0i32);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(text[start..].trim());
    terms
}

fn label(term: &str) -> Result<Requirement, String> {
    let wrong = || format!("label selector '{term}': write key, !key, key=value, key!=value or key in (a,b)");
    let made = |key: &str, operator| {
        let key = key.trim();
        let fits = !key.is_empty() && !key.contains(char::is_whitespace);
        if fits { Ok(Requirement { key: key.to_owned(), operator }) } else { Err(wrong()) }
    };
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some(list) = term.strip_suffix(')') {
        let (head, list) = list.split_once('(').ok_or_else(wrong)?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        let head: Vec<&str> = head.split_whitespace().collect();
        return match head[..] {
            [key, "in"] => made(key, Operator::In(values)),
            [key, "notin"] => made(key, Operator::NotIn(values)),
            _ => Err(wrong()),
        };
    }
    if let Some((key, value)) = term.split_once("!=") {
        return made(key, Operator::NotIn(one(value)));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return made(key, Operator::In(one(value)));
    }
    match term.strip_prefix('!') {
        Some(key) => made(key, Operator::Missing),
        None => made(term, Operator::Exists),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(parameter: &str) -> Result<bool, String> {
        let pod = json!({
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front"}},
            "spec": {"nodeName": "n1"}, "status": {"phase": "Running"},
        });
        let selector =
            Selector::of(&Query::parse(Some(parameter)), OF_PODS).map_err(|refusal| refusal.message)?;
        Ok(selector.matches(&pod))
    }

    #[test]
    fn labels_and_fields_select_as_kubernetes_does() {
        for (parameter, expected) in [
            ("", true),
            ("labelSelector=app%3Dweb", true),
            ("labelSelector=app==web,tier=front", true),
            ("labelSelector=app=db", false),
            ("labelSelector=app!=db", true),
            ("labelSelector=zone!=a", true),
            ("labelSelector=app", true),
            ("labelSelector=!zone,app", true),
            ("labelSelector=!app", false),
            ("labelSelector=app in (db, web),tier notin (back)", true),
            ("labelSelector=zone in (a)", false),
            ("labelSelector=zone notin (a)", true),
            ("fieldSelector=metadata.name%3Dweb", true),
            ("fieldSelector=metadata.name=db", false),
            ("fieldSelector=status.phase!=Running", false),
            ("fieldSelector=spec.nodeName==n1,metadata.namespace=default", true),
            ("fieldSelector=status.podIP=", true),
        ] {
            assert_eq!(selects(parameter), Ok(expected), "{parameter}");
        }
    }

    #[test]
    fn a_selector_that_is_not_understood_is_named() {
        for (parameter, words) in [
            ("fieldSelector=spec.color=red", "'spec.color' is not one of metadata.name"),
            ("fieldSelector=metadata.name", "write field=value"),
            ("labelSelector=a in b", "'a in b'"),
            ("labelSelector=a around (b)", "'a around (b)'"),
            ("labelSelector==x", "'=x'"),
        ] {
            let message = selects(parameter).unwrap_err();
            assert!(message.contains(words), "{parameter}: {message}");
        }
    }
}

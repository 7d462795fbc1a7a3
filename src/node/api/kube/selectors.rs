//! Which pods or events a request is about: label and field selectors.

use serde_json::Value;

use super::query::Query;
use crate::node::api::refusal::Refusal;

mod labels;

use labels::Requirement;

/// All requirements have to be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldIs>,
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
        let labels = query.get("labelSelector").map(labels::parse).transpose();
        let fields = query.get("fieldSelector").map(|text| fields(text, known)).transpose();
        let both = labels.and_then(|labels| fields.map(|fields| (labels, fields)));
        let (labels, fields) = both.map_err(Refusal::bad_request)?;
        Ok(Self { labels: labels.unwrap_or_default(), fields: fields.unwrap_or_default() })
    }

    /// What is to be deleted. An empty selector is most likely a variable that is not set, and would delete
    /// everything: whoever wants that leaves it out.
    ///
    /// # Errors
    /// As above, and for a selector that is empty.
    pub fn to_delete(query: &Query) -> Result<Self, Refusal> {
        for name in ["labelSelector", "fieldSelector"] {
            if query.all(name).any(str::is_empty) {
                let why = format!(
                    "{name} is empty: name what to delete, or leave it out to delete all of the namespace"
                );
                return Err(Refusal::bad_request(why));
            }
        }
        Self::of(query, OF_PODS)
    }

    pub fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(object))
            && self.fields.iter().all(|field| {
                let found = object.pointer(field.pointer).and_then(Value::as_str).unwrap_or_default();
                (found == field.value) == field.equal
            })
    }
}

fn fields(text: &str, all: Fields) -> Result<Vec<FieldIs>, String> {
    text.split(',')
        .map(|term| field(term, all))
        .collect::<Result<Vec<FieldIs>, String>>()
        .map_err(|why| format!("field selector '{text}': {why}"))
}

fn field(term: &str, all: Fields) -> Result<FieldIs, String> {
    let at = term.find(['=', '!']).ok_or("write field=value or field!=value, and a comma between two")?;
    let (name, rest) = (term[..at].trim(), &term[at..]);
    let (equal, value) =
        match (rest.strip_prefix("!="), rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))) {
            (Some(value), _) => (false, value.trim()),
            (None, Some(value)) => (true, value.trim()),
            (None, None) => return Err("'!' is where '=' or '!=' should be".to_owned()),
        };
    let known = all.iter().find(|(field, _)| *field == name);
    let (_, pointer) = known.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("'{name}' is not one of {}", names.join(", "))
    })?;
    // None of these fields can have such a value, so it is a mistake.
    if value.contains(|c: char| "=!\\".contains(c) || c.is_whitespace()) {
        return Err(format!("{name} is never '{value}'"));
    }
    Ok(FieldIs { pointer, value: value.to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(parameter: &str) -> Result<bool, String> {
        let pod = json!({
            "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web", "tier": "front", "size": "3"}},
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
            ("labelSelector=app=", false),
            ("labelSelector=zone!=", true),
            ("labelSelector=app in (,web)", true),
            ("labelSelector=app%09in(in,notin)", false),
            ("labelSelector=size>2,size<4", true),
            ("labelSelector=size>3", false),
            ("labelSelector=app>3", false),
            ("labelSelector=example.com/app,app", false),
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
            ("fieldSelector=metadata.name=a=b", "'a=b'"),
            ("labelSelector=a in b", "'a in b': '(' is missing"),
            ("labelSelector=a around (b)", "'around' is no operator"),
            ("labelSelector==x", "'=x': '=' is where a key should be"),
            ("labelSelector=a,", "'a,': it ends where a key should be"),
            ("labelSelector=a,,b", "',' is where a key should be"),
            ("labelSelector=!a=b", "'=' does not fit there"),
            ("labelSelector=a=b=c", "'=' does not fit there"),
            ("labelSelector=a>x", "'x' is no whole number"),
            ("labelSelector=a in (b", "')' is missing"),
            ("labelSelector=a=-b", "'-b' must be letters"),
        ] {
            let message = selects(parameter).unwrap_err();
            assert!(message.contains(words), "{parameter}: {message}");
        }
    }
}

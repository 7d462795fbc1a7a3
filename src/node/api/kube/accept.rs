//! In which form an answer is wanted: the `Accept` header.

use hyper::StatusCode;

use crate::node::api::refusal::Refusal;

/// The form of pods in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Object,
    /// Rows for people, in this version of `meta.k8s.io`.
    Table(&'static str),
    /// The metadata alone.
    Metadata,
}

/// The first form that can be had wins, as Kubernetes has it.
///
/// # Errors
/// 406.
pub fn form(accept: Option<&str>) -> Result<Form, Refusal> {
    let accept = accept.unwrap_or("*/*");
    let found = accept.split(',').find_map(|range| {
        let (kind, given) = parts(range);
        let version = match given.get("v") {
            Some("v1") => "meta.k8s.io/v1",
            Some("v1beta1") => "meta.k8s.io/v1beta1",
            _ => "",
        };
        match given.get("as") {
            _ if !is_json(kind) => None,
            None => Some(Form::Object),
            Some("Table") if !version.is_empty() => Some(Form::Table(version)),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Form::Metadata),
            Some(_) => None,
        }
    });
    found.ok_or_else(|| {
        let message = format!("only application/json can be had here, not {accept}");
        Refusal::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    })
}

/// Both groups in one answer, in a version of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregated {
    /// Since 1.30.
    V2,
    /// Since 1.26.
    V2beta1,
}

impl Aggregated {
    pub fn version(self) -> &'static str {
        match self {
            Aggregated::V2 => "v2",
            Aggregated::V2beta1 => "v2beta1",
        }
    }

    /// By this a client tells the answer from the older one.
    pub fn media_type(self) -> &'static str {
        match self {
            Aggregated::V2 => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Aggregated::V2beta1 => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
        }
    }
}

/// The version of aggregated discovery that is wanted first, if any is.
pub fn discovery(accept: Option<&str>) -> Option<Aggregated> {
    accept.unwrap_or_default().split(',').find_map(|range| {
        let (kind, given) = parts(range);
        match (is_json(kind), given.get("as"), given.get("v")) {
            (true, Some("APIGroupDiscoveryList"), Some("v2")) => Some(Some(Aggregated::V2)),
            (true, Some("APIGroupDiscoveryList"), Some("v2beta1")) => Some(Some(Aggregated::V2beta1)),
            (true, None, _) => Some(None),
            _ => None,
        }
    })?
}

/// The media type, and its parameters by name.
fn parts(range: &str) -> (&str, Parameters<'_>) {
    let (kind, parameters) = range.split_once(';').unwrap_or((range, ""));
    (kind.trim(), Parameters(parameters))
}

/// `a=b;c="d"`.
struct Parameters<'a>(&'a str);

impl<'a> Parameters<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.0.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(given, _)| *given == name).map(|(_, value)| value.trim_matches('"'))
    }
}

fn is_json(kind: &str) -> bool {
    matches!(kind, "application/json" | "application/*" | "*/*" | "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_had_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (accept, expected) in [
            (None, Some(Form::Object)),
            (Some("*/*"), Some(Form::Object)),
            (Some(table), Some(Form::Table("meta.k8s.io/v1"))),
            (Some("application/json;as=Table;v=v9;g=meta.k8s.io, application/json"), Some(Form::Object)),
            (Some("application/vnd.kubernetes.protobuf,application/json"), Some(Form::Object)),
            (Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"), Some(Form::Metadata)),
            (Some("application/json;stream=watch"), Some(Form::Object)),
            (Some("application/vnd.kubernetes.protobuf"), None),
            (Some("text/html"), None),
        ] {
            assert_eq!(form(accept).ok(), expected, "{accept:?}");
        }
    }

    #[test]
    fn aggregated_discovery_is_had_when_it_is_asked_for_first() {
        let new = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        let newer =
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        for (accept, expected) in [
            (Some(new), Some(Aggregated::V2)),
            (Some(newer), Some(Aggregated::V2beta1)),
            (Some("application/json, */*"), None),
            (None, None),
        ] {
            assert_eq!(discovery(accept), expected, "{accept:?}");
        }
    }
}

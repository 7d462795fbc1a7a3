//! What a client may send, in OpenAPI's words: enough that `kubectl` leaves validation to this agent, and that
//! `kubectl explain` works.
//!
//! The schema is the reader's own table, so nothing is described that is not read.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::model::read::schema::pod::POD;
use crate::model::read::schema::{Kind, Shape, Standing};

const POD_KIND: &str = "io.k8s.api.core.v1.Pod";

/// `/openapi/v3`: where the schema of each group is.
pub fn index() -> Value {
    json!({ "paths": { "api/v1": { "serverRelativeURL": "/openapi/v3/api/v1" } } })
}

/// `/openapi/v3/api/v1`.
pub fn core() -> Value {
    let mut schemas = BTreeMap::new();
    add(&POD, &mut schemas);
    let kind = json!({ "group": "", "version": "v1", "kind": "Pod" });
    if let Some(pod) = schemas.get_mut(POD_KIND) {
        pod["x-kubernetes-group-version-kind"] = json!([kind]);
    }
    // By the parameters of the patch operation a client learns that it may leave validation to the server. The
    // content types do not name the strategic merge patch: a client that finds it there makes its patches by this
    // schema, and one that does not by its own types, which know how the lists of a pod are merged.
    let parameter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
    let of_pods = json!({ "$ref": format!("#/components/schemas/{POD_KIND}") });
    let ok =
        json!({ "200": { "description": "OK", "content": { "application/json": { "schema": of_pods } } } });
    let path = json!({
        "patch": {
            "operationId": "patchCoreV1NamespacedPod",
            "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation"), parameter("force")],
            "requestBody": { "content": { "application/merge-patch+json": { "schema": {} } } },
            "responses": ok,
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": kind,
        },
    });
    json!({
        "openapi": "3.0.0",
        "info": { "title": "podkeeper", "version": env!("CARGO_PKG_VERSION") },
        "paths": { "/api/v1/namespaces/{namespace}/pods/{name}": path },
        "components": { "schemas": schemas },
    })
}

fn name_of(shape: &Shape) -> String {
    let package = if shape.name == "ObjectMeta" || shape.name == "OwnerReference" {
        "io.k8s.apimachinery.pkg.apis.meta.v1"
    } else {
        "io.k8s.api.core.v1"
    };
    format!("{package}.{}", shape.name)
}

fn add(shape: &'static Shape, schemas: &mut BTreeMap<String, Value>) {
    let name = name_of(shape);
    if schemas.contains_key(&name) {
        return;
    }
    // In its place before its fields: a shape may hold itself.
    schemas.insert(name.clone(), Value::Null);
    let mut properties = Map::new();
    for field in shape.fields {
        let mut schema = schema(&field.kind, schemas);
        let said = match field.standing {
            Standing::Honoured | Standing::ByRule => String::new(),
            Standing::NotYet => "Not supported by podkeeper yet: refused.".to_owned(),
            Standing::Refused(why) => format!("Refused: {why}."),
            Standing::Ignored => "Taken and ignored: it means nothing on a lone node.".to_owned(),
            Standing::Noted(why) => format!("Taken with a warning: {why}."),
        };
        // Beside a reference nothing else may stand.
        if schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        schema["description"] = json!(said);
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> =
        shape.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "description": "", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schemas.insert(name, schema);
}

fn schema(kind: &Kind, schemas: &mut BTreeMap<String, Value>) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Time => json!({ "type": "string", "format": "date-time" }),
        Kind::Quantity => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        Kind::IntOrText => json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Int(..) | Kind::Mode => json!({ "type": "integer", "format": "int64" }),
        Kind::Any => json!({ "type": "object" }),
        Kind::List(item) => json!({ "type": "array", "items": schema(item, schemas) }),
        Kind::Map(value) => json!({ "type": "object", "additionalProperties": schema(value, schemas) }),
        Kind::Object(shape) => {
            add(shape, schemas);
            json!({ "$ref": format!("#/components/schemas/{}", name_of(shape)) })
        }
    }
}

//! `/openapi/v2`, which kubectl asks for before 1.27: that pods know `dryRun` and `fieldValidation`.
//!
//! It describes no field, so a client that finds none leaves the judgement to this agent.

use serde_json::{Value, json};

const PATH: &str = "/api/v1/namespaces/{namespace}/pods/{name}";
const PARAMETERS: [&str; 2] = ["dryRun", "fieldValidation"];

pub fn json() -> Value {
    let parameter = |name: &str| json!({ "name": name, "in": "query", "type": "string" });
    json!({
        "swagger": "2.0",
        "info": { "title": "podkeeper", "version": env!("CARGO_PKG_VERSION") },
        "paths": { PATH: { "patch": {
            "parameters": PARAMETERS.map(parameter),
            "x-kubernetes-group-version-kind": { "group": "", "version": "v1", "kind": "Pod" },
        } } },
    })
}

/// The same in protocol buffers, the only form that kubectl takes. Field numbers are those of gnostic's
/// `openapi.v2`.
pub fn protobuf() -> Vec<u8> {
    let parameters = PARAMETERS.map(|name| {
        let in_query = message(&[(2, b"query"), (4, name.as_bytes()), (6, b"string")]);
        // ParametersItem.parameter, Parameter.non_body_parameter, NonBodyParameter.query_parameter_sub_schema.
        message(&[(1, &message(&[(2, &message(&[(3, &in_query)]))]))])
    });
    let kind = message(&[(2, b"{group: '', version: v1, kind: Pod}")]);
    let extension = message(&[(1, b"x-kubernetes-group-version-kind"), (2, &kind)]);
    let [dry_run, validation] = &parameters;
    let patch = message(&[(8, dry_run), (8, validation), (13, &extension)]);
    let path = message(&[(1, PATH.as_bytes()), (2, &message(&[(8, &patch)]))]);
    let info = message(&[(1, b"podkeeper"), (2, env!("CARGO_PKG_VERSION").as_bytes())]);
    message(&[(1, b"2.0"), (2, &info), (8, &message(&[(2, &path)]))])
}

/// Fields that are texts or messages: number and wire type 2, length, bytes.
fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, content) in fields {
        bytes.push(number << 3 | 2);
        let mut length = content.len();
        // Seven bits a byte, the lowest first; all but the last have the highest bit set.
        while length > 0x7f {
            bytes.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).unwrap_or(0));
        bytes.extend_from_slice(content);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents of every field of that number.
    fn fields(mut bytes: &[u8], number: u8) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        while let [key, rest @ ..] = bytes {
            assert_eq!(key & 7, 2, "a length and bytes");
            let end = rest.iter().position(|byte| byte & 0x80 == 0).unwrap();
            let length =
                rest[..=end].iter().rev().fold(0, |length, byte| length << 7 | usize::from(byte & 0x7f));
            let (content, after) = rest[end + 1..].split_at(length);
            if key >> 3 == number {
                found.push(content.to_vec());
            }
            bytes = after;
        }
        found
    }

    #[test]
    fn the_patch_of_a_pod_takes_both_parameters_in_protocol_buffers_too() {
        let down = |path: &[u8]| {
            let start = vec![protobuf()];
            path.iter()
                .fold(start, |all, number| all.iter().flat_map(|bytes| fields(bytes, *number)).collect())
        };
        assert_eq!(down(&[1]), [b"2.0"]);
        // Document.paths, .path, .value, .patch, .parameters … .name
        assert_eq!(down(&[8, 2, 2, 8, 8, 1, 2, 3, 4]), [&b"dryRun"[..], b"fieldValidation"]);
        // .vendor_extension
        assert_eq!(down(&[8, 2, 2, 8, 13, 1]), [b"x-kubernetes-group-version-kind"]);
    }
}

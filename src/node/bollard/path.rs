//! What may stand in a request's path: bollard escapes nothing, and `x/../../info` would be another call.

use crate::docker::DockerError;
use crate::model::ContainerId;

/// A full id, and nothing else.
pub(super) fn full(id: &ContainerId) -> Result<&str, DockerError> {
    if id.0.len() == 64 && id.0.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(&id.0);
    }
    Err(DockerError::NotFound { message: format!("'{id}' is not a full container id") })
}

/// An image name as it may stand in a path: the characters of Docker's reference grammar, no `..`.
pub(super) fn image_name(name: &str) -> Result<&str, DockerError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/@".contains(&byte);
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && name.bytes().all(allowed) && !name.split('/').any(|part| part.is_empty() || part == "..") {
        return Ok(name);
    }
    Err(DockerError::Refused { status: 400, message: format!("'{name}' is not an image name") })
}

/// A tag comes after the last slash, a digest after `@`.
pub(super) fn has_tag(image: &str) -> bool {
    image.contains('@') || image.rsplit('/').next().is_some_and(|last| last.contains(':'))
}

/// Percent-encodes everything but letters and digits.
pub(super) fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len() * 2), |mut out, byte| {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => out.push(byte.into()),
            other => out.push_str(&format!("%{other:02X}")),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_ids_and_real_image_names_reach_a_path() {
        assert!(full(&"5e1f2a0c9b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f".into()).is_ok());
        for id in ["", "5e1f2a0c9b8d", "../images/x", "x/../../info?"] {
            assert!(full(&id.into()).is_err(), "{id}");
        }
        for name in ["nginx", "nginx:1.27", "reg:5000/a/b:1", "a@sha256:00ff"] {
            assert!(image_name(name).is_ok(), "{name}");
        }
        for name in ["", "../info", "a/../../info", "a?x=1", "a b", "a//b", "/a"] {
            assert!(image_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_registry_port_is_not_a_tag() {
        for (name, tagged) in
            [("nginx", false), ("reg:5000/nginx", false), ("reg:5000/nginx:1", true), ("a@sha256:0", true)]
        {
            assert_eq!(has_tag(name), tagged, "{name}");
        }
    }
}

//! The sandbox image that the binary carries, as an archive for `POST /images/load`.
//!
//! With it a node works without any registry. It holds one file, `/pause`; the same binary makes the same bytes,
//! and so the same image id, every time.

mod tar;

use serde_json::json;
use sha2::{Digest, Sha256};

/// Its name on the engine. The tag changes whenever the program does.
pub const NAME: &str = "podkeeper/pause:1";

/// What `build.rs` made of `sandbox_image/pause.rs`.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pause"));

/// The engine's word for the architecture (Go's `GOARCH`).
const ARCHITECTURE: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else if cfg!(target_arch = "arm") {
    "arm"
} else {
    "amd64"
};

/// The archive, in the format of `docker save`: a list of images, each with a configuration and layers.
pub fn archive(name: &str) -> Vec<u8> {
    let mut layer = Vec::new();
    tar::file(&mut layer, "pause", 0o755, PROGRAM);
    tar::end(&mut layer);
    let layer_digest = sha256(&layer);

    let config = json!({
        "architecture": ARCHITECTURE,
        "config": { "Entrypoint": ["/pause"] },
        "created": "1970-01-01T00:00:00Z",
        "history": [{ "created": "1970-01-01T00:00:00Z", "created_by": "podkeeper" }],
        "os": "linux",
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer_digest}")] },
    })
    .to_string();
    let config_name = format!("{}.json", sha256(config.as_bytes()));
    let layer_name = format!("{layer_digest}/layer.tar");
    let manifest = json!([{ "Config": config_name, "RepoTags": [name], "Layers": [layer_name] }]).to_string();

    let mut archive = Vec::new();
    tar::file(&mut archive, &layer_name, 0o644, &layer);
    tar::file(&mut archive, &config_name, 0o644, config.as_bytes());
    tar::file(&mut archive, "manifest.json", 0o644, manifest.as_bytes());
    tar::end(&mut archive);
    archive
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_small_and_always_the_same() {
        let archive = archive(NAME);
        assert!(archive.len() < 20_000, "{} bytes", archive.len());
        assert_eq!(archive, super::archive(NAME));
    }

    #[test]
    fn the_program_is_an_executable_that_needs_no_interpreter() {
        assert_eq!(PROGRAM.get(..4), Some(&b"\x7fELF"[..]));
        assert!(!PROGRAM.windows(3).any(|window| window == b"/ld"), "it names a dynamic loader");
    }
}

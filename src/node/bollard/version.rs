//! Which version of the Engine API to speak. Every engine has an oldest and a newest one.

use std::fmt;

use serde::Deserialize;

/// `1.41`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ApiVersion {
    pub major: u16,
    pub minor: u16,
}

/// Docker 20.10, the oldest engine that distributions still ship.
const OLDEST: ApiVersion = ApiVersion { major: 1, minor: 41 };
/// The newest whose fields this podkeeper was written for (Docker 29).
const NEWEST: ApiVersion = ApiVersion { major: 1, minor: 53 };

/// The part of `GET /version` that matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Announced {
    pub version: String,
    pub api_version: String,
    #[serde(rename = "MinAPIVersion")]
    pub min_api_version: String,
}

/// The newest version that both sides know.
///
/// # Errors
/// One sentence that names both ranges.
pub(super) fn negotiate(announced: &Announced) -> Result<ApiVersion, String> {
    let Some(newest) = ApiVersion::parse(&announced.api_version) else {
        return Err(format!(
            "the engine names no API version that can be read ('{}')",
            announced.api_version
        ));
    };
    // Podman and old engines may leave the oldest out.
    let oldest = ApiVersion::parse(&announced.min_api_version).unwrap_or(OLDEST);
    let version = newest.min(NEWEST);
    if version < OLDEST || version < oldest {
        return Err(format!(
            "engine {} speaks API {} to {newest}, podkeeper speaks {OLDEST} to {NEWEST}: {}",
            announced.version,
            if announced.min_api_version.is_empty() { "?" } else { &announced.min_api_version },
            if newest < OLDEST { "update the engine" } else { "update podkeeper" },
        ));
    }
    Ok(version)
}

impl ApiVersion {
    fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(oldest: &str, newest: &str) -> Result<String, String> {
        let announced =
            Announced { version: "x".into(), api_version: newest.into(), min_api_version: oldest.into() };
        negotiate(&announced).map(|version| version.to_string())
    }

    #[test]
    fn the_newest_version_that_both_know_is_spoken() {
        assert_eq!(engine("1.12", "1.41"), Ok("1.41".into()), "Docker 20.10");
        assert_eq!(engine("1.44", "1.52"), Ok("1.52".into()), "Docker 29");
        assert_eq!(engine("1.44", "1.99"), Ok("1.53".into()), "an engine of the future");
        assert_eq!(engine("", "1.41"), Ok("1.41".into()), "an engine that names no oldest");
    }

    #[test]
    fn a_refusal_names_both_ranges_and_what_to_update() {
        let old = engine("1.12", "1.40").unwrap_err();
        assert!(old.contains("1.12 to 1.40") && old.contains("1.41 to 1.53"), "{old}");
        assert!(old.ends_with("update the engine"), "{old}");
        let new = engine("1.60", "1.70").unwrap_err();
        assert!(new.ends_with("update podkeeper"), "{new}");
        assert!(engine("", "soon").is_err());
    }
}

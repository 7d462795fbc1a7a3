//! The flags of the HTTP source.

use std::time::Duration;

use crate::cli::duration::duration;
use crate::cli::failure::Failure;
use crate::cli::http_access::{HttpAccess, parse_url};
use crate::node::sources::http::{Access, ManifestUrl};

/// Manifests behind URLs
#[derive(clap::Args)]
pub struct HttpSource {
    /// URL of manifests (http or https); may be given several times
    // No URL has a blank in it, and a variable has room for several.
    #[arg(
        long = "manifest-url",
        env = "PODKEEPER_MANIFEST_URL",
        hide_env_values = true,
        value_name = "URL",
        value_delimiter = ' '
    )]
    urls: Vec<String>,

    /// How often to ask each URL; a fifth more or less, so that many agents do not ask at once
    #[arg(long, env = "PODKEEPER_HTTP_CHECK_FREQUENCY", hide_env_values = true, value_name = "DURATION", default_value = "20s", value_parser = duration)]
    http_check_frequency: Duration,

    #[command(flatten)]
    access: HttpAccess,
}

impl HttpSource {
    /// What to read, how often and how; `None` when no URL is given.
    ///
    /// # Errors
    /// A flag that makes no sense.
    pub fn settings(&self) -> Result<Option<(Vec<ManifestUrl>, Duration, Access)>, Failure> {
        let access = self.access.access()?;
        let mut urls: Vec<ManifestUrl> = Vec::new();
        for text in self.urls.iter().filter(|text| !text.is_empty()) {
            let url = parse_url(text).map_err(|why| Failure::Usage(format!("--manifest-url: {why}")))?;
            // What is told apart by its credentials alone would be one name in every report.
            if urls.iter().any(|other| other.to_string() == url.to_string()) {
                return Err(Failure::Usage(format!("--manifest-url: {url} is given twice: leave one out")));
            }
            urls.push(url);
        }
        Ok((!urls.is_empty()).then_some((urls, self.http_check_frequency, access)))
    }
}

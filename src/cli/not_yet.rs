//! Flags of the 2014 kubelet whose sources come with a later version: refused by name.

use std::ffi::OsString;

use crate::cli::failure::Failure;

#[derive(clap::Args)]
pub struct NotYet {
    #[arg(long, hide = true, env = "PODKEEPER_MANIFEST_URL")]
    manifest_url: Option<OsString>,
    #[arg(long, hide = true, env = "PODKEEPER_HTTP_CHECK_FREQUENCY")]
    http_check_frequency: Option<OsString>,
}

impl NotYet {
    /// # Errors
    /// Names the first flag that asks for something that is not there.
    pub fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--manifest-url", self.manifest_url.as_ref()),
            ("--http-check-frequency", self.http_check_frequency.as_ref()),
        ];
        match given.into_iter().find(|(_, value)| value.is_some()) {
            None => Ok(()),
            Some((flag, _)) => {
                Err(Failure::Usage(format!("not supported yet: {flag}; this version reads --config")))
            }
        }
    }
}

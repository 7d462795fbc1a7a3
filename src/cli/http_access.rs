//! How URLs are asked for: the flags that every command that reads URLs shares.

use std::path::PathBuf;

use hyper::header::{self, HeaderName, HeaderValue};

use crate::cli::failure::Failure;
use crate::node::sources::http::{Access, Files, Limits, ManifestUrl};

/// Set by ourselves for each request: another value would break it.
const OURS: [HeaderName; 9] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
    header::RANGE,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::EXPECT,
];

/// How manifest URLs are asked for
#[derive(Default, clap::Args)]
pub struct HttpAccess {
    /// Header to send to every manifest URL, 'Name: value'; may be given several times. Others on this machine can see a
    /// command line: for secrets take the variable (a header a line) or a file
    #[arg(
        long = "manifest-url-header",
        env = "PODKEEPER_MANIFEST_URL_HEADER",
        hide_env_values = true,
        value_name = "HEADER",
        value_delimiter = '\n'
    )]
    headers: Vec<String>,

    /// File with a bearer token for every manifest URL that has no user and password of its own; read anew each time
    #[arg(
        long = "manifest-url-token-file",
        env = "PODKEEPER_MANIFEST_URL_TOKEN_FILE",
        hide_env_values = true,
        value_name = "FILE"
    )]
    token_file: Option<PathBuf>,

    /// Authorities (PEM) to trust for https, instead of the system's; read anew when it changes
    #[arg(
        long = "manifest-url-ca-file",
        env = "PODKEEPER_MANIFEST_URL_CA_FILE",
        hide_env_values = true,
        value_name = "FILE"
    )]
    ca_file: Option<PathBuf>,

    /// Our own certificate (PEM) for https; read anew when it changes
    #[arg(
        long = "manifest-url-client-cert-file",
        env = "PODKEEPER_MANIFEST_URL_CLIENT_CERT_FILE",
        hide_env_values = true,
        value_name = "FILE",
        requires = "client_key_file"
    )]
    client_cert_file: Option<PathBuf>,

    /// Its private key (PEM)
    #[arg(
        long = "manifest-url-client-key-file",
        env = "PODKEEPER_MANIFEST_URL_CLIENT_KEY_FILE",
        hide_env_values = true,
        value_name = "FILE",
        requires = "client_cert_file"
    )]
    client_key_file: Option<PathBuf>,

    /// Read URLs at link-local addresses too, where clouds serve a machine's own credentials
    #[arg(
        long = "manifest-url-allow-link-local",
        env = "PODKEEPER_MANIFEST_URL_ALLOW_LINK_LOCAL",
        hide_env_values = true
    )]
    allow_link_local: bool,
}

impl HttpAccess {
    /// # Errors
    /// A header that is none, or that is ours to set.
    pub fn access(&self) -> Result<Access, Failure> {
        let headers =
            self.headers.iter().filter(|line| !line.trim().is_empty()).map(|line| parse_header(line));
        let headers = headers.collect::<Result<Vec<_>, _>>();
        let headers = headers.map_err(|why| Failure::Usage(format!("--manifest-url-header: {why}")))?;
        if self.token_file.is_some() && headers.iter().any(|(name, _)| *name == header::AUTHORIZATION) {
            return Err(Failure::Usage(
                "--manifest-url-token-file and an Authorization header contradict each other: give one of them"
                    .to_owned(),
            ));
        }
        Ok(Access {
            headers,
            token_file: self.token_file.clone(),
            files: Files {
                ca: self.ca_file.clone(),
                client: self.client_cert_file.clone().zip(self.client_key_file.clone()),
            },
            allow_link_local: self.allow_link_local,
            limits: Limits::default(),
        })
    }
}

/// A URL, or what is wrong with it, shown without what is before the `@`.
pub fn parse_url(text: &str) -> Result<ManifestUrl, String> {
    let shown = text.rsplit('@').next().unwrap_or_default().split('?').next().unwrap_or_default();
    ManifestUrl::parse(text).map_err(|why| format!("{shown}: {why}"))
}

/// `Name: value`. Never repeats the value.
fn parse_header(line: &str) -> Result<(HeaderName, HeaderValue), String> {
    let Some((name, value)) = line.split_once(':') else {
        return Err("a header without a colon: write 'Name: value'".to_owned());
    };
    let Ok(header) = name.trim().parse::<HeaderName>() else {
        return Err(format!("{name:?} is no name of a header: write 'Name: value'"));
    };
    if OURS.contains(&header) {
        return Err(format!("{header} is set by podkeeper itself: leave it out"));
    }
    let Ok(mut value) = HeaderValue::from_str(value.trim()) else {
        return Err(format!("the value of {header} holds a character that no header may hold"));
    };
    value.set_sensitive(true);
    Ok((header, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_name_and_a_value() {
        for (line, expected) in
            [("X-Node: a", ("x-node", "a")), ("Authorization:Bearer x:y", ("authorization", "Bearer x:y"))]
        {
            let (name, value) = parse_header(line).expect("a header");
            assert_eq!((name.as_str(), value.to_str().expect("text")), expected);
        }
        for line in ["hush", ": hush", "a b: hush", "Host: hush", "if-none-match: hush", "X: hush\u{7}"] {
            let error = parse_header(line).expect_err("no header");
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_wrong_url_is_named_without_its_credentials() {
        for text in ["ftp://me:hush@h/x?token=hush", "me:hush@h", "https://me:hush@h:99999/"] {
            let error = parse_url(text).expect_err("no URL");
            assert!(!error.contains("hush") && error.contains('h'), "{error}");
        }
    }
}

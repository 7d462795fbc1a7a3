//! What the head of a response means.
//!
//! Pure. Only 200 brings manifests: an error page that happens to be YAML is none (the agent of 2014 took it), and
//! "not found" is not "no pods".

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{
    CONTENT_ENCODING, ETAG, HeaderMap, HeaderName, HeaderValue, LAST_MODIFIED, LOCATION, RETRY_AFTER,
};

use crate::model::Time;
use crate::node::sources::http::schedule;

/// Longer ones are not sent back: they would fill our own request.
const LONGEST_VALIDATOR: usize = 1024;

/// Why a URL cannot be read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is wrong and what to do.
    pub message: String,
    /// The server asks to be left alone for so long.
    pub retry_after: Option<Duration>,
}

impl From<String> for Trouble {
    fn from(message: String) -> Self {
        Self { message, retry_after: None }
    }
}

/// What follows from a head without trouble.
#[derive(Debug, PartialEq, Eq)]
pub enum Head {
    /// Its body is the manifests.
    Body(Encoding),
    /// What was read before still holds.
    NotModified,
    Redirect(String),
}

/// How the body was packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Gzip,
    Zstd,
}

/// What the server calls this version, to ask next time whether there is another one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Validators {
    pub etag: Option<HeaderValue>,
    pub last_modified: Option<HeaderValue>,
}

impl Validators {
    pub fn of(headers: &HeaderMap) -> Self {
        let short = |name: HeaderName| {
            headers.get(name).filter(|value| !value.is_empty() && value.len() <= LONGEST_VALIDATOR).cloned()
        };
        Self { etag: short(ETAG), last_modified: short(LAST_MODIFIED) }
    }

    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }

    /// For people.
    pub fn revision(&self) -> Option<String> {
        let value = self.etag.as_ref().or(self.last_modified.as_ref())?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }
}

/// `conditional`: it was asked for only if there is another version. `now` is the wall clock.
///
/// # Errors
/// The status in words, or a body that cannot be unpacked.
pub fn judge(status: StatusCode, headers: &HeaderMap, conditional: bool, now: Time) -> Result<Head, Trouble> {
    let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match status.as_u16() {
        200 => encoding(headers).map(Head::Body).map_err(Trouble::from),
        304 if conditional => Ok(Head::NotModified),
        301 | 302 | 303 | 307 | 308 => match header(LOCATION) {
            Some(location) => Ok(Head::Redirect(location.to_owned())),
            None => Err(format!("the server answers {status} and does not say where to").into()),
        },
        _ => {
            let retry_after = header(RETRY_AFTER).and_then(|text| schedule::retry_after(text, now));
            Err(Trouble { message: format!("the server answers {status}{}", advice(status)), retry_after })
        }
    }
}

fn advice(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 | 407 => {
            ": look at the credentials (--manifest-url-token-file, --manifest-url-header, client certificate)"
        }
        404 | 410 => ": it is gone at the server, which takes no pod away; to remove them answer `items: []`",
        429 => ": it is asked too often (--http-check-frequency)",
        204..=206 => ": only 200 brings manifests",
        304 => " although it was asked for the whole",
        500..=599 => ": look at the server's own log",
        _ => "",
    }
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, String> {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(Encoding::Plain),
        (Some(encoding), None) => match encoding.to_str().unwrap_or("?").trim().to_ascii_lowercase().as_str()
        {
            "" | "identity" => Ok(Encoding::Plain),
            "gzip" | "x-gzip" => Ok(Encoding::Gzip),
            "zstd" => Ok(Encoding::Zstd),
            other => Err(unknown(other)),
        },
        (Some(_), Some(_)) => Err(unknown("several layers")),
    }
}

fn unknown(encoding: &str) -> String {
    format!(
        "the body is packed as {encoding:?}, which was not asked for: let the server send it plain, gzip or zstd"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(pair).collect()
    }

    fn judged(
        status: u16,
        lines: &[(&'static str, &'static str)],
        conditional: bool,
    ) -> Result<Head, Trouble> {
        judge(StatusCode::from_u16(status).unwrap(), &headers(lines), conditional, Time(0))
    }

    #[test]
    fn only_200_and_an_asked_for_304_are_good() {
        assert_eq!(judged(200, &[], false), Ok(Head::Body(Encoding::Plain)));
        assert_eq!(judged(304, &[], true), Ok(Head::NotModified));
        for status in [100, 201, 204, 206, 300, 304, 400, 401, 403, 404, 410, 429, 500, 502, 503, 599] {
            assert!(judged(status, &[], false).is_err(), "{status}");
        }
        for (status, words) in
            [(404, "is gone at the server"), (410, "is gone at the server"), (401, "credentials")]
        {
            let trouble = judged(status, &[], false).unwrap_err();
            assert!(trouble.message.contains(words), "{}", trouble.message);
        }
    }

    #[test]
    fn h3_a_pause_that_is_asked_for_is_heard_with_any_error() {
        for status in [429, 503] {
            let trouble = judged(status, &[("retry-after", "17")], false).unwrap_err();
            assert_eq!(trouble.retry_after, Some(Duration::from_secs(17)));
        }
    }

    #[test]
    fn a_redirect_says_where_to() {
        let expected = Ok(Head::Redirect("/new".into()));
        for status in [301, 302, 303, 307, 308] {
            assert_eq!(judged(status, &[("location", "/new")], false), expected);
            assert!(judged(status, &[], false).is_err());
        }
    }

    #[test]
    fn packed_bodies_are_told_apart() {
        for (packed, expected) in [
            ("identity", Encoding::Plain),
            ("GZIP", Encoding::Gzip),
            ("x-gzip", Encoding::Gzip),
            ("zstd", Encoding::Zstd),
        ] {
            assert_eq!(judged(200, &[("content-encoding", packed)], false), Ok(Head::Body(expected)));
        }
        for packed in ["br", "gzip, gzip", "deflate"] {
            assert!(judged(200, &[("content-encoding", packed)], false).is_err(), "{packed}");
        }
        assert!(judged(200, &[("content-encoding", "gzip"), ("content-encoding", "gzip")], false).is_err());
    }
}

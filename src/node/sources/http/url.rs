//! A URL that manifests are read from, and how it is shown: never with what opens the door.
//!
//! Pure. A password before the `@` and the signature in a query are credentials, so neither is in any log line,
//! report or label: a URL shows itself without them.

use std::fmt;

use hyper::Uri;

/// Parts of the names of query parameters whose values are credentials.
const SECRET: [&str; 7] = ["token", "sig", "key", "secret", "passw", "auth", "credential"];

/// Where manifests are.
#[derive(Clone, PartialEq, Eq)]
pub struct ManifestUrl {
    /// By https.
    pub secure: bool,
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
    /// Path and query, as they are asked for.
    pub target: String,
    /// `user:password`, which HTTP calls Basic.
    pub credentials: Option<Vec<u8>>,
}

impl ManifestUrl {
    /// # Errors
    /// What is wrong with it, without repeating it: it may hold a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("{what}: write it as in https://host/pods.yaml"));
        // A fragment is for browsers and never sent (RFC 9110, 4.2.5).
        let text = text.split('#').next().unwrap_or_default();
        let secure = match text.split_once("://") {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => true,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => false,
            Some(_) => return wrong("only http and https are read"),
            None => return wrong("it has no scheme"),
        };
        let Ok(uri) = text.parse::<Uri>() else { return wrong("it is not a URL") };
        let Some(authority) = uri.authority() else { return wrong("it names no host") };
        let (user, place) = match authority.as_str().rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority.as_str()),
        };
        let host = authority.host();
        let port = match place.strip_prefix(host).unwrap_or_default().strip_prefix(':') {
            None | Some("") => {
                if secure {
                    443
                } else {
                    80
                }
            }
            Some(port) => match port.parse() {
                Ok(port @ 1..) => port,
                Ok(0) | Err(_) => return wrong("its port is no number from 1 to 65535"),
            },
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() {
            return wrong("it names no host");
        }
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let slash = if target.starts_with('/') { "" } else { "/" };
        let target = format!("{slash}{target}");
        Ok(Self { secure, host, port, target, credentials: user.map(percent_decoded) })
    }

    /// The host as a `Host` header has it: with its port unless that is the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The same scheme, host and port: whoever may know the credentials of one may know those of the other.
    pub fn same_origin(&self, other: &ManifestUrl) -> bool {
        (self.secure, &self.host, self.port) == (other.secure, &other.host, other.port)
    }

    pub fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

impl fmt::Display for ManifestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme(), self.authority())?;
        let Some((path, query)) = self.target.split_once('?') else { return f.write_str(&self.target) };
        f.write_str(path)?;
        for (number, parameter) in query.split('&').enumerate() {
            let joint = if number == 0 { '?' } else { '&' };
            match parameter.split_once('=') {
                Some((name, _)) if is_secret(name) => write!(f, "{joint}{name}=…")?,
                Some(_) | None => write!(f, "{joint}{parameter}")?,
            }
        }
        Ok(())
    }
}

/// As it is shown: a derived one would print the password.
impl fmt::Debug for ManifestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// `%40` is `@`: a password may hold any byte.
fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let digits = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let value = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match value.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                decoded.push(value);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_shown_without_credentials() {
        for (given, shown, authority, port) in [
            ("http://h/pods.yaml", "http://h/pods.yaml", "h", 80),
            ("https://H.example", "https://h.example/", "h.example", 443),
            ("https://h:443/a?b=c", "https://h/a?b=c", "h", 443),
            ("http://h:8080?x", "http://h:8080/?x", "h:8080", 8080),
            ("http://[::1]:81/x#part", "http://[::1]:81/x", "[::1]:81", 81),
            ("https://me:pw@h/x", "https://h/x", "h", 443),
            ("https://me:p%40w@h/x", "https://h/x", "h", 443),
            (
                "https://h/x?a=1&X-Amz-Signature=abc&access_token=d",
                "https://h/x?a=1&X-Amz-Signature=…&access_token=…",
                "h",
                443,
            ),
        ] {
            let url = ManifestUrl::parse(given).unwrap();
            assert_eq!((url.to_string(), url.authority(), url.port), (shown.into(), authority.into(), port));
        }
    }

    #[test]
    fn user_and_password_are_decoded() {
        let credentials = |text| ManifestUrl::parse(text).unwrap().credentials;
        assert_eq!(credentials("http://h/"), None);
        assert_eq!(credentials("http://me:p%40%3aw@h/").as_deref(), Some(&b"me:p@:w"[..]));
        assert_eq!(credentials("http://me:100%25@h/").as_deref(), Some(&b"me:100%"[..]));
        assert_eq!(credentials("http://me:%zz%4@h/").as_deref(), Some(&b"me:%zz%4"[..]));
    }

    #[test]
    fn what_is_no_url_is_refused_without_repeating_it() {
        for (given, expected) in [
            ("file:///etc/pods", "only http and https"),
            ("ftp://me:pw@h/", "only http and https"),
            ("h/pods.yaml", "no scheme"),
            ("/pods.yaml", "no scheme"),
            ("http:///pods.yaml", "not a URL"),
            ("http://me:pw@h:99999/", "its port"),
            ("http://h:0/", "its port"),
            ("http://me:pw@h:x/", "not a URL"),
            ("https://me:pw @h/", "not a URL"),
        ] {
            let error = ManifestUrl::parse(given).unwrap_err();
            assert!(!error.contains("pw"), "{error}");
            assert!(error.contains(expected) || error.contains("its port"), "{given}: {error}");
        }
    }
}

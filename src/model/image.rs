//! Image references: `nginx`, `localhost:5000/team/web:1.2`, `busybox@sha256:…`. Source: `distribution/reference`.

use super::pod::PullPolicy;

/// A reference in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Registry and path, as written.
    pub name: &'a str,
    pub tag: Option<&'a str>,
    pub digest: Option<&'a str>,
}

impl<'a> Image<'a> {
    /// Takes a reference apart; the error says why it is none.
    pub fn parse(text: &'a str) -> Result<Image<'a>, &'static str> {
        if let Some(reason) = obvious_mistake(text) {
            return Err(reason);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon after the last slash begins the tag; one before it a port.
        let path_at = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[path_at..].find(':') {
            Some(at) => (&rest[..path_at + at], Some(&rest[path_at + at + 1..])),
            None => (rest, None),
        };
        check_name(name)?;
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(
                "its tag must be letters, digits, '_', '.', '-', at most 128, and not begin with '.' or '-'",
            );
        }
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err("its digest must be sha256: and 64 hexadecimal digits");
        }
        Ok(Image { name, tag, digest })
    }

    /// `Always` for the tag `latest` or none, otherwise `IfNotPresent`: what Kubernetes fills in.
    pub fn default_pull_policy(self) -> PullPolicy {
        match (self.tag, self.digest) {
            (None, None) | (Some("latest"), None) => PullPolicy::Always,
            (Some("latest"), Some(_)) => PullPolicy::Always,
            (Some(_), _) | (None, Some(_)) => PullPolicy::IfNotPresent,
        }
    }
}

fn obvious_mistake(text: &str) -> Option<&'static str> {
    if text.trim() != text {
        return Some("it begins or ends with a blank");
    }
    if text.contains("${") || text.starts_with('$') || text.contains("/$") || text.contains(":$") {
        return Some("it looks like unexpanded shell variables, and Kubernetes does not expand them");
    }
    if text.contains("{{") {
        return Some("it looks like an unrendered template");
    }
    if text.contains("://") {
        return Some("it is a URL; leave the scheme away");
    }
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some("64 hexadecimal digits alone are an image id, not a name");
    }
    text.contains(char::is_whitespace).then_some("it contains a blank")
}

fn check_name(name: &str) -> Result<(), &'static str> {
    // Source: distribution/reference, NameTotalLengthMax.
    if name.len() > 255 {
        return Err("its name is longer than 255 characters");
    }
    let (registry, path) = match name.split_once('/') {
        Some((first, path))
            if first.contains(['.', ':']) || first == "localhost" || first.starts_with('[') =>
        {
            (Some(first), path)
        }
        Some(_) | None => (None, name),
    };
    if registry.is_some_and(|registry| !is_registry(registry)) {
        return Err("its registry must be a host name and perhaps a port");
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("its name must be lower case");
    }
    match path.split('/').all(is_component) {
        true => Ok(()),
        false => Err("its name must be lower-case letters and digits, parted by '.', '_', '-' or '/'"),
    }
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rfind(':') {
        Some(at) if !text.ends_with(']') => (&text[..at], Some(&text[at + 1..])),
        Some(_) | None => (text, None),
    };
    let port_fits =
        port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let is_label = |label: &str| {
        label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_fits = match v6 {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.split('.').all(is_label),
    };
    port_fits && host_fits
}

/// Letters and digits, parted by one '.', one or two '_', or any number of '-'.
fn is_component(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut runs =
        text.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()).filter(|run| !run.is_empty());
    text.bytes().next().is_some_and(alphanumeric)
        && text.bytes().next_back().is_some_and(alphanumeric)
        && runs.all(|run| matches!(run, "." | "_" | "__") || run.bytes().all(|byte| byte == b'-'))
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(text: &str) -> bool {
    let digits = match text.split_once(':') {
        Some(("sha256", digits)) if digits.len() == 64 => digits,
        Some(("sha512", digits)) if digits.len() == 128 => digits,
        Some(_) | None => return false,
    };
    digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn takes_a_reference_apart() {
        let pinned = format!("r.example/app:1@{DIGEST}");
        for (text, name, tag, digest) in [
            ("nginx", "nginx", None, None),
            ("nginx:1.27", "nginx", Some("1.27"), None),
            ("localhost:5000/team/web", "localhost:5000/team/web", None, None),
            ("localhost:5000/team/web:stable", "localhost:5000/team/web", Some("stable"), None),
            ("Registry.Example/a__b/c-d.e:V1_x", "Registry.Example/a__b/c-d.e", Some("V1_x"), None),
            ("[::1]:5000/x", "[::1]:5000/x", None, None),
            (&pinned, "r.example/app", Some("1"), Some(DIGEST)),
        ] {
            assert_eq!(Image::parse(text), Ok(Image { name, tag, digest }), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_reference() {
        for (text, reason) in [
            ("", "lower-case"),
            ("${REGISTRY}/web:${TAG}", "shell variables"),
            ("web:$TAG", "shell variables"),
            ("{{ image }}", "template"),
            ("https://r.example/web", "URL"),
            (" nginx", "blank"),
            ("ng inx", "blank"),
            ("Nginx", "lower case"),
            ("r.example/Team/web", "lower case"),
            ("nginx:", "tag"),
            ("nginx:-x", "tag"),
            ("a:b:c", "tag"),
            ("nginx@sha256:12", "digest"),
            ("a//b", "parted by"),
            ("a___b", "parted by"),
            ("-a", "parted by"),
            ("r.example:port/x", "registry"),
            (&DIGEST[7..], "image id"),
        ] {
            let error = Image::parse(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn only_latest_or_no_tag_is_pulled_each_time() {
        let pinned = format!("nginx@{DIGEST}");
        for (text, expected) in [
            ("nginx", PullPolicy::Always),
            ("nginx:latest", PullPolicy::Always),
            ("nginx:1.27", PullPolicy::IfNotPresent),
            (&pinned, PullPolicy::IfNotPresent),
        ] {
            assert_eq!(Image::parse(text).map(Image::default_pull_policy), Ok(expected), "{text}");
        }
    }
}

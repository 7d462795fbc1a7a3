//! Where a redirect leads, and whether it is followed.
//!
//! Pure. Only to the same scheme, host and port: whoever runs another host has no say in what this node runs, the
//! credentials are not for them, and a redirect to an address inside the network (the metadata service of a cloud) is
//! how a server is made to read what is not its own.

use crate::node::sources::http::url::ManifestUrl;

/// Resolves a `Location` (RFC 3986, 5.2) against the URL that answered with it.
///
/// # Errors
/// Where it points when that is not followed.
pub fn follow(from: &ManifestUrl, location: &str) -> Result<ManifestUrl, String> {
    let location = location.split('#').next().unwrap_or_default();
    let absolute = match scheme(location) {
        Some("http" | "https") => location.to_owned(),
        Some(scheme) => return Err(format!("it redirects to a {scheme}: address, which is not followed")),
        None if location.starts_with("//") => format!("{}:{location}", from.scheme()),
        None => {
            let target = resolved(&from.target, location);
            format!("{}://{}{target}", from.scheme(), from.authority())
        }
    };
    let Ok(to) = ManifestUrl::parse(&absolute) else {
        return Err("it redirects to something that is not a URL".to_owned());
    };
    if !to.same_origin(from) {
        return Err(format!(
            "it redirects to {to}, another place than the one that was named, which is not followed: \
             name that URL if it is the right one"
        ));
    }
    Ok(ManifestUrl { credentials: from.credentials.clone(), ..to })
}

fn scheme(location: &str) -> Option<&str> {
    let (scheme, _) = location.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// A path, a query or nothing, seen from the target that answered.
fn resolved(from: &str, reference: &str) -> String {
    let path = from.split('?').next().unwrap_or_default();
    if reference.is_empty() {
        return from.to_owned();
    }
    if reference.starts_with('?') {
        return format!("{path}{reference}");
    }
    let (reference, query) = match reference.find('?') {
        Some(at) => reference.split_at(at),
        None => (reference, ""),
    };
    let merged = if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}/{reference}", path.rsplit_once('/').map_or("", |(folder, _)| folder))
    };
    format!("{}{query}", without_dots(&merged))
}

fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let ends_in_folder = matches!(path.rsplit('/').next(), Some("." | "..")) && !segments.is_empty();
    format!("/{}{}", segments.join("/"), if ends_in_folder { "/" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_the_same_origin_a_redirect_is_followed_with_its_credentials() {
        let from = ManifestUrl::parse("https://me:pw@h/a/b/pods?v=1").unwrap();
        for (location, target) in [
            ("https://h/new", "/new"),
            ("https://H:443/new", "/new"),
            ("//h/new?x=//y", "/new?x=//y"),
            ("/new", "/new"),
            ("new", "/a/b/new"),
            ("./new/", "/a/b/new/"),
            ("../new?x=../y", "/a/new?x=../y"),
            ("../../../../new", "/new"),
            ("..", "/a/"),
            ("?v=2", "/a/b/pods?v=2"),
            ("", "/a/b/pods?v=1"),
            ("new#part", "/a/b/new"),
            ("https://other:pw@h/new", "/new"),
        ] {
            let to = follow(&from, location).unwrap();
            assert_eq!((to.target.as_str(), &to.credentials), (target, &from.credentials), "{location}");
        }
    }

    #[test]
    fn h9_another_host_port_or_scheme_is_not_followed_and_named_without_credentials() {
        let from = ManifestUrl::parse("https://h/pods").unwrap();
        for (location, named) in [
            ("http://h/pods", "http://h/pods"),
            ("https://h:444/pods", "https://h:444/pods"),
            ("https://evil.example/pods", "https://evil.example/pods"),
            ("//evil.example/pods", "https://evil.example/pods"),
            ("http://169.254.169.254/latest/", "http://169.254.169.254/latest/"),
            ("https://me:pw@x/?token=pw", "https://x/?token=…"),
            ("file:///etc/shadow", "a file: address"),
            ("gopher://h/", "a gopher: address"),
            ("http://", "not a URL"),
        ] {
            let error = follow(&from, location).unwrap_err();
            assert!(error.contains(named) && !error.contains("pw"), "{location}: {error}");
        }
    }
}

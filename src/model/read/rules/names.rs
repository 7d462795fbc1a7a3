//! Grammars of names. Source: Kubernetes, `apimachinery/pkg/util/validation`.

/// What is wrong with a name, and a name that would do.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    pub what: String,
    pub fix: String,
}

fn complaint(what: impl Into<String>, fix: impl Into<String>) -> Option<Complaint> {
    Some(Complaint { what: what.into(), fix: fix.into() })
}

/// RFC 1123 label: containers, volumes, namespaces. At most 63 of `a-z 0-9 -`.
pub fn label(text: &str) -> Option<Complaint> {
    grammar(text, 63, "")
}

/// RFC 1123 subdomain: pods, hosts. At most 253 of `a-z 0-9 - .`, each part a label of its own.
pub fn subdomain(text: &str) -> Option<Complaint> {
    grammar(text, 253, ".").or_else(|| {
        let odd = text.split('.').any(|part| part.is_empty() || part.starts_with('-') || part.ends_with('-'));
        odd.then(|| Complaint {
            what: "has an empty part, or a part that begins or ends with '-'".into(),
            fix: proposal(text, 253, "."),
        })
    })
}

fn grammar(text: &str, most: usize, more: &str) -> Option<Complaint> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fix = || proposal(text, most, more);
    if text.chars().count() > most {
        return complaint(format!("has {} characters, at most {most}", text.chars().count()), "shorten it");
    }
    if !text.chars().all(|c| fits(c) || c == '-' || more.contains(c)) {
        let dot = if more.is_empty() { "" } else { " or '.'" };
        let or = if more.is_empty() { " or '-'" } else { ", '-'" };
        return complaint(format!("must be lower case letters, digits{or}{dot}"), fix());
    }
    if !text.starts_with(fits) {
        return complaint("must start with a letter or digit", fix());
    }
    (!text.ends_with(fits)).then(|| Complaint { what: "must end with a letter or digit".into(), fix: fix() })
}

/// A name of the grammar that is as near as it gets; empty when nothing is left.
pub fn proposal(text: &str, most: usize, more: &str) -> String {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let name: String = text
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| if fits(c) || more.contains(c) { c } else { '-' })
        .take(most)
        .collect();
    name.trim_matches(|c| !fits(c)).to_owned()
}

/// `[prefix/]name`: keys of labels and annotations.
pub fn qualified(key: &str) -> Option<Complaint> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(bad) =
        prefix.and_then(|prefix| if prefix.is_empty() { label("-") } else { subdomain(prefix) })
    {
        return complaint(format!("has a prefix that is no DNS name: it {}", bad.what), "example.com/name");
    }
    let ends = |c: char| c.is_ascii_alphanumeric();
    if name.is_empty() || name.len() > 63 {
        return complaint(
            format!("has {} characters after the prefix, from 1 to 63", name.len()),
            "shorten it",
        );
    }
    let fits =
        name.starts_with(ends) && name.ends_with(ends) && name.chars().all(|c| ends(c) || "-_.".contains(c));
    if fits {
        return None;
    }
    let why = if key.contains(':') { "; is a blank missing after the first colon?" } else { "" };
    complaint(
        format!("must be letters, digits, '-', '_', '.', and start and end with a letter or digit{why}"),
        if why.is_empty() { "example.com/name" } else { "put a blank after the first colon" },
    )
}

/// The value of a label: empty, or at most 63 of `A-Z a-z 0-9 - _ .`.
pub fn label_value(text: &str) -> Option<Complaint> {
    let ends = |c: char| c.is_ascii_alphanumeric();
    if text.len() > 63 {
        return complaint(
            format!("has {} characters, at most 63", text.len()),
            "shorten it, or make it an annotation",
        );
    }
    let fits = text.is_empty()
        || text.starts_with(ends)
            && text.ends_with(ends)
            && text.chars().all(|c| ends(c) || "-_.".contains(c));
    (!fits).then(|| Complaint {
        what: "must be letters, digits, '-', '_', '.', and start and end with a letter or digit".into(),
        fix: "make it an annotation: those may hold any text".into(),
    })
}

/// The name of a port: at most 15 of `a-z 0-9 -`, with a letter, no `--`, no `-` at an end.
pub fn port(text: &str) -> Option<Complaint> {
    if text.len() > 15 {
        return complaint(format!("has {} characters, at most 15", text.len()), "shorten it");
    }
    let fix = || proposal(text, 15, "");
    if let Some(bad) = label(text) {
        return complaint(bad.what, fix());
    }
    if text.contains("--") {
        return complaint("must not have '--'", text.replace("--", "-"));
    }
    (!text.contains(|c: char| c.is_ascii_lowercase()))
        .then(|| Complaint { what: "must have a letter".into(), fix: format!("p{text}") })
}

/// The name of a variable: printable ASCII without `=` (Kubernetes 1.34).
pub fn variable(text: &str) -> Option<Complaint> {
    let fits = text.chars().all(|c| (' '..='~').contains(&c) && c != '=');
    (!fits).then(|| Complaint {
        what: "must be printable ASCII without '='".into(),
        fix: "A_NAME, with the value under value:".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_grammar_or_are_complained_of() {
        type Grammar = fn(&str) -> Option<Complaint>;
        let long = "a".repeat(64);
        let cases: [(Grammar, &str, Option<&str>); 33] = [
            (label, "a", None),
            (label, "a-1", None),
            (label, "1a", None),
            (label, "a.b", Some("lower case")),
            (label, "a_b", Some("lower case")),
            (label, "-a", Some("start")),
            (label, "a-", Some("end")),
            (label, &long, Some("64 characters")),
            (subdomain, &long, None),
            (subdomain, "a.b-c.d", None),
            (subdomain, "myPod", Some("lower case")),
            (subdomain, "a..b", Some("empty part")),
            (subdomain, "a.-b", Some("empty part")),
            (qualified, "app", None),
            (qualified, "example.com/My_App.1", None),
            (qualified, "Example.com/x", Some("prefix")),
            (qualified, "/x", Some("prefix")),
            (qualified, "x/", Some("0 characters")),
            (qualified, "bind-mount-options:/home/d/data", Some("prefix")),
            (qualified, "a:b", Some("blank missing")),
            (qualified, &long, Some("64 characters")),
            (label_value, "", None),
            (label_value, "V1_x.y-Z", None),
            (label_value, "-x", Some("start and end")),
            (label_value, "a b", Some("letters")),
            (label_value, &long, Some("64 characters")),
            (port, "http", None),
            (port, "web-ui-https-01", None),
            (port, "zookeeper-client-port", Some("21 characters")),
            (port, "80", Some("a letter")),
            (port, "a--b", Some("'--'")),
            (variable, "my.key with-blank", None),
            (variable, "A=B", Some("without '='")),
        ];
        for (grammar, text, expected) in cases {
            let got = grammar(text).map(|complaint| complaint.what);
            match (&got, expected) {
                (Some(got), Some(expected)) => assert!(got.contains(expected), "{text}: {got}"),
                _ => assert_eq!(got.as_deref(), expected, "{text}"),
            }
        }
    }

    #[test]
    fn proposes_a_name_that_fits() {
        assert_eq!(label("My_Pod").map(|c| c.fix).as_deref(), Some("my-pod"));
        assert_eq!(subdomain("-01jaz8").map(|c| c.fix).as_deref(), Some("01jaz8"));
    }
}

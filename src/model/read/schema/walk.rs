//! Compares a tree with the table and reports everything that does not fit.

use super::{Field, Kind, Shape, Standing, nearest};
use crate::model::diagnosis::Severity;
use crate::model::quantity::{self, Quantity};
use crate::model::read::Options;
use crate::model::read::report::{Path, Report};
use crate::model::read::tree::{Entry, Mark, Node, Scalar, Sort, Value, shortened};

/// Checks one object. All of its errors are reported, not only the first.
pub fn check(
    node: &Node<'_>,
    shape: &'static Shape,
    path: &Path<'_>,
    report: &mut Report<'_>,
    options: &Options,
) {
    let unknown = if options.lenient { Severity::Warning } else { Severity::Error };
    Walker { report, unknown }.object(node, shape, path, true);
}

struct Walker<'r, 'a> {
    report: &'r mut Report<'a>,
    unknown: Severity,
}

impl Walker<'_, '_> {
    /// `aloud`: whether standings are spoken of. Inside a field that is itself "not yet" only types are checked.
    fn object(&mut self, node: &Node<'_>, shape: &'static Shape, path: &Path<'_>, aloud: bool) {
        let Value::Map(entries) = &node.value else {
            let names: Vec<_> = shape.names().take(3).collect();
            let message = format!("{path} must be a map, got {}", node.described());
            self.report.error(node.mark, path, message, &format!("its fields are {}, …", names.join(", ")));
            return;
        };
        if shape.name == "Volume" && self.is_container(node, path) {
            return;
        }
        for Entry { key, value } in entries {
            let path = path.field(key);
            match shape.field(key) {
                Some(_) if value.is_null() => {}
                Some(field) => self.field(value, field, &path, aloud),
                None => self.unknown(key, value.mark, shape, &path),
            }
        }
        for field in shape.fields.iter().filter(|field| field.required) {
            self.required(node, field, shape, path);
        }
    }

    fn field(&mut self, value: &Node<'_>, field: &'static Field, path: &Path<'_>, aloud: bool) {
        let silent =
            value.asks_for_nothing() || value.written().is_some_and(|text| field.plain.contains(&text));
        match field.standing {
            Standing::Refused(reason) if !silent => {
                self.report.error(
                    value.mark,
                    path,
                    format!("{path} is not supported here: {reason}"),
                    "remove it",
                );
            }
            Standing::NotYet if aloud && !silent => not_yet(self.report, value.mark, path),
            Standing::Noted(reason) if aloud && !silent => {
                self.report.note(value.mark, path, format!("{path} is ignored: {reason}"), "");
            }
            Standing::Honoured
            | Standing::NotYet
            | Standing::Refused(_)
            | Standing::Ignored
            | Standing::Noted(_)
            | Standing::ByRule => {}
        }
        let inside = aloud && matches!(field.standing, Standing::Honoured | Standing::ByRule);
        self.value(value, &field.kind, path, inside);
    }

    fn required(&mut self, node: &Node<'_>, field: &Field, shape: &Shape, path: &Path<'_>) {
        let path = path.field(field.name);
        match node.get(field.name) {
            Some(value) if value.as_text() == Some("") => {
                self.report.error(
                    value.mark,
                    path,
                    format!("{path} is empty, and is required"),
                    "give it a value",
                );
            }
            Some(_) => {}
            None => {
                let patch = shape.name == "Container" && field.name == "image" && node.entries().len() > 1;
                let fix = match (patch, field.name) {
                    (true, _) => "add image: … (this looks like a kustomize patch, which is not a manifest: give the rendered result)".into(),
                    (false, name) => format!("add {name}: …"),
                };
                self.report.error(node.mark, path, format!("{path} is required"), &fix);
            }
        }
    }

    /// People forget `containers:`, and what follows the volumes is then a volume.
    fn is_container(&mut self, node: &Node<'_>, path: &Path<'_>) -> bool {
        let volume = &super::volume::VOLUME;
        let strays: Vec<&str> = node.entries().iter().map(|e| &*e.key).filter(|key| *key != "name").collect();
        let fits = |key: &&str| super::container::CONTAINER.field(key).is_some();
        if strays.len() < 2
            || !strays.iter().all(fits)
            || strays.iter().all(|key| volume.field(key).is_some())
        {
            return false;
        }
        let message = format!(
            "{path} has the fields of a container ({}): it stands under volumes, 'containers:' is missing before it",
            strays.join(", ")
        );
        self.report.error(node.mark, path, message, "put it under spec.containers");
        true
    }

    fn unknown(&mut self, key: &str, mark: Mark, shape: &'static Shape, path: &Path<'_>) {
        if shape.name == "Pod" && key.starts_with("x-") {
            let message =
                format!("'{key}' is no field of a Pod; as an x- key it is taken for notes and anchors");
            self.report.note(mark, path, message, "");
            return;
        }
        let (hint, fix) = if self.report.is_full() { Default::default() } else { self::hint(key, shape) };
        self.report.add(self.unknown, mark, path, format!("{path} is not a field{hint}"), &fix);
    }

    fn value(&mut self, node: &Node<'_>, kind: &'static Kind, path: &Path<'_>, aloud: bool) {
        match kind {
            Kind::Any => {}
            Kind::Object(shape) => self.object(node, shape, path, aloud),
            Kind::List(item) => self.list(node, item, path, aloud),
            Kind::Map(item) => match &node.value {
                Value::Map(entries) => {
                    for Entry { key, value } in entries.iter().filter(|entry| !entry.value.is_null()) {
                        self.value(value, item, &path.field(key), aloud);
                    }
                }
                Value::Scalar(_) | Value::List(_) => {
                    self.wrong(node, path, "a map", "write one 'key: value' a line");
                }
            },
            Kind::Text | Kind::Time => self.text(node, path),
            Kind::Word(words) => self.word(node, words, path),
            Kind::Bool => self.bool(node, path),
            Kind::Int(least, most) => self.int(node, *least, *most, path),
            Kind::Mode => self.mode(node, path),
            Kind::IntOrText if node.as_integer().is_some() => {}
            Kind::IntOrText => self.text(node, path),
            Kind::Quantity => self.quantity(node, path),
        }
    }

    fn wrong(&mut self, node: &Node<'_>, path: &Path<'_>, wanted: &str, fix: &str) {
        self.report.error(node.mark, path, format!("{path} must be {wanted}, got {}", node.described()), fix);
    }

    fn list(&mut self, node: &Node<'_>, item: &'static Kind, path: &Path<'_>, aloud: bool) {
        let Value::List(items) = &node.value else {
            let (wanted, fix) = list_wanted(node, item, path);
            return self.wrong(node, path, wanted, &fix);
        };
        for (index, value) in items.iter().enumerate() {
            let path = path.item(index);
            if value.is_null() {
                self.wrong(value, &path, "a value", "remove the empty item");
            } else {
                self.value(value, item, &path, aloud);
            }
        }
    }

    fn text(&mut self, node: &Node<'_>, path: &Path<'_>) {
        let Value::Scalar(Scalar { text, sort }) = &node.value else {
            return self.wrong(node, path, "a string", "write a single value");
        };
        let quoted = format!("quote it: {}\"{text}\"", path.last());
        let message = match sort {
            Sort::Text | Sort::Null => return,
            Sort::Bool(_) | Sort::Integer(_) | Sort::Float => {
                return self.wrong(node, path, "a string", &quoted);
            }
            Sort::OldBool(_) => {
                format!(
                    "{path}: '{text}' is a boolean in YAML 1.1, as Kubernetes reads it, and a string in YAML 1.2"
                )
            }
            Sort::OldOctal(_) | Sort::OldNumber => {
                format!(
                    "{path}: '{text}' is read as a number by Kubernetes' YAML; other readers see a string"
                )
            }
        };
        self.report.error(node.mark, path, message, &quoted);
    }

    fn word(&mut self, node: &Node<'_>, words: &'static [&'static str], path: &Path<'_>) {
        let Value::Scalar(Scalar { text, sort }) = &node.value else {
            return self.wrong(node, path, "a word", &format!("write one of {}", words.join(", ")));
        };
        if *sort == Sort::Text && (text.is_empty() || words.contains(&&**text)) {
            return;
        }
        let docker = words.contains(&"OnFailure").then(|| docker_policy(text)).flatten();
        let meant = docker.or_else(|| nearest(text, words.iter().copied()));
        let what = match sort {
            Sort::OldBool(value) => {
                format!("'{text}' without quotes is the boolean {value} in YAML 1.1, and it")
            }
            Sort::Text if docker.is_some() => format!("'{text}' is Docker's spelling: it"),
            Sort::Text
            | Sort::Null
            | Sort::Bool(_)
            | Sort::Integer(_)
            | Sort::Float
            | Sort::OldOctal(_)
            | Sort::OldNumber => format!("'{}'", shortened(text)),
        };
        let hint = meant.map_or(String::new(), |word| format!("; did you mean {word}?"));
        let message = format!("{path}: {what} is not one of {}{hint}", words.join(", "));
        let fix = format!("{}{}", path.last(), meant.unwrap_or("one of these words"));
        self.report.error(node.mark, path, message, &fix);
    }

    fn bool(&mut self, node: &Node<'_>, path: &Path<'_>) {
        match &node.value {
            Value::Scalar(Scalar { sort: Sort::Bool(_), .. }) => {}
            Value::Scalar(Scalar { sort: Sort::OldBool(value), text }) => {
                let message = format!("{path}: '{text}' is a boolean in YAML 1.1 only");
                self.report.error(node.mark, path, message, &format!("{}{value}", path.last()));
            }
            Value::Scalar(Scalar { text, .. }) if matches!(&**text, "true" | "false") => {
                self.wrong(node, path, "true or false", &format!("without quotes: {}{text}", path.last()));
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.wrong(node, path, "true or false", "write true or false");
            }
        }
    }

    fn int(&mut self, node: &Node<'_>, least: i64, most: i64, path: &Path<'_>) {
        match &node.value {
            Value::Scalar(Scalar { sort: Sort::Integer(value), .. }) => {
                if !(least..=most).contains(value) {
                    let range = match (least, most) {
                        (least, most) if most == i64::from(i32::MAX) => format!("at least {least}"),
                        (least, most) => format!("from {least} to {most}"),
                    };
                    self.report.error(node.mark, path, format!("{path} is {value}, must be {range}"), "");
                }
            }
            Value::Scalar(Scalar { sort: Sort::OldOctal(value), text }) => {
                let message = format!(
                    "{path}: {text} is octal for Kubernetes, that is {value}, and decimal for others"
                );
                self.report.error(node.mark, path, message, &format!("{}{value}", path.last()));
            }
            Value::Scalar(Scalar { sort: Sort::Text, text }) if text.parse::<i64>().is_ok() => {
                self.wrong(node, path, "a number", &format!("without quotes: {}{text}", path.last()));
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.wrong(node, path, "a whole number", "write digits only");
            }
        }
    }

    fn mode(&mut self, node: &Node<'_>, path: &Path<'_>) {
        match &node.value {
            Value::Scalar(Scalar { sort: Sort::Integer(value) | Sort::OldOctal(value), .. }) => {
                if !(0..=0o777).contains(value) {
                    let message = format!("{path} is {value:#o} in octal, must be from 0 to 0777");
                    self.report.error(
                        node.mark,
                        path,
                        message,
                        "write it in octal with a leading zero: 0644",
                    );
                }
            }
            Value::Scalar(Scalar { sort: Sort::OldNumber, text }) => {
                let message = format!("{path}: {text} is no octal number (digits 0 to 7)");
                self.report.error(node.mark, path, message, "say which permission bits are meant: 0644");
            }
            Value::Scalar(Scalar { sort: Sort::Text, text }) => {
                let message = format!("{path} must be a number, got the string \"{}\"", shortened(text));
                self.report.error(node.mark, path, message, &format!("{text} without quotes"));
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.wrong(node, path, "a number", "write 0644")
            }
        }
    }

    fn quantity(&mut self, node: &Node<'_>, path: &Path<'_>) {
        let Some(text) = node.written() else {
            return self.wrong(node, path, "a quantity", "write 500m, 2, 64Mi");
        };
        if Quantity::parse(text).is_none() {
            let message = format!("{path}: '{}' is not a quantity", shortened(text));
            self.report.error(node.mark, path, message, &quantity::hint(text));
        }
    }
}

/// Reports a field that a later version will honour.
pub fn not_yet(report: &mut Report<'_>, mark: Mark, path: &Path<'_>) {
    report.error(
        mark,
        path,
        format!("not supported yet: {path}"),
        "remove it, or wait for a version that has it",
    );
}

/// What a list should have been, and how to make one of what is there.
fn list_wanted(node: &Node<'_>, item: &Kind, path: &Path<'_>) -> (&'static str, String) {
    let first = node.entries().first().map(|entry| &*entry.key);
    if let (Kind::Object(shape), Some(first)) = (item, first) {
        return match shape.name {
            _ if shape.field(first).is_some() => ("a list", format!("put '- ' before {first}")),
            "EnvVar" => ("a list of name/value entries", format!("- name: {first}, and below it value: …")),
            _ if shape.field("name").is_some() => {
                ("a list", format!("- name: {first}, and below it the rest"))
            }
            _ => ("a list", "one '- item' a line".into()),
        };
    }
    if first.is_none() && (path.ends_with("command") || path.ends_with("args")) {
        let fix = format!("{}[\"sh\", \"-c\", \"…\"] (it is never split at blanks)", path.last());
        return ("a list of strings", fix);
    }
    let wanted = if matches!(item, Kind::Text) { "a list of strings" } else { "a list" };
    (wanted, "one '- item' a line".into())
}

/// Docker's own words for `--restart`, which people write here.
fn docker_policy(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "no" => Some("Never"),
        "on-failure" => Some("OnFailure"),
        "unless-stopped" => Some("Always"),
        _ => None,
    }
}

/// Old or borrowed names of fields: shape, what people write, what it is called.
const RENAMED: [(&str, &str, &str); 5] = [
    // googlearchive/container-agent, the first manifest format.
    ("EnvVar", "key", "name"),
    ("VolumeMount", "path", "mountPath"),
    ("Volume", "hostDir", "hostPath"),
    // Docker Compose.
    ("Container", "environment", "env"),
    ("Container", "entrypoint", "command"),
];

/// Where a field that stands in the wrong place could belong.
const HOMES: [(&str, &Shape); 3] = [
    ("metadata", &super::metadata::OBJECT_META),
    ("spec", &super::pod::POD_SPEC),
    ("spec.containers[]", &super::container::CONTAINER),
];

/// What an unknown field was probably meant to be: the end of the message, and the fix.
fn hint(key: &str, shape: &'static Shape) -> (String, String) {
    if let Some((_, _, name)) = RENAMED.iter().find(|(of, old, _)| *of == shape.name && *old == key) {
        return (format!("; it is called {name} in v1"), format!("{name}: …"));
    }
    let near = nearest(key, shape.names());
    let squeezed = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    if let Some(near) = near.filter(|near| squeezed(near) == squeezed(key)) {
        return (format!("; did you mean {near}?"), format!("{near}: …"));
    }
    let is_pod = shape.name == "Pod" || HOMES.iter().any(|(_, home)| home.name == shape.name);
    let home = HOMES.iter().find(|(_, home)| is_pod && home.name != shape.name && home.field(key).is_some());
    match (home, near) {
        (Some((home, _)), _) if shape.name == "Pod" => {
            (format!("; did you mean {home}.{key}?"), format!("move it to {home}"))
        }
        (Some((home, _)), _) => (format!("; it belongs to {home}"), format!("move it to {home}")),
        (None, Some(near)) => (format!("; did you mean {near}?"), format!("{near}: …")),
        (None, None) => (String::new(), "remove it".into()),
    }
}

//! `podkeeper validate`: every diagnosis of every manifest, without an engine.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::http_access::HttpAccess;
use crate::cli::{manifests, output};
use crate::model::diagnosis::{Diagnosis, Severity};
use crate::model::read::{Options, Reading};

/// Read manifests and print everything that is wrong with them, each with its place and a fix
#[derive(clap::Args)]
#[command(after_help = "Exit status: 0 valid (warnings allowed), 1 at least one error.\n\n\
                        Examples:  podkeeper validate web.yaml\n           \
                                   podkeeper validate -o sarif manifests/ > podkeeper.sarif")]
pub struct Args {
    /// Manifests: files, directories, URLs (http, https), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// How to print the diagnoses
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,

    /// What an unknown field is
    #[arg(long, value_enum, default_value_t = Unknown::Error, value_name = "LEVEL")]
    validate: Unknown,

    /// The node the pods are for, to warn of a nodeName that is another's
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,

    #[command(flatten)]
    http: HttpAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    /// For code review tools: SARIF 2.1.0
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Unknown {
    Error,
    Warn,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let options = Options { lenient: args.validate == Unknown::Warn, node_name: args.node_name };
    let readings = manifests::read(&args.paths, &options, &args.http)?;
    output::print(match args.output {
        Format::Text => text(&readings),
        Format::Json => pretty(&as_json(&readings)),
        Format::Sarif => pretty(&sarif(&readings)),
    })?;
    let valid = count(&readings, Severity::Error) == 0;
    Ok(if valid { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn diagnoses(readings: &[Reading]) -> impl Iterator<Item = &Diagnosis> {
    readings.iter().flat_map(|reading| &reading.diagnoses)
}

fn count(readings: &[Reading], severity: Severity) -> usize {
    diagnoses(readings).filter(|diagnosis| diagnosis.severity == severity).count()
}

fn pods(readings: &[Reading]) -> usize {
    readings.iter().flat_map(|reading| &reading.pods).filter(|read| read.pod.is_some()).count()
}

/// The diagnoses, then one line that counts.
fn text(readings: &[Reading]) -> String {
    let mut text = String::new();
    for diagnosis in diagnoses(readings) {
        let _ = writeln!(text, "{diagnosis}");
    }
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let _ = writeln!(
        text,
        "{} in {}: {}, {}, {}.",
        number(pods(readings), "valid pod"),
        number(readings.len(), "file"),
        number(count(readings, Severity::Error), "error"),
        number(count(readings, Severity::Warning), "warning"),
        number(count(readings, Severity::Note), "note"),
    );
    text
}

fn as_json(readings: &[Reading]) -> Value {
    let diagnoses: Vec<_> = diagnoses(readings)
        .map(|diagnosis| {
            json!({
                "severity": diagnosis.severity,
                "file": diagnosis.place.file,
                "line": diagnosis.place.line,
                "column": diagnosis.place.column,
                "field": diagnosis.field,
                "message": diagnosis.message,
                "fix": diagnosis.fix,
                "sourceLine": diagnosis.source_line,
            })
        })
        .collect();
    json!({
        "version": 1,
        "valid": count(readings, Severity::Error) == 0,
        "files": readings.len(),
        "pods": pods(readings),
        "diagnoses": diagnoses,
    })
}

/// Static Analysis Results Interchange Format, <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.
fn sarif(readings: &[Reading]) -> Value {
    let results: Vec<_> = diagnoses(readings).map(sarif_result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "podkeeper",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{ "id": RULE, "shortDescription": { "text": "The manifest is read without a diagnosis" } }],
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

const RULE: &str = "manifest";

fn sarif_result(diagnosis: &Diagnosis) -> Value {
    let message = match &diagnosis.fix {
        Some(fix) => format!("{}\nFix: {fix}", diagnosis.message),
        None => diagnosis.message.clone(),
    };
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&diagnosis.place.file) },
            "region": {
                "startLine": diagnosis.place.line,
                "startColumn": diagnosis.place.column,
                "snippet": { "text": diagnosis.source_line },
            },
        },
    });
    if !diagnosis.field.is_empty() {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": diagnosis.field }]);
    }
    // The words of `Severity` are the levels of SARIF.
    json!({ "ruleId": RULE, "level": diagnosis.severity, "message": { "text": message }, "locations": [location] })
}

/// A path as a URI reference: everything but unreserved characters and slashes is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

fn pretty(value: &Value) -> String {
    // Every key is a string and no number is a NaN: it cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::read::read;

    const WRONG: &str =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    imgae: x\n";

    fn readings() -> Vec<Reading> {
        vec![read("a b.yaml", WRONG.as_bytes(), &Options::default())]
    }

    #[test]
    fn text_shows_each_diagnosis_and_counts() {
        let expected = "\
a b.yaml:6:5: error: spec.containers[0].image is required
        6 |   - name: c
          |     ^
    fix: add image: … (this looks like a kustomize patch, which is not a manifest: give the rendered result)

a b.yaml:7:5: error: spec.containers[0].imgae is not a field; did you mean image?
        7 |     imgae: x
          |     ^
    fix: image: …

0 valid pods in 1 file: 2 errors, 0 warnings, 0 notes.
";
        assert_eq!(text(&readings()), expected);
    }

    #[test]
    fn json_has_every_part_of_a_diagnosis() {
        let json = as_json(&readings());
        assert_eq!((&json["valid"], &json["pods"]), (&json!(false), &json!(0)));
        let expected = json!({
            "severity": "error", "file": "a b.yaml", "line": 7, "column": 5,
            "field": "spec.containers[0].imgae",
            "message": "spec.containers[0].imgae is not a field; did you mean image?",
            "fix": "image: …", "sourceLine": "    imgae: x",
        });
        assert_eq!(json["diagnoses"][1], expected);
    }

    #[test]
    fn sarif_has_level_place_and_message() {
        let sarif = sarif(&readings());
        let result = &sarif["runs"][0]["results"][1];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.yaml");
        assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&json!(7), &json!(5)));
        assert_eq!(uri("/etc/x.yaml"), "file:///etc/x.yaml");
    }
}

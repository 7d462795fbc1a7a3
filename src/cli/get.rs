//! `podkeeper get`: what a running agent knows, from its socket.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;

use crate::cli::ask::ask;
use crate::cli::escape::safe;
use crate::cli::failure::Failure;
use crate::cli::live::block_on;
use crate::cli::output::print;
use crate::cli::yaml;
use crate::model::{Time, age};
use crate::node::api::{client, default_socket};
use crate::node::clock;

mod sources;

/// Show the pods of a running agent, or where it has them from
#[derive(clap::Args)]
#[command(after_help = "Examples:  podkeeper get pods\n           podkeeper get sources")]
pub struct Args {
    /// What to show
    #[arg(default_value = "pods")]
    what: What,

    /// Only pods of this namespace [default: all]
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Pods of all namespaces: what is shown anyway, for fingers that know kubectl
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,

    /// How to write it
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Shape,

    /// The agent's socket [default: /run/podkeeper/podkeeper.sock, for an ordinary user under
    /// $XDG_RUNTIME_DIR]
    #[arg(long, env = "PODKEEPER_SOCKET", hide_env_values = true, value_name = "PATH")]
    socket: Option<PathBuf>,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Shape {
    Text,
    /// With the source of each pod
    Wide,
    Json,
    Yaml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    #[value(aliases = ["pod", "po"])]
    Pods,
    #[value(alias = "source")]
    Sources,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    block_on(async {
        match args.what {
            What::Pods => pods(&args).await,
            What::Sources if args.namespace.is_some() => {
                Err(Failure::Usage("sources belong to no namespace: leave --namespace away".into()))
            }
            What::Sources => {
                let sources = ask(&socket(&args), "/sources").await?;
                show(args.output, &sources, || sources::text(&sources))
            }
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn pods(args: &Args) -> Result<(), Failure> {
    let socket = socket(args);
    let mut pods = ask(&socket, "/pods").await?;
    if let (Some(namespace), Some(items)) = (&args.namespace, pods["items"].as_array_mut()) {
        items.retain(|pod| pod["metadata"]["namespace"].as_str() == Some(namespace));
    }
    if matches!(args.output, Shape::Json | Shape::Yaml) {
        return show(args.output, &pods, Default::default);
    }
    let sources = ask(&socket, "/sources").await?;
    let engine = engine_trouble(args).await?;
    let wide = args.output == Shape::Wide;
    show(args.output, &pods, || text(&pods, &sources, engine.as_deref(), clock::wall(), wide))
}

/// Of a text, what is wrong goes to standard error: the table may be read by a program.
fn show(format: Shape, value: &Value, text: impl FnOnce() -> (String, String)) -> Result<(), Failure> {
    match format {
        Shape::Json => print(format_args!("{value:#}\n")),
        Shape::Yaml => print(yaml::text(value)),
        Shape::Text | Shape::Wide => {
            let (table, notes) = text();
            print(table)?;
            let _ = io::stderr().lock().write_all(notes.as_bytes());
            Ok(())
        }
    }
}

fn socket(args: &Args) -> PathBuf {
    args.socket.clone().unwrap_or_else(default_socket)
}

/// Why the agent is not ready, if it is not.
async fn engine_trouble(args: &Args) -> Result<Option<String>, Failure> {
    let (code, body) = client::get(&socket(args), "/readyz").await.map_err(Failure::Error)?;
    Ok((!code.is_success()).then(|| String::from_utf8_lossy(&body).trim().to_owned()))
}

/// The last one in a wide table only.
const HEAD: [&str; 8] = ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "SOURCE"];

/// The table, and whatever keeps something from running, a line each.
fn text(pods: &Value, sources: &Value, trouble: Option<&str>, now: Time, wide: bool) -> (String, String) {
    let pods = pods["items"].as_array().map_or(&[][..], Vec::as_slice);
    let rows: Vec<[String; 8]> = pods.iter().map(|pod| row(pod, now)).collect();
    let out = match rows.is_empty() {
        true => "No pods.\n".to_owned(),
        false if wide => table(HEAD, &rows),
        false => {
            let narrow = |[namespace, name, ready, status, restarts, age, ip, _]: [String; 8]| {
                [namespace, name, ready, status, restarts, age, ip]
            };
            let rows: Vec<[String; 7]> = rows.into_iter().map(narrow).collect();
            table(std::array::from_fn(|column| HEAD[column]), &rows)
        }
    };
    let mut notes: Vec<String> = trouble.map(|trouble| format!("agent: {trouble}")).into_iter().collect();
    notes.extend(
        sources["troubles"].as_array().into_iter().flatten().map(|text| format!("agent: {}", word(text))),
    );
    notes.extend(pods.iter().filter_map(|pod| {
        let message = pod["status"]["message"].as_str()?;
        let (namespace, name) = (word(&pod["metadata"]["namespace"]), word(&pod["metadata"]["name"]));
        Some(format!("{namespace}/{name}: {}: {message}", word(&pod["status"]["reason"])))
    }));
    notes.extend(sources["items"].as_array().into_iter().flatten().flat_map(sources::notes));
    (out, lines(notes))
}

/// A line each, below the table.
fn lines(notes: impl IntoIterator<Item = String>) -> String {
    let mut out = String::new();
    for (i, note) in notes.into_iter().enumerate() {
        let _ = writeln!(out, "{}{}", if i == 0 { "\n" } else { "" }, safe(&note));
    }
    out
}

fn diagnosis(diagnosis: &Value) -> String {
    let place = &diagnosis["place"];
    let fix = diagnosis["fix"].as_str().map(|fix| format!(": {fix}")).unwrap_or_default();
    format!(
        "{}:{}:{}: {}: {}{fix}",
        word(&place["file"]),
        place["line"],
        place["column"],
        word(&diagnosis["severity"]),
        word(&diagnosis["message"])
    )
}

fn row(pod: &Value, now: Time) -> [String; 8] {
    let status = &pod["status"];
    let containers = status["containerStatuses"].as_array().map_or(&[][..], Vec::as_slice);
    let init = status["initContainerStatuses"].as_array().map_or(&[][..], Vec::as_slice);
    // As kubectl counts: sidecars too, and no init container that ends.
    let sidecar = |name: &Value| {
        let declared = pod["spec"]["initContainers"].as_array().into_iter().flatten();
        declared.clone().any(|container| container["name"] == *name && container["restartPolicy"] == "Always")
    };
    let counted: Vec<&Value> =
        containers.iter().chain(init.iter().filter(|container| sidecar(&container["name"]))).collect();
    let ready = counted.iter().filter(|container| container["ready"] == true).count();
    let restarts: u64 =
        init.iter().chain(containers).filter_map(|container| container["restartCount"].as_u64()).sum();
    let started = status["startTime"].as_str().and_then(Time::parse);
    [
        safe(&word(&pod["metadata"]["namespace"])),
        safe(&word(&pod["metadata"]["name"])),
        format!("{ready}/{}", counted.len()),
        safe(status["reason"].as_str().unwrap_or(&word(&status["phase"]))),
        restarts.to_string(),
        started.map_or_else(|| "-".to_owned(), |started| age::short(now.since(started))),
        safe(status["podIP"].as_str().unwrap_or("-")),
        safe(pod["metadata"]["annotations"]["kubernetes.io/config.source"].as_str().unwrap_or("-")),
    ]
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let lines = || std::iter::once(&head).chain(rows);
    let width = |column: usize| lines().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    for row in lines() {
        let line: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}   ")).collect();
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_followed_by_what_keeps_pods_from_running() {
        let pods = json!({ "items": [{
            "metadata": {
                "namespace": "default", "name": "web",
                "annotations": { "kubernetes.io/config.source": "etcd" },
            },
            "status": {
                "phase": "Running", "reason": "CrashLoopBackOff", "message": "app: back-off 20s\u{1b}[2J",
                "podIP": "172.17.0.2", "startTime": "1970-01-01T00:00:10Z",
                "containerStatuses": [{ "ready": true, "restartCount": 0 }, { "ready": false, "restartCount": 3 }],
            },
        }]});
        let sources = json!({ "items": [{
            "kind": "file", "origin": "pods/", "error": null, "held": "4 of 5 pods would be removed",
            "diagnoses": [{
                "severity": "error", "message": "unknown field imagePulPolicy", "fix": "imagePullPolicy",
                "place": { "file": "db.yaml", "line": 3, "column": 5 },
            }],
        }], "troubles": ["the disk is full"] });
        let expected = "\
NAMESPACE   NAME   READY   STATUS             RESTARTS   AGE   IP
default     web    1/2     CrashLoopBackOff   3          90s   172.17.0.2

agent: the engine is away
agent: the disk is full
default/web: CrashLoopBackOff: app: back-off 20s\\u{1b}[2J
source file (pods/): 4 of 5 pods would be removed
db.yaml:3:5: error: unknown field imagePulPolicy: imagePullPolicy
";
        let (table, notes) = text(&pods, &sources, Some("the engine is away"), Time(100_000), false);
        assert_eq!(table + &notes, expected);
        let (wide, _) = text(&pods, &sources, None, Time(100_000), true);
        assert!(wide.contains("IP           SOURCE\n") && wide.contains("172.17.0.2   etcd\n"), "{wide}");
        assert_eq!(text(&json!({}), &json!({}), None, Time(0), true), ("No pods.\n".into(), String::new()));
    }
}

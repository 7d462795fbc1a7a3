//! `podkeeper plan`: the dry run.
//!
//! What is printed is what the agent would do, because it is the agent's own planner and executor, let loose on
//! a simulated engine that holds what was observed. The real engine is only looked at, through [`Look`].

use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::changes::Changes;
use crate::cli::declare::{Declaration, declare};
use crate::cli::escape::Safe;
use crate::cli::failure::Failure;
use crate::cli::http_access::HttpAccess;
use crate::cli::output::{self, Format, Paint};
use crate::cli::snapshot::Snapshot;
use crate::cli::target::{SandboxImage, Target};
use crate::cli::{json, live, look, render, replaced, yaml};
use crate::docker::Look;
use crate::node::api::default_socket;
use crate::node::state;
use crate::plan::{Desired, Node, Observed, SourceKind};
use crate::sim::rehearse;

/// Print what would be done, in order, each step with its cause; touch nothing
///
/// Pods on the engine that came from a file and that PATH no longer declares are planned for removal; those that came
/// from a URL, when a PATH is a URL. When a document is wrong, the others are planned, nothing is removed, and the
/// exit status is 1.
#[derive(clap::Args)]
#[command(after_help = "Examples:  podkeeper plan web.yaml\n           \
                                   podkeeper plan --observed node1.json --detailed-exitcode /etc/podkeeper")]
pub struct Args {
    /// Manifests: files, directories, URLs (http, https), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Plan against this snapshot of `podkeeper observe` instead of an engine
    #[arg(long, value_name = "FILE")]
    observed: Option<PathBuf>,

    #[command(flatten)]
    target: Target,

    /// The agent's socket: it is asked what it reads, to tell when PATH is less [default:
    /// /run/podkeeper/podkeeper.sock, for an ordinary user under $XDG_RUNTIME_DIR]
    #[arg(long, env = "PODKEEPER_SOCKET", hide_env_values = true, value_name = "SOCKET")]
    socket: Option<PathBuf>,

    #[command(flatten)]
    sandbox_image: SandboxImage,

    #[command(flatten)]
    http: HttpAccess,

    /// How to print the plan
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output: Format,

    /// Exit with 0 when there is nothing to do, 2 when there is something, 1 on an error
    #[arg(long)]
    detailed_exitcode: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let (Declaration { desired, errors }, observed) = match &args.observed {
        Some(file) => offline(&args, Snapshot::read(file)?)?,
        None => {
            let node = node(args.target.node_name(), &args);
            let declaration = declare(&node, &args.paths, &args.http)?;
            let desired = &declaration.desired;
            let observed = live::block_on(async {
                let (engine, version) = live::connect(&args.target).await?;
                let mut observed = live::list(&engine, &args.target, &version).await?;
                look::tell_lookalikes(&observed);
                let known = state::known_key(&args.target.state_dir()).is_some();
                complete(&engine, desired, &mut observed).await?;
                if !known && !observed.pods.is_empty() {
                    note_no_key(&args.target);
                }
                Ok(observed)
            })?;
            (declaration, observed)
        }
    };
    let changes = Changes::new(&desired, &observed, rehearse(&desired, &observed));
    note_replaced(&args, &desired, &replaced::removed(&changes, &observed))?;
    let known = |id: &_| observed.pods.values().any(|pod| pod.instances.iter().any(|i| i.id == *id));
    match args.output {
        // "What runs is what is declared" would be said of less than was asked for.
        Format::Text if errors > 0 && changes.actions() == 0 && changes.waits.is_empty() => {}
        Format::Text => output::print(render::text(&changes, observed.at, Paint::for_stdout()))?,
        Format::Json => output::print(json::text(&changes, &desired.node.name, observed.at, known))?,
        Format::Yaml => {
            let json = json::text(&changes, &desired.node.name, observed.at, known);
            let value = serde_json::from_str(&json).map_err(|error| Failure::error(error.to_string()))?;
            output::print(yaml::text(&value))?;
        }
    }
    if errors > 0 {
        return Err(Failure::error(
            "this is the plan without what is wrong above; until that is right no pod is removed",
        ));
    }
    let something = args.detailed_exitcode && changes.actions() > 0;
    Ok(if something { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Says what the paths replace before it is shown what that leads to.
fn note_replaced(args: &Args, desired: &Desired, removed: &[(SourceKind, usize)]) -> Result<(), Failure> {
    if removed.is_empty() {
        return Ok(());
    }
    let socket = args.socket.clone().unwrap_or_else(default_socket);
    let node = desired.node.name.clone();
    let origins = match args.observed {
        Some(_) => None,
        None => live::block_on(async { Ok(replaced::origins(&socket, &node).await) })?,
    };
    for note in removed.iter().filter_map(|lost| replaced::note(&args.paths, origins.as_deref(), *lost)) {
        eprintln!("note: {note}.");
    }
    Ok(())
}

/// All that a dry run does to an engine: it holds no more than a [`Look`].
async fn complete(engine: &impl Look, desired: &Desired, observed: &mut Observed) -> Result<(), Failure> {
    look::images(engine, desired, observed).await?;
    look::answer(engine, desired, observed).await
}

fn offline(args: &Args, snapshot: Snapshot) -> Result<(Declaration, Observed), Failure> {
    let name = args.target.given_node_name().map_or_else(|| snapshot.node.clone(), str::to_owned);
    if name != snapshot.node {
        return Err(Failure::error(format!(
            "the snapshot is of node {}, and --node-name says {name}: leave --node-name out",
            snapshot.node
        )));
    }
    let node = node(name, args);
    let declaration = declare(&node, &args.paths, &args.http)?;
    if state::known_key(&args.target.state_dir()).is_none() && !snapshot.observed.pods.is_empty() {
        return Err(Failure::error(format!(
            "no node key can be read in {}, and without it nobody can tell whether what runs on {} is what is \
             declared: plan on that node, or give --state-dir with a copy of its node.key",
            args.target.state_dir().display(),
            node.name,
        )));
    }
    Ok((declaration, snapshot.observed))
}

fn node(name: String, args: &Args) -> Node {
    let key = state::known_key(&args.target.state_dir()).unwrap_or_default();
    Node { name: name.into(), key, sandbox_image: args.sandbox_image.name() }
}

fn note_no_key(target: &Target) {
    eprintln!(
        "note: no node key can be read in {}: comparing field by field (run as the agent's user, or give \
         its --state-dir)",
        Safe(&target.state_dir().display().to_string())
    );
}

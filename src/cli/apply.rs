//! `podkeeper apply`: once, make the engine equal to what is declared.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tokio::time::Instant;

use crate::cli::declare::{Declaration, declare};
use crate::cli::duration::duration;
use crate::cli::failure::Failure;
use crate::cli::http_access::HttpAccess;
use crate::cli::output::{self, Progress};
use crate::cli::target::{SandboxImage, Target};
use crate::cli::work::{End, Work};
use crate::cli::{live, look, render};
use crate::model::Time;
use crate::node::agent::Lanes;
use crate::node::clock::Clock;
use crate::node::lock::NodeLock;
use crate::node::state::StateDir;
use crate::plan::{Desired, Node, Observed, PodObserved, SourceKind, Wait};

/// Do what `plan` says, once, and wait until nothing is left to do
///
/// Pods on the engine that came from a file and that PATH no longer declares are removed; those that came from a URL,
/// when a PATH is a URL. Ends with 0 when what runs is what is declared, with 1 when something still waits after the
/// timeout.
#[derive(clap::Args)]
#[command(after_help = "Example:  podkeeper apply --timeout 2m /etc/podkeeper")]
pub struct Args {
    /// Manifests: files, directories, URLs (http, https), or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Give up after this time
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    timeout: Duration,

    /// Go on although more than half of the running pods, and more than three, would be removed
    #[arg(long)]
    allow_mass_delete: bool,

    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    sandbox_image: SandboxImage,

    #[command(flatten)]
    http: HttpAccess,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let state = StateDir::open(&args.target.state_dir(), &args.target.node_name()).map_err(Failure::Error)?;
    // An agent goes on in memory; of what a command did, nothing would be left to know.
    if let Some(trouble) = state.trouble() {
        return Err(Failure::Error(trouble));
    }
    let _lock = NodeLock::take(&args.target.engine(), &args.target.node_name()).map_err(Failure::Error)?;
    let key = state.key().map_err(Failure::Error)?;
    let node = Node { name: args.target.node_name().into(), key, sandbox_image: args.sandbox_image.name() };
    let Declaration { desired, errors } = declare(&node, &args.paths, &args.http)?;
    if errors > 0 {
        return Err(Failure::error("nothing is applied: correct what is wrong above first"));
    }
    let deadline = Instant::now().checked_add(args.timeout).unwrap_or_else(far);
    live::block_on(async {
        let (engine, version) = live::connect(&args.target).await?;
        let clock = Clock::start();
        let listed = look::list(&engine, &node.name, state.ledger(), version.memory_bytes, clock.now()).await;
        let observed = listed.map_err(|error| super::work::unreadable(&error))?;
        look::tell_lookalikes(&observed);
        if !args.allow_mass_delete {
            refuse_mass_delete(&desired, &observed)?;
        }
        let progress = Progress::on_stderr();
        let mut work =
            Work { engine: &engine, desired: &desired, observed, clock, progress, done: 0, unsure: false };
        let end = work.run(deadline, Lanes::new(2 * cores())).await;
        work.progress.clear();
        state.write_ledger(&work.observed.ledger).map_err(|error| {
            let dir = args.target.state_dir();
            Failure::error(format!("{}: {error}: free some space, then apply again", dir.display()))
        })?;
        report(end?, work.done, &args, clock.now())
    })
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(86_400 * 365)
}

/// As many calls as the agent has under way by default.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// One wrong path must not take a node down. The same brake as the agent's, which also lets three go.
fn refuse_mass_delete(desired: &Desired, observed: &Observed) -> Result<(), Failure> {
    let ours = |pod: &PodObserved| {
        pod.instances.iter().filter_map(|i| i.source).any(|source: SourceKind| desired.knows(source))
    };
    let running: Vec<_> = observed.pods.iter().filter(|(_, pod)| ours(pod)).map(|(key, _)| key).collect();
    let removed = running.iter().filter(|key| desired.get(key).is_none()).count();
    if removed > 3 && removed * 2 > running.len() {
        return Err(Failure::error(format!(
            "this would remove {removed} of {} pods: look at `podkeeper plan`, then give --allow-mass-delete",
            running.len()
        )));
    }
    Ok(())
}

fn report(end: End, done: usize, args: &Args, at: Time) -> Result<ExitCode, Failure> {
    let actions = format!("{done} action{}", if done == 1 { "" } else { "s" });
    match end {
        End::Settled if done == 0 => output::print("Nothing to do: what runs is what is declared.\n")?,
        End::Settled => output::print(format!("Applied: {actions}. What runs is what is declared.\n"))?,
        End::Stuck(waits) => {
            return Err(Failure::error(format!("after {actions}: {}", first(&waits, at))));
        }
        End::TimeOut(waits) => {
            let time = humantime::format_duration(args.timeout);
            return Err(Failure::error(format!(
                "not done after {time} and {actions}: {}",
                first(&waits, at)
            )));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn first(waits: &[Wait], at: Time) -> String {
    match waits {
        [] => "the engine is slow: apply again with a longer --timeout".into(),
        [wait, rest @ ..] => {
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            format!("{} {}{more}", wait.pod, render::wait_text(wait, at))
        }
    }
}

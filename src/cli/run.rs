//! `podkeeper run`: the agent.

mod http;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use im::OrdMap;

use crate::cli::duration::duration;
use crate::cli::failure::Failure;
use crate::cli::live::block_on;
use crate::cli::target::{SandboxImage, Target};
use crate::node::agent::{self, Agent};
use crate::node::api::kube::Kube;
use crate::node::api::tcp::Tcp;
use crate::node::api::{Api, Limits, bind, default_socket, serve_beside, stopping};
use crate::node::bollard::{Endpoint, Engine};
use crate::node::clock::Clock;
use crate::node::lock::NodeLock;
use crate::node::snapshot::Snapshots;
use crate::node::sources::{api as written, http as http_source, watch};
use crate::node::state::StateDir;
use crate::node::store::Store;
use crate::plan::{Node, Slot, SourceKind};

mod api;
mod etcd;
mod log;

use log::LogFormat;

/// Run the agent: keep the engine equal to the manifests, until a signal
#[derive(clap::Args)]
#[command(after_help = "Example:  podkeeper run --config /etc/podkeeper")]
pub struct Args {
    /// Manifest file, or directory of manifests (*.yaml, *.yml, *.json)
    #[arg(long, env = "PODKEEPER_CONFIG", hide_env_values = true, value_name = "PATH")]
    config: Option<PathBuf>,

    #[command(flatten)]
    http: http::HttpSource,

    #[command(flatten)]
    etcd: etcd::Etcd,

    #[command(flatten)]
    target: Target,

    /// Where to serve the API [default: /run/podkeeper/podkeeper.sock, for an ordinary user under
    /// $XDG_RUNTIME_DIR]
    #[arg(long, env = "PODKEEPER_SOCKET", hide_env_values = true, value_name = "PATH")]
    socket: Option<PathBuf>,

    #[command(flatten)]
    tcp: api::Tcp,

    /// How log lines are written, on standard error
    #[arg(
        long,
        env = "PODKEEPER_LOG_FORMAT",
        hide_env_values = true,
        value_name = "FORMAT",
        default_value = "text"
    )]
    log_format: LogFormat,

    /// Longest time between two full observations of the engine
    #[arg(long, env = "PODKEEPER_SYNC_FREQUENCY", hide_env_values = true, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    sync_frequency: Duration,

    /// Longest time between two looks at --config; a change is normally seen at once
    #[arg(long, env = "PODKEEPER_FILE_CHECK_FREQUENCY", hide_env_values = true, value_name = "DURATION", default_value = "20s", value_parser = duration)]
    file_check_frequency: Duration,

    /// Creates and starts at once [default: twice the number of cores]
    #[arg(long, env = "PODKEEPER_ENGINE_CONCURRENCY", hide_env_values = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    engine_concurrency: Option<u16>,

    #[command(flatten)]
    sandbox_image: SandboxImage,

    /// Believe a source at once that takes back most or all of its pods
    #[arg(long, env = "PODKEEPER_ALLOW_MASS_DELETE", hide_env_values = true)]
    allow_mass_delete: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let http = args.http.settings()?;
    log::to_stderr(args.log_format);
    let clock = Clock::start();
    let endpoint = Endpoint::parse(&args.target.engine()).map_err(Failure::Usage)?;
    let engine = Engine::new(endpoint).map_err(Failure::Error)?;
    let state = StateDir::open(&args.target.state_dir(), &args.target.node_name()).map_err(Failure::Error)?;
    let _lock = NodeLock::take(&args.target.engine(), &args.target.node_name()).map_err(Failure::Error)?;
    let node = Node {
        name: args.target.node_name().into(),
        key: state.key().map_err(Failure::Error)?,
        sandbox_image: args.sandbox_image.name(),
    };
    let http = http.map(|(urls, check, access)| http_source::Settings {
        urls,
        access,
        node: node.clone(),
        check,
        allow_mass_delete: args.allow_mass_delete,
        kept: state.kept("manifests-http"),
    });
    let kept = state.kept("manifests");
    let etcd = args.etcd.ready(&node, &state, args.allow_mass_delete)?;
    let written = {
        let (node, kept) = (node.clone(), state.kept("api"));
        move |snapshots| written::Settings {
            node,
            kept,
            allow_mass_delete: args.allow_mass_delete,
            snapshots,
        }
    };
    let tcp = args.tcp.settings(&args.target.state_dir(), args.target.node_name());
    let tcp = tcp.map(Tcp::open).transpose().map_err(Failure::Error)?;
    let settings = agent::Settings {
        engine,
        state,
        clock,
        sync: args.sync_frequency,
        concurrency: args.engine_concurrency.map_or_else(default_concurrency, usize::from),
    };
    let socket = args.socket.unwrap_or_else(default_socket);
    let file = args.config.map(|path| watch::Settings {
        path,
        node: node.clone(),
        check: args.file_check_frequency,
        allow_mass_delete: args.allow_mass_delete,
        kept,
    });
    block_on(serve(
        settings,
        node,
        Sources { file, http, etcd, forget_others: args.allow_mass_delete },
        written,
        socket,
        tcp,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Where pods come from.
struct Sources {
    etcd: Option<etcd::Ready>,
    file: Option<watch::Settings>,
    http: Option<http_source::Settings>,
    /// The pods of a source that is not named any more may go.
    forget_others: bool,
}

async fn serve(
    settings: agent::Settings,
    node: Node,
    sources: Sources,
    written: impl FnOnce(Snapshots) -> written::Settings,
    socket: PathBuf,
    tcp: Option<Tcp>,
) -> Result<(), Failure> {
    let clock = settings.clock;
    let listener = bind(&socket).map_err(Failure::Error)?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"), node = %node.name, engine = %settings.engine.endpoint(),
        socket = %socket.display(), "podkeeper starts"
    );
    let store = Store::new(node);
    let mut wakers = Vec::new();
    if let Some(file) = sources.file {
        let started = watch::spawn(file, store.writer(SourceKind::File), clock);
        wakers.push(started.map_err(|error| Failure::error(format!("cannot start a thread: {error}")))?);
    }
    if let Some(http) = sources.http {
        wakers.push(http_source::spawn(http, store.writer(SourceKind::Http), clock));
    }
    let etcd = sources.etcd.map(|etcd| etcd.start(store.writer(SourceKind::Etcd), clock));
    wakers.extend(etcd.iter().map(|(waker, _)| waker.clone()));
    if sources.forget_others {
        forget_others(&store);
    }
    if wakers.is_empty() {
        tracing::info!(
            "no manifests are named (--config, --manifest-url, --etcd-servers): pods are what is written through the API"
        );
    }
    let engine = settings.engine.clone();
    let agent = Agent::new(settings, store.reader(), wakers);
    let (snapshots, events) = (agent.snapshots(), agent.events().recent());
    if let Some((_, write_back)) = etcd {
        write_back.start(&agent);
    }
    let written = written::spawn(written(snapshots.clone()), store.writer(SourceKind::Api), clock);
    let kube = Kube::new(written, snapshots.clone(), engine, events);
    let api = Api { snapshots, clock, limits: Limits::default(), kube, tcp };
    let (stopper, stop) = stopping();
    let api = serve_beside(listener, Arc::new(api), stop)
        .map_err(|error| Failure::error(format!("cannot start a thread: {error}")))?;
    let ended = agent.run().await;
    stopper.stop();
    let _ = api.await;
    // The next agent need not find out that nobody serves it.
    let _ = std::fs::remove_file(&socket);
    ended.map_err(Failure::Error)
}

/// A source that is not named has let go of its pods. The API is always there.
fn forget_others(store: &Store) {
    for kind in [SourceKind::File, SourceKind::Http, SourceKind::Etcd] {
        if !store.reader().borrow().desired.reads(kind) {
            store.writer(kind).write(Slot::Known(OrdMap::new()), Vec::new());
        }
    }
}

/// Starting is CPU in dockerd and runc: two for each core keep them busy, more lose time on a bridge
/// (50 pods on two cores: 13.7 s at 4, 22.6 s at 16).
fn default_concurrency() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_not_named_may_be_told_to_let_go() {
        let store = Store::new(Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() });
        let _file = store.writer(SourceKind::File);
        let knows = |kind| store.reader().borrow().desired.knows(kind);
        assert!(!knows(SourceKind::Http));
        forget_others(&store);
        assert_eq!(
            SourceKind::ALL.map(knows),
            [false, false, true, true],
            "file and API are read for themselves"
        );
    }
}

//! `podkeeper observe`: what is on the engine, as JSON.

use std::process::ExitCode;

use crate::cli::failure::Failure;
use crate::cli::live;
use crate::cli::output;
use crate::cli::snapshot::Snapshot;
use crate::cli::target::Target;

/// Print what this node has on the engine, as JSON
///
/// The snapshot is what `podkeeper plan --observed` and bug reports take. Values of environment variables are
/// not in it.
#[derive(clap::Args)]
#[command(after_help = "Example:  podkeeper observe > node1.json")]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let snapshot = live::block_on(async {
        let (engine, version) = live::connect(&args.target).await?;
        let node = args.target.node_name();
        let mut observed = live::list(&engine, &args.target, &version).await?;
        super::look::inspect_all(&engine, &mut observed).await?;
        Ok(Snapshot::new(node, version, observed))
    })?;
    output::print(snapshot.to_json())?;
    Ok(ExitCode::SUCCESS)
}

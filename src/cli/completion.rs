//! `podkeeper completion`: a script with which a shell completes our commands and flags.

use std::process::ExitCode;

use clap_complete::Shell;

use crate::cli::failure::Failure;
use crate::cli::output;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "Example:  podkeeper completion bash > /etc/bash_completion.d/podkeeper")]
pub struct Args {
    /// The shell that will read it
    shell: Shell,
}

pub fn run(args: Args, command: &mut clap::Command) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "podkeeper", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

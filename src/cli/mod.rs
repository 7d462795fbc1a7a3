//! Face: the command line, one file for each command.
//!
//! Results go to standard output, everything else to standard error. Exit statuses: 0 done, 1 an error in
//! one line that names the thing and the way out, 2 wrong usage.

mod apply;
mod arguments;
mod ask;
mod changes;
mod clashes;
mod completion;
mod declare;
mod duration;
mod escape;
mod failure;
mod get;
mod http_access;
mod json;
mod kubeconfig;
mod live;
mod look;
mod man;
mod manifests;
mod observe;
mod output;
mod plan;
mod render;
mod replaced;
mod run;
mod snapshot;
mod target;
mod validate;
mod work;
mod yaml;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::cli::failure::Failure;

/// Keeps the Docker Engine on this machine equal to the Kubernetes pods declared for it.
#[derive(Parser)]
#[command(
    name = "podkeeper",
    version,
    max_term_width = 100,
    after_help = "Start with:  podkeeper plan examples/\n\
                  Then:        podkeeper run --config examples/"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Plan(plan::Args),
    Apply(apply::Args),
    Validate(validate::Args),
    Observe(observe::Args),
    Get(get::Args),
    Kubeconfig(kubeconfig::Args),
    Completion(completion::Args),
    Man(man::Args),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let arguments = arguments::normalise(std::env::args_os());
    // Where 2 means that there is something to do, a wrong argument must not.
    let is_detailed = arguments.iter().any(|argument| argument == "--detailed-exitcode");
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(error) => {
            // Help that nobody reads to its end is no error.
            let _ = failure::print_without_passwords(&error);
            let status = u8::try_from(error.exit_code()).unwrap_or(2);
            return ExitCode::from(if is_detailed { status.min(1) } else { status });
        }
    };
    let result = match command {
        Command::Run(args) => run::run(*args),
        Command::Plan(args) => plan::run(args),
        Command::Apply(args) => apply::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Observe(args) => observe::run(args),
        Command::Get(args) => get::run(args),
        Command::Kubeconfig(args) => kubeconfig::run(args),
        Command::Completion(args) => completion::run(args, &mut Cli::command()),
        Command::Man(args) => man::run(args, Cli::command()),
    };
    result.unwrap_or_else(|failure| match failure {
        Failure::Usage(message) if is_detailed => Failure::Error(message).report(),
        failure => failure.report(),
    })
}

//! `podkeeper man`: the manual page, made from the same words as `--help`.

use std::process::ExitCode;

use crate::cli::failure::Failure;
use crate::cli::output;

/// Print the manual page
#[derive(clap::Args)]
#[command(after_help = "Example:  podkeeper man | man -l -")]
pub struct Args {}

pub fn run(_: Args, command: clap::Command) -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    let subcommands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    clap_mangen::Man::new(command).render(&mut page)?;
    for subcommand in subcommands {
        let name = subcommand.get_name().to_string();
        page.extend(format!(".SH \"PODKEEPER {}\"\n", name.to_uppercase()).bytes());
        let man = clap_mangen::Man::new(subcommand.display_name(format!("podkeeper {name}")));
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    output::print(String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

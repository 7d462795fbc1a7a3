//! `podkeeper get`: to be written.

use std::process::ExitCode;

use crate::cli::failure::Failure;

#[derive(clap::Args)]
pub struct Args {}

pub fn run(_: Args) -> Result<ExitCode, Failure> {
    Err(Failure::error("not written yet"))
}

//! The agent against the bare engine, on this machine: every figure a ratio or a difference from one run, the two
//! sides alternating. Prints a Markdown table. `scripts/bench` builds and calls it.
//!
//! Usage: node <podkeeper binary> [number of a metric…]

mod agent;
mod engine;
mod events;
mod http;
mod metrics;
mod proxy;
mod serving;
mod sources;
mod web;

use std::io::Write;
use std::process::ExitCode;

use metrics::{Bench, Row};

fn main() -> ExitCode {
    // `cargo bench` adds its own flag.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some((binary, numbers)) = arguments.split_first() else {
        eprintln!("usage: scripts/bench [number of a metric…]");
        return ExitCode::from(2);
    };
    match run(binary, numbers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

type Metric = fn(&Bench) -> Result<Vec<Row>, String>;

fn run(binary: &str, numbers: &[String]) -> Result<(), String> {
    let groups: [(&[u32], Metric); 9] = [
        (&[1, 3], metrics::many),
        (&[2], metrics::one),
        (&[4], metrics::resync),
        (&[5], metrics::restart),
        (&[6, 7], metrics::idle),
        (&[8, 11], metrics::adopt),
        (&[13, 14, 15], sources::seen),
        (&[16], serving::reads),
        (&[17], serving::writes),
    ];
    let wanted = |number: &u32| numbers.is_empty() || numbers.contains(&number.to_string());
    let bench = Bench::new(binary)?;
    println!("| # | metric | measured | goal |\n|---|---|---|---|");
    for (group, metric) in groups {
        if !group.iter().any(wanted) {
            continue;
        }
        eprintln!("==> metric {group:?}");
        let rows = metric(&bench)?;
        bench.sweep()?;
        for row in rows.iter().filter(|row| wanted(&row.number)) {
            println!("| {} | {} | {} | {} |", row.number, row.metric, row.measured, row.goal);
            let _ = std::io::stdout().flush();
        }
    }
    Ok(())
}

//! The real HTTP and etcd sources on a network that loses, cuts and delays, with servers that err, lie, forget and end:
//! no pod is ever removed that nobody deleted, none comes back, and nothing is restarted for nothing.
//!
//! `PODKEEPER_SOAK_HOURS` says for how long: 4 without it; a day of 24 takes two minutes. `PODKEEPER_SOAK_SEED` repeats
//! what happened, as far as the machine's own timing lets it. Needs the command `etcd`.

mod agent;
// The other tests use more of these.
#[allow(dead_code)]
#[path = "../http/authority.rs"]
mod authority;
#[allow(dead_code)]
#[path = "../etcd/cluster.rs"]
mod cluster;
mod day;
mod dice;
mod history;
mod network;
#[allow(dead_code)]
#[path = "../http/server.rs"]
mod server;
mod site;
mod witness;

use day::{Day, POLLS_AN_HOUR};

#[test]
fn hours_of_a_bad_network_remove_no_pod_and_restart_none() {
    let hours = number("PODKEEPER_SOAK_HOURS").unwrap_or(4);
    let seed = number("PODKEEPER_SOAK_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("{hours} hours; to repeat it: PODKEEPER_SOAK_SEED={seed}");
    let mut day = Day::begin(seed);
    day.break_down();
    day.pass(hours as usize * POLLS_AN_HOUR);
    println!("{}", day.end());
    assert!(day.faults().iter().all(|faults| *faults > 0), "nothing went wrong: {:?}", day.faults());
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

//! Any byte string is a story. After it the node must come to rest, and nothing may run twice on the way.
//!
//! `cargo +nightly fuzz run plan`

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use podkeeper::plan::labels;
use podkeeper::sim::{Bytes, Event, World};

/// More than any story of so many events needs.
const ROUNDS: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes::new(data);
    let mut world = World::default();
    let mut by_hand = false;
    while let Some(event) = Event::decode(&mut bytes) {
        by_hand |= matches!(event, Event::Started { .. });
        world.happen(&event);
        for _ in 0..bytes.below(4) {
            world.read();
            world.decide();
            for _ in 0..bytes.below(5) {
                world.carry_out(bytes.below(world.in_flight().max(1)));
                assert!(by_hand || !runs_twice(&world), "a container runs twice");
            }
        }
    }
    world.calm();
    for _ in 0..ROUNDS {
        let busy = !world.round().planned.is_empty() || !world.is_quiet();
        match world.next_moment() {
            _ if busy => {}
            Some(next) => world.engine.pass_to(next),
            None => return,
        }
    }
    panic!("still not at rest after {ROUNDS} rounds: {:#?}", world.decide());
});

fn runs_twice(world: &World) -> bool {
    let mut seen = BTreeSet::new();
    let up = world.engine.containers().into_iter().filter(|container| container.up);
    let mut names = up.filter_map(|container| {
        let label = |key: &str| container.config.labels.get(key).cloned();
        Some((label(labels::POD_UID)?, label(labels::CONTAINER_NAME)?))
    });
    !names.all(|name| seen.insert(name))
}

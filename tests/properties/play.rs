//! Plays a byte string: events happen, and any part of what is due is carried out between them, in any
//! order, some of it twice.

use podkeeper::docker::Look;
use podkeeper::executor;
use podkeeper::plan::Action;
use podkeeper::plan::config::PortBinding;
use podkeeper::sim::{Bytes, Event, World, ready};

/// Not a number of actions, but all that is due until nothing is.
const WHOLE: usize = 4;

/// The laws speak of stability after at most so many faults.
pub const MOST_EVENTS: usize = 20;

/// A world with two bystanders: a container of nobody's, and one of another node's agent.
pub fn world() -> World {
    let world = World::default();
    world.engine.add_foreign("bystander", Vec::<PortBinding>::new()).expect("nothing is there yet");
    world
}

/// A story as bytes: each scene is an event, and how much of the rounds after it is carried out. Scenes are
/// apart, so that a shrinking test can leave one out without changing the others.
#[derive(Clone)]
pub struct Tale(pub Vec<Vec<u8>>);

impl Tale {
    fn scenes(&self) -> impl Iterator<Item = (Event, Vec<(usize, usize)>)> {
        self.0.iter().filter_map(|scene| {
            let mut bytes = Bytes::new(scene);
            let event = Event::decode(&mut bytes)?;
            let parts = (0..bytes.below(4)).map(|_| (bytes.below(5), bytes.below(256))).collect();
            Some((event, parts))
        })
    }
}

impl Tale {
    /// Something in it may end a program with code 0, as if it had finished.
    pub fn may_finish_something(&self) -> bool {
        self.scenes().any(|(event, _)| match event {
            Event::Exits { code, .. } => code == 0,
            Event::Stopped { .. } | Event::EngineRestarts { live_restore: false } => true,
            _ => false,
        })
    }
}

/// A tale is told by what happens in it.
impl std::fmt::Debug for Tale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (event, parts) in self.scenes() {
            let pod = match &event {
                Event::Apply { pod, .. } => serde_json::to_string(&pod.spec).unwrap_or_default(),
                _ => String::new(),
            };
            writeln!(f, "{event} {pod} then {parts:?}")?;
        }
        Ok(())
    }
}

/// Everything that a tale leads to, with `watch` called after each step.
pub fn play(tale: &Tale, mut watch: impl FnMut(&World, Step)) -> World {
    let mut world = world();
    for (event, parts) in tale.scenes() {
        world.happen(&event);
        watch(&world, Step::Event(&event));
        for (number, order) in parts {
            some_of_a_round(&mut world, number, order, &mut watch);
        }
    }
    world
}

/// What was just done.
pub enum Step<'a> {
    Event(&'a Event),
    Planned(&'a [Action]),
    CarriedOut(&'a Action),
}

/// A round of which only some is carried out, and the rest stays in flight. `order` chooses which, and
/// whether the engine is asked twice.
fn some_of_a_round(world: &mut World, number: usize, order: usize, watch: &mut impl FnMut(&World, Step)) {
    world.read();
    let planned = world.decide();
    watch(world, Step::Planned(&planned));
    if number == WHOLE {
        // With a fault that lasts there is no rest; a while of it is enough.
        let _busy = rest_within(25, world, watch);
        return;
    }
    for _ in 0..number {
        let which = order % world.in_flight().max(1);
        let Some((action, _)) = world.carry_out(which) else { return };
        if order & 0xf0 == 0xf0 {
            // The same request once more, as after a reply that got lost on the way.
            let _again = ready(executor::execute(&world.engine, &action));
        }
        watch(world, Step::CarriedOut(&action));
    }
}

/// Time jumps and rounds pass until nothing is left to do. Returns how many rounds had something to do.
///
/// # Errors
/// When it goes on for ever.
pub fn come_to_rest(world: &mut World, watch: &mut impl FnMut(&World, Step)) -> Result<usize, String> {
    rest_within(1000, world, watch)
}

fn rest_within(
    rounds: usize,
    world: &mut World,
    watch: &mut impl FnMut(&World, Step),
) -> Result<usize, String> {
    let mut busy = 0;
    for _ in 0..rounds {
        world.read();
        let planned = world.decide();
        watch(world, Step::Planned(&planned));
        busy += usize::from(world.in_flight() > 0);
        while let Some((action, _)) = world.carry_out(0) {
            watch(world, Step::CarriedOut(&action));
        }
        if !planned.is_empty() || !world.is_quiet() {
            continue;
        }
        match world.next_moment() {
            Some(next) => world.engine.pass_to(next),
            None => return Ok(busy),
        }
    }
    let (plan, waits) = (world.decide(), world.waits());
    Err(format!("still not at rest at {}; the last plan is {plan:#?}, the waits {waits:#?}", world.now()))
}

/// Lets the agent list once more, as it does every ten seconds.
pub fn list_again(world: &mut World) {
    world.pass(std::time::Duration::from_secs(10));
}

/// The containers that are not ours.
pub fn bystanders(world: &World) -> Vec<podkeeper::model::ContainerId> {
    let node = &world.desired.node.name;
    let ours = ready(world.engine.list(node)).unwrap_or_default();
    let all = world.engine.containers().into_iter().map(|seen| seen.id);
    all.filter(|id| ours.iter().all(|instance| instance.id != *id)).collect()
}

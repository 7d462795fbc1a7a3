//! Traps between the agent and the engine. The simulated engine stands for the real one: `tests/conformance.rs`
//! asks both the same questions.

use std::time::Duration;

use podkeeper::plan::{Action, Call};
use podkeeper::sim::story::key;
use podkeeper::sim::{Event, Fault, Program, Story, Verb};

use crate::pod;

const MINUTE: Duration = Duration::from_secs(60);

/// Runs the file `web.yaml` with the pod `web`.
fn web(rest: &str) -> Story {
    let mut story = Story::new("");
    story.file("web.yaml", &pod("web", rest)).settles();
    story
}

/// What is begun in the next round.
fn next(story: &mut Story) -> Vec<Action> {
    story.world.read();
    story.world.decide()
}

#[test]
fn trap_01_foreign_containers_are_left_alone() {
    let mut story = Story::new("");
    let foreign = story.world.engine.add_foreign("foo", Vec::new()).unwrap();
    story.world.engine.start_by_hand(&foreign).unwrap();
    story.file("web.yaml", &pod("web", "")).settles().no_file("web.yaml").settles();
    let left = story.world.engine.containers();
    assert!(left.len() == 1 && left[0].id == foreign && left[0].up);
    assert!(!story.world.engine.touched().contains(&foreign));
}

#[test]
fn trap_02_a_name_that_contains_another_is_another() {
    let mut story = web("");
    story.file("long.yaml", &pod("web-2", "")).settles();
    let other = story.world.engine.find(&key("web-2"), "app").unwrap().id;
    story.no_file("web.yaml").settles();
    assert_eq!(story.world.engine.find(&key("web-2"), "app").unwrap().id, other);
    assert!(story.world.engine.find(&key("web"), "app").is_none());
}

#[test]
fn trap_03_a_container_that_crashes_is_started_later_each_time() {
    let mut story = Story::new("");
    story.program("web", "app", |_| Program::exits(1, Duration::from_secs(1)));
    story.file("web.yaml", &pod("web", "")).passes(10 * MINUTE);
    let starts = story.world.engine.starts(&key("web"), "app");
    let gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1].since(pair[0]).as_secs()).collect();
    assert_eq!(gaps, [1, 11, 21, 41, 81, 161], "0, 10, 20, 40, 80, 160 s after the end; none is forgotten");
}

#[test]
fn trap_04_dead_containers_are_removed() {
    let mut story = Story::new("");
    story.program("web", "app", |_| Program::exits(1, Duration::from_secs(1)));
    story.file("web.yaml", &pod("web", "")).passes(60 * MINUTE);
    assert!(story.world.engine.starts(&key("web"), "app").len() > 10);
    assert!(story.world.engine.containers().len() <= 3, "a sandbox, one that ran and the one before it");
}

#[test]
fn trap_05_a_changed_image_replaces_the_container() {
    let mut story = web("");
    story.file("web.yaml", &pod("web", "").replace("1.27", "1.28")).settles();
    assert_eq!(story.world.engine.find(&key("web"), "app").unwrap().config.image, "nginx:1.28");
}

#[test]
fn trap_09_a_pull_that_takes_long_holds_up_nobody_else() {
    let mut story = web("");
    story.file("slow.yaml", &pod("slow", "").replace("1.27", "1.28"));
    let pulls = |action: &Action| matches!(&action.call, Call::PullImage { image } if image == "nginx:1.28");
    while !next(&mut story).iter().any(pulls) {
        while story.world.carry_out(0).is_some() {}
    }
    // Nobody answers the pull. Another pod comes, and its first step is due at once.
    story.file("fast.yaml", &pod("fast", ""));
    assert!(next(&mut story).iter().any(|action| action.pod == key("fast")));
}

#[test]
fn trap_10_an_image_that_is_there_is_not_pulled_again() {
    let mut story = web("");
    story
        .file("more.yaml", &pod("more", ""))
        .happens(Event::Killed { pod: key("web"), container: "app".into() });
    let rounds = story.world.settle(100).unwrap();
    let planned = rounds.iter().flat_map(|round| &round.planned);
    assert!(planned.clone().count() > 4);
    assert!(!planned.into_iter().any(|action| matches!(action.call, Call::PullImage { .. })));
}

#[test]
fn trap_15_a_command_is_a_list_of_words() {
    let story = web(", command: [\"sh\", \"-c\", \"echo  'two  words'\"], args: [\"\"]");
    let config = story.world.engine.find(&key("web"), "app").unwrap().config;
    assert_eq!(config.entrypoint.as_deref().unwrap(), ["sh", "-c", "echo  'two  words'"]);
    assert_eq!(config.cmd.as_deref().unwrap(), [""]);
}

#[test]
fn trap_16_udp_is_udp_and_one_container_port_may_be_published_twice() {
    let story = web(
        ", ports: [{containerPort: 53, hostPort: 53, protocol: UDP}, {containerPort: 53, hostPort: 5353}]",
    );
    let sandbox = story.world.engine.find(&key("web"), "POD").unwrap();
    let ports: Vec<String> = sandbox
        .config
        .ports
        .iter()
        .map(|port| format!("{}:{}/{}", port.host_port, port.container_port, port.protocol.lower()))
        .collect();
    assert_eq!(ports, ["53:53/udp", "5353:53/tcp"]);
}

#[test]
fn trap_17_a_port_without_a_host_port_is_not_published() {
    let story = web(", ports: [{containerPort: 80}, {containerPort: 81, hostPort: 0}]");
    assert!(story.world.engine.find(&key("web"), "POD").unwrap().config.ports.is_empty());
}

#[test]
fn trap_24_a_start_that_fails_is_told() {
    let mut story = Story::new("");
    story.file("web.yaml", &pod("web", ""));
    story.happens(Event::CallFails { verb: Some(Verb::Start), skip: 1, fault: Fault::Error }).settles();
    assert!(story.world.waits().iter().any(|wait| wait.pod == key("web")), "{}", story.told());
}

#[test]
fn trap_25_a_list_that_fails_is_not_an_empty_engine() {
    let mut story = web("");
    let before = story.world.engine.changes();
    story.happens(Event::AgentDies);
    for _ in 0..3 {
        story.happens(Event::CallFails { verb: Some(Verb::List), skip: 0, fault: Fault::Error });
        story.rounds(1);
    }
    story.settles();
    assert_eq!(story.world.engine.changes(), before, "nothing was made twice");
}

//! Agent and engine come and go; what runs stays.

use std::time::Duration;

use podkeeper::sim::{Event, Story};

use crate::{WEB, compare};

#[test]
fn a_restarted_agent_adopts_what_runs() {
    let mut story = Story::new("A restarted agent finds its containers by their labels and changes nothing.");
    story.file("web.yaml", WEB).settles();
    let before = story.changes();
    story.happens(Event::AgentDies).settles();
    assert_eq!(story.changes(), before);
    compare("adopting", "a_restarted_agent_adopts_what_runs", &story);
}

#[test]
fn an_agent_killed_half_way_goes_on_where_it_was() {
    let mut story = Story::new("An agent that is killed between two steps goes on from what is there.");
    story.file("web.yaml", WEB).rounds(4);
    story.happens(Event::AgentDies).settles();
    compare("adopting", "an_agent_killed_half_way_goes_on_where_it_was", &story);
}

#[test]
fn an_engine_restart_brings_every_pod_back() {
    let mut story =
        Story::new("After an engine restart every pod is started over, and no back-off is counted.");
    story.file("web.yaml", WEB).settles().passes(Duration::from_secs(700));
    story.happens(Event::EngineRestarts { live_restore: false }).passes(Duration::from_secs(5));
    compare("adopting", "an_engine_restart_brings_every_pod_back", &story);
}

#[test]
fn an_engine_restart_with_live_restore_changes_nothing() {
    let mut story = Story::new("With live restore an engine restart is not noticed by any pod.");
    story.file("web.yaml", WEB).settles();
    let before = story.changes();
    story.happens(Event::EngineRestarts { live_restore: true }).settles();
    assert_eq!(story.changes(), before);
    compare("adopting", "an_engine_restart_with_live_restore_changes_nothing", &story);
}

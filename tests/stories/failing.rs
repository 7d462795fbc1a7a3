//! Calls to the engine go wrong in every way; nothing is done twice.

use std::time::Duration;

use podkeeper::sim::{Event, Fault, NO_COMMAND, Story, Verb};

use crate::{WEB, compare};

fn with_fault(rule: &str, verb: Verb, skip: u32, fault: Fault) -> Story {
    let mut story = Story::new(rule);
    story.file("web.yaml", WEB);
    story.happens(Event::CallFails { verb: Some(verb), skip, fault }).passes(Duration::from_secs(20));
    story
}

#[test]
fn a_create_whose_reply_is_lost_is_adopted() {
    let rule = "A container whose create was answered by silence is found and used, not made again.";
    let story = with_fault(rule, Verb::Create, 1, Fault::ReplyLost);
    assert_eq!(story.world.engine.containers().len(), 2, "a sandbox and one container");
    compare("failing", "a_create_whose_reply_is_lost_is_adopted", &story);
}

#[test]
fn a_start_that_fails_after_its_effect_is_noticed() {
    let rule = "A start that took effect although the engine said 500 is seen to have succeeded.";
    let story = with_fault(rule, Verb::Start, 1, Fault::ErrorAfterEffect);
    compare("failing", "a_start_that_fails_after_its_effect_is_noticed", &story);
}

#[test]
fn an_engine_that_cannot_be_reached_is_tried_again() {
    let rule = "A call that did not reach the engine is made again after a moment.";
    let story = with_fault(rule, Verb::Create, 0, Fault::Unreachable);
    compare("failing", "an_engine_that_cannot_be_reached_is_tried_again", &story);
}

#[test]
fn a_command_that_is_not_there_is_said_in_the_engines_words() {
    let mut story =
        Story::new("A command that the image does not have: the pod waits, in the engine's own words.");
    let command = format!("\", command: [{NO_COMMAND}]}}]");
    story.file("web.yaml", &WEB.replace("\"}]", &command)).passes(Duration::from_secs(12));
    compare("failing", "a_command_that_is_not_there_is_said_in_the_engines_words", &story);
}

//! The engine's event stream: one JSON object after another, for as long as the connection lives.

use std::collections::VecDeque;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::Deserialize;

use super::refusal;
use crate::docker::DockerError;
use crate::model::ContainerId;
use crate::observer::Hint;

/// The engine's words for what happens to a container. Podman says `remove`. Never `exec_*`: each probe
/// would wake the agent three times.
pub(super) const WORDS: [(&str, Hint); 6] = [
    ("start", Hint::Started),
    ("die", Hint::Died),
    ("destroy", Hint::Destroyed),
    ("remove", Hint::Destroyed),
    ("pause", Hint::Paused),
    ("unpause", Hint::Unpaused),
];

/// An open stream of events.
pub struct Events {
    body: Incoming,
    unfinished: Vec<u8>,
    ready: VecDeque<(ContainerId, Hint)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    actor: Actor,
}

#[derive(Deserialize)]
struct Actor {
    #[serde(rename = "ID")]
    id: String,
}

impl Events {
    pub(super) fn new(body: Incoming) -> Self {
        Self { body, unfinished: Vec::new(), ready: VecDeque::new() }
    }

    /// The next event. May be dropped while it waits: nothing is lost.
    ///
    /// # Errors
    /// When the stream has ended, for whatever reason: events were lost from now on.
    pub async fn next(&mut self) -> Result<(ContainerId, Hint), DockerError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.unfinished.extend_from_slice(data);
                        self.ready.extend(take(&mut self.unfinished));
                    }
                }
                Some(Err(error)) => return Err(refusal::uncertain(&error)),
                None => {
                    return Err(DockerError::Uncertain {
                        message: "the engine ended its event stream".to_owned(),
                    });
                }
            }
        }
    }
}

/// Takes the whole lines. One that cannot be read is no event of ours.
fn take(unfinished: &mut Vec<u8>) -> Vec<(ContainerId, Hint)> {
    let Some(end) = unfinished.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
    let rest = unfinished.split_off(end + 1);
    let lines = std::mem::replace(unfinished, rest);
    let read = |line: &[u8]| {
        let event: Event = serde_json::from_slice(line).ok()?;
        let (_, hint) = WORDS.iter().find(|(word, _)| *word == event.action)?;
        Some((ContainerId(event.actor.id.into()), *hint))
    };
    lines.split(|byte| *byte == b'\n').filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_the_stream_is_cut() {
        let text = "{\"Type\":\"container\",\"Action\":\"die\",\"Actor\":{\"ID\":\"a\",\"Attributes\":{\"exitCode\":\"1\"}}}\n\
                    {\"Action\":\"exec_die\",\"Actor\":{\"ID\":\"b\"}}\nnonsense\n{\"Action\":\"start\",\"Actor\":{\"ID\":\"c\"}}\n";
        for cut in 0..text.len() {
            let mut unfinished = Vec::new();
            let mut events = Vec::new();
            for part in [&text[..cut], &text[cut..]] {
                unfinished.extend_from_slice(part.as_bytes());
                events.extend(take(&mut unfinished));
            }
            assert_eq!(events, [("a".into(), Hint::Died), ("c".into(), Hint::Started)], "cut at {cut}");
            assert!(unfinished.is_empty());
        }
    }
}

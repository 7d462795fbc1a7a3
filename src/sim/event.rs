//! The one alphabet of what can happen to a node: stories, property tests, fuzzing and replays speak it.

use std::fmt;
use std::time::Duration;

use crate::model::pod::Protocol;
use crate::model::{Pod, PodKey};
use crate::plan::SourceKind;
use crate::sim::bytes::Bytes;
use crate::sim::cast;
use crate::sim::fault::{Fault, Verb};

/// Something that happens to a node from outside. What does not apply (a container exits that does not
/// run) changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A source declares the pod, new or changed.
    Apply {
        source: SourceKind,
        pod: Box<Pod>,
    },
    /// A source no longer declares the pod.
    Delete {
        source: SourceKind,
        pod: PodKey,
    },
    /// A source cannot be read now.
    SourceGoesStale {
        source: SourceKind,
    },
    /// A source has been read again, whole.
    SourceIsRead {
        source: SourceKind,
    },
    /// The program of a container ends. `POD` is the sandbox, here and below.
    Exits {
        pod: PodKey,
        container: String,
        code: i64,
        oom: bool,
    },
    /// Somebody runs `docker kill`.
    Killed {
        pod: PodKey,
        container: String,
    },
    /// Somebody runs `docker stop`.
    Stopped {
        pod: PodKey,
        container: String,
    },
    /// Somebody runs `docker start`.
    Started {
        pod: PodKey,
        container: String,
    },
    /// Somebody runs `docker pause`.
    Paused {
        pod: PodKey,
        container: String,
    },
    /// Somebody runs `docker rm -f`.
    Vanishes {
        pod: PodKey,
        container: String,
    },
    /// Somebody runs `docker container prune`: all that do not run are gone.
    Pruned,
    /// A call to the engine will go wrong: the first of its kind after `skip` others.
    CallFails {
        verb: Option<Verb>,
        skip: u32,
        fault: Fault,
    },
    /// The engine restarts. Without live restore every container ends.
    EngineRestarts {
        live_restore: bool,
    },
    /// The agent is killed and comes back. What was in flight happens without it or not at all.
    AgentDies,
    /// The answer to a list that was asked now arrives a round late.
    StaleList,
    /// Events of the engine that were not delivered yet are lost.
    EventsLost,
    /// They are delivered twice, the second time backwards.
    EventsDoubled,
    TimePasses(Duration),
    /// The registry has the image again.
    ImageAppears {
        image: String,
    },
    /// The image is gone from the registry and from the engine.
    ImageVanishes {
        image: String,
    },
    /// A program outside any container takes a port of the node.
    PortTaken {
        protocol: Protocol,
        port: u16,
    },
    PortFreed {
        protocol: Protocol,
        port: u16,
    },
}

impl Event {
    /// Reads the next event out of bytes; `None` when they are used up.
    ///
    /// Every byte string is a story, and similar bytes are similar stories, so that fuzzing and shrinking
    /// work. The pods are those of a small cast (`a`, `b`, `c`), so that events meet the same ones.
    pub fn decode(bytes: &mut Bytes) -> Option<Event> {
        let kind = bytes.next()?;
        let event = match kind % 32 {
            0..=4 => Event::Apply { pod: Box::new(cast::pod(bytes)), source: source(bytes) },
            5 => Event::Delete { pod: cast::key(bytes), source: source(bytes) },
            6 => Event::SourceGoesStale { source: source(bytes) },
            7 => Event::SourceIsRead { source: source(bytes) },
            8..=10 => {
                let (pod, container) = cast::member(bytes);
                let code = [0, 1, 137, 255][bytes.below(4)];
                Event::Exits { pod, container, code, oom: code == 137 && bytes.flag() }
            }
            11..=12 => by_hand(bytes, |pod, container| Event::Killed { pod, container }),
            13 => by_hand(bytes, |pod, container| Event::Stopped { pod, container }),
            14 => by_hand(bytes, |pod, container| Event::Started { pod, container }),
            15 => by_hand(bytes, |pod, container| Event::Paused { pod, container }),
            16..=17 => by_hand(bytes, |pod, container| Event::Vanishes { pod, container }),
            18 => Event::Pruned,
            19..=21 => call_fails(bytes),
            22 => Event::EngineRestarts { live_restore: bytes.flag() },
            23 => Event::AgentDies,
            24 => Event::StaleList,
            25 => Event::EventsLost,
            26 => Event::EventsDoubled,
            27 => Event::TimePasses(Duration::from_secs([1, 9, 30, 400, 700, 4000][bytes.below(6)])),
            28 => Event::ImageAppears { image: cast::image(bytes) },
            29 => Event::ImageVanishes { image: cast::image(bytes) },
            30 => Event::PortTaken { protocol: Protocol::Tcp, port: cast::port(bytes) },
            _ => Event::PortFreed { protocol: Protocol::Tcp, port: cast::port(bytes) },
        };
        Some(event)
    }
}

/// Mostly the file, so that most events meet.
fn source(bytes: &mut Bytes) -> SourceKind {
    [SourceKind::File, SourceKind::File, SourceKind::Http, SourceKind::Etcd][bytes.below(4)]
}

fn by_hand(bytes: &mut Bytes, event: fn(PodKey, String) -> Event) -> Event {
    let (pod, container) = cast::member(bytes);
    event(pod, container)
}

fn call_fails(bytes: &mut Bytes) -> Event {
    const VERBS: [Option<Verb>; 8] = [
        None,
        Some(Verb::List),
        Some(Verb::Inspect),
        Some(Verb::Create),
        Some(Verb::Start),
        Some(Verb::Stop),
        Some(Verb::Remove),
        Some(Verb::Pull),
    ];
    const FAULTS: [Fault; 5] =
        [Fault::Error, Fault::ErrorAfterEffect, Fault::Timeout, Fault::ReplyLost, Fault::Unreachable];
    let verb = VERBS[bytes.below(VERBS.len())];
    Event::CallFails { verb, skip: bytes.below(6) as u32, fault: FAULTS[bytes.below(FAULTS.len())] }
}

/// A headline: what happened, in words.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |pod: &PodKey, container: &str| member(pod, container);
        match self {
            Event::Apply { source, pod } => {
                write!(f, "{source} declares {}/{}", pod.metadata.namespace, pod.metadata.name)
            }
            Event::Delete { source, pod } => write!(f, "{source} no longer declares {}", short(pod)),
            Event::SourceGoesStale { source } => write!(f, "{source} cannot be read"),
            Event::SourceIsRead { source } => write!(f, "{source} is read again"),
            Event::Exits { pod, container, code, oom } => {
                let oom = if *oom { ", out of memory" } else { "" };
                write!(f, "{} exits with code {code}{oom}", at(pod, container))
            }
            Event::Killed { pod, container } => write!(f, "{} is killed by hand", at(pod, container)),
            Event::Stopped { pod, container } => write!(f, "{} is stopped by hand", at(pod, container)),
            Event::Started { pod, container } => write!(f, "{} is started by hand", at(pod, container)),
            Event::Paused { pod, container } => write!(f, "{} is paused by hand", at(pod, container)),
            Event::Vanishes { pod, container } => write!(f, "{} is removed by hand", at(pod, container)),
            Event::Pruned => f.write_str("all containers that do not run are pruned by hand"),
            Event::CallFails { verb, skip, fault } => call_headline(f, *verb, *skip, *fault),
            Event::EngineRestarts { live_restore: true } => {
                f.write_str("the engine restarts with live restore")
            }
            Event::EngineRestarts { live_restore: false } => f.write_str("the engine restarts"),
            Event::AgentDies => f.write_str("the agent is killed and comes back"),
            Event::StaleList => f.write_str("a list of the containers is answered late"),
            Event::EventsLost => f.write_str("the engine's events are lost"),
            Event::EventsDoubled => f.write_str("the engine's events come twice"),
            Event::TimePasses(time) => write!(f, "{} s pass", time.as_secs()),
            Event::ImageAppears { image } => write!(f, "the registry has {image}"),
            Event::ImageVanishes { image } => write!(f, "{image} is gone from the engine and the registry"),
            Event::PortTaken { port, .. } => write!(f, "another program takes port {port}"),
            Event::PortFreed { port, .. } => write!(f, "the other program gives port {port} back"),
        }
    }
}

fn call_headline(f: &mut fmt::Formatter<'_>, verb: Option<Verb>, skip: u32, fault: Fault) -> fmt::Result {
    let call = verb.map_or("call".into(), |verb| format!("{verb:?}").to_lowercase());
    let which = if skip == 0 { format!("the next {call}") } else { format!("a {call} after {skip} others") };
    let how = match fault {
        Fault::Error => "fails with 500",
        Fault::ErrorAfterEffect => "takes effect and fails with 500",
        Fault::Timeout => "is never heard of",
        Fault::ReplyLost => "takes effect and its reply is lost",
        Fault::Unreachable => "finds no engine",
    };
    write!(f, "{which} {how}")
}

/// A pod's name, with its namespace unless that is `default`.
pub(crate) fn short(pod: &PodKey) -> String {
    if &*pod.namespace == "default" { pod.name.to_string() } else { pod.to_string() }
}

/// `web[app]`, or `web's sandbox`.
pub(crate) fn member(pod: &PodKey, container: &str) -> String {
    match container {
        crate::plan::ledger::SANDBOX => format!("{}'s sandbox", short(pod)),
        name => format!("{}[{name}]", short(pod)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_string_is_a_story_that_ends() {
        for seed in 0..=255_u8 {
            let text: Vec<u8> = (0..200_u8).map(|i| i.wrapping_mul(seed).wrapping_add(seed)).collect();
            let mut bytes = Bytes::new(&text);
            let events = std::iter::from_fn(|| Event::decode(&mut bytes)).count();
            assert!((20..=200).contains(&events), "{events} events from seed {seed}");
        }
    }
}

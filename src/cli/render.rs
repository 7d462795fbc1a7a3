//! A plan as text, as the contract shows it.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::cli::changes::{Changes, Kind, Part, PodChange, Step};
use crate::cli::escape::safe;
use crate::cli::output::{Ink, Paint};
use crate::model::{Place, Time};
use crate::plan::{Action, Call, Cause, SourceKind, Wait};

/// Places stand in one column, at least this far to the right.
const PLACE_COLUMN: usize = 62;

/// The whole plan, ready to print. `at` is the moment from which waits are counted.
pub fn text(changes: &Changes, at: Time, paint: Paint) -> String {
    let mut out = String::new();
    let name = changes.pods.iter().map(|pod| name(pod).chars().count()).max().unwrap_or(0);
    let headers = changes.pods.iter().flat_map(|pod| headers(pod, name));
    let column = headers.map(|header| header.chars().count() + 2).max().unwrap_or(0).max(PLACE_COLUMN);
    for pod in &changes.pods {
        pod_text(&mut out, pod, name, column, paint);
        for wait in changes.waits.iter().filter(|wait| wait.pod == pod.key) {
            let line = format!("     {}", wait_text(wait, at));
            let _ = writeln!(out, "{}", paint.ink(Ink::Faint, line));
        }
    }
    let others = changes.waits.iter().filter(|wait| changes.pods.iter().all(|pod| pod.key != wait.pod));
    for wait in others {
        let _ = writeln!(out, "  {}  {}", wait.pod, wait_text(wait, at));
    }
    if let Some(line) = left_alone(changes) {
        let _ = writeln!(out, "{}", paint.ink(Ink::Faint, line));
    }
    out.push_str(&summary(changes, paint));
    out
}

/// `3 pods of other sources (api, etcd) are left alone.`
fn left_alone(changes: &Changes) -> Option<String> {
    let sources: BTreeSet<SourceKind> = changes.others.iter().map(|(source, _)| *source).collect();
    let names: Vec<&str> = sources.into_iter().map(SourceKind::as_str).collect();
    let (names, plural) =
        (names.join(", "), if names.len() == 1 { "another source" } else { "other sources" });
    match changes.others.len() {
        0 => None,
        1 => Some(format!("1 pod of {plural} ({names}) is left alone.")),
        pods => Some(format!("{pods} pods of {plural} ({names}) are left alone.")),
    }
}

/// `Plan: 1 to add, 1 to change, 0 to remove, 11 actions.`
pub fn summary(changes: &Changes, paint: Paint) -> String {
    let actions = changes.actions();
    if actions == 0 {
        let waiting = if changes.waits.is_empty() { "" } else { " yet" };
        return format!(
            "{}\n",
            paint.ink(Ink::Strong, format!("Nothing to do{waiting}: {}", nothing(changes)))
        );
    }
    let line = format!(
        "Plan: {} to add, {} to change, {} to remove, {actions} action{}.",
        changes.count(Kind::Add),
        changes.count(Kind::Change),
        changes.count(Kind::Remove),
        if actions == 1 { "" } else { "s" },
    );
    let mut out = format!("{}\n", paint.ink(Ink::Strong, line));
    if !changes.settled {
        out.push_str("This plan does not come to an end: please report it, with `podkeeper observe`.\n");
    }
    out
}

fn nothing(changes: &Changes) -> &'static str {
    if changes.waits.is_empty() {
        "what runs is what is declared."
    } else {
        "something has to happen first, see above."
    }
}

fn pod_text(out: &mut String, pod: &PodChange, name: usize, column: usize, paint: Paint) {
    let (ink, _) = mark(pod.kind);
    let places: Vec<Option<&Place>> = match pod.kind {
        Kind::Change => pod.parts.iter().map(|part| part.place.as_ref()).collect(),
        Kind::Add | Kind::Remove => vec![pod.place.as_ref()],
    };
    for (i, (header, place)) in headers(pod, name).into_iter().zip(places).enumerate() {
        let gap = " ".repeat(column.saturating_sub(header.chars().count()));
        let place = place.map(|place| safe(&place.to_string())).unwrap_or_default();
        let line = format!("{}{gap}{}", paint.ink(ink, header), paint.ink(Ink::Faint, place));
        let _ = writeln!(out, "{}", line.trim_end());
        if let Some(part) = pod.parts.get(i) {
            fields(out, part);
        }
    }
    let width = pod.steps.iter().map(|step| call(&step.action).chars().count()).max().unwrap_or(0);
    for step in &pod.steps {
        step_text(out, step, width, paint);
    }
}

fn mark(kind: Kind) -> (Ink, char) {
    match kind {
        Kind::Add => (Ink::Add, '+'),
        Kind::Change => (Ink::Change, '~'),
        Kind::Remove => (Ink::Remove, '-'),
    }
}

fn name(pod: &PodChange) -> String {
    safe(&pod.key.to_string())
}

/// The first lines of a pod, its name `width` wide.
fn headers(pod: &PodChange, width: usize) -> Vec<String> {
    let (_, mark) = mark(pod.kind);
    let name = format!("{:<width$}", name(pod));
    match pod.kind {
        Kind::Add => vec![format!("{mark} {name}  new pod")],
        Kind::Remove => vec![format!("{mark} {name}  remove pod")],
        Kind::Change => {
            let line = |part: &Part| format!("{mark} {name}  {}  {}", safe(&part.target), part.verb);
            pod.parts.iter().map(line).collect()
        }
    }
}

fn fields(out: &mut String, part: &Part) {
    let width = part.fields.iter().map(|change| change.field.chars().count()).max().unwrap_or(0);
    for change in &part.fields {
        let new = safe(&change.new);
        let value = match &change.old {
            Some(old) => format!("{} → {new}", safe(old)),
            None => format!("→ {new}"),
        };
        let _ = writeln!(out, "    {:<width$}  {value}", safe(&change.field));
    }
}

fn step_text(out: &mut String, step: &Step, width: usize, paint: Paint) {
    let call = call(&step.action);
    let gap = " ".repeat(width - call.chars().count() + 3);
    let cause = paint.ink(Ink::Faint, cause(&step.action));
    let line = format!("{:>3}  {call}{gap}{cause}", step.number);
    let _ = writeln!(out, "{}", line.trim_end());
}

fn call(action: &Action) -> String {
    format!("{:<15} {}", verb(action), object(action)).trim_end().to_owned()
}

/// The engine call in words.
pub fn verb(action: &Action) -> &'static str {
    let sandbox = action.container.is_none();
    match &action.call {
        Call::InspectImage { .. } => "look for image",
        Call::InspectContainer { .. } => "look at container",
        Call::PullImage { .. } => "pull image",
        Call::LoadSandboxImage { .. } => "load image",
        Call::CreateSandbox { .. } => "create sandbox",
        Call::CreateContainer { .. } => "create container",
        Call::StartContainer { .. } if sandbox => "start sandbox",
        Call::StartContainer { .. } => "start container",
        Call::StopContainer { .. } if sandbox => "stop sandbox",
        Call::StopContainer { .. } => "stop container",
        Call::UnpauseContainer { .. } => "resume container",
        Call::RemoveContainer { .. } if sandbox => "remove sandbox",
        Call::RemoveContainer { .. } => "remove container",
        Call::UpdateContainer { .. } => "update container",
    }
}

/// What the call is about, as people name it.
pub fn object(action: &Action) -> String {
    let container = action.container.as_deref().unwrap_or_default();
    match &action.call {
        Call::InspectImage { image } | Call::PullImage { image } | Call::LoadSandboxImage { image } => {
            safe(image)
        }
        Call::StopContainer { grace: Some(grace), .. } => {
            let gap = if container.is_empty() { "" } else { "   " };
            format!("{}{gap}(grace {grace} s)", safe(container))
        }
        Call::InspectContainer { .. }
        | Call::CreateSandbox { .. }
        | Call::CreateContainer { .. }
        | Call::StartContainer { .. }
        | Call::StopContainer { grace: None, .. }
        | Call::UnpauseContainer { .. }
        | Call::RemoveContainer { .. }
        | Call::UpdateContainer { .. } => safe(container),
    }
}

/// The reason, where the lines above have not told it already.
fn cause(action: &Action) -> String {
    match &action.cause {
        Cause::Changed { .. } => String::new(),
        Cause::Missing { .. }
        | Cause::Ended { .. }
        | Cause::NotStarted
        | Cause::Removed { .. }
        | Cause::NotInManifest
        | Cause::SandboxLost { .. }
        | Cause::Finished { .. }
        | Cause::Superseded { .. }
        | Cause::Outdated
        | Cause::ProbeFailed { .. }
        | Cause::StateUnknown { .. }
        | Cause::NeededBy { .. }
        | Cause::Unknown { .. } => safe(&action.cause.to_string()),
    }
}

/// `app waits: CrashLoopBackOff until 2026-11-30T18:52:12Z (in 10 s): back-off after …`
pub fn wait_text(wait: &Wait, at: Time) -> String {
    let who = wait.container.as_deref().map_or("pod".into(), safe);
    let until = wait.until.map_or(String::new(), |until| {
        let left = until.since(at).as_millis().div_ceil(1000);
        format!(" until {until} (in {left} s)")
    });
    let message = match wait.reason.message.as_str() {
        "" => String::new(),
        message => format!(": {}", safe(message)),
    };
    format!("{who} waits: {}{until}{message}", wait.reason.word)
}

//! `…/log`: what a container has written.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::query::Query;
use super::refuse;
use crate::docker::DockerError;
use crate::model::{PodKey, Time};
use crate::node::api::Api;
use crate::node::api::answer::{Answer, BoxError};
use crate::node::api::refusal::Refusal;
use crate::node::bollard::{LogOptions, Logs};
use crate::node::clock;
use crate::plan::{Declared, Desired, Instance, Observed};

/// Which container's, and how much of it.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    container: Option<String>,
    previous: bool,
    limit: Option<u64>,
    options: LogOptions,
}

/// # Errors
/// 400 when there is no log to be had, 404 for a pod that is not here.
pub async fn of_pod(api: &Arc<Api>, key: &PodKey, query: &Query) -> Result<Answer, Refusal> {
    let (now, desired) = api.snapshots.latest();
    let wanted = wanted(query, clock::wall()).map_err(Refusal::bad_request)?;
    let (instance, tty) = choose(&desired, &now.observed, key, &wanted)?;
    let logs = api.kube.engine.logs(&instance.id, tty, &wanted.options).await;
    let logs = logs.map_err(|error| match error {
        DockerError::NotFound { .. } => {
            Refusal::bad_request(format!("the container of pod \"{}\" is gone", key.name))
        }
        other => {
            let message = format!("the engine does not give the log: {other}");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
        }
    })?;
    // Pulled by the client: what it does not read stays in the engine.
    let lines = stream::unfold((logs, wanted.limit), next);
    let mut response = Response::new(StreamBody::new(lines).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}

type Left = (Logs, Option<u64>);

async fn next((mut logs, left): Left) -> Option<(Result<Frame<Bytes>, BoxError>, Left)> {
    if left == Some(0) {
        return None;
    }
    let mut bytes = match logs.next().await {
        Ok(bytes) => bytes?,
        Err(error) => return Some((Err(error.into()), (logs, Some(0)))),
    };
    let left = left.map(|left| {
        bytes.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left - bytes.len() as u64
    });
    Some((Ok(Frame::data(bytes)), (logs, left)))
}

fn wanted(query: &Query, now: Time) -> Result<Wanted, String> {
    let since = match (query.number::<u32>("sinceSeconds")?, query.get("sinceTime")) {
        (Some(_), Some(_)) => return Err("sinceSeconds and sinceTime: give one of them".to_owned()),
        (Some(seconds), None) => Some(now - Duration::from_secs(seconds.into())),
        (None, Some(text)) => {
            Some(Time::parse(text).ok_or_else(|| format!("sinceTime '{text}' is not a time (RFC 3339)"))?)
        }
        (None, None) => None,
    };
    let stream = query.get("stream").unwrap_or("All");
    if !["All", "Stdout", "Stderr"].contains(&stream) {
        return Err(format!("stream '{stream}' is not one of All, Stdout, Stderr"));
    }
    let limit = query.number("limitBytes")?;
    if limit == Some(0) {
        return Err("limitBytes must be at least 1".to_owned());
    }
    Ok(Wanted {
        container: query.get("container").map(str::to_owned),
        previous: query.flag("previous"),
        limit,
        options: LogOptions {
            follow: query.flag("follow"),
            timestamps: query.flag("timestamps"),
            // The 2014 endpoint calls it `tail`.
            tail: match query.number("tailLines")? {
                Some(lines) => Some(lines),
                None => query.number("tail")?,
            },
            since,
            stdout: stream != "Stderr",
            stderr: stream != "Stdout",
        },
    })
}

/// The container whose log it is, and whether it has a terminal.
fn choose(
    desired: &Desired,
    observed: &Observed,
    key: &PodKey,
    wanted: &Wanted,
) -> Result<(Arc<Instance>, bool), Refusal> {
    let declared = desired.get(key).map(|declared| &**declared);
    let observed = observed.pods.get(key);
    if declared.is_none() && observed.is_none() {
        return Err(refuse::not_found(&key.name));
    }
    let pod = &key.name;
    let name = named(declared, wanted.container.as_deref(), pod)?;
    let name = match name {
        Some(name) => name,
        None => {
            return Err(Refusal::bad_request(format!("a container name must be specified for pod {pod}")));
        }
    };
    let uid = declared.map(|declared| &declared.uid);
    let of_this_life = |instance: &&Arc<Instance>| uid.is_none_or(|uid| instance.uid == *uid);
    let mut instances = observed.into_iter().flat_map(|pod| pod.of(&name)).filter(of_this_life);
    let found = if wanted.previous { instances.nth(1) } else { instances.next() };
    let what = if wanted.previous { "previous terminated container" } else { "container" };
    let Some(instance) = found else {
        let why = if wanted.previous { "not found" } else { "is waiting to start" };
        return Err(Refusal::bad_request(format!("{what} \"{name}\" in pod \"{pod}\" {why}")));
    };
    let mut containers = declared.into_iter().flat_map(Declared::containers);
    let tty = containers.any(|(container, _)| container.name == name && container.tty);
    Ok((instance.clone(), tty))
}

/// The container that is asked for; of a pod with only one it need not be named.
fn named(declared: Option<&Declared>, asked: Option<&str>, pod: &str) -> Result<Option<String>, Refusal> {
    let Some(declared) = declared else { return Ok(asked.map(str::to_owned)) };
    let names: Vec<&str> = declared.containers().map(|(container, _)| container.name.as_str()).collect();
    match (asked, &declared.pod.spec.containers[..]) {
        (Some(asked), _) if names.contains(&asked) => Ok(Some(asked.to_owned())),
        (Some(asked), _) => {
            let message =
                format!("container {asked} is not valid for pod {pod}: it has {}", names.join(", "));
            Err(Refusal::bad_request(message))
        }
        (None, [only]) => Ok(Some(only.name.clone())),
        (None, _) => {
            let names = names.join(" ");
            let message =
                format!("a container name must be specified for pod {pod}, choose one of: [{names}]");
            Err(Refusal::bad_request(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_of_a_log_is_read_from_the_query() {
        let ask = |text: &str| wanted(&Query::parse(Some(text)), Time(100_000));
        let found =
            ask("container=a&follow=true&tailLines=5&sinceSeconds=10&timestamps=1&limitBytes=9").unwrap();
        assert_eq!((found.container.as_deref(), found.limit, found.previous), (Some("a"), Some(9), false));
        let options = LogOptions {
            follow: true,
            timestamps: true,
            tail: Some(5),
            since: Some(Time(90_000)),
            stdout: true,
            stderr: true,
        };
        assert_eq!(found.options, options);
        for wrong in [
            "tailLines=-1",
            "sinceSeconds=x",
            "sinceTime=now",
            "limitBytes=0",
            "stream=in",
            "sinceSeconds=1&sinceTime=1970-01-01T00:00:00Z",
        ] {
            assert!(ask(wrong).is_err(), "{wrong}");
        }
    }
}

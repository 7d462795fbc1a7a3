//! Carrying a plan out once: plan, do, fold, and again, until nothing is left that can still happen.
//!
//! Generic over the engine, so that the tests do it on a simulated one.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep, timeout_at};

use crate::cli::escape::safe;
use crate::cli::failure::Failure;
use crate::cli::output::Progress;
use crate::cli::render;
use crate::docker::{Docker, DockerError};
use crate::executor::{self, Outcome};
use crate::node::agent::Lanes;
use crate::node::clock::Clock;
use crate::observer;
use crate::plan::{Action, Desired, Observed, Wait, plan, waits, wake_at};

/// How often the engine is read again while something is waited for: nobody tells us of events here.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is done, on which engine, and what is known so far.
pub struct Work<'a, D> {
    pub engine: &'a D,
    pub desired: &'a Desired,
    pub observed: Observed,
    pub clock: Clock,
    pub progress: Progress,
    /// Actions that are done, looks left out.
    pub done: usize,
    /// Somebody has to say again what is on the engine.
    pub unsure: bool,
}

/// How it came out.
#[derive(Debug)]
pub enum End {
    /// What runs is what is declared.
    Settled,
    /// This waits, and nothing that happens here will end the wait.
    Stuck(Vec<Wait>),
    /// The time is over; this still waits.
    TimeOut(Vec<Wait>),
}

impl<D: Docker> Work<'_, D> {
    /// # Errors
    /// When the engine cannot be read.
    pub async fn run(&mut self, deadline: Instant, mut lanes: Lanes) -> Result<End, Failure> {
        let mut running = FuturesUnordered::new();
        loop {
            if self.unsure && running.is_empty() {
                self.read().await?;
            }
            if !self.unsure {
                for action in lanes.admit(Instant::now(), plan(self.desired, &self.observed)) {
                    observer::begin(&mut self.observed, &action);
                    running.push(carry_out(self.engine, action));
                }
            }
            self.tell(running.len());
            let waiting = waits(self.desired, &self.observed);
            if running.is_empty() {
                if waiting.is_empty() {
                    return Ok(End::Settled);
                }
                if !waiting.iter().any(can_still_happen) {
                    return Ok(End::Stuck(waiting));
                }
            }
            let next = async {
                match running.next().await {
                    Some(ended) => Some(ended),
                    None => {
                        sleep(self.pause()).await;
                        None
                    }
                }
            };
            let room = lanes.due(Instant::now()).unwrap_or(deadline);
            match timeout_at(room.min(deadline), next).await {
                Err(_) if Instant::now() < deadline => {}
                Err(_) => return Ok(End::TimeOut(waiting)),
                Ok(Some((action, outcome))) => {
                    lanes.leave(&action);
                    self.ended(&action, &outcome);
                }
                Ok(None) => self.unsure = true,
            }
        }
    }

    /// Until something may be due, or until the engine should be read again.
    fn pause(&self) -> Duration {
        let wake = wake_at(self.desired, &self.observed).map(|wake| self.clock.until(wake));
        wake.unwrap_or(LOOK_AGAIN).clamp(Duration::from_millis(10), LOOK_AGAIN)
    }

    async fn read(&mut self) -> Result<(), Failure> {
        let listed = self.engine.list(&self.desired.node.name).await;
        let instances = listed.map_err(|error| unreadable(&error))?;
        observer::relist(&mut self.observed, self.clock.now(), instances);
        self.unsure = false;
        Ok(())
    }

    fn ended(&mut self, action: &Action, outcome: &Outcome) {
        self.unsure |= observer::fold(&mut self.observed, self.clock.now(), action, outcome);
        let what = format!("{}  {}", safe(&action.pod.to_string()), described(action));
        match outcome {
            Outcome::Done(_) if action.call.is_look() => {}
            Outcome::Done(_) => {
                self.done += 1;
                self.progress.line(&what);
            }
            Outcome::Refused(error) | Outcome::Uncertain(error) => {
                self.progress.line(&format!("{what}: {}", safe(&error.to_string())));
            }
        }
    }

    /// What is going on while nothing ends.
    fn tell(&mut self, running: usize) {
        let waiting = waits(self.desired, &self.observed);
        let wait = waiting.iter().find(|wait| wait.until.is_some()).or(waiting.first());
        match (running, wait) {
            (0, Some(wait)) => {
                let pod = safe(&wait.pod.to_string());
                self.progress
                    .status(&format!("{pod}  {}", render::wait_text(wait, wait.until.unwrap_or_default())));
            }
            (0, None) => {}
            (running, _) => self.progress.busy(running),
        }
    }
}

async fn carry_out<D: Docker>(engine: &D, action: Action) -> (Action, Outcome) {
    let outcome = executor::execute(engine, &action).await;
    (action, outcome)
}

fn described(action: &Action) -> String {
    format!("{} {}", render::verb(action), render::object(action)).trim_end().to_owned()
}

/// A time that comes, or a container that is on its way. Anything else needs a person, or another manifest.
fn can_still_happen(wait: &Wait) -> bool {
    wait.until.is_some()
        || matches!(wait.reason.word, "PodInitializing" | "ContainerCreating" | "Terminating")
}

pub fn unreadable(error: &DockerError) -> Failure {
    Failure::error(format!("the engine does not say what runs: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Pod, pod};
    use crate::plan::{Declared, Node, Slot, SourceKind};
    use crate::sim::{Engine, Fault, Verb, world};

    fn desired(ports: &[Option<u16>]) -> Desired {
        let node = Node { name: "node-1".into(), key: [7; 16], sandbox_image: "pause:1".into() };
        let pods = ports.iter().enumerate().map(|(i, host_port)| {
            let port = pod::ContainerPort { container_port: 80, host_port: *host_port, ..Default::default() };
            let container = pod::Container {
                name: "app".into(),
                image: "app:1".into(),
                ports: vec![port],
                ..Default::default()
            };
            let mut pod = Pod::default();
            pod.metadata.namespace = "default".into();
            pod.metadata.name = format!("pod-{i}");
            pod.spec.containers.push(container);
            let declared = Declared::new(&node, SourceKind::File, pod, world::nowhere("pods.yaml"));
            (declared.key.clone(), Arc::new(declared))
        });
        let slot = Slot::Known(pods.collect());
        Desired::new(node).with_slot(SourceKind::File, slot)
    }

    /// How it ended, and after how many actions.
    fn apply(engine: &Engine, desired: &Desired, timeout: Duration) -> (End, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut work = Work {
                engine,
                desired,
                observed: Observed::default(),
                clock: Clock::start(),
                progress: Progress::new(Box::new(std::io::sink()), false),
                done: 0,
                unsure: true,
            };
            let end = work.run(Instant::now() + timeout, Lanes::new(4)).await.unwrap();
            (end, work.done)
        })
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_second_apply_does_nothing() {
        let (engine, desired) = (Engine::new(world::START), desired(&[None, Some(8080)]));
        let (end, done) = apply(&engine, &desired, LONG);
        assert!(matches!(end, End::Settled) && done > 0, "{end:?} after {done}");
        let (end, done) = apply(&engine, &desired, LONG);
        assert!(matches!(end, End::Settled) && done == 0, "{end:?} after {done}");
    }

    #[test]
    fn what_only_another_manifest_can_solve_is_not_waited_for() {
        let (engine, desired) = (Engine::new(world::START), desired(&[Some(8080), Some(8080)]));
        let (end, _) = apply(&engine, &desired, LONG);
        assert!(matches!(&end, End::Stuck(waits) if waits.len() == 1), "{end:?}");
    }

    #[test]
    fn what_is_tried_again_later_is_waited_for_until_the_time_is_over() {
        let (engine, desired) = (Engine::new(world::START), desired(&[None]));
        engine.fail(Some(Verb::Create), 0, Fault::Error);
        let (end, _) = apply(&engine, &desired, Duration::from_millis(50));
        assert!(matches!(&end, End::TimeOut(waits) if !waits.is_empty()), "{end:?}");
    }
}

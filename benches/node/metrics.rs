//! What is measured. Each function leaves the engine as it found it.

use std::fmt::Write;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use serde_json::Value;

use crate::agent::{Agent, NODE, Place, cpu, cpu_of_engine, memory};
use crate::engine::{self, Made};
use crate::events::{Events, now};
use crate::http::Client;
use crate::proxy::{Passed, Proxy};

const PAIRS: usize = 5;
const PODS: usize = 50;
/// How long a changed file must rest before the agent reads it (`sources::settle`).
pub const SETTLE_MS: f64 = 500.0;

pub struct Row {
    pub number: u32,
    pub metric: &'static str,
    pub measured: String,
    pub goal: &'static str,
}

pub struct Bench {
    binary: String,
    pub socket: String,
    client: Client,
    pub events: Events,
}

impl Bench {
    pub fn new(binary: &str) -> Result<Self, String> {
        let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
        let socket =
            host.strip_prefix("unix://").ok_or("the bench needs an engine on a unix socket")?.to_owned();
        let client = Client { socket: socket.clone() };
        let events = Events::record(&client)?;
        let bench = Bench { binary: binary.into(), socket, client, events };
        bench.sweep()?;
        Ok(bench)
    }

    /// Removes whatever this bench has made, now or in a run that was broken off.
    pub fn sweep(&self) -> Result<(), String> {
        for label in [format!("io.podkeeper.node={NODE}"), "io.podkeeper-bench=raw".into()] {
            let ids = self.ids(&[label])?;
            engine::parallel(ids.len(), |i| {
                self.client.call("DELETE", &format!("/containers/{}?force=1&v=1", ids[i]), "")
            })?;
        }
        Ok(())
    }

    fn ids(&self, labels: &[String]) -> Result<Vec<String>, String> {
        let labels: Vec<String> = labels.iter().map(|label| format!("%22{label}%22")).collect();
        let filters = format!("%7B%22label%22%3A%5B{}%5D%7D", labels.join(","));
        let list = self.client.call("GET", &format!("/containers/json?all=1&filters={filters}"), "")?;
        let list: Vec<Value> = serde_json::from_slice(&list).map_err(|error| error.to_string())?;
        Ok(list.iter().filter_map(|c| Some(c["Id"].as_str()?.to_owned())).collect())
    }

    pub fn agent(&self, place: &Place, socket: &str, sync: &str) -> Result<Agent, String> {
        self.agent_with(place, socket, sync, &["--port", "0"])
    }

    /// With flags of its own.
    pub fn agent_with(
        &self,
        place: &Place,
        socket: &str,
        sync: &str,
        flags: &[&str],
    ) -> Result<Agent, String> {
        let agent = Agent::start(place, &self.binary, socket, sync, flags)?;
        sleep(Duration::from_secs(2));
        Ok(agent)
    }

    pub fn proxy(&self, place: &Place) -> Result<(Proxy, String), String> {
        let path = place.root.join("proxy.sock").display().to_string();
        Ok((Proxy::listen(&path, &self.socket)?, path))
    }

    /// In a thread of its own: the engine answers only when it has cleaned up, long after the death.
    fn kill(&self, id: &str) -> JoinHandle<()> {
        let (client, path) = (Client { socket: self.socket.clone() }, format!("/containers/{id}/kill"));
        std::thread::spawn(move || {
            if let Err(error) = client.call("POST", &path, "") {
                eprintln!("{error}");
            }
        })
    }

    /// Declares pods and waits until their containers have started. Returns when the last one had, in
    /// milliseconds from the moment that the files began to appear.
    pub fn up(&self, place: &Place, pods: std::ops::Range<usize>) -> Result<f64, String> {
        self.events.clear();
        let (count, began) = (pods.len(), now());
        place.declare(pods)?;
        Ok(millis(began, self.events.nth(count, "start", Some("container"))?.at))
    }

    fn down(&self, place: &Place, count: usize) -> Result<f64, String> {
        self.events.clear();
        let began = now();
        place.undeclare_all()?;
        Ok(millis(began, self.events.nth(2 * count, "destroy", None)?.at))
    }

    fn raw_up(&self, count: usize) -> Result<(f64, Vec<Made>), String> {
        self.events.clear();
        let began = now();
        let made = engine::parallel(count, |i| engine::pod(&self.client, &format!("bench-raw-{i}")))?;
        Ok((millis(began, self.events.nth(count, "start", Some("container"))?.at), made))
    }

    fn raw_down(&self, made: &[Made]) -> Result<f64, String> {
        self.events.clear();
        let began = now();
        engine::parallel(made.len(), |i| engine::remove(&self.client, &made[i]))?;
        Ok(millis(began, self.events.nth(2 * made.len(), "destroy", None)?.at))
    }
}

/// 1 and 3: fifty pods come and go.
pub fn many(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let agent = bench.agent(&place, &bench.socket, "10s")?;
    let (mut ups, mut downs, mut cpus) = (Pairs::default(), Pairs::default(), Vec::new());
    // The first pod loads the sandbox image.
    bench.up(&place, 0..1)?;
    bench.down(&place, 1)?;
    for pair in 0..PAIRS {
        let mut ours = || -> Result<(f64, f64), String> {
            let before = cpu(agent.pid());
            let up = bench.up(&place, 0..PODS)?;
            sleep(Duration::from_secs(1));
            cpus.push((cpu(agent.pid()) - before) as f64 / 1e6 / PODS as f64);
            let down = bench.down(&place, PODS)?;
            sleep(Duration::from_secs(1));
            Ok((up, down))
        };
        let theirs = || -> Result<(f64, f64), String> {
            let (up, made) = bench.raw_up(PODS)?;
            sleep(Duration::from_secs(1));
            let down = bench.raw_down(&made)?;
            sleep(Duration::from_secs(1));
            Ok((up, down))
        };
        let (a, e) = if pair % 2 == 0 {
            let a = ours()?;
            (a, theirs()?)
        } else {
            let e = theirs()?;
            (ours()?, e)
        };
        eprintln!("    up {:.0} : {:.0} ms, down {:.0} : {:.0} ms", a.0, e.0, a.1, e.1);
        ups.push(a.0, e.0);
        downs.push(a.1, e.1);
    }
    Ok(vec![
        Row {
            number: 1,
            metric: "50 pods: files appear → last start",
            measured: format!("{} ; {:.1} ms of agent CPU a pod", ups.ratio(), median(&mut cpus)),
            goal: "≤ 1.05 × engine, ≤ 5 ms CPU a pod",
        },
        Row { number: 3, metric: "removal of 50 pods", measured: downs.ratio(), goal: "≤ 1.08 × engine" },
    ])
}

/// 2: one pod.
pub fn one(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let _agent = bench.agent(&place, &bench.socket, "10s")?;
    bench.up(&place, 0..1)?;
    bench.down(&place, 1)?;
    let mut pairs = Pairs::default();
    for _ in 0..2 * PAIRS {
        let ours = bench.up(&place, 0..1)?;
        bench.down(&place, 1)?;
        let (theirs, made) = bench.raw_up(1)?;
        bench.raw_down(&made)?;
        pairs.push(ours, theirs);
    }
    let beyond = pairs.difference() - SETTLE_MS;
    Ok(vec![Row {
        number: 2,
        metric: "1 pod: file appears → started",
        measured: format!("{} ; engine + {beyond:.0} ms beyond the settle time", pairs.ratio()),
        goal: "≤ engine + 60 ms beyond the settle time (500 ms)",
    }])
}

/// 4: nothing happens, 200 containers.
pub fn resync(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let (proxy, socket) = bench.proxy(&place)?;
    let agent = bench.agent(&place, &socket, "2s")?;
    bench.up(&place, 0..100)?;
    sleep(Duration::from_secs(6));
    proxy.clear();
    let before = cpu(agent.pid());
    sleep(Duration::from_secs(20));
    let spent = (cpu(agent.pid()) - before) as f64 / 1e6;
    let passed = proxy.passed();
    let lists = passed.iter().filter(|p| p.what.contains("/containers/json")).count();
    let requests = passed.iter().filter(|p| is_request(p)).count();
    Ok(vec![Row {
        number: 4,
        metric: "resync of a settled node, 200 containers",
        measured: format!(
            "{lists} resyncs: {lists} lists, {} other calls, {:.2} ms of agent CPU each",
            requests - lists,
            spent / lists.max(1) as f64
        ),
        goal: "1 list, 0 inspects, ≤ 3 ms CPU",
    }])
}

/// 5: an app container is killed by hand.
pub fn restart(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let (proxy, socket) = bench.proxy(&place)?;
    let _agent = bench.agent(&place, &socket, "10s")?;
    let count = 2 * PAIRS;
    bench.up(&place, 0..count)?;
    let (_, made) = bench.raw_up(count)?;
    sleep(Duration::from_secs(2));
    let (mut pairs, mut shares) = (Pairs::default(), Vec::new());
    for (i, raw) in made.iter().enumerate() {
        let labels = [format!("io.kubernetes.pod.name=bench-{i}"), "io.kubernetes.container.name=app".into()];
        let victim = bench.ids(&labels)?.pop().ok_or("a pod of the bench has gone")?;
        proxy.clear();
        bench.events.clear();
        let kill = bench.kill(&victim);
        let started = bench.events.nth(1, "start", Some("container"))?.at;
        let ours = millis(bench.events.nth(1, "die", None)?.at, started);
        shares.extend(share(&proxy.passed()));
        let _ = kill.join();
        sleep(Duration::from_millis(500));

        bench.events.clear();
        let kill = bench.kill(&raw.container);
        let died = bench.events.nth(1, "die", None)?.at;
        engine::container(&bench.client, &format!("bench-again-{i}"), &raw.sandbox)?;
        pairs.push(ours, millis(died, bench.events.nth(1, "start", Some("container"))?.at));
        let _ = kill.join();
        sleep(Duration::from_millis(500));
    }
    Ok(vec![Row {
        number: 5,
        metric: "container killed by hand → replacement started",
        measured: format!("{} ; agent's share {:.1} ms", pairs.ratio(), median(&mut shares)),
        goal: "≤ 1.15 × engine, share ≤ 5 ms",
    }])
}

/// From the engine's word of a death to the agent's next request, in milliseconds.
fn share(passed: &[Passed]) -> Option<f64> {
    let died = passed.iter().position(|p| p.what.starts_with("event ") && p.what.contains("\"die\""))?;
    let request = passed[died..].iter().find(|p| is_request(p))?;
    Some(millis(passed[died].at, request.at))
}

/// 6 and 7: fifty pods, nothing happens.
pub fn idle(bench: &Bench) -> Result<Vec<Row>, String> {
    const WINDOW: Duration = Duration::from_secs(24);
    let place = Place::new()?;
    let mut agent = bench.agent(&place, &bench.socket, "10s")?;
    bench.up(&place, 0..PODS)?;
    sleep(Duration::from_secs(12));
    let (resident, peak) = (memory(agent.pid(), "VmRSS"), memory(agent.pid(), "VmHWM"));
    let engine = || cpu_of_engine(&bench.socket);
    let percent = |nanos: u64| nanos as f64 / WINDOW.as_nanos() as f64 * 100.0;
    let (mut own, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (before, engine_before) = (cpu(agent.pid()), engine());
        sleep(WINDOW);
        own.push(percent(cpu(agent.pid()) - before));
        with.push(percent(engine() - engine_before));
        agent.stop();
        sleep(Duration::from_secs(1));
        let engine_before = engine();
        sleep(WINDOW);
        without.push(percent(engine() - engine_before));
        agent = bench.agent(&place, &bench.socket, "10s")?;
        sleep(Duration::from_secs(1));
    }
    let (own, extra) = (median(&mut own), median(&mut with) - median(&mut without));
    Ok(vec![
        Row {
            number: 6,
            metric: "idle, 50 pods",
            measured: format!(
                "agent {own:.3} % of a core, engine {extra:+.2} points of its own {:.2} %",
                median(&mut without)
            ),
            goal: "agent ≤ 0.05 %, engine ≤ +0.1 points",
        },
        Row {
            number: 7,
            metric: "memory with 50 pods",
            measured: format!("RSS {:.1} MB, peak {:.1} MB", resident as f64 / 1e3, peak as f64 / 1e3),
            goal: "RSS ≤ 12 MB, peak ≤ 16 MB",
        },
    ])
}

/// 8 and 11: the agent starts anew.
pub fn adopt(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let (proxy, socket) = bench.proxy(&place)?;
    let mut agent = bench.agent(&place, &socket, "10s")?;
    bench.up(&place, 0..PODS)?;
    sleep(Duration::from_secs(3));
    let (mut settled, mut listed, mut mutations) = (Vec::new(), Vec::new(), 0);
    for _ in 0..2 * PAIRS {
        agent.stop();
        proxy.clear();
        let began = now();
        agent = bench.agent(&place, &socket, "10s")?;
        let passed = proxy.passed();
        let list =
            passed.iter().find(|p| p.what.contains("/containers/json")).ok_or("the agent lists nothing")?;
        let last = passed.iter().rev().find(|p| p.what == "answered").ok_or("the engine answers nothing")?;
        listed.push(millis(began, list.at));
        settled.push(millis(began, last.at));
        mutations += passed.iter().filter(|p| is_request(p) && !p.what.starts_with("GET ")).count();
    }
    let bytes = std::fs::metadata(&bench.binary).map_err(|error| error.to_string())?.len();
    Ok(vec![
        Row {
            number: 8,
            metric: "agent restart, 50 pods up → the last answer it needs",
            measured: format!("{:.0} ms, {mutations} mutating calls", median(&mut settled)),
            goal: "≤ 60 ms, 0 mutating calls",
        },
        Row {
            number: 11,
            metric: "release binary; start → first list sent",
            measured: format!("{:.1} MB; {:.0} ms", bytes as f64 / 1e6, median(&mut listed)),
            goal: "≤ 9 MB; ≤ 20 ms",
        },
    ])
}

fn is_request(passed: &Passed) -> bool {
    ["GET ", "POST ", "DELETE ", "HEAD "].iter().any(|method| passed.what.starts_with(method))
}

/// Both sides of a measurement, in milliseconds.
#[derive(Default)]
struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    fn push(&mut self, ours: f64, theirs: f64) {
        self.0.push((ours, theirs));
    }

    /// The median of the ratios, and what it was made of.
    fn ratio(&self) -> String {
        let mut ratios: Vec<f64> = self.0.iter().map(|(ours, theirs)| ours / theirs).collect();
        let (mut ours, mut theirs): (Vec<f64>, Vec<f64>) = self.0.iter().copied().unzip();
        let mut text = format!("**{:.2} ×** engine", median(&mut ratios));
        let _ = write!(
            text,
            " ({:.0} : {:.0} ms, {} pairs)",
            median(&mut ours),
            median(&mut theirs),
            self.0.len()
        );
        text
    }

    fn difference(&self) -> f64 {
        median(&mut self.0.iter().map(|(ours, theirs)| ours - theirs).collect::<Vec<f64>>())
    }
}

pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

pub fn millis(from: i64, to: i64) -> f64 {
    (to - from) as f64 / 1e6
}

//! How long a declaration takes from where it is made to the agent's request for a sandbox.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::agent::{NODE, Place, manifest};
use crate::events::now;
use crate::metrics::{Bench, Row, SETTLE_MS, median, millis};
use crate::proxy::Proxy;
use crate::web::{Line, Site, free_port};

const TIMES: usize = 11;
const POLL: &str = "1s";

/// A server of the bench's own.
struct Etcd {
    process: Child,
    port: u16,
}

impl Etcd {
    fn start(place: &Place) -> Result<Self, String> {
        let (port, peers) = (free_port()?, free_port()?);
        let [url, peer] = [port, peers].map(|port| format!("http://127.0.0.1:{port}"));
        let process = Command::new("etcd")
            .arg("--data-dir")
            .arg(place.root.join("etcd"))
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("etcd: {error}: scripts/bench installs it"))?;
        let etcd = Self { process, port };
        let began = Instant::now();
        while etcd.put("x", "").is_err() {
            if began.elapsed() > Duration::from_secs(30) {
                return Err("etcd does not answer within 30 s".to_owned());
            }
            sleep(Duration::from_millis(50));
        }
        Ok(etcd)
    }

    fn put(&self, key: &str, value: &str) -> Result<(), String> {
        let [key, value] = [key, value].map(|text| STANDARD.encode(text));
        let body = format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}");
        match Line::tcp(self.port)?.ask("POST", "/v3/kv/put", "", &body)? {
            (200, _) => Ok(()),
            (status, _) => Err(format!("etcd answers {status} to a put")),
        }
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// 13, 14 and 15: a pod appears in etcd, behind a URL, as a file.
pub fn seen(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let (proxy, socket) = bench.proxy(&place)?;
    let (etcd, site) = (Etcd::start(&place)?, Site::open("apiVersion: v1\nkind: PodList\nitems: []\n")?);
    let (etcd_url, site_url) =
        (format!("http://127.0.0.1:{}", etcd.port), format!("http://{}/", site.address));
    let flags = [
        "--port",
        "0",
        "--etcd-servers",
        &etcd_url,
        "--manifest-url",
        &site_url,
        "--http-check-frequency",
        POLL,
    ];
    let _agent = bench.agent_with(&place, &socket, "10s", &flags)?;
    // The first pod loads the sandbox image.
    bench.up(&place, 0..1)?;
    let (mut of_etcd, mut of_poll, mut of_url, mut of_file) = (vec![], vec![], vec![], vec![]);
    let mut whole = String::new();
    for i in 1..=TIMES {
        let name = format!("bench-etcd-{i}");
        let (key, value) = (format!("/podkeeper/nodes/{NODE}/pods/default/{name}"), manifest(&name)?);
        let began = begin(bench, &proxy);
        etcd.put(&key, &value)?;
        of_etcd.push(millis(began, requested(bench, &proxy, &name)?));

        let name = format!("bench-url-{i}");
        whole += &format!("---\n{}", manifest(&name)?);
        let began = begin(bench, &proxy);
        site.say(whole.clone());
        let request = requested(bench, &proxy, &name)?;
        of_url.push(millis(began, request));
        of_poll.push(millis(site.asked().ok_or("nobody asked")?, request));

        let began = begin(bench, &proxy);
        place.declare(i..i + 1)?;
        of_file.push(millis(began, requested(bench, &proxy, &format!("bench-{i}"))?) - SETTLE_MS);
    }
    let row = |number, metric, measured, goal| Row { number, metric, measured, goal };
    Ok(vec![
        row(13, "etcd put → sandbox requested", spread(&mut of_etcd), "< 30 ms"),
        row(
            14,
            "change behind a URL → sandbox requested, polls every 1 s ± 20 %",
            format!("{}; {} after the poll that brought it", spread(&mut of_url), spread(&mut of_poll)),
            "seen by the first poll: ≤ 1.2 s",
        ),
        row(15, "file appears → sandbox requested, beyond the settle time", spread(&mut of_file), "< 80 ms"),
    ])
}

/// Nothing else is under way.
fn begin(bench: &Bench, proxy: &Proxy) -> i64 {
    bench.events.clear();
    proxy.clear();
    now()
}

/// When the agent asked for the sandbox of a pod. Returns once its container has started, so that all is quiet.
fn requested(bench: &Bench, proxy: &Proxy, pod: &str) -> Result<i64, String> {
    bench.events.of(pod, "start", "container")?;
    let (passed, of_pod) = (proxy.passed(), format!("_{pod}_"));
    let is_it = |what: &str| {
        what.starts_with("POST ") && what.contains("/containers/create") && what.contains(&of_pod)
    };
    let request = passed.iter().find(|passed| is_it(&passed.what));
    sleep(Duration::from_millis(300));
    Ok(request.ok_or_else(|| format!("{pod} has started and nobody asked for it"))?.at)
}

/// The median, and the least and the most.
fn spread(values: &mut [f64]) -> String {
    let middle = median(values);
    format!("{middle:.0} ms ({:.0} to {:.0}, {} times)", values[0], values[values.len() - 1], values.len())
}

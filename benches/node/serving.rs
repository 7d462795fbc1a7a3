//! What the agent's API costs those who do not use it: reads beside the loop, and writes, each of them on the disk.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::agent::{Place, memory};
use crate::events::now;
use crate::metrics::{Bench, Row, SETTLE_MS, median, millis};
use crate::web::{Line, free_port};

const CONNECTIONS: usize = 64;
const REQUESTS: usize = 10_000;
const PODS: usize = 20;
/// The socket has 32 connections.
const WRITERS: usize = 28;
const WRITING: Duration = Duration::from_secs(20);

/// 16: a pod appears, while nobody asks and while 64 clients do.
pub fn reads(bench: &Bench) -> Result<Vec<Row>, String> {
    const PAIRS: usize = 9;
    let place = Place::new()?;
    let port = free_port()?;
    let agent = bench.agent_with(&place, &bench.socket, "10s", &["--port", &port.to_string()])?;
    bench.up(&place, 0..PODS)?;
    let token = fs::read_to_string(place.root.join("state/token")).map_err(|error| error.to_string())?;
    let header = format!("Authorization: Bearer {}\r\n", token.trim());
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let (served, mut took, mut next) = (AtomicUsize::new(0), Duration::ZERO, PODS);
    let mut appears = || -> Result<f64, String> {
        bench.events.clear();
        let began = now();
        place.declare(next..next + 1)?;
        let pod = format!("bench-{next}");
        next += 1;
        let created = bench.events.of(&pod, "create", "podsandbox")?.at;
        bench.events.of(&pod, "start", "container")?;
        Ok(millis(began, created) - SETTLE_MS)
    };
    let mut resident = Vec::new();
    while busy.len() < PAIRS || served.load(Ordering::Relaxed) < REQUESTS {
        quiet.push(appears()?);
        let began = Instant::now();
        busy.push(while_reading(port, &header, &served, &mut appears)?);
        took += began.elapsed();
        resident.push(memory(agent.pid(), "VmRSS"));
    }
    let (first, last) = (resident[0], resident[resident.len() - 1]);
    let (quiet, busy) = (median(&mut quiet), median(&mut busy));
    let served = served.into_inner();
    Ok(vec![Row {
        number: 16,
        metric: "file appears → sandbox created, beyond the settle time, while 64 connections read `/pods`",
        measured: format!(
            "**{:.2} ×** ({busy:.0} : {quiet:.0} ms, {} pairs); {served} reads, {:.0} a second; RSS {:.1} → {:.1} MB",
            busy / quiet,
            resident.len(),
            served as f64 / took.as_secs_f64(),
            first as f64 / 1e3,
            last as f64 / 1e3
        ),
        goal: "≤ 2 ×, 10 000 reads, RSS flat",
    }])
}

/// Does something while many clients read, and stops them.
fn while_reading(
    port: u16,
    header: &str,
    served: &AtomicUsize,
    task: &mut impl FnMut() -> Result<f64, String>,
) -> Result<f64, String> {
    let (stop, failed) = (AtomicBool::new(false), Mutex::new(None));
    let done = scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let read = || -> Result<(), String> {
                    let mut line = Line::tcp(port)?;
                    while !stop.load(Ordering::Relaxed) {
                        match line.ask("GET", "/pods", header, "")? {
                            // A whole list of all pods, or it is no read.
                            (200, body) if is_whole(&body) => served.fetch_add(1, Ordering::Relaxed),
                            (status, body) => {
                                return Err(format!("GET /pods: {status} and {} bytes", body.len()));
                            }
                        };
                    }
                    Ok(())
                };
                if let Err(error) = read() {
                    *failed.lock().unwrap() = Some(error);
                }
            });
        }
        let done = task();
        stop.store(true, Ordering::Relaxed);
        done
    });
    match failed.into_inner().unwrap() {
        Some(error) => Err(error),
        None => done,
    }
}

fn is_whole(body: &[u8]) -> bool {
    let pods = body.windows(7).filter(|word| word == b"\"spec\":").count();
    body.starts_with(b"{") && body.ends_with(b"}") && pods >= PODS
}

/// 17: pods are replaced as fast as it goes. Without an engine, for that is not what is measured.
pub fn writes(bench: &Bench) -> Result<Vec<Row>, String> {
    let place = Place::new()?;
    let agent = bench.agent(&place, "/nonexistent/docker.sock", "10s")?;
    let socket = place.root.join("podkeeper.sock").display().to_string();
    let (answered, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let began = Instant::now();
    let mut resident = Vec::new();
    scope(|scope| {
        for writer in 0..WRITERS {
            let (socket, answered, failed) = (&socket, &answered, &failed);
            scope.spawn(move || {
                if let Err(error) = write(socket, writer, began, answered) {
                    *failed.lock().unwrap() = Some(error);
                }
            });
        }
        while began.elapsed() < WRITING {
            sleep(Duration::from_millis(500));
            resident.push(memory(agent.pid(), "VmRSS"));
        }
    });
    if let Some(error) = failed.into_inner().unwrap() {
        return Err(error);
    }
    let rate = answered.into_inner() as f64 / began.elapsed().as_secs_f64();
    // It takes a while until every thread that writes has its buffers: what grows after that, grows for ever.
    let [first, middle, last] =
        [1, resident.len() / 2, resident.len() - 1].map(|at| resident[at] as f64 / 1e3);
    Ok(vec![Row {
        number: 17,
        metric: "API writes from 28 connections, each answered once it is on the disk",
        measured: format!(
            "{rate:.0} a second; RSS {first:.1} MB after 1 s, {middle:.1} after 10 s, {last:.1} after 20 s"
        ),
        goal: "≥ 1 000 a second, RSS flat",
    }])
}

fn write(socket: &str, writer: usize, began: Instant, answered: &AtomicUsize) -> Result<(), String> {
    let mut line = Line::unix(socket)?;
    let (pods, name) = ("/api/v1/namespaces/default/pods", format!("bench-write-{writer}"));
    for version in 0.. {
        if began.elapsed() >= WRITING {
            break;
        }
        let body = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\",\"annotations\":\
             {{\"version\":\"{version}\"}}}},\"spec\":{{\"containers\":[{{\"name\":\"app\",\"image\":\"x:1\"}}]}}}}"
        );
        let (status, _) = match version {
            0 => line.ask("POST", pods, "", &body)?,
            _ => line.ask("PUT", &format!("{pods}/{name}"), "", &body)?,
        };
        if !matches!(status, 200 | 201) {
            return Err(format!("a write is answered by {status}"));
        }
        answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

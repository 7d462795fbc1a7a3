//! A bad network between a source and its server: of the pieces that pass, some in a hundred are lost with their
//! connection, cut in half, or late; and for a while nothing passes at all.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use crate::dice::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Open,
    /// Connections end, and new ones are closed at once.
    Cut,
    /// Nothing passes, and nobody is told.
    Hole,
}

/// What a piece may meet, in the order in which it is counted.
const FAULTS: [&str; 5] = ["reset", "cut in half", "connection closed", "late", "refused"];
/// The longest that a piece is late: TCP sends a lost packet again after 200 ms.
const LATEST_MS: usize = 200;

#[derive(Clone)]
pub struct Network {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: String,
    line: Mutex<Line>,
    /// How many pieces of a thousand meet something.
    per_mille: AtomicUsize,
    dice: Dice,
    connections: AtomicU64,
    pieces: AtomicU64,
    met: [AtomicU64; FAULTS.len()],
}

impl Network {
    /// To a server, `host:port`. A good one at first.
    pub fn to(target: &str, dice: Dice) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            target: target.to_owned(),
            line: Mutex::new(Line::Open),
            per_mille: AtomicUsize::new(0),
            dice,
            connections: AtomicU64::new(0),
            pieces: AtomicU64::new(0),
            met: Default::default(),
        });
        let network = Self { address: listener.local_addr().unwrap(), shared: shared.clone() };
        // Lives as long as the test's process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let number = shared.connections.fetch_add(1, Ordering::Relaxed);
                let (shared, dice) = (shared.clone(), shared.dice.child(number));
                thread::spawn(move || connect(client, &shared, dice));
            }
        });
        network
    }

    pub fn set(&self, line: Line) {
        *self.shared.line.lock().unwrap() = line;
    }

    /// From now on so many pieces of a thousand are lost or late.
    pub fn lose(&self, per_mille: usize) {
        self.shared.per_mille.store(per_mille, Ordering::Relaxed);
    }

    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    pub fn faults(&self) -> u64 {
        self.shared.met.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// For people.
    pub fn account(&self) -> String {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let met = FAULTS.iter().zip(&self.shared.met).map(|(name, met)| format!("{} {name}", count(met)));
        format!(
            "{} connections, {} pieces, of which {}",
            self.connections(),
            count(&self.shared.pieces),
            met.collect::<Vec<_>>().join(", ")
        )
    }
}

impl Shared {
    fn line(&self) -> Line {
        *self.line.lock().unwrap()
    }

    fn fault(&self, dice: &mut Dice) -> bool {
        dice.hits(self.per_mille.load(Ordering::Relaxed))
    }

    fn meets(&self, fault: usize) -> usize {
        self.met[fault].fetch_add(1, Ordering::Relaxed);
        fault
    }
}

fn connect(client: TcpStream, shared: &Arc<Shared>, mut dice: Dice) {
    if shared.line() == Line::Cut {
        return;
    }
    if shared.fault(&mut dice) {
        shared.meets(4);
        let _ = set_socket_linger(&client, Some(Duration::ZERO));
        return;
    }
    let Ok(server) = TcpStream::connect(&shared.target) else { return };
    for stream in [&client, &server] {
        // So that a line that is cut is noticed.
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        stream.set_nodelay(true).unwrap();
    }
    let ends = Arc::new((client, server));
    let (there, up) = (shared.clone(), ends.clone());
    let up_dice = dice.child(1);
    thread::spawn(move || pump(&up.0, &up.1, &there, up_dice));
    pump(&ends.1, &ends.0, shared, dice.child(2));
}

/// Carries pieces one way until the connection ends, and ends it the other way too.
fn pump(mut from: &TcpStream, mut to: &TcpStream, shared: &Shared, mut dice: Dice) {
    let mut buffer = [0; 16 << 10];
    loop {
        let read = from.read(&mut buffer);
        if shared.line() == Line::Cut {
            break;
        }
        let piece = match read {
            Ok(read @ 1..) => &buffer[..read],
            Err(error) if is_timeout(&error) => continue,
            Ok(_) | Err(_) => break,
        };
        while shared.line() == Line::Hole {
            thread::sleep(Duration::from_millis(5));
        }
        shared.pieces.fetch_add(1, Ordering::Relaxed);
        match shared.fault(&mut dice).then(|| shared.meets(dice.roll(FAULTS.len() - 1))) {
            Some(0) => {
                // Without a farewell: both sides are told by RST once the last of us lets go.
                for end in [from, to] {
                    let _ = set_socket_linger(end, Some(Duration::ZERO));
                    let _ = end.shutdown(Shutdown::Read);
                }
                return;
            }
            Some(1) => {
                let _ = to.write_all(&piece[..piece.len() / 2]);
                break;
            }
            Some(2) => break,
            Some(_) => {
                thread::sleep(Duration::from_millis(1 + dice.roll(LATEST_MS) as u64));
            }
            None => {}
        }
        if to.write_all(piece).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

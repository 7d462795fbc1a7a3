//! What the HTTP server says: most often the truth, now and then an error of any kind, and rarely a lie.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::server::{Answer, Asked, Server, head, response};

/// Requests of a thousand that are answered wrongly, with a lie, and with the version before.
const WRONG: usize = 25;
const LIES: usize = 10;
const OLD: usize = 10;
/// A version that was replaced longer ago may be taken for a new one (`flapping`, 60 s); half of that is safe.
const OLD_ENOUGH: Duration = Duration::from_secs(30);

/// What is wrong with every answer for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    Refuses,
    Empty,
    Silent,
}

#[derive(Clone)]
pub struct Site {
    pub server: Server,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    dice: Dice,
    pods: BTreeMap<String, String>,
    version: u64,
    /// The source asked for another version than this one, so it has taken it.
    taken: u64,
    /// The version before, when that was taken: one that never was is new to the source, however old it is.
    before: Option<(Answer, Instant)>,
    lied: bool,
    outage: Option<Outage>,
    honest: bool,
    answers: BTreeMap<&'static str, u64>,
}

impl Site {
    /// It says nothing but the truth at first.
    pub fn open(dice: Dice) -> Self {
        let shared = Shared {
            dice,
            pods: BTreeMap::new(),
            version: 0,
            taken: 0,
            before: None,
            lied: false,
            outage: None,
            honest: true,
            answers: BTreeMap::new(),
        };
        let site = Self { server: Server::start(), shared: Arc::new(Mutex::new(shared)) };
        let shared = site.shared.clone();
        site.server.script(move |asked| {
            let mut shared = shared.lock().unwrap();
            let (name, answer) = shared.answer(asked);
            *shared.answers.entry(name).or_default() += 1;
            answer
        });
        site
    }

    /// From now on these pods are declared, name and image each.
    pub fn declare(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) {
        let mut shared = self.shared.lock().unwrap();
        shared.before = (shared.taken == shared.version).then(|| (shared.truth(), Instant::now()));
        change(&mut shared.pods);
        shared.version += 1;
    }

    pub fn set(&self, outage: Option<Outage>) {
        self.shared.lock().unwrap().outage = outage;
    }

    /// From now on it errs and lies, or no longer.
    pub fn set_honest(&self, honest: bool) {
        let mut shared = self.shared.lock().unwrap();
        shared.honest = honest;
        // Whoever heard a lie last would take what it replaced for a server that cannot decide.
        shared.version += 1;
    }

    /// For people.
    pub fn account(&self) -> String {
        let answers = &self.shared.lock().unwrap().answers;
        let counts: Vec<String> = answers.iter().map(|(name, count)| format!("{count} × {name}")).collect();
        counts.join(", ")
    }
}

impl Shared {
    fn answer(&mut self, asked: &Asked) -> (&'static str, Answer) {
        let is_taken = asked.to_ascii_lowercase().contains(&format!("if-none-match: \"{}\"", self.version));
        if is_taken {
            self.taken = self.version;
        }
        match self.outage {
            Some(Outage::Refuses) => {
                return ("outage 503", response(503, &[("Retry-After", "120")], b"later"));
            }
            Some(Outage::Empty) => return ("outage, empty", response(200, &[], b"")),
            Some(Outage::Silent) => return ("outage, silent", Answer::Hang(Vec::new())),
            None => {}
        }
        // Each time another text: what a lie replaced would be taken for a server that cannot decide.
        if std::mem::take(&mut self.lied) {
            self.version += 1;
        } else if !self.honest && self.dice.hits(LIES) {
            self.lied = true;
            return self.lie();
        } else if !self.honest && self.dice.hits(OLD) {
            match &self.before {
                Some((old, since)) if since.elapsed() < OLD_ENOUGH => {
                    return ("the version before", old.clone());
                }
                _ => {}
            }
        }
        if !self.honest && self.dice.hits(WRONG) {
            return self.wrong();
        }
        if is_taken {
            return ("304", response(304, &[], b""));
        }
        ("200", self.truth())
    }

    fn truth(&self) -> Answer {
        response(200, &[("ETag", &format!("\"{}\"", self.version))], &self.document(usize::MAX))
    }

    /// So many of the pods. No two versions are the same text.
    fn document(&self, most: usize) -> Vec<u8> {
        let pods = self.pods.iter().take(most).map(|(name, image)| manifest(name, image));
        format!("# version {}\n{}", self.version, pods.collect::<String>()).into_bytes()
    }

    /// A server that has lost most of its data, or all, and does not know. Never twice in a row: that would be
    /// believed, and has to be.
    fn lie(&mut self) -> (&'static str, Answer) {
        self.version += 1;
        match self.dice.roll(2) {
            0 => ("a lie, one pod", response(200, &[], &self.document(1))),
            _ => ("a lie, no pods", response(200, &[], b"apiVersion: v1\nkind: PodList\nitems: []\n")),
        }
    }

    fn wrong(&mut self) -> (&'static str, Answer) {
        let body = self.document(usize::MAX);
        let half = &body[..body.len() / 2];
        let length = body.len().to_string();
        let begun = [&head(200, &[("Content-Length", &length)])[..], half].concat();
        let chunk = format!("{:x}\r\n", half.len());
        let chunks = [&head(200, &[("Transfer-Encoding", "chunked")])[..], chunk.as_bytes(), half, b"\r\n"];
        match self.dice.roll(13) {
            0 => ("500", response(500, &[], b"items: []")),
            1 => ("502", response(502, &[], b"<html>bad gateway</html>")),
            2 => ("503", response(503, &[("Retry-After", "1")], b"")),
            3 => ("404", response(404, &[], b"items: []")),
            4 => ("429", response(429, &[], b"")),
            5 => ("204", response(204, &[], b"")),
            6 => ("empty 200", response(200, &[], b"")),
            7 => ("200 that is a page", response(200, &[], b"<html><body>Please log in</body></html>")),
            8 => ("half of a length", Answer::Bytes(begun)),
            9 => ("half of chunks", Answer::Bytes(chunks.concat())),
            10 => ("silence", Answer::Hang(Vec::new())),
            11 => ("silence within", Answer::Hang(begun)),
            _ => ("a circle", response(302, &[("Location", "/pods")], b"")),
        }
    }
}

pub fn manifest(name: &str, image: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: app, image: \"{image}\"}}]}}\n"
    )
}

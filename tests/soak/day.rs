//! A day of a bad network in a minute or two: polls come one after the other instead of every 20 s, and everything
//! else as often between polls as it would.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use etcd_client::Client;
use podkeeper::node::store::SourceState;
use podkeeper::plan::{Node, SourceKind};
use tokio::runtime::Runtime;

use crate::agent::Agent;
use crate::cluster::{Cluster, PATIENCE};
use crate::dice::Dice;
use crate::history::Histories;
use crate::network::{Line, Network};
use crate::site::{Outage, Site, manifest};
use crate::witness::Witness;

/// `--http-check-frequency` is 20 s by default.
pub const POLLS_AN_HOUR: usize = 180;
/// As the API server of Kubernetes has it done: every five minutes.
const COMPACTION: usize = POLLS_AN_HOUR / 12;
const RESTART: usize = POLLS_AN_HOUR;
const OUTAGE: usize = POLLS_AN_HOUR * 3;
const OUTAGES: [(Outage, Line); 3] =
    [(Outage::Refuses, Line::Cut), (Outage::Empty, Line::Hole), (Outage::Silent, Line::Cut)];
/// Longer than the deletion brake waits for a second look: what is wrong all the time is not believed for that.
const LASTS: Duration = Duration::from_secs(6);
/// Pieces of a thousand that are lost or late: an answer behind a URL is one or two, and a watch is quiet for long.
const LOSS: usize = 20;
const LOSS_OF_ETCD: usize = 60;
/// Changes of a source's pods between two polls, of a thousand.
const CHANGES: usize = 150;

/// Pods that always are, of each place, and others that come and go. They are so many that it takes the brake to keep
/// them when a server has lost all but one.
const ROCKS: usize = 6;
const OTHERS: usize = 6;
const IN_LIST: usize = 3;

pub struct Day {
    dice: Dice,
    runtime: Runtime,
    cluster: Cluster,
    client: Client,
    site: Site,
    http: Network,
    etcd: Network,
    pub witness: Witness,
    agent: Agent,
    /// Every pod that is declared in etcd.
    keys: BTreeMap<String, String>,
    /// No version is ever declared twice.
    version: usize,
    did: BTreeMap<&'static str, usize>,
}

impl Day {
    pub fn begin(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let cluster = runtime.block_on(Cluster::start(1));
        let client = runtime.block_on(cluster.client());
        let site = Site::open(dice.child(1));
        let http = Network::to(&site.server.address.to_string(), dice.child(2));
        let server = cluster.urls()[0].trim_start_matches("http://").to_owned();
        let etcd = Network::to(&server, dice.child(3));
        let node = Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() };
        let agent = Agent::start(
            node.clone(),
            format!("http://{}/pods", http.address),
            format!("http://{}", etcd.address),
        );
        let witness = Witness::of(agent.reader.clone(), node, Histories::default());
        let (keys, did) = (BTreeMap::new(), BTreeMap::new());
        let mut day =
            Self { dice, runtime, cluster, client, site, http, etcd, witness, agent, keys, version: 0, did };
        for pod in 0..ROCKS {
            day.change_http(pod);
            day.change_key(pod);
        }
        day.change_list();
        day
    }

    /// Everything is well, but for one outage of each kind, and all is well again between them.
    ///
    /// Before anything else goes wrong: a text that comes and goes is not believed for a minute (`flapping`), so among
    /// many faults a source that took an error for an empty list would never get as far as to remove a pod.
    pub fn break_down(&mut self) {
        for (outage, line) in OUTAGES {
            self.until_well();
            self.outage(outage, line);
        }
        self.until_well();
    }

    pub fn pass(&mut self, polls: usize) {
        self.site.set_honest(false);
        self.http.lose(LOSS);
        self.etcd.lose(LOSS_OF_ETCD);
        for poll in 1..=polls {
            self.change();
            if poll % COMPACTION == 0 {
                self.compact();
            }
            if poll % RESTART == RESTART / 2 {
                self.restart();
            }
            if poll % OUTAGE == OUTAGE / 2 {
                let (outage, line) = OUTAGES[poll / OUTAGE % OUTAGES.len()];
                self.outage(outage, line);
            }
            self.poll();
        }
    }

    /// Everything works again: what is declared is what is told, and soon.
    pub fn end(&mut self) -> String {
        self.site.set_honest(true);
        self.http.lose(0);
        self.etcd.lose(0);
        self.until_well();
        let started = self.witness.account().unwrap_or_else(|why| panic!("{why}"));
        let did: Vec<String> = self.did.iter().map(|(what, count)| format!("{count} × {what}")).collect();
        format!(
            "did: {}\nHTTP: {}\n      {}\netcd: {}\nagent: told {} times, started {started} containers, none in vain",
            did.join(", "),
            self.site.account(),
            self.http.account(),
            self.etcd.account(),
            self.witness.told(),
        )
    }

    pub fn faults(&self) -> [u64; 2] {
        [self.http.faults(), self.etcd.faults()]
    }

    /// What is declared is what is told.
    fn until_well(&mut self) {
        let deadline = Instant::now() + 2 * PATIENCE;
        while !self.is_well() {
            let behind = self.witness.histories.lock().unwrap().behind().join(" ");
            assert!(Instant::now() < deadline, "never told of {behind}\n{:#?}", self.agent.reports());
            self.poll();
        }
    }

    fn is_well(&self) -> bool {
        let is_well = |kind| {
            let reports = self.agent.reports();
            let report = reports.get(&kind).and_then(|reports| reports.first());
            report.is_some_and(|report| report.state == SourceState::Known && report.error.is_none())
        };
        self.witness.histories.lock().unwrap().behind().is_empty()
            && is_well(SourceKind::Http)
            && is_well(SourceKind::Etcd)
    }

    /// The source asks once more. It opens a connection for that.
    fn poll(&mut self) {
        self.count("polls");
        let before = self.http.connections();
        self.agent.ask();
        self.until("the HTTP source asks", |day| day.http.connections() > before);
    }

    #[track_caller]
    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            if self.witness.objects() {
                panic!("{}", self.witness.account().unwrap_err());
            }
            assert!(Instant::now() < deadline, "never: {what}\n{:#?}", self.agent.reports());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn change(&mut self) {
        if self.dice.hits(CHANGES) {
            let pod = self.dice.roll(ROCKS + OTHERS);
            self.change_http(pod);
        }
        if self.dice.hits(CHANGES) {
            let pod = self.dice.roll(ROCKS + OTHERS);
            self.change_key(pod);
        }
        if self.dice.hits(CHANGES / 3) {
            self.change_list();
        }
    }

    /// A pod is made or edited; one that is no rock may be taken away.
    fn change_http(&mut self, pod: usize) {
        let (name, image) = (format!("h-{pod}"), self.next_image(pod));
        self.declare(&name, image.clone());
        self.site.declare(|pods| {
            drop(match image {
                Some(image) => pods.insert(name, image),
                None => pods.remove(&name),
            })
        });
    }

    fn change_key(&mut self, pod: usize) {
        let (name, image) = (format!("e-{pod}"), self.next_image(pod));
        self.declare(&name, image.clone());
        let key = format!("/podkeeper/nodes/n/pods/default/{name}");
        self.runtime.block_on(async {
            match image {
                Some(image) => drop(self.client.put(key, manifest(&name, &image), None).await.unwrap()),
                None => drop(self.client.delete(key, None).await.unwrap()),
            }
        });
    }

    /// The key of 2014 is written as a whole.
    fn change_list(&mut self) {
        let name = format!("l-{}", self.dice.roll(IN_LIST));
        let image = self.next_image(0).unwrap();
        self.declare(&name, Some(image.clone()));
        self.keys.insert(name, image);
        let list: String = self.keys.iter().map(|(name, image)| manifest(name, image)).collect();
        let put = self.client.put("/registry/hosts/n/kubelet", list, None);
        self.runtime.block_on(put).unwrap();
    }

    fn next_image(&mut self, pod: usize) -> Option<String> {
        self.version += 1;
        (pod < ROCKS || self.dice.roll(3) > 0).then(|| format!("one:{}", self.version))
    }

    fn declare(&mut self, pod: &str, image: Option<String>) {
        self.count(if image.is_some() { "puts" } else { "deletions" });
        self.witness.histories.lock().unwrap().declare(pod, image);
    }

    fn compact(&mut self) {
        self.count("compactions");
        self.runtime.block_on(async {
            let now = self.client.get("x", None).await.unwrap().header().unwrap().revision();
            // Twice at the same revision is refused, and harms nobody.
            let _ = self.client.compact(now, None).await;
        });
    }

    /// SIGKILL, as when power goes.
    fn restart(&mut self) {
        self.count("restarts of etcd");
        self.cluster.members[0].kill();
        self.poll();
        self.cluster.members[0].start();
        self.runtime.block_on(self.cluster.answers());
        self.client = self.runtime.block_on(self.cluster.client());
    }

    /// Nothing works for a while, and things change meanwhile.
    fn outage(&mut self, outage: Outage, line: Line) {
        self.count("outages");
        self.site.set(Some(outage));
        self.etcd.set(line);
        let since = Instant::now();
        while since.elapsed() < LASTS {
            self.change();
            let before = self.http.connections();
            self.agent.ask();
            self.until("the HTTP source asks in vain", |day| day.http.connections() > before);
        }
        // What happened is known as it is now, and no longer as it came.
        self.compact();
        self.site.set(None);
        self.etcd.set(Line::Open);
    }

    fn count(&mut self, what: &'static str) {
        *self.did.entry(what).or_default() += 1;
    }
}

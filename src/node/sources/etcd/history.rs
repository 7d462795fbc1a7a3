//! What the header of an answer says about the history that was read so far. Pure.
//!
//! A revision counts the changes of one cluster. After a restore from a backup the count may go back, or the
//! cluster has another id; either way a watch that goes on from the old count would wait, silently, for changes
//! that have been already.

use std::collections::BTreeMap;

/// Of an answer that a quorum stands behind: only of such does the count never go back by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub cluster: u64,
    pub revision: i64,
}

/// Which history is being followed, and how far.
#[derive(Debug, Default)]
pub struct History {
    followed: Option<Header>,
    /// Endpoints that spoke for another cluster since ours last answered.
    strangers: BTreeMap<usize, u64>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same history, as far as it was known or further.
    Goes,
    /// What is known is void: read everything again. Why.
    Reset(String),
    /// This endpoint belongs to another cluster than the others: do not believe it. Why.
    Stranger(String),
}

impl History {
    /// Goes on with the history that was followed last, when one was: etcd may have been made anew while no agent
    /// ran.
    pub fn after(followed: Option<Header>) -> Self {
        Self { followed, strangers: BTreeMap::new() }
    }

    /// Judges an answer of one of so many endpoints.
    ///
    /// One endpoint of another cluster is a mistake in a list of servers. When more than half of them say so,
    /// and none says otherwise, the cluster was made anew.
    pub fn judge(&mut self, endpoint: usize, endpoints: usize, header: Header) -> Verdict {
        let Some(followed) = self.followed else {
            self.followed = Some(header);
            return Verdict::Goes;
        };
        if header.cluster == followed.cluster {
            self.strangers.clear();
            self.followed = Some(header);
            if header.revision >= followed.revision {
                return Verdict::Goes;
            }
            return Verdict::Reset(format!(
                "etcd's revision went back from {} to {}, as after a restore from a backup",
                followed.revision, header.revision
            ));
        }
        self.strangers.insert(endpoint, header.cluster);
        let agreeing = self.strangers.values().filter(|cluster| **cluster == header.cluster).count();
        let clusters = format!("cluster {:x}, and until now it was {:x}", header.cluster, followed.cluster);
        if agreeing * 2 > endpoints {
            self.strangers.clear();
            self.followed = Some(header);
            return Verdict::Reset(format!("etcd is {clusters}: it was made anew or restored"));
        }
        Verdict::Stranger(format!(
            "it belongs to {clusters}: take it out of --etcd-servers, or take those of the old cluster out if this one counts"
        ))
    }

    /// A watch has come so far.
    pub fn advance(&mut self, revision: i64) {
        if let Some(followed) = &mut self.followed {
            followed.revision = followed.revision.max(revision);
        }
    }

    /// The last revision that is known.
    pub fn revision(&self) -> Option<i64> {
        self.followed.map(|followed| followed.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges answers `(endpoint, cluster, revision)` of three endpoints: g(oes), r(eset), s(tranger).
    fn judged(endpoints: usize, answers: &[(usize, u64, i64)]) -> String {
        judged_after(None, endpoints, answers)
    }

    fn judged_after(followed: Option<Header>, endpoints: usize, answers: &[(usize, u64, i64)]) -> String {
        let mut history = History::after(followed);
        let letter = |(endpoint, cluster, revision): &(usize, u64, i64)| match history.judge(
            *endpoint,
            endpoints,
            Header { cluster: *cluster, revision: *revision },
        ) {
            Verdict::Goes => 'g',
            Verdict::Reset(_) => 'r',
            Verdict::Stranger(_) => 's',
        };
        answers.iter().map(letter).collect()
    }

    #[test]
    fn e10_a_count_that_goes_back_and_a_new_cluster_void_what_is_known() {
        for (answers, verdicts) in [
            (&[(0, 7, 10), (0, 7, 10), (0, 7, 12)][..], "ggg"),
            (&[(0, 7, 10), (0, 7, 9), (0, 7, 9)], "grg"),
            (&[(0, 7, 10), (0, 8, 99), (0, 8, 99)], "grg"),
        ] {
            assert_eq!(judged(1, answers), verdicts, "{answers:?}");
        }
    }

    #[test]
    fn e20_one_endpoint_of_another_cluster_is_refused_and_most_of_them_are_believed() {
        for (answers, verdicts) in [
            (&[(0, 7, 10), (1, 8, 50), (1, 8, 51), (2, 7, 11)][..], "gssg"),
            (&[(0, 7, 10), (1, 8, 50), (2, 8, 50), (1, 8, 50)], "gsrg"),
            // Ours answered in between, so it is there.
            (&[(0, 7, 10), (1, 8, 50), (0, 7, 10), (2, 8, 50)], "gsgs"),
            (&[(0, 7, 10), (1, 8, 50), (2, 9, 50)], "gss"),
        ] {
            assert_eq!(judged(3, answers), verdicts, "{answers:?}");
        }
    }

    #[test]
    fn e10_e20_what_an_earlier_agent_followed_is_what_answers_are_judged_by() {
        let followed = Some(Header { cluster: 7, revision: 10 });
        for (endpoints, answers, verdicts) in [
            (1, &[(0, 7, 10), (0, 7, 11)][..], "gg"),
            (1, &[(0, 7, 9), (0, 7, 9)], "rg"),
            (1, &[(0, 8, 99), (0, 8, 99)], "rg"),
            (3, &[(1, 8, 50), (2, 7, 10), (0, 7, 10)], "sgg"),
            (3, &[(0, 8, 50), (1, 8, 50), (2, 8, 50)], "srg"),
        ] {
            assert_eq!(judged_after(followed, endpoints, answers), verdicts, "{answers:?}");
        }
    }

    #[test]
    fn a_watch_moves_the_count_forward_only() {
        let mut history = History::default();
        history.judge(0, 1, Header { cluster: 7, revision: 10 });
        history.advance(15);
        history.advance(12);
        assert_eq!(history.revision(), Some(15));
        assert!(matches!(history.judge(0, 1, Header { cluster: 7, revision: 14 }), Verdict::Reset(_)));
    }
}

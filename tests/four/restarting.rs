//! The agent ends and another one begins: with all sources there, and with two of them down at that moment.

use crate::four::Four;
use crate::machine::Machine;
use crate::server::Answer;

fn stop(machine: &mut Machine) {
    assert_eq!(machine.stop(), Some(0));
}

#[test]
fn an_agent_that_is_told_to_end_leaves_all_pods_to_the_next_one() {
    ends_and_begins(Four::start("four-term"), stop);
}

#[test]
fn an_agent_that_is_killed_leaves_all_pods_to_the_next_one() {
    ends_and_begins(Four::start("four-kill"), Machine::kill);
}

fn ends_and_begins(mut four: Four, end: fn(&mut Machine)) {
    let (before, ids) = (four.machine.containers(), four.ids());
    end(&mut four.machine);
    assert_eq!(four.machine.containers(), before, "the end of the agent ends no container");
    four.machine.start();
    for kind in ["file", "api", "http", "etcd"] {
        four.until_source(kind, "known", false);
    }
    four.until_all_run();
    assert_eq!((four.machine.containers(), four.ids()), (before.clone(), ids.clone()));

    end(&mut four.machine);
    four.kill_etcd();
    // It takes the request and says nothing.
    four.server.answer(Answer::Bytes(Vec::new()));
    four.machine.start();
    four.until_source("etcd", "stale", true);
    four.until_source("http", "stale", true);
    four.until_all_run();
    four.prove_the_file_source_works(&before);
    assert_eq!(four.ids(), ids);

    four.start_etcd();
    four.put_etcd("blue");
    four.http("blue");
    four.hang_up();
    four.until_replaced("etcd", &ids["etcd"]);
    four.until_replaced("http", &ids["http"]);
    four.until_all_run();
    let now = four.ids();
    assert_eq!((&now["file"], &now["api"]), (&ids["file"], &ids["api"]));
}

//! One source fails, or says what another says too.

use std::fs;

use crate::four::{Four, coloured};
use crate::server::response;

#[test]
fn sources_that_fail_harm_no_pod_and_come_back() {
    let mut four = Four::start("four-failing");
    let (before, ids) = (four.machine.containers(), four.ids());
    four.kill_etcd();
    four.server.answer(response(500, &[], b"no"));
    four.hang_up();
    four.until_source("etcd", "stale", true);
    four.until_source("http", "stale", true);
    four.prove_the_file_source_works(&before);
    assert_eq!(four.ids(), ids);
    // Both are as they were, so nothing is to be done.
    four.start_etcd();
    four.http("red");
    four.hang_up();
    four.until_source("etcd", "known", false);
    four.until_source("http", "known", false);
    four.until_as_before(&before);
    four.put_etcd("blue");
    four.until_replaced("etcd", &ids["etcd"]);
    four.http("blue");
    four.hang_up();
    four.until_replaced("http", &ids["http"]);
    four.until_all_run();
    let now = four.ids();
    assert_eq!((&now["file"], &now["api"]), (&ids["file"], &ids["api"]));
    four.machine.until("what is written back to be written again", || {
        four.machine.log().contains("statuses and events are written again")
    });
    let log = four.machine.log();
    for words in [
        ": nobody listens there (connection refused): start etcd",
        "the server answers 500 Internal Server Error: look at the server's own log; its pod is kept as it was read last; next try in 1",
        "is read again after ",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert!(!log.contains("h2 protocol") && !log.contains("transport error"), "{log}");
}

#[test]
fn pods_of_the_api_come_change_and_go_while_every_other_source_fails() {
    let mut four = Four::start("four-api");
    let ids = four.ids();
    four.kill_etcd();
    four.server.answer(response(500, &[], b"no"));
    let away = four.machine.pods_dir().with_extension("away");
    fs::rename(four.machine.pods_dir(), &away).unwrap();
    four.hang_up();
    for kind in ["etcd", "http", "file"] {
        four.until_source(kind, "stale", true);
    }
    four.api("PUT", "api", &coloured("api", "blue"));
    let changed = four.until_replaced("api", &ids["api"]);
    four.api("POST", "extra", &coloured("extra", "red"));
    four.machine.until_pod("extra", "Running");
    four.api("DELETE", "extra", "");
    four.machine.until_gone("extra");
    four.until_all_run();
    let mut expected = ids;
    expected.insert("api", changed);
    assert_eq!(four.ids(), expected);
    // What failed comes back, and leads to nothing.
    let before = four.machine.containers();
    fs::rename(&away, four.machine.pods_dir()).unwrap();
    four.start_etcd();
    four.http("red");
    four.hang_up();
    for kind in ["etcd", "http", "file"] {
        four.until_source(kind, "known", false);
    }
    four.until_as_before(&before);
}

#[test]
fn a_file_takes_a_name_from_etcd_and_gives_it_back() {
    let four = Four::start("four-names");
    let ids = four.ids();
    four.machine.write("etcd.yaml", &coloured("etcd", "green"));
    let of_file = four.until_replaced("etcd", &ids["etcd"]);
    four.machine.until("who goes before whom is told", || {
        let sources = four.machine.json("/sources").unwrap_or_default();
        let shadowed = &sources["shadowed"][0];
        shadowed["pod"] == "default/etcd"
            && shadowed["source"] == "etcd"
            && shadowed["by"]["source"] == "file"
    });
    // Its own change arrives, and waits.
    four.put_etcd("blue");
    four.machine.until_settled();
    assert_eq!(four.ids()["etcd"], of_file);
    fs::remove_file(four.machine.pods_dir().join("etcd.yaml")).unwrap();
    four.until_replaced("etcd", &of_file);
    four.until_all_run();
    let now = four.ids();
    for name in ["file", "api", "http"] {
        assert_eq!(now[name], ids[name], "{name}");
    }
}

#[test]
fn a_signal_has_all_sources_read_again() {
    let four = Four::start("four-signal");
    let ids = four.ids();
    let asked = four.server.asked().len();
    four.http("blue");
    four.hang_up();
    four.until_replaced("http", &ids["http"]);
    assert!(four.server.asked().len() > asked);
    four.until_all_run();
    let now = four.ids();
    for name in ["file", "api", "etcd"] {
        assert_eq!(now[name], ids[name], "{name}");
    }
}

//! One server, and a network that fails.

use std::fs;
use std::time::Duration;

use etcd_client::DeleteOptions;
use rustix::process::Signal;

use crate::cluster::{Cluster, copy};
use crate::proxy::{Line, Proxy};
use crate::source::{Source, key, manifest};

async fn put(cluster: &Cluster, pod: &str, image: &str) {
    cluster.client().await.put(key(pod), manifest(pod, image), None).await.unwrap();
}

#[tokio::test]
async fn e1_a_compaction_past_what_was_seen_leads_to_a_new_list() {
    let cluster = Cluster::start(1).await;
    put(&cluster, "a", "one:1").await;
    put(&cluster, "b", "one:1").await;
    let proxy = Proxy::to(&cluster.urls()[0]).await;
    let mut source = Source::start(std::slice::from_ref(&proxy.url));
    source.until_pods("a=one:1 b=one:1").await;
    let uid = source.uid("a");
    proxy.set(Line::Cut);
    source.until_error("").await;
    let mut client = cluster.client().await;
    client.delete(key("b"), None).await.unwrap();
    for _ in 0..100 {
        put(&cluster, "c", "one:1").await;
    }
    let revision = client.get("x", None).await.unwrap().header().unwrap().revision();
    client.compact(revision, None).await.unwrap();
    assert_eq!(source.pods(), "!a=one:1 b=one:1", "nothing is removed while it cannot be read");
    proxy.set(Line::Open);
    source.until_pods("a=one:1 c=one:1").await;
    assert_eq!(source.uid("a"), uid);
}

#[tokio::test]
async fn e5_e17_a_line_that_swallows_everything_is_noticed_and_nothing_is_missed() {
    let cluster = Cluster::start(1).await;
    put(&cluster, "a", "one:1").await;
    let proxy = Proxy::to(&cluster.urls()[0]).await;
    let mut source = Source::start(std::slice::from_ref(&proxy.url));
    source.until_pods("a=one:1").await;
    proxy.set(Line::Hole);
    put(&cluster, "a", "one:2").await;
    source.until_error("").await;
    assert_eq!(source.pods(), "!a=one:1");
    proxy.set(Line::Open);
    source.until_pods("a=one:2").await;
}

#[tokio::test]
async fn e4_a_server_that_froze_is_noticed() {
    let cluster = Cluster::start(1).await;
    put(&cluster, "a", "one:1").await;
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    cluster.members[0].signal(Signal::STOP);
    source.until_error("").await;
    assert_eq!(source.pods(), "!a=one:1");
    cluster.members[0].signal(Signal::CONT);
    source.until_pods("a=one:1").await;
    put(&cluster, "b", "one:1").await;
    source.until_pods("a=one:1 b=one:1").await;
}

#[tokio::test]
async fn e6_a_server_that_comes_back_is_watched_from_where_the_watch_was() {
    let mut cluster = Cluster::start(1).await;
    for pod in ["a", "b", "c", "d", "e"] {
        put(&cluster, pod, "one:1").await;
    }
    let proxy = Proxy::to(&cluster.urls()[0]).await;
    let mut source = Source::start(std::slice::from_ref(&proxy.url));
    source.until_pods("a=one:1 b=one:1 c=one:1 d=one:1 e=one:1").await;
    proxy.set(Line::Cut);
    // One by one. A list could not tell that from a lost backup and would wait; a watch can.
    let mut client = cluster.client().await;
    client.put(key("f"), manifest("f", "one:1"), None).await.unwrap();
    cluster.members[0].kill();
    source.until_error("").await;
    cluster.members[0].start();
    cluster.answers().await;
    client = cluster.client().await;
    for pod in ["a", "b", "c", "d", "e", "f"] {
        client.delete(key(pod), None).await.unwrap();
    }
    proxy.set(Line::Open);
    source.until_pods("").await;
    put(&cluster, "g", "one:1").await;
    source.until_pods("g=one:1").await;
}

#[tokio::test]
async fn e10_a_server_restored_from_a_backup_is_noticed_and_takes_no_pod_away_that_it_lost() {
    let mut cluster = Cluster::start(1).await;
    put(&cluster, "a", "old:1").await;
    let (data, backup) = (cluster.members[0].data.clone(), cluster.dir.path().join("backup"));
    cluster.members[0].kill();
    copy(&data, &backup);
    cluster.members[0].start();
    cluster.answers().await;
    for pod in ["a", "b", "c", "d", "e"] {
        put(&cluster, pod, "new:1").await;
    }
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=new:1 b=new:1 c=new:1 d=new:1 e=new:1").await;
    let uid = source.uid("a");
    cluster.members[0].kill();
    fs::remove_dir_all(&data).unwrap();
    copy(&backup, &data);
    cluster.members[0].start();
    source.until("held", |source| source.report().held.is_some()).await;
    assert_eq!(source.pods(), "a=old:1 b=new:1 c=new:1 d=new:1 e=new:1");
    assert_eq!(source.uid("a"), uid, "the same pod, by any history");
    // What is put and deleted was deleted by somebody; the others stay.
    put(&cluster, "b", "new:1").await;
    source
        .until("only three lost", |source| {
            source.report().held.is_some_and(|held| held.starts_with("3 keys"))
        })
        .await;
    cluster.client().await.delete(key("b"), None).await.unwrap();
    put(&cluster, "f", "new:1").await;
    source.until_pods("a=old:1 c=new:1 d=new:1 e=new:1 f=new:1").await;
}

#[tokio::test]
async fn e10_a_cluster_that_was_made_anew_and_is_empty_takes_nothing_away_not_even_one_pod() {
    let mut cluster = Cluster::start(1).await;
    put(&cluster, "a", "one:1").await;
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    let data = cluster.members[0].data.clone();
    cluster.members[0].kill();
    fs::remove_dir_all(&data).unwrap();
    cluster.members[0].change("--initial-cluster-token", "another");
    cluster.members[0].start();
    source.until("held", |source| source.report().held.is_some()).await;
    put(&cluster, "e", "one:1").await;
    source.until_pods("a=one:1 e=one:1").await;
}

#[tokio::test]
async fn all_pods_go_when_somebody_deletes_them_all_but_only_after_a_second_look() {
    let cluster = Cluster::start(1).await;
    for pod in ["a", "b", "c", "d"] {
        put(&cluster, pod, "one:1").await;
    }
    let mut source = Source::with(&cluster.urls(), |s| s.pace.second_look = Duration::from_secs(5));
    source.until_pods("a=one:1 b=one:1 c=one:1 d=one:1").await;
    let options = DeleteOptions::new().with_prefix();
    cluster.client().await.delete(key(""), Some(options)).await.unwrap();
    source.until("held", |source| source.report().held.is_some()).await;
    assert_eq!(source.pods(), "a=one:1 b=one:1 c=one:1 d=one:1");
    source.until_pods("").await;
}

#[tokio::test]
async fn e15_what_a_watch_did_not_tell_is_found_by_the_next_list() {
    let cluster = Cluster::start(1).await;
    put(&cluster, "a", "one:1").await;
    let mut source =
        Source::with(&cluster.urls(), |settings| settings.pace.relist = Duration::from_millis(500));
    source.until_pods("a=one:1").await;
    // A put elsewhere is told to nobody here: only a list can come to its revision.
    let put = cluster.client().await.put("/elsewhere", "x", None).await.unwrap();
    let revision = put.header().unwrap().revision().to_string();
    source.until("the revision of a list", |s| s.report().revision.as_ref() == Some(&revision)).await;
    assert_eq!(source.pods(), "a=one:1");
}

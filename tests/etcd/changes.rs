//! What is put and deleted while all goes well.

use etcd_client::{Txn, TxnOp};

use crate::cluster::Cluster;
use crate::source::{LIST, Source, key, manifest};

#[tokio::test]
async fn a_key_is_a_pod_from_its_put_to_its_deletion() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    client.put(key("b"), manifest("b", "two:1"), None).await.unwrap();
    source.until_pods("a=one:1 b=two:1").await;
    let uid = source.uid("a");
    client.put(key("a"), manifest("a", "one:2"), None).await.unwrap();
    source.until_pods("a=one:2 b=two:1").await;
    assert_eq!(source.uid("a"), uid, "a change is the same pod");
    client.delete(key("b"), None).await.unwrap();
    source.until_pods("a=one:2").await;
    let report = source.report();
    assert_eq!((report.pods, report.error, report.revision.as_deref()), (1, None, Some("5")));
    assert_eq!(report.origin, format!("{}/podkeeper", cluster.urls()[0]));
}

#[tokio::test]
async fn the_key_of_2014_holds_one_list_and_emptying_it_is_no_deletion() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    let mut source = Source::start(&cluster.urls());
    source.until_pods("").await;
    let manifest = |id: &str| {
        format!("- version: v1beta1\n  id: {id}\n  containers:\n  - {{name: app, image: \"one:1\"}}\n")
    };
    client.put(LIST, manifest("a") + &manifest("b"), None).await.unwrap();
    source.until_pods("a=one:1 b=one:1").await;
    client.put(LIST, "", None).await.unwrap();
    source.until("a diagnosis", |source| source.report().diagnoses.len() == 1).await;
    assert_eq!(source.pods(), "a=one:1 b=one:1");
    client.put(LIST, "[]", None).await.unwrap();
    source.until_pods("").await;
}

#[tokio::test]
async fn e14_a_value_that_is_wrong_keeps_its_pod_and_costs_the_others_nothing() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    client.put(key("b"), manifest("b", "two:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1 b=two:1").await;
    for garbage in [&b"kind: [\xff"[..], b"{", b"apiVersion: v1\nkind: Pod\n"] {
        client.put(key("a"), garbage, None).await.unwrap();
        client.put(key("b"), manifest("b", "two:2"), None).await.unwrap();
        source.until_pods("a=one:1 b=two:2").await;
        assert!(!source.report().diagnoses.is_empty(), "{garbage:?}");
        client.put(key("b"), manifest("b", "two:1"), None).await.unwrap();
        source.until_pods("a=one:1 b=two:1").await;
    }
    client.put(key("a"), manifest("other", "one:2"), None).await.unwrap();
    source
        .until("another pod's name", |source| {
            source
                .report()
                .diagnoses
                .iter()
                .any(|d| d.message.contains("default/other under the key of pod default/a"))
        })
        .await;
    assert_eq!(source.pods(), "a=one:1 b=two:1");
    client.put(key("a"), manifest("a", "one:3"), None).await.unwrap();
    source.until_pods("a=one:3 b=two:1").await;
    assert!(source.report().diagnoses.is_empty());
}

#[tokio::test]
async fn e12_a_list_beyond_the_largest_message_is_read_and_a_value_too_large_is_refused_alone() {
    let arguments = ["--max-request-bytes", "3000000"];
    let cluster = Cluster::with(1, &arguments).await;
    let mut client = cluster.client().await;
    let large = |name: &str, bytes: usize| format!("{}# {}\n", manifest(name, "one:1"), "x".repeat(bytes));
    // 20 MB, more than a message may have, and a page has all of them.
    let names: Vec<String> = (0..22).map(|i| format!("a{i:02}")).collect();
    for name in &names {
        client.put(key(name), large(name, 950_000), None).await.unwrap();
    }
    client.put(key("huge"), large("huge", 2_500_000), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until("all but the huge one", |source| source.report().pods == names.len()).await;
    let diagnoses = source.report().diagnoses.clone();
    assert!(
        diagnoses.len() == 1 && diagnoses[0].message.contains("it has more bytes than the 1048576 (1 MiB)"),
        "{diagnoses:?}"
    );
    client.put(key("huge"), manifest("huge", "one:1"), None).await.unwrap();
    source.until("the huge one shrank", |source| source.report().pods == names.len() + 1).await;
}

#[tokio::test]
async fn e13_more_keys_than_a_page_are_read_and_more_than_a_machine_carries_are_not() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    for page in 0..11 {
        let put = |i| {
            let name = format!("p{i:04}");
            TxnOp::put(key(&name), manifest(&name, "one:1"), None)
        };
        let puts: Vec<TxnOp> = (page * 100..page * 100 + 100).map(put).collect();
        client.txn(Txn::new().and_then(puts)).await.unwrap();
    }
    let mut all = Source::start(&cluster.urls());
    all.until("three pages", |source| source.report().pods == 1100).await;
    assert_eq!(all.report().error, None);
    let mut some = Source::with(&cluster.urls(), |settings| settings.most_keys = 500);
    some.until_error("more than 500 keys").await;
    assert_eq!(some.report().pods, 500);
}

#[tokio::test]
async fn e23_a_key_that_was_deleted_and_made_again_is_a_new_pod_once() {
    let cluster = Cluster::start(1).await;
    let mut client = cluster.client().await;
    for pod in ["a", "b"] {
        client.put(key(pod), manifest(pod, "one:1"), None).await.unwrap();
    }
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1 b=one:1").await;
    let (a, b) = (source.uid("a"), source.uid("b"));
    client.delete(key("a"), None).await.unwrap();
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    source.until("a new uid", |source| source.uid("a").is_some_and(|uid| Some(uid) != a)).await;
    let new = source.uid("a");
    client.put(key("a"), manifest("a", "one:2"), None).await.unwrap();
    source.until_pods("a=one:2 b=one:1").await;
    // As after a signal: everything is read again.
    source.waker.wake();
    client.put(key("c"), manifest("c", "one:1"), None).await.unwrap();
    source.until_pods("a=one:2 b=one:1 c=one:1").await;
    assert_eq!((source.uid("a"), source.uid("b")), (new, b), "and stays the same from then on");
}

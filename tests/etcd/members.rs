//! Three servers, of which some fail.

use rustix::process::Signal;

use crate::cluster::Cluster;
use crate::source::{Source, key, manifest};

#[tokio::test]
async fn e2_when_the_leader_is_lost_another_member_serves() {
    let mut cluster = Cluster::start(3).await;
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    // The node's name begins the rotation, so it may be any of them: each is lost once.
    for lost in 0..3 {
        cluster.members[lost].kill();
        let (mut client, image) = (cluster.client().await, format!("two:{lost}"));
        while client.put(key("a"), manifest("a", &image), None).await.is_err() {}
        source.until_pods(&format!("a={image}")).await;
        cluster.members[lost].start();
        cluster.answers().await;
    }
}

#[tokio::test]
async fn e3_without_a_quorum_nothing_is_believed_and_nothing_is_removed() {
    let mut cluster = Cluster::start(3).await;
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    cluster.members[0].kill();
    cluster.members[1].kill();
    source.until_error("").await;
    assert_eq!(source.pods(), "!a=one:1");
    cluster.members[0].start();
    source.until_pods("a=one:1").await;
}

#[tokio::test]
async fn e20_an_endpoint_of_another_cluster_is_not_used() {
    let (ours, other) = (Cluster::start(1).await, Cluster::start(1).await);
    ours.client().await.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    other.client().await.put(key("b"), manifest("b", "wrong:1"), None).await.unwrap();
    let proxy = crate::proxy::Proxy::to(&ours.urls()[0]).await;
    // The first letter of the node's name is even, so a rotation of two begins with the first.
    let servers = [proxy.url.clone(), other.urls()[0].clone()];
    let mut source = Source::start(&servers);
    source.until_pods("a=one:1").await;
    proxy.set(crate::proxy::Line::Cut);
    source.until_error("").await;
    assert_eq!(source.pods(), "!a=one:1");
    proxy.set(crate::proxy::Line::Open);
    ours.client().await.put(key("c"), manifest("c", "one:1"), None).await.unwrap();
    source.until_pods("a=one:1 c=one:1").await;
}

#[tokio::test]
async fn e20_an_endpoint_of_another_cluster_is_not_used_by_the_next_agent_either() {
    let (ours, other) = (Cluster::start(1).await, Cluster::start(1).await);
    ours.client().await.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    other.client().await.put(key("b"), manifest("b", "wrong:1"), None).await.unwrap();
    let proxy = crate::proxy::Proxy::to(&ours.urls()[0]).await;
    let mut source = Source::start(std::slice::from_ref(&proxy.url));
    source.until_pods("a=one:1").await;
    proxy.set(crate::proxy::Line::Cut);
    // It was asked of one server and is asked of two: what it knows is still good.
    let mut source = source.again(&[proxy.url.clone(), other.urls()[0].clone()]);
    source.until_error("belongs to cluster").await;
    assert_eq!(source.pods(), "!a=one:1");
    proxy.set(crate::proxy::Line::Open);
    ours.client().await.put(key("c"), manifest("c", "one:1"), None).await.unwrap();
    source.until_pods("a=one:1 c=one:1").await;
    // When all that is named is another cluster, that one counts; what it never had was not deleted in it.
    let servers = other.urls();
    let mut source = source.again(&[servers[0].clone()]);
    source.until_pods("a=one:1 b=wrong:1 c=one:1").await;
    assert!(source.report().held.is_some_and(|held| held.starts_with("2 keys")));
}

#[tokio::test]
async fn e4_a_member_that_froze_is_left_for_another() {
    let cluster = Cluster::start(3).await;
    cluster.client().await.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let mut source = Source::start(&cluster.urls());
    source.until_pods("a=one:1").await;
    // "n" is 110 by ASCII: the rotation of three begins with the last one.
    cluster.members[2].signal(Signal::STOP);
    let mut client = cluster.members[0].client().await;
    while client.put(key("a"), manifest("a", "one:2"), None).await.is_err() {}
    source.until_pods("a=one:2").await;
    cluster.members[2].signal(Signal::CONT);
}

//! Users, roles and certificates.

use std::fs;
use std::path::Path;
use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Permission, PermissionType, RoleRevokePermissionOptions};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::cluster::{Cluster, free_port};
use crate::source::{Source, key, manifest};

const PODS: &str = "/podkeeper/nodes/n/pods/";

fn may_read() -> Permission {
    Permission::new(PermissionType::Read, PODS).with_prefix()
}

/// Root has the password `root`, and `node` the password `node` and what a node needs.
async fn with_users(cluster: &Cluster) -> Client {
    let mut client = cluster.client().await;
    client.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    client.user_add("root", "root", None).await.unwrap();
    client.user_grant_role("root", "root").await.unwrap();
    client.role_add("node").await.unwrap();
    client.role_grant_permission("node", may_read()).await.unwrap();
    client.user_add("node", "node", None).await.unwrap();
    client.user_grant_role("node", "node").await.unwrap();
    client.auth_enable().await.unwrap();
    let options = ConnectOptions::new().with_user("root", "root").with_auto_token_refresh(true);
    Client::connect(cluster.urls(), Some(options)).await.unwrap()
}

/// A source that logs in as `node`, and the file of its password.
fn login(cluster: &Cluster, password: &str) -> (Source, std::path::PathBuf) {
    let path = cluster.dir.path().join("password");
    fs::write(&path, format!("{password}\n")).unwrap();
    let source = Source::with(&cluster.urls(), |settings| {
        settings.access.user = Some(("node".into(), path.clone()));
        settings.pace.relist = Duration::from_secs(3);
    });
    (source, path)
}

#[tokio::test]
async fn e7_an_expired_token_is_renewed_without_trouble() {
    let cluster = Cluster::with(1, &["--auth-token-ttl", "1"]).await;
    let mut root = with_users(&cluster).await;
    let (mut source, _) = login(&cluster, "node");
    source.until_pods("a=one:1").await;
    // Lists come further apart than a token lives. Only a list can come to a revision that is elsewhere.
    for _ in 0..3 {
        let put = root.put("/elsewhere", "x", None).await.unwrap();
        let revision = put.header().unwrap().revision().to_string();
        source
            .until("the revision of a list, and never an error", |source| {
                assert_eq!(source.report().error, None);
                source.report().revision.as_ref() == Some(&revision)
            })
            .await;
    }
}

#[tokio::test]
async fn e7_a_wrong_password_is_told_and_the_right_one_is_used_without_a_restart() {
    let cluster = Cluster::start(1).await;
    with_users(&cluster).await;
    let (mut source, password) = login(&cluster, "wrong");
    source.until_error("check --etcd-user and --etcd-password-file").await;
    assert_eq!(source.pods(), "!");
    fs::write(password, "node").unwrap();
    source.until_pods("a=one:1").await;
}

#[tokio::test]
async fn e8_a_permission_that_is_taken_away_takes_no_pod_away() {
    let cluster = Cluster::start(1).await;
    let mut root = with_users(&cluster).await;
    let (mut source, _) = login(&cluster, "node");
    source.until_pods("a=one:1").await;
    let options = RoleRevokePermissionOptions::new().with_prefix();
    root.role_revoke_permission("node", PODS, Some(options)).await.unwrap();
    source.until_error("may read this node's keys").await;
    assert_eq!(source.pods(), "!a=one:1");
    root.role_grant_permission("node", may_read()).await.unwrap();
    root.put(key("b"), manifest("b", "one:1"), None).await.unwrap();
    source.until_pods("a=one:1 b=one:1").await;
}

#[tokio::test]
async fn a_node_that_does_not_log_in_is_told_to() {
    let cluster = Cluster::start(1).await;
    with_users(&cluster).await;
    let mut source = Source::start(&cluster.urls());
    source.until_error("etcd wants a user: give --etcd-user").await;
}

/// Writes a new authority, and certificates of the server and of a client that it signed.
fn certificates(dir: &Path) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(dir.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(params, key);
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        fs::write(dir.join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

#[tokio::test]
async fn e19_certificates_that_were_renewed_are_used_without_a_restart() {
    let mut cluster = Cluster::start(1).await;
    let dir = cluster.dir.path().to_owned();
    certificates(&dir);
    cluster.client().await.put(key("a"), manifest("a", "one:1"), None).await.unwrap();
    let file = |name: &str| dir.join(name).display().to_string();
    let secure = format!("https://127.0.0.1:{}", free_port());
    let member = &mut cluster.members[0];
    member.kill();
    let urls = format!("{},{secure}", member.url);
    member.change("--listen-client-urls", &urls);
    for (flag, name) in
        [("--cert-file", "server.pem"), ("--key-file", "server.key"), ("--trusted-ca-file", "ca.pem")]
    {
        member.change(flag, &file(name));
    }
    member.change("--client-cert-auth", "true");
    member.start();
    cluster.answers().await;
    fs::copy(dir.join("ca.pem"), dir.join("known.pem")).unwrap();
    let mut source = Source::with(&[secure], |settings| {
        settings.access.ca_file = Some(dir.join("known.pem"));
        settings.access.client = Some((dir.join("client.pem"), dir.join("client.key")));
    });
    source.until_pods("a=one:1").await;
    cluster.members[0].kill();
    // The server has the new ones, and this node still knows the old authority.
    certificates(&dir);
    cluster.members[0].start();
    cluster.answers().await;
    source.until_error("certificate").await;
    assert_eq!(source.pods(), "!a=one:1");
    fs::copy(dir.join("ca.pem"), dir.join("known.pem")).unwrap();
    source.until_pods("a=one:1").await;
}

//! Traps in where manifests come from.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use podkeeper::model::PodKey;
use podkeeper::model::read::{self, Options};
use podkeeper::node::clock::Clock;
use podkeeper::node::keep::Kept;
use podkeeper::node::sources::http::{Client, ManifestUrl, read_once};
use podkeeper::node::sources::reading::{Look, Manifests, Said, Seen};
use podkeeper::node::sources::watch;
use podkeeper::node::store::Store;
use podkeeper::plan::{Node, Slot, SourceKind};
use podkeeper::sim::Story;
use podkeeper::sim::story::key;

use crate::pod;

fn node() -> Node {
    Node { name: "n".into(), key: [0; 16], sandbox_image: "pause".into() }
}

/// A source that has read one pod from the text `web`.
fn known(kind: SourceKind) -> Manifests {
    let mut manifests = Manifests::new(kind, node(), false);
    let reading = read::read("web", pod("web", "").as_bytes(), &Options::default());
    let said = fold(&mut manifests, vec![("web".into(), Seen::Read { digest: 1, reading })]);
    assert_eq!(names(&said), ["web"]);
    manifests
}

fn fold(manifests: &mut Manifests, files: Vec<(Arc<str>, Seen)>) -> Said {
    manifests.fold(Look::Files(files), Duration::ZERO)
}

fn names(said: &Said) -> Vec<String> {
    said.slot.pods().into_iter().flatten().map(|(key, _)| key.name.to_string()).collect()
}

#[test]
fn trap_06_a_deleted_file_takes_its_pods_along() {
    let mut story = Story::new("");
    story.file("web.yaml", &pod("web", "")).settles().no_file("web.yaml").settles();
    assert!(story.world.engine.containers().is_empty());
}

#[test]
fn trap_07_nothing_is_not_a_wish_for_nothing() {
    for kind in [SourceKind::File, SourceKind::Http, SourceKind::Etcd] {
        let said = fold(&mut known(kind), vec![("web".into(), Seen::Blank)]);
        assert_eq!(names(&said), ["web"], "{kind}");
        let said = known(kind).fold(Look::Unavailable("it is away".into()), Duration::ZERO);
        assert_eq!(names(&said), ["web"], "{kind}");
    }
}

#[cfg(feature = "etcd")]
#[test]
fn trap_08_only_the_keys_of_this_node_are_manifests() {
    use podkeeper::node::sources::etcd::keys::{Keys, Meaning};
    let keys = Keys::new("/podkeeper", "n");
    assert_eq!(keys.meaning(b"/registry/hosts/n/kubelet"), Meaning::List);
    let pod = Meaning::Pod(PodKey::new("default", "web"));
    assert_eq!(keys.meaning(b"/podkeeper/nodes/n/pods/default/web"), pod);
    for stray in
        ["/registry/hosts/n/kubelet/x", "/registry/hosts/n/other", "/podkeeper/nodes/m/pods/default/web"]
    {
        assert_eq!(keys.meaning(stray.as_bytes()), Meaning::Stray, "{stray}");
    }
}

#[test]
fn trap_11_an_error_page_is_no_manifest() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = ManifestUrl::parse(&format!("http://{}/", server.local_addr().unwrap())).unwrap();
    std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        let _ = client.read(&mut [0; 4096]);
        let body = pod("web", "");
        let _ = write!(client, "HTTP/1.1 500 Oh\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(read_once(&Client::new(Default::default()), &url));
    assert!(answer.unwrap_err().contains("500"));
}

#[test]
fn trap_12_the_first_look_is_not_a_period_late() {
    let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(dir.path().join("web.yaml"), pod("web", "")).unwrap();
    let store = Store::new(node());
    let mut reader = store.reader();
    let settings = watch::Settings {
        path: dir.path().to_owned(),
        node: node(),
        check: Duration::from_secs(86_400),
        allow_mass_delete: false,
        kept: Kept::new(state.path(), "manifests"),
    };
    let _waker = watch::spawn(settings, store.writer(SourceKind::File), Clock::start()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let read = reader.wait_for(|now| now.desired.get(&key("web")).is_some());
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap() });
}

#[test]
fn trap_23_an_answer_without_anything_in_it_is_no_panic() {
    let mut manifests = Manifests::new(SourceKind::Etcd, node(), false);
    let said = manifests.fold(Look::Listed(Vec::new()), Duration::ZERO);
    assert!(matches!(said.slot, Slot::Known(pods) if pods.is_empty()));
}

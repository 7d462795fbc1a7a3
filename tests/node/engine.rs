//! `node::bollard` by itself: one sandbox through its whole life.

use std::collections::BTreeMap;

use podkeeper::docker::{Docker, DockerError, Look};
use podkeeper::model::{ContainerId, PodKey, Uid};
use podkeeper::node::bollard::{DEFAULT_ENDPOINT, Endpoint, Engine};
use podkeeper::node::sandbox_image;
use podkeeper::observer::Hint;
use podkeeper::plan::config::ContainerConfig;
use podkeeper::plan::{Role, State, labels};

use crate::machine::{IMAGE, Machine, docker};

fn engine() -> Engine {
    let endpoint = std::env::var("DOCKER_HOST").unwrap_or_else(|_| DEFAULT_ENDPOINT.into());
    Engine::new(Endpoint::parse(&endpoint).unwrap()).unwrap()
}

fn sandbox(node: &str) -> ContainerConfig {
    let (pod, uid) = (PodKey::new("default", "life"), Uid(node.into()));
    let labels = [
        (labels::NODE, node),
        (labels::FINGERPRINT, "1"),
        (labels::ATTEMPT, "0"),
        (labels::POD_NAME, "life"),
        (labels::POD_NAMESPACE, "default"),
        (labels::POD_UID, node),
        (labels::CONTAINER_NAME, "POD"),
        (labels::TYPE, "podsandbox"),
    ];
    ContainerConfig {
        name: labels::container_name(&Role::Sandbox, &pod, &uid, 0),
        image: sandbox_image::NAME.into(),
        labels: labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        network_mode: "default".into(),
        ipc_mode: "shareable".into(),
        oom_score_adj: -998,
        ..ContainerConfig::default()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_sandbox_lives_and_dies_on_the_real_engine() {
    let engine = engine();
    let version = match engine.connect().await {
        Ok(version) => version,
        Err(trouble) => panic!("this test needs Docker: {}", trouble.message()),
    };
    assert!(version.memory_bytes > 0 && version.api.starts_with("1."), "{version:?}");
    let node = format!("engine-test-{}", std::process::id());
    engine.load_sandbox_image(sandbox_image::NAME).await.unwrap();
    assert!(engine.image(sandbox_image::NAME).await.unwrap().is_some());
    assert_eq!(engine.image("podkeeper/never:1").await.unwrap(), None);

    let mut events = engine.events(&node).await.unwrap();
    let config = sandbox(&node);
    let id = engine.create(&config).await.unwrap();
    let again = engine.create(&config).await.unwrap_err();
    assert!(
        matches!(&again, DockerError::NameInUse { holder: Some(holder), .. } if *holder == id),
        "{again}"
    );
    engine.start(&id).await.unwrap();
    engine.start(&id).await.unwrap();
    let event = tokio::time::timeout(std::time::Duration::from_secs(20), events.next()).await;
    let (seen, hint) = event.expect("no event came").unwrap();
    assert_eq!((seen, hint), (id.clone(), Hint::Started));

    let list = engine.list(&node).await.unwrap();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0].state, State::Running { started_at: None });
    assert!(list[0].ip.is_some());
    let inspected = engine.inspect(&id).await.unwrap();
    assert!(matches!(inspected.instance.state, State::Running { started_at: Some(_) }));
    assert!(matches!(engine.remove(&id).await.unwrap_err(), DockerError::Conflict { .. }));

    engine.stop(&id, Some(20)).await.unwrap();
    engine.stop(&id, None).await.unwrap();
    let exit = engine.inspect(&id).await.unwrap().exit.unwrap();
    assert_eq!(exit.code, 0, "the pause program ends on SIGTERM, long before its grace period");
    engine.remove(&id).await.unwrap();
    assert!(matches!(engine.remove(&id).await.unwrap_err(), DockerError::NotFound { .. }));
    assert!(engine.list(&node).await.unwrap().is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn an_engine_that_is_not_there_is_named_with_what_to_do() {
    let engine = Engine::new(Endpoint::Unix("/nonexistent/docker.sock".into())).unwrap();
    let trouble = engine.connect().await.unwrap_err();
    assert!(trouble.message().contains("/nonexistent/docker.sock"), "{}", trouble.message());
    let id = ContainerId("0".repeat(64).into());
    assert!(matches!(engine.start(&id).await.unwrap_err(), DockerError::Unreachable { .. }));
    assert!(matches!(engine.list("n").await.unwrap_err(), DockerError::Unreachable { .. }));
}

#[test]
fn the_sandbox_program_reaps_orphans_and_ends_on_an_interrupt() {
    let machine = Machine::new("reaper");
    let engine = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    engine.block_on(self::engine().load_sandbox_image(sandbox_image::NAME)).unwrap();
    let label = format!("{}={}", labels::NODE, machine.node);
    let sandbox = docker(&["run", "-d", "--label", &label, sandbox_image::NAME]);
    let (pid, orphans) =
        (format!("container:{sandbox}"), "(sleep 0 &); (sleep 0 &); sleep 1; cat /proc/[0-9]*/stat");
    let processes = docker(&["run", "--rm", "--pid", &pid, IMAGE, "sh", "-c", orphans]);
    assert!(processes.starts_with("1 (pause)"), "{processes}");
    assert!(!processes.contains(") Z "), "{processes}");
    docker(&["kill", "--signal", "INT", &sandbox]);
    assert_eq!(docker(&["wait", &sandbox]), "0");
}

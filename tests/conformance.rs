//! The simulated engine is held to the real one: one suite, asked of both.
//!
//! Every case names the fact about Docker that it holds. The real half needs a Docker Engine at
//! `DOCKER_HOST` or the default socket, and `busybox` (statically linked) for its image; `scripts/test`
//! sees to both.

use std::cell::Cell;
use std::collections::BTreeMap;

use podkeeper::docker::{Docker, DockerError, Inspected};
use podkeeper::model::pod::Protocol;
use podkeeper::model::{ContainerId, Time};
use podkeeper::plan::config::{EngineResources, PortBinding};
use podkeeper::plan::{ContainerConfig, State, labels};
use podkeeper::sim::{Engine, NO_COMMAND};

/// Static busybox: on the real engine imported for this suite, on the simulated one simply there.
const IMAGE: &str = "podkeeper-conformance:1";
const NODE: &str = "podkeeper-conformance";

/// An engine under test, and what a test needs beyond the seam.
struct Bench<'a, D: Docker> {
    docker: &'a D,
    made: Cell<u32>,
    prefix: String,
}

impl<D: Docker> Bench<'_, D> {
    /// A container that carries our labels and runs for ever.
    fn config(&self) -> ContainerConfig {
        let number = self.made.replace(self.made.get() + 1);
        let pairs = [
            (labels::NODE, NODE),
            (labels::FINGERPRINT, "1 image=000000000000"),
            (labels::ATTEMPT, "0"),
            (labels::POD_NAME, "conformance"),
            (labels::POD_NAMESPACE, "default"),
            (labels::POD_UID, "0123456789abcdef0123456789abcdef"),
            (labels::CONTAINER_NAME, "app"),
            (labels::TYPE, "container"),
        ];
        let labels: BTreeMap<_, _> = pairs.map(|(key, value)| (key.into(), value.into())).into();
        ContainerConfig {
            name: format!("{}-{number}", self.prefix),
            image: IMAGE.into(),
            cmd: Some(["/bin/sleep", "1000"].map(String::from).into()),
            labels,
            network_mode: "default".into(),
            ipc_mode: "shareable".into(),
            ..ContainerConfig::default()
        }
    }

    /// A container whose network and IPC are another's.
    fn joined(&self, to: &ContainerId) -> ContainerConfig {
        let mode = format!("container:{to}");
        ContainerConfig { network_mode: mode.clone(), ipc_mode: mode, ..self.config() }
    }

    async fn create(&self, config: &ContainerConfig) -> ContainerId {
        self.docker
            .create(config)
            .await
            .unwrap_or_else(|error| panic!("failed to create {}: {error}", config.name))
    }

    async fn running(&self, config: &ContainerConfig) -> ContainerId {
        let id = self.create(config).await;
        self.docker
            .start(&id)
            .await
            .unwrap_or_else(|error| panic!("failed to start {}: {error}", config.name));
        id
    }

    async fn inspect(&self, id: &ContainerId) -> Inspected {
        self.docker.inspect(id).await.unwrap_or_else(|error| panic!("failed to inspect {id}: {error}"))
    }

    async fn state(&self, id: &ContainerId) -> State {
        self.inspect(id).await.instance.state
    }

    async fn is_running(&self, id: &ContainerId) -> bool {
        matches!(self.state(id).await, State::Running { .. })
    }
}

/// Says what was answered when it is not what was expected.
macro_rules! expect {
    ($answer:expr, $pattern:pat $(if $guard:expr)?) => {
        let answer = &$answer;
        assert!(matches!(answer, $pattern $(if $guard)?), "expected {}, got {answer:?}", stringify!($pattern));
    };
}

async fn all<D: Docker>(docker: &D, prefix: &str) {
    let bench = Bench { docker, made: Cell::new(0), prefix: prefix.into() };
    creating(&bench).await;
    starting(&bench).await;
    stopping(&bench).await;
    removing(&bench).await;
    joining(&bench).await;
    limits(&bench).await;
    ports(&bench).await;
    images(&bench).await;
    looking(&bench).await;
    clear(docker, NODE).await;
}

/// Removes all containers of one node.
async fn clear<D: Docker>(docker: &D, node: &str) {
    for instance in docker.list(node).await.expect("the engine lists its containers") {
        docker.stop(&instance.id, Some(0)).await.expect("what is left over can be stopped");
        docker.remove(&instance.id).await.expect("and removed");
    }
}

async fn creating<D: Docker>(bench: &Bench<'_, D>) {
    let config = bench.config();
    let id = bench.create(&config).await;
    assert_eq!(id.0.len(), 64, "an id is 64 hexadecimal digits");
    // A name belongs to one container, whatever its state; the refusal names the holder.
    expect!(bench.docker.create(&config).await, Err(DockerError::NameInUse { holder: Some(h), .. }) if *h == id);
    let bad = ContainerConfig { name: "bad/name".into(), ..bench.config() };
    expect!(bench.docker.create(&bad).await, Err(DockerError::Refused { status: 400, .. }));
    let absent = ContainerConfig { image: "podkeeper-no-such-image:1".into(), ..bench.config() };
    expect!(bench.docker.create(&absent).await, Err(DockerError::NotFound { .. }));
    expect!(bench.state(&id).await, State::Created);
    assert_eq!(bench.inspect(&id).await.exit, None, "a container that was never started has not ended");
}

async fn starting<D: Docker>(bench: &Bench<'_, D>) {
    let id = bench.running(&bench.config()).await;
    expect!(bench.state(&id).await, State::Running { started_at: Some(_) });
    // 304: starting what runs is a success.
    expect!(bench.docker.start(&id).await, Ok(()));
    let nobody = ContainerId("0".repeat(64).into());
    expect!(bench.docker.start(&nobody).await, Err(DockerError::NotFound { .. }));
    // A command that is not there is found out at start, and the container stays as it was.
    let broken = ContainerConfig { cmd: Some(vec![NO_COMMAND.into()]), ..bench.config() };
    let broken = bench.create(&broken).await;
    expect!(bench.docker.start(&broken).await, Err(DockerError::Refused { status: 400, .. }));
    expect!(bench.state(&broken).await, State::Created);
}

async fn stopping<D: Docker>(bench: &Bench<'_, D>) {
    let id = bench.running(&bench.config()).await;
    expect!(bench.docker.stop(&id, Some(0)).await, Ok(()));
    expect!(bench.state(&id).await, State::Exited(Some(exit)) if exit.started_at.is_some() && !exit.oom);
    // 304: stopping what does not run is a success, also when it never ran.
    expect!(bench.docker.stop(&id, Some(0)).await, Ok(()));
    let fresh = bench.create(&bench.config()).await;
    expect!(bench.docker.stop(&fresh, Some(0)).await, Ok(()));
    expect!(bench.state(&fresh).await, State::Created);
    // It can be started again, and is the same container.
    expect!(bench.docker.start(&id).await, Ok(()));
    assert!(bench.is_running(&id).await);
    expect!(bench.docker.unpause(&id).await, Err(DockerError::Refused { status: 500, .. }));
}

async fn removing<D: Docker>(bench: &Bench<'_, D>) {
    let id = bench.running(&bench.config()).await;
    // What runs is not removed, because a remove is never forced.
    expect!(bench.docker.remove(&id).await, Err(DockerError::Conflict { .. }));
    bench.docker.stop(&id, Some(0)).await.expect("a running container can be stopped");
    expect!(bench.docker.remove(&id).await, Ok(()));
    expect!(bench.docker.remove(&id).await, Err(DockerError::NotFound { .. }));
    expect!(bench.docker.inspect(&id).await, Err(DockerError::NotFound { .. }));
    expect!(bench.docker.stop(&id, Some(0)).await, Err(DockerError::NotFound { .. }));
    // Its name is free again.
    let config = bench.config();
    let first = bench.create(&config).await;
    bench.docker.remove(&first).await.expect("a created container can be removed");
    assert_ne!(bench.create(&config).await, first, "an id is never used twice");
}

async fn joining<D: Docker>(bench: &Bench<'_, D>) {
    let sandbox = bench.create(&bench.config()).await;
    let app = bench.create(&bench.joined(&sandbox)).await;
    // A network can be joined only while its owner runs; that is found out at start.
    expect!(bench.docker.start(&app).await, Err(DockerError::Conflict { .. }));
    expect!(bench.state(&app).await, State::Created);
    bench.docker.start(&sandbox).await.expect("the sandbox starts");
    bench.docker.start(&app).await.expect("what joins it starts");
    let named = ContainerConfig { hostname: Some("web".into()), ..bench.joined(&sandbox) };
    expect!(bench.docker.create(&named).await, Err(DockerError::Refused { status: 400, .. }));
    let published = ContainerConfig { ports: vec![port(free_port())], ..bench.joined(&sandbox) };
    expect!(bench.docker.create(&published).await, Err(DockerError::Refused { status: 400, .. }));

    // The owner of a network ends, and even goes: what joined it runs on.
    bench.docker.stop(&sandbox, Some(0)).await.expect("the sandbox stops");
    assert!(bench.is_running(&app).await, "stopping a sandbox stops nothing else");
    bench.docker.remove(&sandbox).await.expect("the sandbox is removed");
    assert!(bench.is_running(&app).await, "removing a sandbox stops nothing else");
    // But it cannot be started again: 404, for the sandbox and not for itself.
    bench.docker.stop(&app, Some(0)).await.expect("it can be stopped");
    expect!(bench.docker.start(&app).await, Err(DockerError::NotFound { .. }));
    expect!(bench.state(&app).await, State::Exited(Some(_)));
    expect!(
        bench.docker.create(&bench.joined(&sandbox)).await,
        Err(DockerError::Refused { status: 400, .. })
    );

    // A process namespace is different: all of it ends with its first process.
    let sandbox = bench.running(&bench.config()).await;
    let inside = ContainerConfig { pid_mode: format!("container:{sandbox}"), ..bench.joined(&sandbox) };
    let inside = bench.running(&inside).await;
    bench.docker.stop(&sandbox, Some(0)).await.expect("the sandbox stops");
    expect!(bench.state(&inside).await, State::Exited(Some(exit)) if exit.code == 137);
}

async fn limits<D: Docker>(bench: &Bench<'_, D>) {
    let limits = EngineResources { memory: 64 << 20, cpu_shares: 512, cpu_quota: 50_000 };
    let id = bench.running(&ContainerConfig { resources: limits, ..bench.config() }).await;
    let more = EngineResources { memory: 128 << 20, cpu_shares: 256, cpu_quota: 25_000 };
    expect!(bench.docker.update(&id, &more).await, Ok(()));
    let of = async |id| bench.inspect(id).await.instance.config.map(|config| config.resources);
    assert_eq!(of(&id).await, Some(more));
    let tiny = EngineResources { memory: 1 << 20, ..more };
    expect!(bench.docker.update(&id, &tiny).await, Err(DockerError::Refused { status: 400, .. }));
    // An update takes a CPU limit away, but never a memory limit.
    let none = EngineResources { memory: 0, cpu_quota: 0, ..more };
    expect!(bench.docker.update(&id, &none).await, Ok(()));
    assert_eq!(of(&id).await, Some(EngineResources { cpu_quota: 0, ..more }));
    bench.docker.stop(&id, Some(0)).await.expect("it can be stopped");
    expect!(bench.docker.update(&id, &limits).await, Ok(()));
}

async fn ports<D: Docker>(bench: &Bench<'_, D>) {
    let free = free_port();
    let first = bench.running(&ContainerConfig { ports: vec![port(free)], ..bench.config() }).await;
    // A port is taken at start and not at create; the one that lost stays created.
    let second = bench.create(&ContainerConfig { ports: vec![port(free)], ..bench.config() }).await;
    expect!(bench.docker.start(&second).await, Err(DockerError::PortTaken { .. }));
    expect!(bench.state(&second).await, State::Created);
    let udp = PortBinding { protocol: Protocol::Udp, ..port(free) };
    bench.running(&ContainerConfig { ports: vec![udp], ..bench.config() }).await;
    bench.docker.stop(&first, Some(0)).await.expect("the first can be stopped");
    expect!(bench.docker.start(&second).await, Ok(()));
}

async fn images<D: Docker>(bench: &Bench<'_, D>) {
    expect!(bench.docker.image(IMAGE).await, Ok(Some(id)) if id.starts_with("sha256:"));
    expect!(bench.docker.image("podkeeper-no-such-image:1").await, Ok(None));
    expect!(bench.docker.image("UPPER:1").await, Err(DockerError::Refused { status: 400, .. }));
    expect!(bench.docker.pull("UPPER:1").await, Err(DockerError::Refused { status: 400, .. }));
}

async fn looking<D: Docker>(bench: &Bench<'_, D>) {
    let mut config =
        ContainerConfig { env: vec!["A=1".into()], hostname: Some("web".into()), ..bench.config() };
    config.labels.insert(labels::CONTAINER_NAME.into(), "POD".into());
    config.labels.insert(labels::TYPE.into(), "podsandbox".into());
    let id = bench.running(&config).await;
    let listed = bench.docker.list(NODE).await.expect("the engine lists its containers");
    let listed =
        listed.iter().find(|instance| instance.id == id).expect("the list has all that carry our label");
    expect!(listed.state, State::Running { .. });
    assert_eq!(*listed.name, *config.name, "names have no slash");
    assert!(listed.ip.is_some(), "a running sandbox on a network of its own has an address");
    let other = bench.docker.list("another-node").await.expect("the engine lists its containers");
    assert!(other.is_empty(), "a list is of one node only");
    let inspected = bench.inspect(&id).await.instance.config.expect("inspect tells the configuration");
    assert_eq!((inspected.image.as_str(), inspected.cmd.clone()), (IMAGE, config.cmd.clone()));
    assert!(inspected.env.contains(&"A=1".to_string()) && inspected.hostname == config.hostname);
    assert_eq!(inspected.labels.get(labels::NODE).map(String::as_str), Some(NODE));
    // A container without our labels is somebody else's.
    let foreign = ContainerConfig { labels: BTreeMap::new(), ..bench.config() };
    let foreign = bench.create(&foreign).await;
    expect!(bench.docker.inspect(&foreign).await, Err(DockerError::Foreign { .. }));
    let listed = bench.docker.list(NODE).await.expect("the engine lists its containers");
    assert!(listed.iter().all(|instance| instance.id != foreign));
    bench.docker.remove(&foreign).await.expect("the test removes what it made");
}

/// A port of this machine that nothing listens on at the moment.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

fn port(host_port: u16) -> PortBinding {
    PortBinding { container_port: 80, protocol: Protocol::Tcp, host_ip: String::new(), host_port }
}

#[test]
fn the_simulated_engine_answers_as_docker_does() {
    let engine = Engine::new(Time(1_767_225_600_000));
    engine.add_image(IMAGE);
    podkeeper::sim::ready(all(&engine, "sim"));
    assert_eq!(engine.containers(), [], "the suite removes what it made");
}

#[cfg(feature = "node")]
mod real {
    use std::process::{Command, Stdio};

    use podkeeper::node::bollard::{DEFAULT_ENDPOINT, Endpoint, Engine};

    use super::{IMAGE, NODE, all};

    #[tokio::test(flavor = "current_thread")]
    async fn docker_answers_as_the_simulated_engine_does() {
        let endpoint = std::env::var("DOCKER_HOST").unwrap_or_else(|_| DEFAULT_ENDPOINT.into());
        let endpoint = Endpoint::parse(&endpoint).expect("DOCKER_HOST is an endpoint");
        let engine = Engine::new(endpoint).expect("an engine can be spoken to");
        if let Err(trouble) = engine.connect().await {
            panic!("this test needs a Docker Engine (scripts/test starts one): {}", trouble.message());
        }
        import_busybox();
        super::clear(&engine, NODE).await;
        all(&engine, &format!("podkeeper-conformance-{}", std::process::id())).await;
    }

    /// A static busybox: `scripts/test` names one where the machine has none.
    fn busybox() -> std::ffi::OsString {
        std::env::var_os("PODKEEPER_BUSYBOX").unwrap_or_else(|| "/bin/busybox".into())
    }

    /// Makes [`IMAGE`]: busybox and two names for it, without any registry.
    fn import_busybox() {
        let folder = tempfile::tempdir().expect("a folder for the image");
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).expect("a folder for busybox");
        std::fs::copy(busybox(), bin.join("busybox"))
            .expect("this test needs a static /bin/busybox: install busybox-static");
        for name in ["sh", "sleep"] {
            std::os::unix::fs::symlink("busybox", bin.join(name)).expect("a name for busybox");
        }
        let tar =
            Command::new("tar").arg("-C").arg(folder.path()).args(["-c", "."]).stdout(Stdio::piped()).spawn();
        let tar = tar.expect("tar packs the image").stdout.expect("its output is piped");
        let import = Command::new("docker").args(["import", "-", IMAGE]).stdin(tar).output();
        let import = import.expect("this test needs the docker command");
        assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    }
}

//! The real engine behind the seam [`crate::docker`]: bollard for what changes, a plain request for what looks.
//!
//! Both go through one [door], which puts the negotiated API version in front of every path:
//! bollard 0.21.1 never sends it (`Url::join` drops the prefix, fussybeaver/bollard#736), and an engine that
//! gets none answers in its newest version, whichever that is.
//!
//! [door]: door::Door
//!
//! **Invariant:** no bollard type leaves this file and its folder.

mod door;
mod endpoint;
mod events;
mod logs;
mod path;
mod refusal;
mod request;
mod version;
mod wire;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::bollard::query_parameters::{
    CreateContainerOptionsBuilder, CreateImageOptionsBuilder, ImportImageOptions,
    RemoveContainerOptionsBuilder, StopContainerOptionsBuilder,
};
use ::bollard::{BollardRequest, ClientVersion};
use futures_util::{Stream, StreamExt};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use endpoint::{DEFAULT as DEFAULT_ENDPOINT, Endpoint};
pub use events::Events;
pub use logs::{LogOptions, Logs};

use crate::docker::{Docker, DockerError, EngineVersion, Inspected, Look};
use crate::model::ContainerId;
use crate::node::sandbox_image;
use crate::plan::config::{ContainerConfig, EngineResources};
use crate::plan::{Instance, labels};
use door::Door;
use endpoint::{NotConnected, SendError};
use path::{escaped, full, has_tag, image_name};
use version::{Announced, ApiVersion};

/// No call but a stop, a pull or the event stream takes longer on an engine that works.
const CALL: Duration = Duration::from_secs(30);
/// What a stop may take beyond its grace period: the engine's own wait after the kill is 10 s.
const STOP_MARGIN: Duration = Duration::from_secs(15);
/// A pull that tells nothing for so long hangs; extracting a large layer is silent for minutes.
const PULL_SILENCE: Duration = Duration::from_secs(300);
/// The engine's own default for a stop without a time.
const ENGINE_GRACE: u32 = 10;

/// A connection to one engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    door: Arc<Door>,
    bollard: ::bollard::Docker,
}

/// Why there is no connection: it decides how soon to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Not there, not answering, or breaking off: it may be back at any moment.
    Away(String),
    /// There and not for us: only a person can change that.
    Denied(String),
    /// There, and no API version is spoken by both.
    Stranger(String),
}

impl Trouble {
    pub fn message(&self) -> &str {
        match self {
            Trouble::Away(message) | Trouble::Denied(message) | Trouble::Stranger(message) => message,
        }
    }
}

impl Engine {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// When bollard cannot be set up for the endpoint.
    pub fn new(endpoint: Endpoint) -> Result<Self, String> {
        let door = Arc::new(Door::new(endpoint));
        let bollard = ::bollard::Docker::connect_with_custom_transport(
            {
                let door = door.clone();
                move |request: BollardRequest| {
                    let door = door.clone();
                    async move { door.send(request).await.map_err(into_bollard) }
                }
            },
            Some("http://docker"),
            // Every call here has a time-out of its own, and bollard's covers the head of an answer only.
            u64::from(u32::MAX),
            &ClientVersion { major_version: 1, minor_version: 41 },
        )
        .map_err(|error| error.to_string())?;
        Ok(Self { door, bollard })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.door.endpoint
    }

    /// Reaches the engine and agrees on an API version. To be called again whenever it was lost.
    ///
    /// # Errors
    /// [`Trouble`], whose message says what to do.
    pub async fn connect(&self) -> Result<EngineVersion, Trouble> {
        self.door.forget();
        // Both at once: an agent that restarts should not wait for the slower one twice.
        let (announced, info) = tokio::join!(self.announced(), self.get::<Info>("/info"));
        let (announced, api) = announced?;
        let info = info.map_err(|error| Trouble::Away(error.to_string()))?;
        self.door.learn();
        Ok(EngineVersion { version: announced.version, api: api.to_string(), memory_bytes: info.mem_total })
    }

    /// True when the engine cannot protect a container from the kernel's out-of-memory killer.
    pub fn cannot_lower_oom_scores(&self) -> bool {
        !self.door.lowers_oom_scores()
    }

    async fn announced(&self) -> Result<(Announced, ApiVersion), Trouble> {
        let request = Request::get("/version").body(Empty::<Bytes>::new());
        let request = request.map_err(|error| Trouble::Away(error.to_string()))?;
        let sent = tokio::time::timeout(CALL, self.door.endpoint.send(request)).await;
        let silent = || Trouble::Away(format!("engine {} does not answer", self.door.endpoint));
        let response = match sent.map_err(|_| silent())? {
            Ok(response) => response,
            Err(SendError::NotConnected(NotConnected { kind: io::ErrorKind::PermissionDenied, advice })) => {
                return Err(Trouble::Denied(advice));
            }
            Err(error) => return Err(Trouble::Away(refusal::of_send(error).to_string())),
        };
        let body = tokio::time::timeout(CALL, endpoint::whole(response)).await.map_err(|_| silent())?;
        let body = body.map_err(|error| Trouble::Away(error.to_string()))?;
        let announced: Announced = serde_json::from_slice(&body).map_err(|_| {
            Trouble::Stranger(format!("what listens at {} is not a Docker engine", self.door.endpoint))
        })?;
        let api = version::negotiate(&announced).map_err(Trouble::Stranger)?;
        self.door.speak(api);
        Ok((announced, api))
    }

    /// A whole JSON answer, decoded into the fields that we use.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, DockerError> {
        decoded(path, &self.body(path).await?)
    }

    /// The bytes of a whole answer.
    async fn body(&self, path: &str) -> Result<Bytes, DockerError> {
        let work = async {
            let response = self.answer(path).await?;
            endpoint::whole(response).await.map_err(|error| refusal::uncertain(&error))
        };
        within(CALL, work).await
    }

    /// The head of an answer that is not a refusal.
    async fn answer(&self, path: &str) -> Result<Response<Incoming>, DockerError> {
        let request = Request::get(path).body(Empty::<Bytes>::new()).map_err(|error| {
            DockerError::Refused { status: 400, message: format!("{path} cannot be asked for: {error}") }
        })?;
        let response = self.door.send(request).await.map_err(refusal::of_send)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = endpoint::whole(response).await.map_err(|error| refusal::uncertain(&error))?;
        Err(refusal::of_status(status.as_u16(), message(&body)))
    }

    /// What the engine tells as it happens, of the containers of this node. The stream is open when this
    /// returns, so that a list that is asked for afterwards and the events together miss nothing.
    ///
    /// # Errors
    /// When the stream cannot be opened.
    pub async fn events(&self, node: &str) -> Result<Events, DockerError> {
        let words = events::WORDS.map(|(word, _)| word);
        let label = format!("{}={node}", labels::NODE);
        let filters =
            serde_json::json!({ "type": ["container"], "label": [label], "event": words }).to_string();
        let path = format!("/events?filters={}", escaped(&filters));
        within(CALL, self.answer(&path)).await.map(|response| Events::new(response.into_body()))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    #[serde(default)]
    mem_total: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageId {
    id: String,
}

impl Look for Engine {
    async fn version(&self) -> Result<EngineVersion, DockerError> {
        self.connect()
            .await
            .map_err(|trouble| DockerError::Unreachable { message: trouble.message().to_owned() })
    }

    async fn list(&self, node: &str) -> Result<Vec<Instance>, DockerError> {
        let filter = serde_json::json!({ "label": [format!("{}={node}", labels::NODE)] }).to_string();
        let path = format!("/containers/json?all=1&filters={}", escaped(&filter));
        let body = self.body(&path).await?;
        let listed: Vec<wire::Listed> = decoded(&path, &body)?;
        Ok(listed.into_iter().filter_map(|container| container.instance(node)).collect())
    }

    async fn inspect(&self, id: &ContainerId) -> Result<Inspected, DockerError> {
        let detailed: wire::Detailed = self.get(&format!("/containers/{}/json", full(id)?)).await?;
        detailed.inspected().ok_or_else(|| DockerError::Foreign { id: id.clone() })
    }

    async fn image(&self, name: &str) -> Result<Option<String>, DockerError> {
        match self.get::<ImageId>(&format!("/images/{}/json", image_name(name)?)).await {
            Ok(image) => Ok(Some(image.id)),
            Err(DockerError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Docker for Engine {
    async fn create(&self, config: &ContainerConfig) -> Result<ContainerId, DockerError> {
        let options = CreateContainerOptionsBuilder::new().name(&config.name).build();
        let body = request::create(config, self.door.oom_floor());
        let call = self.bollard.create_container(Some(options), body);
        within(CALL, call.map_err_docker()).await.map(|created| ContainerId(created.id.into()))
    }

    async fn start(&self, id: &ContainerId) -> Result<(), DockerError> {
        within(CALL, self.bollard.start_container(full(id)?, None).map_err_docker()).await
    }

    async fn stop(&self, id: &ContainerId, grace: Option<u32>) -> Result<(), DockerError> {
        let id = full(id)?;
        let patience = match grace {
            Some(grace) => grace,
            None => {
                let detailed: wire::Detailed = self.get(&format!("/containers/{id}/json")).await?;
                detailed.stop_timeout().unwrap_or(ENGINE_GRACE)
            }
        };
        let options = grace.map(|grace| {
            StopContainerOptionsBuilder::new().t(i32::try_from(grace).unwrap_or(i32::MAX)).build()
        });
        let limit = Duration::from_secs(patience.into()) + STOP_MARGIN;
        within(limit, self.bollard.stop_container(id, options).map_err_docker()).await
    }

    async fn unpause(&self, id: &ContainerId) -> Result<(), DockerError> {
        within(CALL, self.bollard.unpause_container(full(id)?).map_err_docker()).await
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), DockerError> {
        // `v` takes the anonymous volumes along, which nobody else can name.
        let options = RemoveContainerOptionsBuilder::new().v(true).force(false).build();
        within(CALL, self.bollard.remove_container(full(id)?, Some(options)).map_err_docker()).await
    }

    async fn update(&self, id: &ContainerId, resources: &EngineResources) -> Result<(), DockerError> {
        let body = request::update(resources);
        within(CALL, self.bollard.update_container(full(id)?, body).map_err_docker()).await
    }

    async fn pull(&self, image: &str) -> Result<(), DockerError> {
        let mut options = CreateImageOptionsBuilder::new().from_image(image_name(image)?);
        if !has_tag(image) {
            // Without a tag the engine would pull every tag there is.
            options = options.tag("latest");
        }
        drain(self.bollard.create_image(Some(options.build()), None, None), PULL_SILENCE).await
    }

    async fn load_sandbox_image(&self, name: &str) -> Result<(), DockerError> {
        let archive = sandbox_image::archive(image_name(name)?);
        let body = ::bollard::body_full(archive.into());
        drain(self.bollard.import_image(ImportImageOptions::default(), body, None), CALL).await
    }
}

/// An empty or cut body is not an empty list.
fn decoded<'a, T: Deserialize<'a>>(path: &str, body: &'a [u8]) -> Result<T, DockerError> {
    serde_json::from_slice(body).map_err(|error| DockerError::Uncertain {
        message: format!("the engine's answer to {path} cannot be read: {error}"),
    })
}

/// Reads a stream of progress to its end: only there is it known that all went well.
async fn drain<T>(
    stream: impl Stream<Item = Result<T, ::bollard::errors::Error>>,
    silence: Duration,
) -> Result<(), DockerError> {
    let mut stream = std::pin::pin!(stream);
    while let Some(progress) = within(silence, async { Ok(stream.next().await) }).await? {
        progress.map_err(refusal::of_bollard)?;
    }
    Ok(())
}

/// Ends a call that never answers. It may have been carried out, so nobody knows.
async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, DockerError>>,
) -> Result<T, DockerError> {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
        let message = format!("the engine did not answer within {} s", limit.as_secs());
        Err(DockerError::Uncertain { message })
    })
}

/// A call to bollard, with its error in our words.
trait InOurWords<T> {
    fn map_err_docker(self) -> impl Future<Output = Result<T, DockerError>>;
}

impl<T, F: Future<Output = Result<T, ::bollard::errors::Error>>> InOurWords<T> for F {
    async fn map_err_docker(self) -> Result<T, DockerError> {
        self.await.map_err(refusal::of_bollard)
    }
}

fn into_bollard(error: SendError) -> ::bollard::errors::Error {
    match error {
        SendError::NotConnected(not_connected) => io::Error::new(not_connected.kind, not_connected).into(),
        SendError::Broken(error) => error.into(),
    }
}

/// The text in an error's body, `{"message": …}`, or the body itself.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    serde_json::from_slice::<Refusal>(body)
        .map_or_else(|_| String::from_utf8_lossy(body).trim().to_owned(), |refusal| refusal.message)
}

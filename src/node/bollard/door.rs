//! The one door to the engine: every request goes through it, under the negotiated API version.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use hyper::body::{Body, Bytes, Incoming};
use hyper::{Request, Response};

use super::endpoint::{Endpoint, SendError};
use super::version::ApiVersion;

/// The kernel's lowest OOM score: never killed.
const LOWEST_OOM_SCORE: i32 = -1000;

pub(super) struct Door {
    pub endpoint: Endpoint,
    /// `None` until it was negotiated, and again after the engine could not be reached.
    api: Mutex<Option<ApiVersion>>,
    oom_floor: AtomicI32,
}

impl Door {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, api: Mutex::new(None), oom_floor: AtomicI32::new(LOWEST_OOM_SCORE) }
    }

    /// From now on requests carry this version.
    pub fn speak(&self, api: ApiVersion) {
        *self.lock() = Some(api);
    }

    /// Asks what the engine that is there now is able to do.
    pub fn learn(&self) {
        self.oom_floor.store(oom_floor(&self.endpoint), Ordering::Relaxed);
    }

    /// The lowest OOM score that the engine can give a container.
    pub fn oom_floor(&self) -> i32 {
        self.oom_floor.load(Ordering::Relaxed)
    }

    pub fn lowers_oom_scores(&self) -> bool {
        self.oom_floor() == LOWEST_OOM_SCORE
    }

    /// Sends a request under the negotiated version.
    pub async fn send<B>(&self, mut request: Request<B>) -> Result<Response<Incoming>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let api = *self.lock();
        if let (Some(api), Some(path)) = (api, request.uri().path_and_query())
            && let Ok(prefixed) = format!("/v{api}{path}").parse()
        {
            *request.uri_mut() = prefixed;
        }
        let sent = self.endpoint.send(request).await;
        if let Err(SendError::NotConnected(_)) = sent {
            self.forget();
        }
        sent
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ApiVersion>> {
        self.api.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The engine that comes back may be another one.
    pub fn forget(&self) {
        *self.lock() = None;
    }
}

/// The lowest OOM score that the engine can give a container.
///
/// Lowering a score needs CAP_SYS_RESOURCE. An engine that runs in a container often has it not, and runc
/// then fails to start anything with a negative score. The process behind the socket can be asked.
fn oom_floor(endpoint: &Endpoint) -> i32 {
    const CAP_SYS_RESOURCE: u32 = 24;
    let ask = || {
        let Endpoint::Unix(path) = endpoint else { return None };
        let socket = std::os::unix::net::UnixStream::connect(path).ok()?;
        let pid = rustix::net::sockopt::socket_peercred(&socket).ok()?.pid.as_raw_nonzero();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
        let capabilities = u64::from_str_radix(capabilities.trim(), 16).ok()?;
        if capabilities & (1 << CAP_SYS_RESOURCE) != 0 {
            return Some(LOWEST_OOM_SCORE);
        }
        std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).ok()?.trim().parse().ok()
    };
    ask().unwrap_or(LOWEST_OOM_SCORE)
}

//! One GET: a connection of its own, redirects, limits, and a body that is whole or an error.

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, TRANSFER_ENCODING, USER_AGENT,
};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::model::read::MAX_BYTES;
use crate::node::clock;
use crate::node::sources::http::connect::connect;
use crate::node::sources::http::decode::too_large;
use crate::node::sources::http::redirects;
use crate::node::sources::http::response::{Encoding, Head, Trouble, Validators, judge};
use crate::node::sources::http::tls::{self, Files, Loaded};
use crate::node::sources::http::url::ManifestUrl;

/// How many redirects are followed.
const REDIRECTS: usize = 3;
/// The largest head: ten times what servers send.
const LARGEST_HEAD: usize = 64 << 10;

/// How to ask: what every URL of the source has in common.
#[derive(Clone, Default)]
pub struct Access {
    /// Sent with every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Holds a bearer token; read anew for each request.
    pub token_file: Option<PathBuf>,
    pub files: Files,
    pub allow_link_local: bool,
    pub limits: Limits,
}

/// A server that is slow in any way is given up: the last good version holds meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For the name, for each address, for TLS.
    pub connect: Duration,
    /// From the request to the end of the head.
    pub head: Duration,
    /// Without a byte of the body.
    pub idle: Duration,
    /// For everything together, redirects too: a server that sends a byte a second ends here.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let [connect, head, idle, total] = [5, 10, 10, 30].map(Duration::from_secs);
        Self { connect, head, idle, total }
    }
}

/// What came.
pub enum Fetched {
    /// What was read before still holds.
    NotModified,
    Body(Fresh),
}

/// A body, whole, still packed.
pub struct Fresh {
    pub encoding: Encoding,
    pub bytes: Vec<u8>,
    pub validators: Validators,
}

enum Reply {
    Fetched(Fetched),
    Redirect(String),
}

/// Asks URLs, each time by a new connection.
pub struct Client {
    access: Access,
    tls: Mutex<Option<Arc<Loaded>>>,
}

impl Client {
    pub fn new(access: Access) -> Self {
        Self { access, tls: Mutex::new(None) }
    }

    /// Asks for a URL; with `validators` only for another version than that one.
    ///
    /// # Errors
    /// One line for a person that names the URL without its credentials.
    pub async fn get(&self, url: &ManifestUrl, validators: &Validators) -> Result<Fetched, Trouble> {
        let limit = self.access.limits.total;
        let answer = timeout(limit, self.follow(url, validators)).await;
        let answer =
            answer.unwrap_or_else(|_| Err(format!("the answer is not complete within {limit:?}").into()));
        answer.map_err(|trouble| {
            // Whom the system trusts may have been changed since.
            *self.loaded() = None;
            Trouble { message: format!("{url} cannot be read: {}", trouble.message), ..trouble }
        })
    }

    async fn follow(&self, url: &ManifestUrl, validators: &Validators) -> Result<Fetched, Trouble> {
        let mut at = url.clone();
        for _ in 0..=REDIRECTS {
            match self.ask(&at, validators).await? {
                Reply::Fetched(fetched) => return Ok(fetched),
                Reply::Redirect(location) => at = redirects::follow(&at, &location)?,
            }
        }
        Err(format!("it redirects more than {REDIRECTS} times, at last to {at}").into())
    }

    async fn ask(&self, url: &ManifestUrl, validators: &Validators) -> Result<Reply, Trouble> {
        let Access { allow_link_local, limits, .. } = &self.access;
        let (request, tls) = self.prepare(url, validators).await?;
        let stream = connect(url, tls, *allow_link_local, limits.connect).await?;
        let handshake = http1::Builder::new().max_buf_size(LARGEST_HEAD).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(|error| broke_off(&error))?;
        // Ends with this function, whatever the server does.
        let mut carrier = JoinSet::new();
        carrier.spawn(connection);
        let response = match timeout(limits.head, sender.send_request(request)).await {
            Ok(response) => response.map_err(|error| broke_off(&error))?,
            Err(_) => return Err(format!("no answer within {:?}", limits.head).into()),
        };
        let headers = response.headers();
        match judge(response.status(), headers, !validators.is_empty(), clock::wall())? {
            Head::Redirect(location) => Ok(Reply::Redirect(location)),
            Head::NotModified => Ok(Reply::Fetched(Fetched::NotModified)),
            Head::Body(encoding) => {
                let validators = Validators::of(headers);
                let bytes = self.body(url, response).await?;
                Ok(Reply::Fetched(Fetched::Body(Fresh { encoding, bytes, validators })))
            }
        }
    }

    /// Reads a body to its end, or to the limit.
    async fn body(&self, url: &ManifestUrl, response: Response<Incoming>) -> Result<Vec<u8>, String> {
        let has_length =
            [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|h| response.headers().contains_key(h));
        if !has_length && !url.secure {
            // By TLS the end is signed; here a connection that breaks looks like the end (RFC 9112, 8).
            return Err(
                "the answer has neither a length nor chunks, so a part of it cannot be told from the whole: \
                        let the server send Content-Length"
                    .to_owned(),
            );
        }
        let mut body = response.into_body();
        if body.size_hint().lower() > MAX_BYTES as u64 {
            return Err(too_large());
        }
        let (idle, mut bytes) = (self.access.limits.idle, Vec::new());
        loop {
            match timeout(idle, body.frame()).await {
                Err(_) => return Err(format!("the answer stopped after {} bytes for {idle:?}", bytes.len())),
                Ok(None) => return Ok(bytes),
                Ok(Some(Err(error))) => {
                    return Err(format!("after {} bytes {}", bytes.len(), broke_off(&error)));
                }
                Ok(Some(Ok(frame))) => {
                    if let Some(data) = frame.data_ref() {
                        bytes.extend_from_slice(data);
                    }
                    if bytes.len() > MAX_BYTES {
                        return Err(too_large());
                    }
                }
            }
        }
    }

    /// The request, and for https what TLS needs. Files are read here, off the agent's loop.
    async fn prepare(
        &self,
        url: &ManifestUrl,
        validators: &Validators,
    ) -> Result<(Request<Empty<Bytes>>, Option<Arc<ClientConfig>>), String> {
        let (files, token_file) = (self.access.files.clone(), self.access.token_file.clone());
        let (secure, previous) = (url.secure, self.loaded().clone());
        let read = spawn_blocking(move || {
            let tls = if secure { Some(tls::load(&files, previous)?) } else { None };
            let token = token_file.map(|path| tls::content(&path)).transpose()?;
            Ok::<_, String>((tls, token))
        });
        let (loaded, token) = read.await.map_err(|error| format!("a file cannot be read: {error}"))??;
        (*self.loaded()).clone_from(&loaded);
        let request = self.request(url, validators, token.as_deref())?;
        Ok((request, loaded.map(|loaded| loaded.config.clone())))
    }

    fn request(
        &self,
        url: &ManifestUrl,
        validators: &Validators,
        token: Option<&[u8]>,
    ) -> Result<Request<Empty<Bytes>>, String> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = url.target.parse().map_err(|_| "it cannot be asked for".to_owned())?;
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(&url.authority());
        headers.insert(HOST, host.map_err(|_| "its host is no name".to_owned())?);
        headers
            .insert(USER_AGENT, HeaderValue::from_static(concat!("podkeeper/", env!("CARGO_PKG_VERSION"))));
        headers.insert(ACCEPT, HeaderValue::from_static("application/yaml, application/json, */*;q=0.5"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        for (name, value) in &self.access.headers {
            headers.append(name, value.clone());
        }
        let authorization = match (&url.credentials, token) {
            (Some(credentials), _) => Some(format!("Basic {}", BASE64_STANDARD.encode(credentials))),
            (None, Some(token)) => Some(format!("Bearer {}", String::from_utf8_lossy(token.trim_ascii()))),
            (None, None) => None,
        };
        if let Some(authorization) = authorization {
            let value = HeaderValue::from_str(&authorization);
            let mut value = value.map_err(|_| "the token file holds more than a token".to_owned())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let conditions = [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.last_modified)];
        for (name, value) in conditions {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        Ok(request)
    }

    fn loaded(&self) -> std::sync::MutexGuard<'_, Option<Arc<Loaded>>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The innermost reason: the outer ones only say that there was one.
fn broke_off(error: &hyper::Error) -> String {
    if error.is_incomplete_message() {
        return "the server broke off".to_owned();
    }
    let mut reason: &dyn Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    format!("the server broke off ({reason})")
}

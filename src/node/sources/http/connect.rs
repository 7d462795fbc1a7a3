//! A connection to the host of a URL: its name resolved anew each time, then TCP, then TLS.
//!
//! A name is resolved for each poll, so a server that moves is followed; a pooled connection would stay with the old one.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::node::sources::http::address::is_link_local;
use crate::node::sources::http::tls;
use crate::node::sources::http::url::ManifestUrl;

/// A name with more has them for balance; one of a few answers.
const ADDRESSES: usize = 4;

/// Bytes to and from a server, plain or by TLS.
pub trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection for T {}

/// `limit` holds for the name, for each address, and for TLS. Without `tls` the bytes are plain.
///
/// # Errors
/// In words: the name, every address that was tried, or TLS.
pub async fn connect(
    url: &ManifestUrl,
    tls: Option<Arc<ClientConfig>>,
    allow_link_local: bool,
    limit: Duration,
) -> Result<Box<dyn Connection>, String> {
    let addresses = resolve(url, limit).await?;
    let stream = first_that_answers(&addresses, allow_link_local, limit).await?;
    // A request is one small write; waiting for more would only delay it.
    let _ = stream.set_nodelay(true);
    let Some(config) = tls else { return Ok(Box::new(stream)) };
    let name = ServerName::try_from(url.host.clone())
        .map_err(|_| format!("{} is no name that a certificate can be for", url.host))?;
    match timeout(limit, TlsConnector::from(config).connect(name, stream)).await {
        Ok(Ok(stream)) => Ok(Box::new(stream)),
        Ok(Err(error)) => {
            Err(match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(error) => tls::in_words(error),
                None => format!(
                    "the server broke off the TLS handshake ({error}): does it speak https on this port?"
                ),
            })
        }
        Err(_) => {
            Err(format!("no TLS handshake within {limit:?}: does the server speak https on this port?"))
        }
    }
}

async fn resolve(url: &ManifestUrl, limit: Duration) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = url.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, url.port)]);
    }
    let fails = |why: &dyn std::fmt::Display| format!("the name {} cannot be resolved: {why}", url.host);
    match timeout(limit, lookup_host((url.host.as_str(), url.port))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(error)) => Err(fails(&error)),
        Err(_) => Err(fails(&format_args!("no answer within {limit:?}"))),
    }
}

async fn first_that_answers(
    addresses: &[SocketAddr],
    allow_link_local: bool,
    limit: Duration,
) -> Result<TcpStream, String> {
    let allowed = |address: &&SocketAddr| allow_link_local || !is_link_local(address.ip());
    let mut troubles = Vec::new();
    for address in addresses.iter().filter(allowed).take(ADDRESSES) {
        let trouble = match timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "nobody listens there".to_owned()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no connection within {limit:?}"),
        };
        troubles.push(format!("{address}: {trouble}"));
    }
    if !troubles.is_empty() {
        return Err(troubles.join("; "));
    }
    match addresses.first() {
        Some(address) => Err(format!(
            "it leads to {}, a link-local address, where a cloud serves this machine's own credentials: \
             give --manifest-url-allow-link-local if that is meant",
            address.ip()
        )),
        None => Err("the name has no address".to_owned()),
    }
}

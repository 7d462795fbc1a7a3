//! Whom https trusts and as whom we come, from files that may be changed while the agent runs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::{CertificateError, ClientConfig, RootCertStore};

use crate::model::Time;
use crate::node::sources::file::open_regular;

/// A bundle of all public authorities has a quarter of this.
const LARGEST: u64 = 1 << 20;

/// Where the certificates are.
#[derive(Clone, Default)]
pub struct Files {
    /// Who is trusted; `None` is whom the system trusts.
    pub ca: Option<PathBuf>,
    /// Our own certificate and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// A configuration and the content of the files that it was made of.
pub struct Loaded {
    contents: Vec<Vec<u8>>,
    pub config: Arc<ClientConfig>,
}

/// Reads the files, and makes a configuration unless they are as they were.
///
/// # Errors
/// Names the file and what is wrong with it; never shows what is in it.
pub fn load(files: &Files, previous: Option<Arc<Loaded>>) -> Result<Arc<Loaded>, String> {
    let paths = files.ca.iter().chain(files.client.iter().flat_map(|(cert, key)| [cert, key]));
    let contents = paths.map(|path| content(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(previous) = previous.filter(|previous| previous.contents == contents) {
        return Ok(previous);
    }
    let mut rest = contents.iter();
    let roots = match files.ca.as_ref().zip(if files.ca.is_some() { rest.next() } else { None }) {
        Some((path, pem)) => roots(path, pem)?,
        None => system_roots()?,
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let config = match (&files.client, rest.next(), rest.next()) {
        (Some((cert_path, key_path)), Some(cert), Some(key)) => {
            let chain = certificates(cert_path, cert)?;
            let key = PrivateKeyDer::from_pem_slice(key)
                .map_err(|_| format!("{} holds no private key in PEM", key_path.display()))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| {
                format!("{} and {} are no pair: {error}", cert_path.display(), key_path.display())
            })?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Arc::new(Loaded { contents, config: Arc::new(config) }))
}

/// A whole small file.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn content(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|(file, _)| file.take(LARGEST + 1).read_to_end(&mut bytes));
    match read {
        Ok(length) if length as u64 <= LARGEST => Ok(bytes),
        Ok(_) => Err(format!("{} is larger than {} MiB", path.display(), LARGEST >> 20)),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(format!("{} holds no certificate in PEM", path.display())),
    }
}

fn roots(path: &Path, pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, pem)? {
        roots.add(certificate).map_err(|error| {
            format!("{} holds a certificate that cannot be trusted: {error}", path.display())
        })?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // Some bundles have certificates from before there were rules; the others do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this machine has no list of trusted authorities: install ca-certificates, or name a file \
                    (--manifest-url-ca-file)"
                .to_owned(),
        );
    }
    Ok(roots)
}

/// Why a handshake failed, with dates where they are the reason.
pub fn in_words(error: &rustls::Error) -> String {
    let date = |time: &UnixTime| Time(i64::try_from(time.as_secs()).unwrap_or(0).saturating_mul(1000));
    let certificate = match error {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        other => return format!("TLS fails: {other}"),
    };
    match certificate {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the server's certificate has expired: it was valid until {}, and it is {} here",
            date(not_after),
            date(time)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is not valid yet: it will be from {}, and it is {} here (is the clock right?)",
            date(not_before),
            date(time)
        ),
        CertificateError::UnknownIssuer => {
            "the server's certificate is from an authority that is not trusted here: \
                                            name it with --manifest-url-ca-file"
                .to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names = presented.join(", ");
            format!("the server's certificate is not for this host but for {names}")
        }
        other => format!("the server's certificate is refused: {other}"),
    }
}

//! TLS: the certificate that the API shows, and whose client certificates it believes.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};

use crate::node::api::fresh::Fresh;

/// The files, each in PEM.
#[derive(Clone, Debug)]
pub struct Files {
    /// The node's certificate, and those that lead to its issuer.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Who signs the certificates of clients. Without it there are none.
    pub client_ca: Option<PathBuf>,
}

/// What a handshake needs, and what others need to know of it.
pub struct Identity {
    pub config: Arc<ServerConfig>,
    /// The certificate file, for those who have to trust it.
    pub pem: String,
    leaf: CertificateDer<'static>,
}

impl Files {
    /// Reads them, and again whenever they change.
    ///
    /// # Errors
    /// One line for a person, with the files in it.
    pub fn open(&self) -> Result<Fresh<Identity>, String> {
        let mut paths = vec![self.certificate.clone(), self.key.clone()];
        paths.extend(self.client_ca.clone());
        Fresh::open(paths, Identity::read)
    }
}

impl Identity {
    /// From the contents of the certificate, the key and, where there is one, the clients' CA.
    pub fn read(contents: &[Vec<u8>]) -> Result<Self, String> {
        let [certificate, key, client_ca @ ..] = contents else { return Err("no files".into()) };
        let chain = certificates(certificate, "certificate")?;
        let leaf = chain[0].clone();
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| format!("the private key is not readable PEM ({error})"))?;
        let provider = Arc::new(ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match client_ca.first() {
            None => builder.with_no_client_auth(),
            Some(client_ca) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(client_ca, "client CA")? {
                    roots.add(root).map_err(|error| format!("the client CA cannot be used: {error}"))?;
                }
                // Who shows none may still have the token.
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated()
                    .build()
                    .map_err(|error| format!("the client CA cannot be used: {error}"))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| format!("certificate and private key do not work together: {error}"))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let pem = String::from_utf8_lossy(certificate).into_owned();
        Ok(Self { config: Arc::new(config), pem, leaf })
    }

    /// Is the certificate good for this host, be it a name or an address?
    pub fn is_for(&self, host: &str) -> bool {
        leaf_is_for(&self.leaf, host)
    }
}

/// The same of a certificate in PEM.
pub fn is_for(pem: &[u8], host: &str) -> bool {
    CertificateDer::from_pem_slice(pem).is_ok_and(|leaf| leaf_is_for(&leaf, host))
}

fn leaf_is_for(leaf: &CertificateDer<'_>, host: &str) -> bool {
    let Ok(name) = ServerName::try_from(host) else { return false };
    ParsedCertificate::try_from(leaf).is_ok_and(|leaf| verify_server_name(&leaf, &name).is_ok())
}

/// At least one.
fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| format!("the {what} is not readable PEM ({error})"))?;
    if read.is_empty() {
        return Err(format!("the {what} file holds no certificate in PEM"));
    }
    Ok(read)
}

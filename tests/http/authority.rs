//! An authority of our own, and the certificates that it gives: good ones and bad ones.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key.
pub struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
    /// Whose clients it lets in; `None` is everybody.
    clients: Option<RootCertStore>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap() }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// For a host, valid in these years.
    pub fn identity(&self, host: &str, years: std::ops::Range<i32>) -> Identity {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(years.start, 1, 1), date_time_ymd(years.end, 1, 1));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate, key, clients: None }
    }

    pub fn good(&self) -> Identity {
        self.identity("localhost", 2020..2200)
    }
}

impl Identity {
    /// Lets only those in that this authority knows.
    pub fn only_for(mut self, authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.issuer.der().clone()).unwrap();
        self.clients = Some(roots);
        self
    }

    pub fn pem(&self) -> (String, String) {
        (self.certificate.pem(), self.key.serialize_pem())
    }

    pub fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots.clone()), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        Arc::new(builder.with_single_cert(vec![self.certificate.der().clone()], key).unwrap())
    }
}

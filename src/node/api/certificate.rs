//! The certificate that the API shows when nobody gave it one: signed by itself, made on the first start.
//!
//! kubectl sends no token over plain HTTP, so there is always TLS. Nobody renews the certificate of a
//! lonely machine, so this one does not expire, as its clock may be wrong too; to have another, remove the files.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rustls::pki_types::ServerName;

use crate::node::api::tls::{Files, Identity};
use crate::node::keep::replace;

/// Makes sure that there is one for all these names and addresses.
///
/// # Errors
/// One line for a person.
pub fn ensure(dir: &Path, names: &[String]) -> Result<Files, String> {
    let files = Files { certificate: dir.join("api.crt"), key: dir.join("api.key"), client_ca: None };
    let known = [&files.certificate, &files.key].map(fs::read);
    if let [Ok(certificate), Ok(key)] = known {
        match Identity::read(&[certificate, key]) {
            Ok(identity) if names.iter().all(|name| identity.is_for(name)) => return Ok(files),
            Ok(_) => tracing::warn!(
                ?names,
                "the node has another name or address: its certificate is made anew; make kubeconfigs anew, too"
            ),
            Err(error) => tracing::warn!("{}: {error}: it is made anew", files.certificate.display()),
        }
    }
    let (certificate, key) = make(names).map_err(|error| format!("no certificate can be made: {error}"))?;
    let write = |path: &Path, pem: &str| {
        replace(path, pem.as_bytes())
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    };
    // The key first: when power goes in between they do not fit, and both are made anew.
    write(&files.key, &key)?;
    write(&files.certificate, &certificate)?;
    Ok(files)
}

/// What a node is called, as far as a certificate can say it.
pub fn names(node: &str, host: &str, address: IpAddr) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1", host, node].map(str::to_owned).into();
    names.extend((!address.is_unspecified()).then(|| address.to_string()));
    let mut seen = Vec::new();
    for name in names {
        if ServerName::try_from(name.as_str()).is_ok() && !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// Certificate and key, in PEM.
fn make(names: &[String]) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "podkeeper");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // From 1975 to 4096: rcgen's own.
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_kept_until_the_node_has_another_name_or_it_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let names_at = |address: &str| names("node_1", "host", address.parse().unwrap());
        let made = |names: &[String]| {
            let files = ensure(dir.path(), names).unwrap();
            (fs::read(&files.certificate).unwrap(), files)
        };
        let (first, files) = made(&names_at("127.0.0.1"));
        assert_eq!(made(&names_at("0.0.0.0")).0, first, "an unspecified address is no name");
        let (second, _) = made(&names_at("192.0.2.7"));
        assert_ne!(second, first);
        assert_eq!(made(&names_at("127.0.0.1")).0, second, "it is good for more than is asked for");
        fs::write(&files.key, "-----BEGIN").unwrap();
        assert_ne!(made(&names_at("127.0.0.1")).0, second);
    }

    #[test]
    fn it_is_good_for_its_names_alone() {
        let (certificate, key) = make(&names("node_1", "host", "2001:db8::5".parse().unwrap())).unwrap();
        let identity = Identity::read(&[certificate.into_bytes(), key.into_bytes()]).unwrap();
        for host in ["localhost", "127.0.0.1", "::1", "host", "HOST", "node_1", "2001:db8::5"] {
            assert!(identity.is_for(host), "{host}");
        }
        for host in ["", "evil.example", "127.0.0.2", "2001:db8::6", "a.host", "nonsense name"] {
            assert!(!identity.is_for(host), "{host}");
        }
    }

    #[test]
    fn names_that_no_certificate_can_hold_are_left_out() {
        assert_eq!(
            names("-.", "localhost", "::".parse().unwrap()),
            ["localhost", "127.0.0.1", "::1"].map(str::to_owned)
        );
    }
}

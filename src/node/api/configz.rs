//! `/configz`: how the API is set up, in the kubelet's shape, and what a client needs to reach it.

use serde_json::{Value, json};

use crate::node::api::tcp::{Listening, Tcp};
use crate::node::api::{Api, token};

pub(super) fn tell(api: &Api, node: &str) -> Value {
    json!({
        "kubeletconfig": api.tcp.as_ref().map_or_else(|| kubelet(json!({ "port": 0 })), |tcp| kubelet(served(tcp))),
        "podkeeper": {
            "node": node,
            "api": api.tcp.as_ref().map(reached),
        },
    })
}

fn kubelet(mut config: Value) -> Value {
    config["kind"] = json!("KubeletConfiguration");
    config["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
    config
}

fn served(tcp: &Tcp) -> Value {
    let settings = &tcp.settings;
    let (certificate, key) = settings.certificate.clone().unzip();
    json!({
        "address": settings.address.ip(),
        "port": settings.address.port(),
        "tlsCertFile": certificate,
        "tlsPrivateKeyFile": key,
        "authentication": {
            "anonymous": { "enabled": false },
            "webhook": { "enabled": false },
            "x509": { "clientCAFile": settings.client_ca },
        },
    })
}

fn reached(tcp: &Tcp) -> Value {
    let listening = tcp.listening.borrow().clone();
    let (at, error) = match listening {
        Listening::NotYet => (None, None),
        Listening::At(address) => (Some(address), None),
        Listening::Fails(why) => (None, Some(why)),
    };
    json!({
        "address": at.unwrap_or(tcp.settings.address),
        "listens": at.is_some(),
        "error": error,
        "certificate": tcp.identity.now().pem,
        "tokenFile": token::path(&tcp.settings.state_dir),
    })
}

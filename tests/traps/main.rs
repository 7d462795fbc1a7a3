//! The 26 defects of the kubelet of June 2014, one test each: none of them is here. That of number 21 is beside the
//! agent's journal.

#[path = "../api/client.rs"]
#[allow(dead_code)]
mod client;
mod engine;
mod manifests;
#[path = "../api/server.rs"]
#[allow(dead_code)]
mod server;
mod serving;
mod sources;

/// A pod with one container; `rest` is more of the container.
fn pod(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: app, image: \"nginx:1.27\"{rest}}}]}}\n"
    )
}

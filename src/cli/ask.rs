//! Asking the running agent, over its socket, for a value.

use std::path::Path;

use serde_json::Value;

use crate::cli::failure::Failure;
use crate::node::api::client;

/// `GET path`, or why not, in the agent's own words.
pub async fn ask(socket: &Path, path: &str) -> Result<Value, Failure> {
    let (code, body) = client::get(socket, path).await.map_err(Failure::Error)?;
    let value: Option<Value> = serde_json::from_slice(&body).ok();
    match value {
        Some(value) if code.is_success() => Ok(value),
        Some(status) if status["message"].is_string() => {
            Err(Failure::error(status["message"].as_str().unwrap_or_default()))
        }
        _ => Err(Failure::error(format!(
            "the agent answers {path} with status {code}: is it of this version?"
        ))),
    }
}

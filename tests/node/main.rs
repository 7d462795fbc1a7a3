//! The agent against a real Docker Engine. Needs a dockerd at its default socket, or `DOCKER_HOST`.

mod engine;
mod lookalikes;
mod machine;
mod planning;
mod proxy;
mod state;
mod stories;

//! The HTTP source against a server of our own that misbehaves on demand. Needs no engine.

mod agent;
mod authority;
mod bodies;
mod changes;
mod rig;
mod server;
mod statuses;
mod tls;
mod trust;

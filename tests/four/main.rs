//! One agent that reads all four sources at once: a directory, a real etcd, an HTTP server and its own API, with real
//! containers. What goes wrong in one source harms no pod of another.
//!
//! Needs Docker and etcd: `scripts/test` sees to both.

// The other tests use more of these.
#[allow(dead_code)]
#[path = "../http/authority.rs"]
mod authority;
#[allow(dead_code)]
#[path = "../etcd/cluster.rs"]
mod cluster;
mod failing;
mod four;
#[allow(dead_code)]
#[path = "../node/machine.rs"]
mod machine;
#[allow(dead_code)]
#[path = "../node/proxy.rs"]
mod proxy;
mod restarting;
#[allow(dead_code)]
#[path = "../http/server.rs"]
mod server;

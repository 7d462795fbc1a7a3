//! Sources of desired pods. Each only writes, into its own slot of the [store](crate::node::store).

pub mod api;
pub mod backoff;
mod brake;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod file;
pub mod http;
pub mod publish;
pub mod reading;
pub mod settle;
pub mod supervise;
pub mod wake;
pub mod watch;

//! The etcd source against real etcd servers, which each test starts for itself. Needs the command `etcd`.
//!
//! Names of tests begin with the row of the fault table that they are about: E1 to E24.

mod changes;
mod cluster;
mod faults;
mod login;
mod members;
mod proxy;
mod source;
mod writeback;

//! The etcd source against real etcd servers, which each test starts for itself. Needs the command `etcd`.
//!
//! Names of tests begin with the row of the fault table that they are about: E1 to E24.
//!
//! Two rows have no test. E11, a backup restored with `--bump-revision --mark-compacted`, needs a server of 3.6 and
//! `etcdutl`; it consists of E1 and E10, which are shown. E22, ten thousand watchers that are dropped at once, needs
//! more than a machine; what an agent does about it is to wait for a new watch to begin, and no longer than 10 s
//! (`CREATED` in `etcd/watch.rs`).

mod changes;
mod cluster;
mod faults;
mod login;
mod members;
mod proxy;
mod source;
mod writeback;

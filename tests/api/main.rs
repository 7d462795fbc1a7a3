//! The front of the API: who may come in, what nobody may do to it, and that it always lets go.
//!
//! The server runs in the test, with limits so small that no test has to wait for them. `w1` to `w17` are
//! rows of the fault catalogue that a test is about: slow heads, floods, slow bodies and readers, too much of
//! anything, nonsense, smuggled requests.

mod access;
mod agent;
mod bodies;
mod client;
mod limits;
mod server;
mod smuggling;
mod starting;
mod tls;

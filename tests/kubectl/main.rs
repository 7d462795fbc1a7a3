//! An unmodified kubectl against a running agent: what a person does who knows Kubernetes.
//!
//! Needs Docker, as `tests/node` does, and a kubectl on the path: `scripts/test` sees to both.

mod declaring;
mod kubectl;
mod looking;
// The other tests of the engine use more of it.
#[allow(dead_code)]
#[path = "../node/machine.rs"]
mod machine;
#[allow(dead_code)]
#[path = "../node/proxy.rs"]
mod proxy;

//! podkeeper keeps the Docker Engine on one machine equal to the pods declared for it.
//!
//! The heart is [`plan::plan`], a pure function of what is desired and what is observed. Everything
//! else brings facts to it or carries its decisions out:
//!
//! ```text
//! sources ──▶ store ──▶ Desired ─┐              ┌─▶ actions ─▶ executor ─▶ engine ─┐
//!                                ├─▶ judgement ─┼─▶ wake_at ─▶ timer               │
//! engine ──▶ observer ▶ Observed ┘       ▲      └─▶ status  ─▶ people              │
//!                                        └───────────── outcomes ◀─────────────────┘
//! ```
//!
//! Six sentences carry the design:
//!
//! 1. Facts in, values out: the planner has no clock, no log, no client, no `Result`.
//! 2. One action is one engine call, with one cause.
//! 3. An action is justified by what was observed, never by another action of the same plan.
//! 4. Docker's words for what is observed, Kubernetes' words for what is desired and reported.
//! 5. Memory is an observation: there is no second, hidden state.
//! 6. Not knowing is not the same as knowing that there is nothing.
//!
//! **Invariant:** `model`, `plan`, [`docker`], [`observer`], [`executor`] and [`sim`] build without the
//! feature `node`: no runtime, no client and no server in their tree. `tests/house.rs` checks it.

pub mod docker;
pub mod executor;
pub mod model;
pub mod observer;
pub mod plan;
pub mod sim;

#[cfg(feature = "node")]
pub mod cli;
#[cfg(feature = "node")]
pub mod node;

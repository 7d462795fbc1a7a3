//! Effects: the agent and everything that touches a clock, a file or a socket.

pub mod agent;
pub mod api;
pub mod bollard;
pub mod chance;
pub mod clock;
pub mod events;
pub mod keep;
pub mod lock;
pub mod sandbox_image;
pub mod snapshot;
pub mod sources;
pub mod state;
pub mod store;

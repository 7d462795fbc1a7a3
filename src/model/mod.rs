//! Nouns: what people may ask for, and how it is read from their manifests.
//!
//! **Invariant:** nothing here knows an engine, a clock or a file system.

pub mod age;
pub mod diagnosis;
pub mod expand;
pub mod image;
pub mod name;
pub mod place;
pub mod pod;
pub mod quantity;
pub mod read;
pub mod time;

pub use name::{ContainerId, PodKey, Uid};
pub use place::{Place, Places};
pub use pod::{Container, Pod, RestartPolicy};
pub use time::Time;

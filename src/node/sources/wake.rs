//! Waking a source before its time: SIGHUP, a change that a watch saw.

use std::sync::Arc;

/// Wakes one source. Cheap to clone; a source that is awake already is not woken twice.
#[derive(Clone)]
pub struct Waker(Arc<dyn Fn() + Send + Sync>);

impl Waker {
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    pub fn wake(&self) {
        (self.0)();
    }
}

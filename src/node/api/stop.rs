//! Telling every connection that the agent stops.

use tokio::sync::watch;

/// Says so.
pub struct Stopper(watch::Sender<bool>);

/// Hears it.
#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

/// One who says it, for any number of those who hear it.
pub fn stopping() -> (Stopper, Stop) {
    let (stopper, stop) = watch::channel(false);
    (Stopper(stopper), Stop(stop))
}

impl Stopper {
    pub fn stop(self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits for it. When whoever could say it has gone, that is as good.
    pub async fn told(mut self) {
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

//! Time, injected: every wait of the product goes through here, so that tests can run hours in seconds.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: the one place that asks the system for the time"
)]

use std::time::{Duration, Instant, SystemTime};

/// A clock whose waits can be shortened. Times are real, waits are scaled.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    scale: f64,
}

impl Clock {
    /// `scale` 1 is real time; 0.001 turns a minute's wait into 60 ms.
    #[must_use]
    pub fn scaled(scale: f64) -> Self {
        Self { scale }
    }

    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration.mul_f64(self.scale)).await;
    }

    #[must_use]
    pub fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    #[must_use]
    pub fn instant(&self) -> Instant {
        Instant::now()
    }
}

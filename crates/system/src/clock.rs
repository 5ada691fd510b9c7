//! Time, injected: every wait of the product goes through here, so that tests can run hours in seconds.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: the one place that asks the system for the time"
)]

use std::time::{Duration, Instant, SystemTime};

/// A clock whose waits can be shortened, and its limits apart from them. Times are real, both are scaled.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    scale: f64,
    limits: f64,
}

impl Clock {
    /// `scale` 1 is real time; 0.001 turns a minute's wait into 60 ms.
    #[must_use]
    pub fn scaled(scale: f64) -> Self {
        Self { scale, limits: 1.0 }
    }

    /// The same with shorter limits: what a run may take at most.
    #[must_use]
    pub fn limited(self, limits: f64) -> Self {
        Self { limits, ..self }
    }

    #[must_use]
    pub fn limit(&self, duration: Duration) -> Duration {
        duration.mul_f64(self.limits)
    }

    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(self.shortened(duration)).await;
    }

    /// As long as a wait of this length really takes.
    #[must_use]
    pub fn shortened(&self, duration: Duration) -> Duration {
        duration.mul_f64(self.scale)
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

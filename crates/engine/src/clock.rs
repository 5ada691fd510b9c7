//! Time for the engine, injected: the system's, or a virtual one that jumps to the next deadline as soon as nobody works.
//! Separate from `reviewer_system::clock`, which shortens waits but keeps real times; deadlines in the store need both.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

/// A wait on a clock.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A time that is never reached.
pub const NEVER: i64 = i64::MAX;

/// A clock in milliseconds since 1970.
pub trait Clock: Send + Sync + fmt::Debug {
    fn now_ms(&self) -> i64;

    /// Ends when the clock shows `at_ms` or later. Each sleep belongs to a hold of its caller, and stands in for it.
    fn sleep_until(&self, at_ms: i64) -> Sleep<'_>;

    /// A virtual clock stands still while somebody holds it without sleeping.
    fn hold(&self) -> Hold {
        Hold(None)
    }
}

/// Keeps a virtual clock from moving, until it is dropped.
pub struct Hold(Option<Box<dyn Any + Send + Sync>>);

impl Hold {
    /// A hold that ends when `guard` is dropped.
    #[must_use]
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(guard)))
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hold({})", self.0.is_some())
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock(reviewer_system::clock::Clock);

impl Default for SystemClock {
    fn default() -> Self {
        Self(reviewer_system::clock::Clock::scaled(1.0))
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = self.0.now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(NEVER))
    }

    fn sleep_until(&self, at_ms: i64) -> Sleep<'_> {
        let wait = u64::try_from(at_ms.saturating_sub(self.now_ms())).unwrap_or(0);
        Box::pin(self.0.sleep(Duration::from_millis(wait)))
    }
}

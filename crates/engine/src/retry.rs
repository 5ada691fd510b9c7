//! Further attempts at a transaction that a lost connection or a conflict ended. Separate, because deliveries and workers
//! share the rule. Every transaction here can be repeated: its delivery or its fence tells that it was committed.

use crate::clock::Clock;
use crate::error::{EngineError, Result, Trouble};
use crate::limits::after;
use crate::store::Store;

/// The wait before the second attempt. It doubles with each further one.
const FIRST_WAIT_MS: u64 = 20;
const LONGEST_WAIT_MS: u64 = 1_000;

/// The attempts at one transaction.
#[derive(Debug)]
pub(crate) struct Retry<'a> {
    store: &'a Store,
    clock: &'a dyn Clock,
    /// No attempt begins after this time.
    until: i64,
    wait: u64,
}

impl<'a> Retry<'a> {
    pub(crate) fn new(store: &'a Store, clock: &'a dyn Clock, budget_ms: u64) -> Self {
        Self {
            store,
            clock,
            until: after(clock.now_ms(), budget_ms),
            wait: FIRST_WAIT_MS,
        }
    }

    /// Waits for the next attempt. The error comes back if another attempt cannot help, or the time is over.
    pub(crate) async fn after(&mut self, error: EngineError) -> Result<()> {
        match self.store.trouble(&error) {
            None => return Err(error),
            Some(Trouble::Conflict) => tracing::debug!("a transaction is repeated: {error}"),
            Some(Trouble::Lost) => self.store.lost(&error),
        }
        let next = after(self.clock.now_ms(), self.wait);
        if next > self.until {
            return Err(self.store.explain(error));
        }
        self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT_MS);
        self.clock.sleep_until(next).await;
        Ok(())
    }
}

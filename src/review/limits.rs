//! What a run may take, and what it has taken so far. Separate from the passes, because a run that is cut off must
//! still be able to tell what it has cost.

use crate::opencode::session::Usage;
use crate::state::spending::Allowance;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, Clone)]
pub struct Limits {
    pub deadline: Instant,
    pub allowance: Allowance,
    pub max_tokens: Option<u64>,
}

impl Limits {
    /// Why nothing may be asked of the model at all.
    #[must_use]
    pub fn nothing_left(&self) -> Option<&str> {
        (self.allowance.usd <= 0.0).then_some(self.allowance.why.as_str())
    }

    /// Why this much is too much.
    #[must_use]
    pub fn exceeded_by(&self, usage: &Usage) -> Option<String> {
        if usage.cost > self.allowance.usd {
            return Some(self.allowance.why.clone());
        }
        let most = self.max_tokens?;
        (usage.tokens.total() > most).then(|| format!("max_tokens of {most} was reached"))
    }
}

/// What the model has taken so far. Shared with whatever ends the run.
#[derive(Debug, Default)]
pub struct Meter(Mutex<Usage>);

impl Meter {
    pub fn set(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = usage;
    }

    #[must_use]
    pub fn usage(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The reserve of GitHub's requests. Reconciliation and probes without hurry leave the last requests of an hour to events, effects
//! and sessions. `reviewer_github` decides when; this asks it for an account, and says so once in the log.

use super::accounts::Accounts;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// GitHub's hour of an account, or of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccountRate {
    /// `None`: the account of personal tokens.
    pub installation: Option<u64>,
    /// Requests that GitHub still takes.
    pub left: u64,
    /// `None`: work without hurry may go on.
    pub wait: Option<Duration>,
}

impl AccountRate {
    pub(crate) fn name(&self) -> String {
        match self.installation {
            Some(installation) => format!("installation {installation}"),
            None => "account".to_owned(),
        }
    }
}

/// The accounts of which the log has said that work waits.
#[derive(Debug, Default)]
pub(crate) struct Reserve(Mutex<HashSet<Option<u64>>>);

impl Reserve {
    /// The time for which work without hurry waits: reconciliation, and probes after pushes to base branches.
    pub(crate) async fn wait(
        &self,
        accounts: &Accounts,
        installation: Option<u64>,
    ) -> Option<Duration> {
        let mut rates = accounts.rates().await.into_iter();
        let rate = rates.find(|rate| rate.installation == installation)?;
        self.tell(&rate);
        rate.wait
    }

    /// Says in the log that work waits now, and that it goes on.
    fn tell(&self, rate: &AccountRate) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, left) = (rate.name(), rate.left);
        match rate.wait {
            Some(wait) if told.insert(rate.installation) => tracing::warn!(
                "GitHub takes {left} more requests of the {name} in this hour: reconciliation and probes after pushes to base \
                 branches wait for {} minutes; events, effects and sessions go on.",
                wait.as_secs().div_ceil(60)
            ),
            None if told.remove(&rate.installation) => {
                tracing::info!("Reconciliation and all probes of the {name} go on.");
            }
            _ => {}
        }
    }
}

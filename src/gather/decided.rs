//! The decisions of people in the last closed pull requests, as far as they are about code of this change. A review does without what
//! cannot be read, and does not wait for it long.

use super::facts::Facts;
use crate::host::Job;
use reviewer_core::publish::comment::memory;
use reviewer_core::state::decided::{self, DecidedHere};
use std::time::Duration;

/// GitHub itself gives up a query after ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// The memory of other pull requests.
#[derive(Debug)]
pub(crate) enum PastDecisions {
    /// Nothing was read: for this reason, or because nobody wants it.
    Nothing(Option<String>),
    Read {
        /// The number of pull requests.
        pulls: usize,
        here: Vec<DecidedHere>,
    },
}

impl PastDecisions {
    /// Reads as many pull requests as the settings say.
    pub(crate) async fn read(job: &Job<'_>, facts: &Facts) -> Self {
        let config = &job.host.config;
        if config.memory == 0 {
            return Self::Nothing(None);
        }
        if !job.keys.can_sign() {
            return Self::Nothing(Some(memory::unsigned().into()));
        }
        let (repo, clock) = (&job.pr.repo, job.host.setup.clock);
        let reading = job.github.closed_pulls(repo, config.memory);
        let closed = match tokio::time::timeout(clock.limit(PATIENCE), reading).await {
            Ok(Ok(closed)) => closed,
            Ok(Err(error)) => return Self::Nothing(Some(memory::unread(&error.to_string()))),
            Err(_) => return Self::Nothing(Some(memory::too_slow(PATIENCE.as_secs()))),
        };
        let all = decided::decided(&closed, repo, &job.keys, &config.trusted_bots);
        Self::Read {
            pulls: closed.pulls.len(),
            here: decided::relevant(&all, &facts.change.diffs),
        }
    }

    pub(crate) fn here(&self) -> &[DecidedHere] {
        match self {
            Self::Nothing(_) => &[],
            Self::Read { here, .. } => here,
        }
    }
}

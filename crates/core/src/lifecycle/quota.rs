//! Quotas: the sessions that a day has for one author and for one repository, so that a flood of pull requests does not use up what
//! the others need. Pure: the service keeps what a day has used, and asks before it starts a session.

use super::{Facts, Millis, Quotas};
use reviewer_text::count::plural;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

impl Quotas {
    /// The quotas that a session of a pull request counts against.
    #[must_use]
    pub fn of(self, facts: &Facts, repository: u64) -> Vec<Quota> {
        let author = facts.author.as_ref().map(|author| Quota {
            key: format!("author/{}", author.as_str().to_lowercase()),
            of: author.to_string(),
            most: self.per_author,
        });
        let of_repository = Quota {
            key: format!("repository/{repository}"),
            of: facts.repo.to_string(),
            most: self.per_repository,
        };
        let quotas = author.into_iter().chain([of_repository]);
        quotas.filter(|quota| quota.most > 0).collect()
    }
}

/// The quota of an author or of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// Names it in the store.
    pub key: String,
    of: String,
    most: u32,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sessions = plural(usize::try_from(self.most).unwrap_or(usize::MAX), "session");
        write!(f, "the quota of {} ({sessions} a day)", self.of)
    }
}

/// The answer to a session that counts against a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It counts from now on.
    Now,
    /// It counted already.
    Before,
    /// The day has no more.
    Refused,
}

/// The sessions of a day that count against a quota.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Used {
    /// Days since 1970.
    day: i64,
    sessions: BTreeSet<String>,
}

impl Used {
    /// Counts a session, once however often it is asked for. `beyond`: somebody has asked for it, so it counts and is not refused.
    pub fn take(&mut self, session: &str, quota: &Quota, beyond: bool, now: Millis) -> Taken {
        // The clock of another process may be ahead at midnight.
        if day(now) > self.day {
            *self = Self {
                day: day(now),
                sessions: BTreeSet::new(),
            };
        }
        if self.sessions.contains(session) {
            return Taken::Before;
        }
        let most = usize::try_from(quota.most).unwrap_or(usize::MAX);
        if self.sessions.len() >= most && !beyond {
            return Taken::Refused;
        }
        self.sessions.insert(session.to_owned());
        Taken::Now
    }

    /// The session does not begin after all, and counts no more. False: it did not count.
    pub fn give_back(&mut self, session: &str) -> bool {
        self.sessions.remove(session)
    }

    /// True once the day is over, so that nothing of it counts any more.
    #[must_use]
    pub fn is_over(&self, now: Millis) -> bool {
        day(now) > self.day
    }
}

fn day(now: Millis) -> i64 {
    now.div_euclid(DAY_MS)
}

/// The next midnight, UTC.
#[must_use]
pub fn next_day(now: Millis) -> Millis {
    (day(now) + 1).saturating_mul(DAY_MS)
}

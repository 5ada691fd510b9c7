//! GitHub's limits of requests an hour, as its answers tell them, and the reserve that work without hurry leaves alone. Pure: a
//! clock's numbers and no clock.

use super::error::number;
use http::HeaderMap;
use std::collections::BTreeMap;

/// Work without hurry leaves one of so many requests: events, effects and sessions have the rest of the hour to live on them.
const RESERVE: u64 = 5;

/// A limit, in the hour that GitHub counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rate {
    limit: u64,
    /// Requests that GitHub still takes.
    left: u64,
    /// The end of the hour, in seconds since the epoch.
    reset: u64,
}

impl Rate {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let number = |name| number(headers, name);
        Some(Self {
            limit: number("x-ratelimit-limit")?,
            left: number("x-ratelimit-remaining")?,
            reset: number("x-ratelimit-reset")?,
        })
    }

    /// Answers come in any order: of one hour the least counts, of several hours the last.
    fn newer(self, other: Self) -> Self {
        match self.reset.cmp(&other.reset) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => Self {
                left: self.left.min(other.left),
                ..self
            },
        }
    }

    fn is_below_reserve(self) -> bool {
        self.left < self.limit / RESERVE
    }
}

/// The limits of one account or installation, by GitHub's names of them: `core` for REST, `graphql`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rates(BTreeMap<String, Rate>);

impl Rates {
    /// Takes what an answer says about the limit that it counted against.
    pub(super) fn hear(&mut self, headers: &HeaderMap) {
        let Some(rate) = Rate::of(headers) else {
            return;
        };
        let name = headers.get("x-ratelimit-resource");
        let name = name.and_then(|name| name.to_str().ok()).unwrap_or("core");
        self.note(name, rate);
    }

    fn note(&mut self, name: &str, rate: Rate) {
        let known = self.0.entry(name.to_owned()).or_insert(rate);
        *known = known.newer(rate);
    }

    /// The same with what another client of the account was told.
    pub(super) fn merge(&mut self, other: &Self) {
        for (name, rate) in &other.0 {
            self.note(name, *rate);
        }
    }

    fn of_this_hour(&self, now: u64) -> impl Iterator<Item = Rate> {
        let rates = self.0.values().copied();
        rates.filter(move |rate| rate.reset > now)
    }

    /// Requests that GitHub still takes, of the limit that is nearest; `None` if no answer told it in this hour. `now` is in
    /// seconds since the epoch.
    pub(super) fn left(&self, now: u64) -> Option<u64> {
        self.of_this_hour(now).map(|rate| rate.left).min()
    }

    /// The seconds for which work without hurry waits, because a limit is below its reserve; `None`: it may go on. Where nothing
    /// is known it goes on, and its first answer tells.
    pub(super) fn wait(&self, now: u64) -> Option<u64> {
        let low = self
            .of_this_hour(now)
            .filter(|rate| rate.is_below_reserve());
        low.map(|rate| rate.reset - now).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn heard(answers: &[(&str, u64, u64, u64)]) -> Rates {
        let mut rates = Rates::default();
        for (resource, limit, left, reset) in answers {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                ("limit", limit.to_string()),
                ("remaining", left.to_string()),
                ("reset", reset.to_string()),
                ("resource", (*resource).to_owned()),
            ] {
                let name = format!("x-ratelimit-{name}").parse::<HeaderName>();
                headers.insert(name.unwrap(), HeaderValue::from_str(&value).unwrap());
            }
            rates.hear(&headers);
        }
        rates
    }

    #[test]
    fn a_fifth_of_the_limit_is_left_alone_until_its_reset() {
        for (left, wait) in [
            (5_000, None),
            (1_000, None),
            (999, Some(600)),
            (0, Some(600)),
        ] {
            let rates = heard(&[("core", 5_000, left, 1_600)]);
            assert_eq!(rates.wait(1_000), wait, "{left}");
            assert_eq!(rates.left(1_000), Some(left));
        }
        let rates = heard(&[("core", 5_000, 0, 1_600)]);
        assert_eq!((rates.wait(1_600), rates.left(1_600)), (None, None));
    }

    #[test]
    fn each_limit_counts_by_itself_and_the_last_to_be_lifted_ends_the_wait() {
        let rates = heard(&[("core", 5_000, 10, 2_000), ("graphql", 5_000, 4_000, 3_000)]);
        assert_eq!(
            (rates.wait(1_000), rates.left(1_000)),
            (Some(1_000), Some(10))
        );
        let rates = heard(&[("core", 5_000, 10, 2_000), ("graphql", 5_000, 20, 3_000)]);
        assert_eq!(rates.wait(1_000), Some(2_000));
        assert_eq!(rates.wait(2_000), Some(1_000));
    }

    #[test]
    fn a_server_without_limits_makes_nothing_wait() {
        let mut rates = Rates::default();
        rates.hear(&HeaderMap::new());
        assert_eq!((rates.wait(0), rates.left(0)), (None, None));
    }

    proptest! {
        /// Clients of one account, answered in any order, know together what one client would know.
        #[test]
        fn the_order_of_answers_does_not_matter(
            answers in prop::collection::vec((prop::bool::ANY, 0..5_000_u64, 1..4_u64), 1..12),
            split in any::<prop::sample::Index>(),
            now in 0..5_u64,
        ) {
            let answers: Vec<_> = answers
                .into_iter()
                .map(|(graphql, left, hour)| (if graphql { "graphql" } else { "core" }, 5_000, left, hour))
                .collect();
            let forwards = heard(&answers);
            let backwards: Vec<_> = answers.iter().rev().copied().collect();
            prop_assert_eq!(&forwards, &heard(&backwards));
            let (some, others) = answers.split_at(split.index(answers.len()));
            let mut merged = heard(some);
            merged.merge(&heard(others));
            prop_assert_eq!(&forwards, &merged);
            let is_low = |name: &str| {
                let hour = answers.iter().filter(|one| one.0 == name).map(|one| one.3).max();
                let of_hour = answers.iter().filter(|one| one.0 == name && Some(one.3) == hour);
                of_hour.clone().map(|one| one.2).min().is_some_and(|left| left < 1_000) && hour > Some(now)
            };
            prop_assert_eq!(merged.wait(now).is_some(), is_low("core") || is_low("graphql"));
        }
    }
}

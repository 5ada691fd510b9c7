//! Other checks on a head: of other pull requests of the same commit, whose check has the same name, and checks of this
//! name that are not the reviewer's. GitHub shows one check of a name for a commit, whichever pull request it is about.

use crate::domain::{CheckRunInfo, CommitSha, HeadPull, PrKey, RepoName};
use crate::state::check_mark;
use crate::state::record::{self, Record};
use crate::state::signature::Keys;

/// The check runs of the reviewer's name on a head.
#[derive(Debug, Clone, Copy)]
pub struct OnHead<'a> {
    pub repo: &'a RepoName,
    pub head: &'a CommitSha,
    pub keys: &'a Keys,
    pub checks: &'a [CheckRunInfo],
}

/// Another pull request of the head.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    pub number: u64,
    pub base_ref: String,
    /// The record of its newest review of this head.
    pub record: Option<Record>,
    /// True if the check with that record is green.
    pub shows_success: bool,
    pub from_fork: bool,
}

impl Neighbour {
    /// True if its check must not turn green, and hence none of this name on the head. A stranger's pull request of the
    /// same commit holds nobody back.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        let failed = self.record.as_ref().is_some_and(|one| !one.succeeded());
        failed && !self.from_fork
    }
}

impl OnHead<'_> {
    fn key(&self, number: u64) -> PrKey {
        PrKey {
            repo: self.repo.clone(),
            number,
        }
    }

    /// The newest record that a review of this head of a pull request was concluded with, and its check run.
    #[must_use]
    pub(crate) fn concluded(&self, number: u64) -> Option<(Record, &CheckRunInfo)> {
        let pr = self.key(number);
        let mut newest: Vec<&CheckRunInfo> = self.checks.iter().collect();
        newest.sort_by_key(|check| std::cmp::Reverse(check.id));
        newest.into_iter().find_map(|check| {
            let record = record::read(check.text.as_deref()?, &pr, self.keys)?;
            let whole = record.head == self.head.as_str() && !record.verdict.is_empty();
            whole.then_some((record, check))
        })
    }

    /// The pull requests that the reviewer's check runs here name, and whose record or lease it signed.
    #[must_use]
    pub fn numbers(&self) -> Vec<u64> {
        let signed = self.checks.iter().filter_map(|check| {
            let (_, number) = check_mark::named(check.external_id.as_deref()?)?;
            self.is_of(check, number).then_some(number)
        });
        let mut numbers: Vec<u64> = signed.collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// True if a check run holds a record or a lease that the reviewer signed for this pull request.
    fn is_of(&self, check: &CheckRunInfo, number: u64) -> bool {
        let pr = self.key(number);
        let text = check.text.as_deref().unwrap_or_default();
        record::read(text, &pr, self.keys).is_some() || self.leases(check, &pr)
    }

    /// True if a check run is a lease of a run for this pull request.
    #[must_use]
    pub fn leases(&self, check: &CheckRunInfo, pr: &PrKey) -> bool {
        let (text, id) = (check.text.as_deref(), check.external_id.as_deref());
        text.zip(id)
            .is_some_and(|(text, id)| check_mark::holds(text, id, pr, self.head, self.keys))
    }

    /// The apps whose checks have the reviewer's name and are not its own. An older version of it named no pull
    /// request, so it is known by its record for this one. Without a key nobody can tell.
    #[must_use]
    pub fn strangers(&self, pr: &PrKey) -> Vec<String> {
        if !self.keys.can_sign() {
            return Vec::new();
        }
        let foreign = self.checks.iter().filter(|check| {
            let id = check.external_id.as_deref().unwrap_or_default();
            let number = check_mark::named(id).map_or(pr.number, |(_, number)| number);
            !self.is_of(check, number)
        });
        let slug = |check: &CheckRunInfo| check.app_slug.clone();
        let mut apps: Vec<String> = foreign
            .map(|check| slug(check).unwrap_or_else(|| "unknown app".into()))
            .collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    /// The other open pull requests whose check this is, too. A draft, or one from a fork, is one of them once it was
    /// reviewed: it can be made ready at any time, and its check is on the same commit.
    #[must_use]
    pub fn neighbours(&self, own: u64, pulls: &[HeadPull]) -> Vec<Neighbour> {
        let others = pulls
            .iter()
            .filter(|pull| pull.open && pull.head == *self.head && pull.number != own);
        let counts =
            |one: &Neighbour, draft: bool| one.record.is_some() || !(draft || one.from_fork);
        let mut neighbours: Vec<Neighbour> = others
            .filter_map(|pull| {
                let (record, check) = self.concluded(pull.number).unzip();
                let conclusion = check.and_then(|check| check.conclusion.as_deref());
                let neighbour = Neighbour {
                    number: pull.number,
                    base_ref: pull.base_ref.clone(),
                    record,
                    shows_success: conclusion == Some("success"),
                    from_fork: pull.from_fork,
                };
                counts(&neighbour, pull.draft).then_some(neighbour)
            })
            .collect();
        neighbours.sort_by_key(|one| one.number);
        neighbours.dedup_by_key(|one| one.number);
        neighbours
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::check_mark::Place;
    use secrecy::SecretString;

    fn head() -> CommitSha {
        "a".repeat(40).parse().unwrap()
    }

    fn keys() -> Keys {
        Keys::derive(&[SecretString::from("k")], None, "acme/shop")
    }

    fn repo() -> RepoName {
        "acme/shop".parse().unwrap()
    }

    fn check(id: u64, number: u64, verdict: &str) -> CheckRunInfo {
        let place = Place {
            head: head(),
            base_ref: "main".into(),
            merge_base: "b".repeat(40).parse().unwrap(),
        };
        let record = Record {
            head: head().to_string(),
            verdict: verdict.into(),
            ..Record::default()
        };
        let pr = PrKey {
            repo: repo(),
            number,
        };
        CheckRunInfo {
            id,
            status: "completed".into(),
            conclusion: Some("success".into()),
            external_id: Some(place.external_id("4711.1", number)),
            text: Some(record::render(&record, &pr, &keys())),
            app_slug: Some("github-actions".into()),
            started_at: None,
            completed_at: None,
        }
    }

    fn pull(number: u64) -> HeadPull {
        HeadPull {
            number,
            open: true,
            draft: false,
            from_fork: false,
            head: head(),
            base_ref: "main".into(),
        }
    }

    fn with<T>(checks: &[CheckRunInfo], look: impl FnOnce(&OnHead<'_>) -> T) -> T {
        let (repo, head, keys) = (repo(), head(), keys());
        look(&OnHead {
            repo: &repo,
            head: &head,
            keys: &keys,
            checks,
        })
    }

    #[test]
    fn the_newest_conclusion_of_each_pull_request_counts() {
        let partial = check(9, 2, "");
        let checks = [
            check(1, 2, "blocking"),
            check(3, 2, "clean"),
            partial,
            check(4, 3, "incomplete"),
        ];
        with(&checks, |on_head| {
            let pulls = [1, 2, 3, 4].map(pull);
            let found = on_head.neighbours(1, &pulls);
            let seen: Vec<(u64, bool, bool)> = found
                .iter()
                .map(|one| (one.number, one.record.is_some(), one.holds_back()))
                .collect();
            let expected = [(2, true, false), (3, true, true), (4, false, false)];
            assert_eq!(seen, expected);
            assert_eq!(on_head.numbers(), [2, 3]);
        });
    }

    #[test]
    fn a_draft_that_was_blocked_holds_its_head_and_a_fork_holds_nobody() {
        let checks = [check(1, 2, "blocking"), check(2, 3, "blocking")];
        let draft = HeadPull {
            draft: true,
            ..pull(2)
        };
        let fork = HeadPull {
            from_fork: true,
            ..pull(3)
        };
        with(&checks, |on_head| {
            let found = on_head.neighbours(1, &[draft, fork]);
            let held: Vec<(u64, bool)> = found
                .iter()
                .map(|one| (one.number, one.holds_back()))
                .collect();
            assert_eq!(held, [(2, true), (3, false)]);
        });
    }

    #[test]
    fn unreviewed_drafts_and_forks_closed_ones_and_other_heads_do_not_share_the_check() {
        let other: CommitSha = "c".repeat(40).parse().unwrap();
        let pulls = [
            HeadPull {
                draft: true,
                ..pull(2)
            },
            HeadPull {
                from_fork: true,
                ..pull(3)
            },
            HeadPull {
                open: false,
                ..pull(4)
            },
            HeadPull {
                head: other,
                ..pull(5)
            },
        ];
        with(&[], |on_head| {
            assert!(on_head.neighbours(1, &pulls).is_empty());
        });
    }

    #[test]
    fn a_check_of_our_name_without_our_signature_is_a_strangers() {
        let older = CheckRunInfo {
            external_id: Some("4711.1".into()),
            ..check(2, 1, "clean")
        };
        let job = CheckRunInfo {
            external_id: Some("0e1b6ec4-c3a2".into()),
            text: None,
            ..check(3, 1, "clean")
        };
        let forged = CheckRunInfo {
            text: check(4, 1, "clean")
                .text
                .map(|text| text.replace("clean", "dirty")),
            app_slug: Some("forger".into()),
            ..check(4, 1, "clean")
        };
        let own = PrKey {
            repo: repo(),
            number: 1,
        };
        let strangers = |checks: &[CheckRunInfo]| with(checks, |on_head| on_head.strangers(&own));
        assert!(strangers(&[check(1, 1, "clean"), older, check(5, 2, "clean")]).is_empty());
        assert_eq!(strangers(&[job, forged]), ["forger", "github-actions"]);
    }
}

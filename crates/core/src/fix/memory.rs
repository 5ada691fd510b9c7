//! The memory of fixing: what all signed reports on a pull request say together about cycles, outcomes, reverts and the orders
//! of people. They are on the pull request, so what they say survives force-pushes.

use super::issue::Issue;
use super::report::{FixReport, KeptIssue, KeptOutcome, Order};
use crate::domain::{CommentId, CommitSha, FileDiff, Thread};
use std::collections::{BTreeMap, BTreeSet};

/// The reason why fixing has ended until somebody orders it to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    Ordered(Order),
    /// Somebody reverted this commit of a fix.
    Reverted(String),
}

/// Everything that the reports say, whatever their order and however often each was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// One report for each cycle.
    cycles: Vec<FixReport>,
    /// With the time when each was noticed first.
    reverted_commits: BTreeMap<String, String>,
    reverted_findings: BTreeSet<String>,
    stops: BTreeSet<Order>,
    resumes: BTreeSet<Order>,
    /// The times when people were called.
    escalations: BTreeSet<String>,
    /// The heads whose round was told.
    rounds: BTreeSet<String>,
}

impl Memory {
    #[must_use]
    pub fn new(reports: impl IntoIterator<Item = FixReport>) -> Self {
        let mut memory = Self::default();
        let mut cycles: BTreeMap<(u32, String), FixReport> = BTreeMap::new();
        for report in reports {
            memory.note(&report);
            if report.cycle == 0 {
                continue;
            }
            // A cycle is told before its push and after it; the later word counts.
            let key = (report.cycle, report.head.clone());
            let is_later = |kept: &FixReport| order(&report) > order(kept);
            if cycles.get(&key).is_none_or(is_later) {
                cycles.insert(key, report);
            }
        }
        memory.cycles = cycles.into_values().collect();
        memory
    }

    /// Takes in everything but the cycle itself.
    fn note(&mut self, report: &FixReport) {
        for commit in &report.reverted_commits {
            let noticed = self.reverted_commits.entry(commit.clone());
            let first = noticed.or_insert_with(|| report.at.clone());
            if report.at < *first {
                first.clone_from(&report.at);
            }
        }
        self.reverted_findings
            .extend(report.reverted_findings.iter().cloned());
        self.stops.extend(report.stops.iter().cloned());
        self.resumes.extend(report.resumes.iter().cloned());
        if report.human_review_required {
            let at = report.escalated_at.as_ref().unwrap_or(&report.at);
            self.escalations.insert(at.clone());
        }
        if report.is_round() && !report.head.is_empty() {
            self.rounds.insert(report.head.clone());
        }
    }

    /// The same with orders of people that no report tells yet.
    #[must_use]
    pub fn with_orders(mut self, stops: &[Order], resumes: &[Order]) -> Self {
        self.stops.extend(stops.iter().cloned());
        self.resumes.extend(resumes.iter().cloned());
        self
    }

    /// The same with a report that was posted just now.
    #[must_use]
    pub fn with_report(mut self, report: &FixReport) -> Self {
        self.note(report);
        self
    }

    /// True if a report tells this order.
    #[must_use]
    pub fn is_ordered(&self, order: &Order) -> bool {
        self.stops.contains(order) || self.resumes.contains(order)
    }

    /// True if a cycle was made for the command in this comment.
    #[must_use]
    pub fn serves(&self, comment: CommentId) -> bool {
        let mut cycles = self.cycles.iter();
        cycles.any(|cycle| cycle.command == Some(comment.0) && !cycle.void)
    }

    /// True if a comment tells the round of this head.
    #[must_use]
    pub fn tells_round(&self, head: &CommitSha) -> bool {
        self.rounds.contains(head.as_str())
    }

    /// The cycles, the first one first.
    #[must_use]
    pub fn cycles(&self) -> &[FixReport] {
        &self.cycles
    }

    /// The number that the next cycle gets.
    #[must_use]
    pub fn next_cycle(&self) -> u32 {
        self.cycles.iter().map(|one| one.cycle).max().unwrap_or(0) + 1
    }

    #[must_use]
    pub fn resumes(&self) -> &BTreeSet<Order> {
        &self.resumes
    }

    /// True if people were called since fixing was last resumed.
    #[must_use]
    pub fn has_escalated(&self) -> bool {
        let resumed = self.resumes.last().map(|order| order.at.as_str());
        let called = self.escalations.last().map(String::as_str);
        called.is_some() && called > resumed
    }

    /// The commits of fixes on the branch, to look for reverts of them.
    pub fn commits(&self) -> impl Iterator<Item = (&str, &[KeptIssue])> {
        let pushed = self.cycles.iter().filter(|one| one.was_pushed());
        pushed.filter_map(|one| Some((one.commit.as_deref()?, one.outcomes.as_slice())))
    }

    /// True if a commit is one of the fixes.
    #[must_use]
    pub fn made(&self, commit: &CommitSha) -> bool {
        let is_it = |one: &FixReport| one.commit.as_deref() == Some(commit.as_str());
        self.cycles.iter().any(is_it)
    }

    /// True if a revert of this commit was noticed.
    #[must_use]
    pub fn is_reverted(&self, commit: &str) -> bool {
        self.reverted_commits.contains_key(commit)
    }

    /// True if a revert of this finding's fix was noticed.
    #[must_use]
    pub(crate) fn is_finding_reverted(&self, finding: &str) -> bool {
        self.reverted_findings.contains(finding)
    }

    /// The reason why fixing has ended, unless it was resumed since.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        let ordered = self.stops.last().cloned();
        let reverted = self.reverted_commits.iter().max_by_key(|(_, at)| *at);
        let resumed = self.resumes.last();
        let is_resumed = |at: &str, comment: u64| {
            resumed.is_some_and(|order| (order.at.as_str(), order.comment) > (at, comment))
        };
        let ordered = ordered.filter(|order| !is_resumed(&order.at, order.comment));
        let reverted = reverted.filter(|(_, at)| !is_resumed(at, 0));
        match (ordered, reverted) {
            (_, Some((commit, _))) => Some(Stop::Reverted(commit.clone())),
            (Some(order), None) => Some(Stop::Ordered(order)),
            (None, None) => None,
        }
    }

    /// True if a report called the issue fixed, and a review of the fixed code raises it again. `reviewed`: the head that the
    /// last review looked at.
    #[must_use]
    pub fn is_stuck(&self, issue: &Issue, reviewed: Option<&CommitSha>) -> bool {
        let id = issue.id.to_string();
        let mut cycles = self.cycles.iter();
        cycles.any(|report| {
            let looked_after = reviewed.is_some_and(|head| head.as_str() != report.head);
            let is_later = !report.known.contains(&id);
            looked_after
                && report
                    .fixed()
                    .any(|kept| kept.id == id || (is_later && kept.is_like(issue)))
        })
    }

    /// True if a fix on the branch is of this very issue.
    #[must_use]
    pub(crate) fn was_fixed(&self, issue: &Issue) -> bool {
        let id = issue.id.to_string();
        let mut fixed = self.cycles.iter().flat_map(FixReport::fixed);
        fixed.any(|kept| kept.id == id)
    }

    /// True if the issue was rejected, and its code is still the same.
    #[must_use]
    pub fn was_rejected(&self, issue: &Issue, diffs: &[FileDiff]) -> bool {
        let same_code = |kept: &KeptIssue| match (&kept.anchor, issue.line) {
            (Some(hash), Some(_)) => {
                issue.anchor_hash.as_ref() == Some(hash)
                    && diffs.iter().any(|diff| diff.holds(hash))
            }
            // About a file, or about no code at all.
            _ => true,
        };
        let mut outcomes = self.cycles.iter().flat_map(|report| &report.outcomes);
        outcomes
            .any(|kept| kept.outcome == KeptOutcome::Rejected && kept.is(issue) && same_code(kept))
    }

    /// True if somebody reverted a fix of the issue.
    #[must_use]
    pub fn was_reverted(&self, issue: &Issue) -> bool {
        let mut cycles = self.cycles.iter();
        self.reverted_findings.contains(&issue.id.to_string())
            || cycles.any(|report| {
                let commit = report.commit.as_deref();
                let whole = commit.is_some_and(|commit| self.is_reverted(commit));
                report.fixed().any(|kept| {
                    (whole || self.reverted_findings.contains(&kept.id)) && kept.is(issue)
                })
            })
    }
}

/// The order of two reports about one cycle.
fn order(report: &FixReport) -> (bool, &str, String) {
    let json = serde_json::to_string(report).unwrap_or_default();
    (report.commit.is_some(), &report.at, json)
}

/// The ids of all findings on a pull request, as a report keeps them.
#[must_use]
pub fn known(threads: &[Thread]) -> Vec<String> {
    let ids = threads
        .iter()
        .filter_map(|thread| thread.finding_id.as_ref());
    ids.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;

//! The report of a round: what the review of a head left open, and what follows on it. One comment for each head of the rounds.

use super::ground::Ground;
use super::{failed_checks, now, post};
use crate::host::{Failure, Job};
use reviewer_core::fix::issue::Issue;
use reviewer_core::fix::report::FixReport;
use reviewer_core::fix::rounds::Next;
use reviewer_core::fix::selection::Selection;
use reviewer_core::panel::consensus::Consensus;
use reviewer_core::publish::comment::fixing;
use reviewer_text::count::plural;

/// A head that was reviewed in rounds.
pub(super) struct Round<'a> {
    pub ground: &'a Ground,
    pub selection: &'a Selection,
    pub consensus: Consensus,
    /// The cycles that were granted.
    pub granted: u32,
}

impl Round<'_> {
    /// Posts the report, unless an earlier run did. What is not part of the rounds is not told: a first review that approves, the
    /// heads of people, and what comes after the call for people.
    pub(super) async fn tell(&self, job: &Job<'_>, next: &Next) -> Result<(), Failure> {
        let memory = &self.ground.memory;
        let (head, is_ours) = (self.ground.head(), memory.made(self.ground.head()));
        let Some(follows) = self.follows(next, is_ours) else {
            return Ok(());
        };
        if memory.tells_round(head) {
            return Ok(());
        }
        let max = job.host.config.fix.max_cycles;
        let report = FixReport {
            at: now(job),
            max,
            branch: self.ground.facts.pull.head_ref.clone(),
            head: head.to_string(),
            ..FixReport::default()
        };
        let review = memory.next_cycle();
        let of = self.granted.saturating_add(1).max(review);
        let rows = self.rows();
        let rows: Vec<(&Issue, Option<&str>)> = rows
            .iter()
            .map(|(issue, note)| (*issue, note.as_deref()))
            .collect();
        let failed = if is_ours {
            failed_checks(job, head).await
        } else {
            None
        };
        let follows = [Some(follows), failed].into_iter().flatten();
        let follows = follows.collect::<Vec<_>>().join("\n\n");
        let body = fixing::round_report(
            (review, of),
            self.consensus.name(),
            &rows,
            &follows,
            (&report, (&job.pr, &job.keys)),
        );
        post(job, &body).await
    }

    /// The sentence about what comes next; `None` where the head is no part of rounds.
    fn follows(&self, next: &Next, is_ours: bool) -> Option<String> {
        let calls = !self.ground.memory.has_escalated();
        match next {
            Next::Fix { cycle, .. } => {
                let issues = plural(self.selection.issues.len(), "finding");
                Some(format!("A fix of {issues} follows (cycle {cycle})."))
            }
            Next::Converged if is_ours => Some("Nothing is left to fix.".into()),
            Next::AtCap { call: true, .. } => {
                Some("Every cycle is used; people are called.".into())
            }
            Next::ManualIntervention if is_ours && calls => {
                Some("Nothing is left that may be fixed; people are called.".into())
            }
            _ => None,
        }
    }

    /// The open issues: those that are fixed next, and the others with the reason why not.
    fn rows(&self) -> Vec<(&Issue, Option<String>)> {
        let issues = self.selection.issues.iter().map(|issue| (issue, None));
        let left_out = self.selection.left_out.iter();
        let left_out = left_out.map(|one| (&one.issue, Some(format!("not tried: {}", one.reason))));
        issues.chain(left_out).collect()
    }
}

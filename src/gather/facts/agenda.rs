//! The facts as the agenda takes them.

use super::Facts;
use crate::gather::prior_reviews::Prior;
use crate::host::Job;
use reviewer_core::config::ReviewMode;
use reviewer_core::event::{Command, EventKind};
use reviewer_core::plan;
use reviewer_core::plan::agenda::{Acceptor, Agenda, Given};

impl Facts {
    /// Decides what this run does.
    pub(crate) fn agenda(&self, job: &Job<'_>) -> Agenda {
        Agenda::decide(&self.given(job, &self.excused_paths()))
    }

    pub(super) fn given<'a>(&'a self, job: &'a Job<'_>, excused: &'a [&'a str]) -> Given<'a> {
        let config = &job.host.config;
        Given {
            change: plan::Change {
                merge_base: &self.merge_base,
                head: &self.pull.head_sha,
                files: self.change.diffs.len(),
                required: self.change.required().count(),
                unreadable: &self.unreadable,
            },
            diffs: &self.change.diffs,
            excused,
            rules: &self.rules_hash,
            on_head: &self.on_head,
            records: &self.records,
            same_change: self.prior.as_ref().and_then(Prior::same_change),
            threads: &self.threads,
            lost: &self.lost,
            inquiries: &self.inquiries,
            scope: &self.scope,
            from_fork: self.pull.from_fork,
            draft: self.pull.draft && config.skip.drafts,
            request: self.request.as_ref(),
            acceptor: self.acceptor(&job.event.kind),
            obstacle: self.obstacle.as_ref(),
            mention: &config.mention,
            threshold: config.policy.threshold,
            blocking: config.policy.blocking,
            decides: config.review_mode == ReviewMode::Decide || self.may_fix(job),
        }
    }

    /// True if a fix may follow on the review.
    fn may_fix(&self, job: &Job<'_>) -> bool {
        let command = self.request.as_ref().map(|request| &request.command);
        job.host.in_rounds() || matches!(command, Some(Command::Fix | Command::FixResume))
    }

    fn acceptor<'a>(&self, kind: &'a EventKind) -> Option<Acceptor<'a>> {
        match kind {
            EventKind::Mention {
                author, created_at, ..
            } => Some(Acceptor {
                login: author,
                may_accept: self.may_accept,
                written_at: created_at,
            }),
            _ => None,
        }
    }

    pub(super) fn excused_paths(&self) -> Vec<&str> {
        self.change.excused().map(|(path, _)| path).collect()
    }
}

//! Selects what is to be fixed: open findings of the reviewer, and what authorized people request in their reviews.

use super::issue::{ChangeRequest, Issue, IssueId, Source};
use super::memory::Memory;
use crate::authority::{Action, judge};
use crate::domain::{Anchor, CommentId, CommitSha, FileDiff, Side, Status, Thread, Trust};
use std::cmp::Reverse;

/// Everything that may have to be fixed, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The reviewer's threads.
    pub threads: &'a [Thread],
    /// The words of people in reviews that request changes now.
    pub requests: &'a [ChangeRequest],
    /// The changes of the pull request.
    pub diffs: &'a [FileDiff],
    pub memory: &'a Memory,
    /// The head that the last review looked at.
    pub reviewed: Option<&'a CommitSha>,
    /// The only conversation to fix, by its first comment.
    pub only: Option<CommentId>,
}

/// The reason why an open issue is not fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("it is disputed, so people decide about it first")]
    Disputed,
    #[error("it was fixed before, and a review raised it again")]
    Stuck,
    #[error("it was rejected before, and its code has not changed since")]
    RejectedBefore,
    #[error("its fix was reverted")]
    Reverted,
    #[error("its comment was changed by somebody else")]
    Tampered,
    #[error("its author has no write access")]
    Unauthorized,
    #[error("it was fixed, and its author has not agreed yet")]
    AwaitsAuthor,
}

/// An open issue that is not fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub issue: Issue,
    pub reason: Reason,
}

/// The issues of a fix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// The heaviest and newest first, optional ones last.
    pub issues: Vec<Issue>,
    pub left_out: Vec<LeftOut>,
}

impl Selection {
    /// The issues that were fixed before and raised again.
    pub fn stuck(&self) -> impl Iterator<Item = &Issue> {
        let stuck = self
            .left_out
            .iter()
            .filter(|one| one.reason == Reason::Stuck);
        stuck.map(|one| &one.issue)
    }

    /// The number of issues that need not be fixed.
    #[must_use]
    pub fn optional(&self) -> usize {
        self.issues.len() - self.needed()
    }

    /// The number of issues that have to be fixed.
    #[must_use]
    pub fn needed(&self) -> usize {
        self.issues.iter().filter(|issue| !issue.optional).count()
    }
}

/// Selects the issues.
#[must_use]
pub fn select(sources: &Sources<'_>) -> Selection {
    let threads = sources.threads.iter().filter(|thread| {
        thread.status.is_open() && sources.only.is_none_or(|only| thread.id == only)
    });
    let threads = threads.map(|thread| {
        let issue = Issue::from(thread);
        let reason = sources.about_thread(thread, &issue);
        (issue, reason)
    });
    let requests = sources.requests.iter().filter(|request| {
        let is_asked = |only| request.id == IssueId::Comment(only);
        !request.resolved && !request.body.trim().is_empty() && sources.only.is_none_or(is_asked)
    });
    let requests = requests.map(|request| {
        let mut issue = Issue::from(request);
        issue.anchor_hash = sources.anchor(&issue);
        let unauthorized = judge(request.person, Action::Fix).is_err();
        let reason = unauthorized.then_some(Reason::Unauthorized);
        let reason = reason.or_else(|| sources.about_issue(&issue));
        (issue, reason)
    });
    let mut selection = Selection::default();
    for (mut issue, reason) in threads.chain(requests) {
        if let Some(reason) = reason {
            selection.left_out.push(LeftOut { issue, reason });
            continue;
        }
        // Whoever asks for one thing wants it done.
        issue.optional &= sources.only.is_none();
        selection.issues.push(issue);
    }
    // The newest of equal weight first: where room is short, the oldest is left out.
    selection
        .issues
        .sort_by_key(|issue| (issue.optional, issue.priority, Reverse(issue.number())));
    selection
}

impl Sources<'_> {
    fn about_thread(&self, thread: &Thread, issue: &Issue) -> Option<Reason> {
        let disputed = matches!(thread.status, Status::Disputed | Status::Escalated);
        // Whoever may have it fixed, and asks in its thread, has decided.
        if disputed && self.only.is_none() {
            return Some(Reason::Disputed);
        }
        if thread.trust == Trust::Tampered {
            return Some(Reason::Tampered);
        }
        self.about_issue(issue)
    }

    fn about_issue(&self, issue: &Issue) -> Option<Reason> {
        if self.memory.was_reverted(issue) {
            return Some(Reason::Reverted);
        }
        let of_ours = matches!(issue.source, Source::Finding { .. });
        if of_ours && self.memory.is_stuck(issue, self.reviewed) {
            return Some(Reason::Stuck);
        }
        // A person's words stay as they are: whether they are met is for that person to say.
        if !of_ours && self.only.is_none() && self.memory.was_fixed(issue) {
            return Some(Reason::AwaitsAuthor);
        }
        let rejected = self.memory.was_rejected(issue, self.diffs);
        rejected.then_some(Reason::RejectedBefore)
    }

    /// A hash of the code that a person's comment is about.
    fn anchor(&self, issue: &Issue) -> Option<String> {
        let diff = self
            .diffs
            .iter()
            .find(|diff| issue.is_anchored_in(&diff.path))?;
        let line = issue.line?;
        let anchor = Anchor::Line {
            side: Side::Right,
            start: None,
            line,
        };
        diff.is_commentable(Side::Right, line)
            .then(|| diff.anchor_hash(anchor))
    }
}

#[cfg(test)]
mod tests;

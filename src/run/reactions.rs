//! Reactions on the comment that asked: seen, done, failed. Separate, because they are a courtesy that must never
//! decide how a run ends.

use super::exits::Ended;
use super::fixing::{self, Fixing};
use crate::host::{Failure, Job};
use reviewer_core::domain::Verdict;
use reviewer_core::event::{CommentPlace, EventKind};
use reviewer_github::{ReactTo, Reaction};

/// Tells the person who asked that the run has begun.
pub(crate) async fn seen(job: &Job<'_>) {
    react(job, Reaction::Eyes).await;
}

/// Tells them how it ended. A fix that follows is told of by `fixed`.
pub(crate) async fn ended(job: &Job<'_>, ended: &Result<Ended, Failure>) {
    let well = match ended {
        Ok(Ended::Concluded(_)) if fixing::is_asked(job) => return,
        Ok(Ended::Concluded(outcome)) => {
            outcome.verdict != Verdict::Incomplete && outcome.unanswered.is_empty()
        }
        Ok(Ended::Skipped(_) | Ended::Published(_)) => true,
        Err(Failure(_)) => false,
    };
    react(job, last(well)).await;
}

/// Tells whoever asked for a fix how it ended.
pub(crate) async fn fixed(job: &Job<'_>, fixing: &Fixing) {
    if fixing::is_asked(job) {
        react(job, last(!fixing.has_failed())).await;
    }
}

fn last(well: bool) -> Reaction {
    if well {
        Reaction::Rocket
    } else {
        Reaction::Confused
    }
}

/// A courtesy to the comment that asked: a run does not fail for want of it.
async fn react(job: &Job<'_>, reaction: Reaction) {
    let EventKind::Mention { comment_id, on, .. } = job.event.kind else {
        return;
    };
    let to = match on {
        CommentPlace::IssueComment => ReactTo::IssueComment(comment_id),
        CommentPlace::ReviewComment => ReactTo::ReviewComment(comment_id),
    };
    if let Err(error) = job.github.react(&job.pr.repo, to, reaction).await {
        tracing::debug!("the reaction was not left: {error}");
    }
}

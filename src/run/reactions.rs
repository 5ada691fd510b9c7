//! Reactions on the comment that asked: seen, done, failed. Separate, because they are a courtesy that must never
//! decide how a run ends.

use super::exits::Ended;
use crate::host::{Failure, Job};
use reviewer_core::domain::Verdict;
use reviewer_core::event::{CommentPlace, EventKind};
use reviewer_github::{ReactTo, Reaction};

/// Tells the person who asked that the run has begun. Returns their comment.
pub(crate) async fn seen(job: &Job<'_>) -> Option<ReactTo> {
    let EventKind::Mention { comment_id, on, .. } = job.event.kind else {
        return None;
    };
    let to = match on {
        CommentPlace::IssueComment => ReactTo::IssueComment(comment_id),
        CommentPlace::ReviewComment => ReactTo::ReviewComment(comment_id),
    };
    react(job, to, Reaction::Eyes).await;
    Some(to)
}

/// Tells them how it ended.
pub(crate) async fn ended(job: &Job<'_>, asked: Option<ReactTo>, ended: &Result<Ended, Failure>) {
    let Some(to) = asked else {
        return;
    };
    let well = match ended {
        Ok(Ended::Concluded(outcome)) => {
            outcome.verdict != Verdict::Incomplete && outcome.unanswered.is_empty()
        }
        Ok(Ended::Skipped(_)) => true,
        Err(Failure(_)) => false,
    };
    let reaction = if well {
        Reaction::Rocket
    } else {
        Reaction::Confused
    };
    react(job, to, reaction).await;
}

/// A courtesy: a run does not fail for want of it.
async fn react(job: &Job<'_>, to: ReactTo, reaction: Reaction) {
    if let Err(error) = job.github.react(&job.pr.repo, to, reaction).await {
        tracing::debug!("the reaction was not left: {error}");
    }
}

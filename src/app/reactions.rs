//! Reactions on the comment that asked: seen, done, failed. Separate, because they are a courtesy that must never
//! decide how a run ends.

use super::finish::Finished;
use super::{Run, Stop};
use crate::domain::Verdict;
use crate::event::{CommentPlace, EventKind};
use crate::github::{ReactTo, Reaction};

/// Tells the person who asked that they were heard.
pub async fn seen(run: &Run<'_>) {
    let EventKind::Mention { comment_id, on, .. } = run.event.kind else {
        return;
    };
    let to = match on {
        CommentPlace::IssueComment => ReactTo::IssueComment(comment_id),
        CommentPlace::ReviewComment => ReactTo::ReviewComment(comment_id),
    };
    if run.heard.set(to).is_ok() {
        react(run, to, Reaction::Eyes).await;
    }
}

/// Tells them how it ended.
pub async fn ended(run: &Run<'_>, ended: &Result<Finished, Stop>) {
    let Some(to) = run.heard.get() else {
        return;
    };
    let well = match ended {
        Ok(finished) => finished.verdict != Verdict::Incomplete && finished.unanswered.is_empty(),
        Err(Stop::Skip(_)) => true,
        Err(Stop::Fail(_)) => false,
    };
    let reaction = if well {
        Reaction::Rocket
    } else {
        Reaction::Confused
    };
    react(run, *to, reaction).await;
}

/// A courtesy: a run does not fail for want of it.
async fn react(run: &Run<'_>, to: ReactTo, reaction: Reaction) {
    if let Err(error) = run.github.react(&run.pr.repo, to, reaction).await {
        tracing::debug!("the reaction was not left: {error}");
    }
}

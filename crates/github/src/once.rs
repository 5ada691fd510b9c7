//! Writes that must happen exactly once: a review, a comment, a reply. GitHub has no idempotency keys, so after an
//! answer that does not tell, the client looks whether the write happened, several times, because GitHub shows a write
//! late; only then is it sent again.

use super::client::GitHub;
use super::comments::{
    NewReview, NewReviewComment, PostedComment, ReviewComment, ReviewRef, posted, pull, reference,
};
use super::error::ApiError;
use super::exchange::{Call, not_understood};
use super::wire;
use reviewer_core::domain::{CommentId, CommitSha, PrKey, ReviewEvent, Side};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const SENDINGS: usize = 3;
/// Before each look.
pub(super) const LOOKS: [Duration; 3] = [
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

impl GitHub {
    /// All or nothing: one anchor outside the diff refuses the review as a whole.
    pub async fn create_review(
        &self,
        key: &PrKey,
        review: &NewReview,
    ) -> Result<ReviewRef, ApiError> {
        let body = review_body("post the review", review)?;
        let post = || async { self.send_review("post the review", key, body.clone()).await };
        let send = || async { self.without_draft(key, post).await.map(reference) };
        let look = || async {
            let reviews = self.reviews(key).await?.into_iter();
            let mut same = reviews.filter(|one| mark(&one.body) == mark(&review.body));
            Ok(same.next().map(|one| ReviewRef {
                id: one.id,
                html_url: one.html_url,
            }))
        };
        self.once(send, look).await
    }

    /// Dismisses an approval or a request for changes. One that is dismissed already counts as dismissed by this call.
    pub async fn dismiss_review(
        &self,
        key: &PrKey,
        id: u64,
        message: &str,
    ) -> Result<(), ApiError> {
        let send = || async {
            let route = format!("{}/reviews/{id}/dismissals", pull(key));
            let call = Call::put("dismiss a review", route, json!({"message": message}));
            self.done(call.or_hint("the review is gone")).await
        };
        let look = || async {
            let mut reviews = self.reviews(key).await?.into_iter();
            let dismissed = reviews.any(|one| one.id == id && one.state == "DISMISSED");
            Ok(dismissed.then_some(()))
        };
        match self.once(send, look).await {
            Err(refused @ ApiError::Unprocessable { .. }) => look().await?.ok_or(refused),
            outcome => outcome,
        }
    }

    /// On a file as a whole, outside any review. People are told of it by itself.
    pub async fn create_file_comment(
        &self,
        key: &PrKey,
        commit_id: &CommitSha,
        path: &str,
        body: &str,
    ) -> Result<PostedComment, ApiError> {
        let sent = json!({"body": body, "commit_id": commit_id.as_str(), "path": path, "subject_type": "file"});
        let call = || {
            let route = format!("{}/comments", pull(key));
            Call::post("comment on a file", route, sent.clone())
        };
        let look = || async {
            self.said(key, |comment| mark(&comment.body) == mark(body))
                .await
        };
        let post = || async { self.json(call()).await.map(posted) };
        self.once(|| self.without_draft(key, post), look).await
    }

    /// `root` is the thread's first comment; GitHub takes no replies to replies.
    pub async fn reply(
        &self,
        key: &PrKey,
        root: CommentId,
        body: &str,
    ) -> Result<PostedComment, ApiError> {
        let call = || {
            let route = format!("{}/comments/{root}/replies", pull(key));
            let call = Call::post("reply in a thread", route, json!({"body": body}));
            call.or_hint("the thread is gone")
        };
        let same = |comment: &ReviewComment| {
            comment.in_reply_to == Some(root) && mark(&comment.body) == mark(body)
        };
        let look = || async { self.said(key, same).await };
        let post = || async { self.json(call()).await.map(posted) };
        self.once(|| self.without_draft(key, post), look).await
    }

    /// Below the description, where the conversation is.
    pub async fn comment(&self, key: &PrKey, body: &str) -> Result<CommentId, ApiError> {
        let call = || {
            let route = format!("/repos/{}/issues/{}/comments", key.repo, key.number);
            Call::post("comment on the pull request", route, json!({"body": body}))
        };
        let send = || async {
            let created: wire::Created = self.json(call()).await?;
            Ok(CommentId(created.id))
        };
        let look = || async {
            let comments = self.issue_comments(key).await?.into_iter();
            let mut same = comments.filter(|comment| mark(&comment.body) == mark(body));
            Ok(same.next().map(|comment| comment.id))
        };
        self.once(send, look).await
    }

    /// `look` answers with what was sent if it is there. A look that fails leaves the outcome unknown: nothing is sent
    /// again then, and the next run sees what there is.
    pub(super) async fn once<T, S, L>(
        &self,
        send: impl Fn() -> S,
        look: impl Fn() -> L,
    ) -> Result<T, ApiError>
    where
        S: Future<Output = Result<T, ApiError>>,
        L: Future<Output = Result<Option<T>, ApiError>>,
    {
        let mut sendings = 0;
        loop {
            let error = match send().await {
                Err(error) if error.may_have_happened() => error,
                outcome => return outcome,
            };
            sendings += 1;
            tracing::debug!(%error, "looking whether it happened");
            for pause in LOOKS {
                self.clock.sleep(pause).await;
                match look().await {
                    Ok(Some(found)) => return Ok(found),
                    Ok(None) => {}
                    Err(_) => return Err(error),
                }
            }
            if sendings == SENDINGS {
                return Err(error);
            }
        }
    }

    pub(super) async fn send_review(
        &self,
        name: &'static str,
        key: &PrKey,
        body: Value,
    ) -> Result<wire::Review, ApiError> {
        let call = Call::post(name, format!("{}/reviews", pull(key)), body);
        self.json(call).await
    }

    async fn said(
        &self,
        key: &PrKey,
        same: impl Fn(&ReviewComment) -> bool,
    ) -> Result<Option<PostedComment>, ApiError> {
        let comments = self.review_comments(key).await?;
        let found = comments.into_iter().find(same);
        Ok(found.map(|comment| PostedComment {
            id: comment.id,
            path: comment.path,
            body: comment.body,
            html_url: comment.html_url,
        }))
    }
}

/// Returns the part that tells the reviewer's text from every other: its block, which holds a signature or random ids.
pub(super) fn mark(body: &str) -> &str {
    let block = body.rfind("<!-- rmcoc:").map_or(body, |at| &body[at..]);
    block.trim()
}

pub(super) fn review_body(name: &'static str, review: &NewReview) -> Result<Value, ApiError> {
    serde_json::to_value(review_to_post(review)).map_err(|problem| not_understood(name, &problem))
}

pub(super) fn event_name(event: ReviewEvent) -> &'static str {
    match event {
        ReviewEvent::Comment => "COMMENT",
        ReviewEvent::RequestChanges => "REQUEST_CHANGES",
        ReviewEvent::Approve => "APPROVE",
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Left => "LEFT",
        Side::Right => "RIGHT",
    }
}

fn review_to_post(review: &NewReview) -> wire::ReviewToPost<'_> {
    wire::ReviewToPost {
        commit_id: review.commit_id.as_str(),
        body: &review.body,
        event: review.event.map(event_name),
        comments: review.comments.iter().map(comment_to_post).collect(),
    }
}

/// A range whose ends are one line is that line: GitHub refuses it otherwise.
fn comment_to_post(comment: &NewReviewComment) -> wire::CommentToPost<'_> {
    let start_line = comment.start_line.filter(|start| *start != comment.line);
    let start_side = comment.start_side.unwrap_or(comment.side);
    wire::CommentToPost {
        path: &comment.path,
        body: &comment.body,
        line: comment.line,
        side: side_name(comment.side),
        start_line,
        start_side: start_line.map(|_| side_name(start_side)),
    }
}

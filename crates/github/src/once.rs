//! Writes that must happen exactly once: a review, a comment, a reply. GitHub has no idempotency keys, so after an
//! answer that does not tell, the client looks whether the write happened, several times, because GitHub shows a write
//! late; only then is it sent again.

use super::client::GitHub;
use super::comments::{
    NewReview, NewReviewComment, PostedComment, ReviewComment, ReviewRef, posted, pull,
};
use super::error::ApiError;
use super::exchange::{Call, not_understood};
use super::wire;
use reviewer_core::domain::{CommentId, CommitSha, PrKey, ReviewEvent, Side};
use serde_json::{Value, json};
use std::time::Duration;

const SENDINGS: usize = 3;
/// Before each look.
const LOOKS: [Duration; 3] = [
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
];

/// GitHub's refusal of a second draft of one account.
const SECOND_DRAFT: &str = "one pending review";

impl GitHub {
    /// All or nothing: one anchor outside the diff refuses the review as a whole.
    pub async fn create_review(
        &self,
        key: &PrKey,
        review: &NewReview,
    ) -> Result<ReviewRef, ApiError> {
        let body = review_body("post the review", review)?;
        let send = || async { self.send_review("post the review", key, body.clone()).await };
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

    /// True if GitHub takes these comments. Asks with a draft, which notifies nobody and is deleted at once. `review`
    /// has no event, and a body that tells the reviewer's drafts from a person's.
    pub async fn takes(&self, key: &PrKey, review: &NewReview) -> Result<bool, ApiError> {
        let name = "try the anchors of the review";
        let body = review_body(name, review)?;
        let mut sent = self.send_review(name, key, body.clone()).await;
        if sent.as_ref().is_err_and(is_second_draft) {
            self.discard_drafts(key, &review.body).await?;
            sent = self.send_review(name, key, body).await;
        }
        match sent {
            Ok(draft) => self.delete_draft(key, draft.id).await.map(|()| true),
            Err(error) if is_second_draft(&error) => Err(error),
            Err(ApiError::Unprocessable { .. }) => Ok(false),
            Err(error) => {
                self.discard_drafts(key, &review.body).await?;
                Err(error)
            }
        }
    }

    /// Deletes the reviewer's drafts, which a run that was ended may have left behind. A person's own stay.
    async fn discard_drafts(&self, key: &PrKey, body: &str) -> Result<(), ApiError> {
        for review in self.reviews(key).await? {
            if review.state == "PENDING" && mark(&review.body) == mark(body) {
                self.delete_draft(key, review.id).await?;
            }
        }
        Ok(())
    }

    /// On a file as a whole, which a review cannot hold.
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
        self.once(|| async { self.json(call()).await.map(posted) }, look)
            .await
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
        self.once(|| async { self.json(call()).await.map(posted) }, look)
            .await
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

    async fn send_review(
        &self,
        name: &'static str,
        key: &PrKey,
        body: Value,
    ) -> Result<ReviewRef, ApiError> {
        let call = Call::post(name, format!("{}/reviews", pull(key)), body);
        let wire: wire::Review = self.json(call).await?;
        Ok(ReviewRef {
            id: wire.id,
            html_url: wire.html_url.unwrap_or_default(),
        })
    }

    async fn delete_draft(&self, key: &PrKey, id: u64) -> Result<(), ApiError> {
        let route = format!("{}/reviews/{id}", pull(key));
        match self.done(Call::delete("delete a draft", route)).await {
            // It was deleted by the try before.
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
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

fn is_second_draft(error: &ApiError) -> bool {
    matches!(error, ApiError::Unprocessable { errors, .. } if errors.iter().any(|one| one.contains(SECOND_DRAFT)))
}

fn review_body(name: &'static str, review: &NewReview) -> Result<Value, ApiError> {
    serde_json::to_value(review_to_post(review)).map_err(|problem| not_understood(name, &problem))
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
        event: review.event.map(|event| match event {
            ReviewEvent::Comment => "COMMENT",
            ReviewEvent::RequestChanges => "REQUEST_CHANGES",
            ReviewEvent::Approve => "APPROVE",
        }),
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

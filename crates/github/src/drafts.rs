//! Drafts: reviews that only their author sees, and that nobody is told of before they are submitted. They tell which anchors
//! GitHub takes, and hold what the request for a review cannot: comments on whole files. An account has one for each pull request.

use super::client::GitHub;
use super::comments::{NewFileComment, NewReview, Review, ReviewRef, pull, reference};
use super::error::ApiError;
use super::exchange::Call;
use super::once::{LOOKS, SENDINGS, event_name, mark, review_body};
use super::wire;
use reviewer_core::domain::{PrKey, ReviewEvent};
use reviewer_core::publish::comment::Voice;
use serde_json::{Value, json};

/// GitHub's refusal of a second draft of one account.
const SECOND_DRAFT: &str = "one pending review";

const POST: &str = "post the review";
const DRAFT: &str = "draft the review";
const ON_FILE: &str = "comment on a file in the review";

/// The one way to a comment on a file that belongs to a review.
pub(super) const ADD_FILE_THREAD: &str = "mutation($review: ID!, $path: String!, $body: String!) {
  addPullRequestReviewThread(
    input: { pullRequestReviewId: $review, path: $path, body: $body, subjectType: FILE }
  ) { thread { id } }
}";

/// The outcome of posting a review with comments on files.
#[derive(Debug)]
pub enum Posted {
    Review(ReviewRef),
    /// Nothing was posted, because these comments cannot be part of a review: their numbers in the list, each with the reason.
    Not(Vec<(usize, ApiError)>),
}

/// A review that is not submitted yet.
struct Draft {
    id: u64,
    /// GraphQL's id of it.
    node_id: String,
}

impl GitHub {
    /// Every review that was submitted, oldest first; and true if a draft of the reviewer's is there, which a run that was ended has
    /// left behind, or another one is about to submit.
    pub async fn reviews_and_draft(&self, key: &PrKey) -> Result<(Vec<Review>, bool), ApiError> {
        let mut reviews = self.listed_reviews(key).await?;
        let has_draft = reviews.iter().any(is_own_draft);
        reviews.retain(Review::is_submitted);
        Ok((reviews, has_draft))
    }

    /// Posts a review with comments on files, of which people are told once: a draft takes the comments one by one and is submitted
    /// with the review's text and event.
    pub async fn create_review_on_files(
        &self,
        key: &PrKey,
        review: &NewReview,
        files: &[NewFileComment],
    ) -> Result<Posted, ApiError> {
        if self.is_dry_run() {
            return self.keep_review(key, review, files).await;
        }
        let draft = self.open_draft(key, review).await?;
        let mut refused = Vec::new();
        for (number, file) in files.iter().enumerate() {
            if let Err(error) = self.comment_in_draft(key, &draft, file).await {
                refused.push((number, error));
            }
        }
        let outcome = if refused.is_empty() {
            let event = review.event.unwrap_or(ReviewEvent::Comment);
            match self.submit(key, &draft, &review.body, event).await {
                // Another run has deleted it.
                Err(gone) if gone.is_not_found() => {
                    let all = (0..files.len()).map(|number| (number, gone.clone()));
                    Ok(Posted::Not(all.collect()))
                }
                submitted => submitted.map(Posted::Review),
            }
        } else {
            Ok(Posted::Not(refused))
        };
        if !matches!(outcome, Ok(Posted::Review(_)))
            && let Err(error) = self.delete_draft(key, draft.id).await
        {
            tracing::debug!("the next review deletes the draft: {error}");
        }
        outcome
    }

    /// A dry run keeps the review as one, which it would be.
    async fn keep_review(
        &self,
        key: &PrKey,
        review: &NewReview,
        files: &[NewFileComment],
    ) -> Result<Posted, ApiError> {
        let mut body = review_body(POST, review)?;
        if let Some(Value::Array(comments)) = body.get_mut("comments") {
            let on_files = files
                .iter()
                .map(|one| json!({"path": one.path, "body": one.body, "subject_type": "file"}));
            comments.extend(on_files);
        }
        let kept = self.send_review(POST, key, body).await?;
        Ok(Posted::Review(reference(kept)))
    }

    /// True if GitHub takes these comments. Asks with a draft, which is deleted at once.
    pub async fn takes(&self, key: &PrKey, review: &NewReview) -> Result<bool, ApiError> {
        match self.open_draft(key, review).await {
            Ok(draft) => self.delete_draft(key, draft.id).await.map(|()| true),
            Err(error) if is_second_draft(&error) => Err(error),
            Err(ApiError::Unprocessable { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the reviewer's drafts, which a run that was ended may have left behind, and returns how many there were. A person's
    /// own stay.
    pub async fn discard_drafts(&self, key: &PrKey) -> Result<usize, ApiError> {
        let mut deleted = 0;
        for review in self.listed_reviews(key).await? {
            if is_own_draft(&review) {
                self.delete_draft(key, review.id).await?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Sends what GitHub refuses as long as the account has a draft: again, if it was the reviewer's, which is deleted.
    pub(super) async fn without_draft<T, S>(
        &self,
        key: &PrKey,
        send: impl Fn() -> S,
    ) -> Result<T, ApiError>
    where
        S: Future<Output = Result<T, ApiError>>,
    {
        match send().await {
            Err(error) if is_second_draft(&error) => match self.discard_drafts(key).await {
                Ok(0) | Err(_) => Err(error),
                Ok(_) => send().await,
            },
            outcome => outcome,
        }
    }

    /// Opens a draft with the comments of this review on lines. What an unclear answer has left is deleted: it could be an older one
    /// with other comments.
    async fn open_draft(&self, key: &PrKey, review: &NewReview) -> Result<Draft, ApiError> {
        let draft = NewReview {
            body: Voice::draft(),
            event: None,
            ..review.clone()
        };
        let body = review_body(DRAFT, &draft)?;
        let send = || async { self.send_review(DRAFT, key, body.clone()).await };
        let mut sendings = 1;
        loop {
            match self.without_draft(key, send).await {
                Ok(wire) => {
                    return Ok(Draft {
                        id: wire.id,
                        node_id: wire.node_id.unwrap_or_default(),
                    });
                }
                Err(error) if error.may_have_happened() => {
                    self.clock.sleep(LOOKS[0]).await;
                    self.discard_drafts(key).await?;
                    if sendings == SENDINGS {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            sendings += 1;
        }
    }

    async fn comment_in_draft(
        &self,
        key: &PrKey,
        draft: &Draft,
        file: &NewFileComment,
    ) -> Result<(), ApiError> {
        let variables = json!({"review": draft.node_id, "path": file.path, "body": file.body});
        let send = || async {
            let call = Call::mutation(ON_FILE, ADD_FILE_THREAD, &variables);
            let data: wire::AddedThread = self.graphql(call).await?;
            data.thread().ok_or_else(|| ApiError::GraphQl {
                call: ON_FILE,
                errors: vec![(String::new(), "it made no conversation".to_owned())],
            })
        };
        let look = || async {
            let comments = self.review_comment_ids(key, draft.id).await?;
            let mut same = comments.iter().map(|one| mark(&one.body));
            Ok(same.any(|one| one == mark(&file.body)).then_some(()))
        };
        self.once(send, look).await
    }

    async fn submit(
        &self,
        key: &PrKey,
        draft: &Draft,
        body: &str,
        event: ReviewEvent,
    ) -> Result<ReviewRef, ApiError> {
        let send = || async {
            let route = format!("{}/reviews/{}/events", pull(key), draft.id);
            let sent = json!({"body": body, "event": event_name(event)});
            let call = Call::post(POST, route, sent).or_hint("the draft is gone");
            self.json(call).await.map(reference)
        };
        let look = || async {
            let mut reviews = self.reviews(key).await?.into_iter();
            let submitted = reviews.find(|one| one.id == draft.id);
            Ok(submitted.map(|one| ReviewRef {
                id: one.id,
                html_url: one.html_url,
            }))
        };
        match self.once(send, look).await {
            // It may have been submitted by the request before.
            Err(refused @ ApiError::Unprocessable { .. }) => look().await?.ok_or(refused),
            outcome => outcome,
        }
    }

    async fn delete_draft(&self, key: &PrKey, id: u64) -> Result<(), ApiError> {
        let route = format!("{}/reviews/{id}", pull(key));
        match self.done(Call::delete("delete a draft", route)).await {
            // It was deleted by the try before.
            Err(error) if error.is_not_found() => Ok(()),
            outcome => outcome,
        }
    }
}

fn is_own_draft(review: &Review) -> bool {
    !review.is_submitted() && mark(&review.body) == mark(&Voice::draft())
}

fn is_second_draft(error: &ApiError) -> bool {
    matches!(error, ApiError::Unprocessable { errors, .. } if errors.iter().any(|one| one.contains(SECOND_DRAFT)))
}

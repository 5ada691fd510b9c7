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
use std::time::Duration;

/// GitHub's refusal of a second draft of one account.
const SECOND_DRAFT: &str = "one pending review";

/// The pause between looks at a draft, and the number of looks at which one that does not change counts as left. A run at work adds a
/// comment each second or two, and tries an unclear one again within 22 seconds.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
const UNCHANGED_LOOKS: usize = 3;
/// The maximum number of looks at one draft, and of drafts that a request waits for.
const MOST_LOOKS: usize = 30;
const MOST_DRAFTS: usize = 3;

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

/// The draft that the account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Nothing,
    /// One of the reviewer, by a run at work or by one that was ended.
    Own {
        id: u64,
        comments: usize,
    },
    Persons,
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

    /// Outlasts a draft of the reviewer: a run at work submits or deletes its own, and one that stays as it is was left by a run that
    /// was ended, and is deleted. False: the draft is a person's own, which stays.
    pub async fn outlast_draft(&self, key: &PrKey) -> Result<bool, ApiError> {
        let mut seen = self.held(key).await?;
        let mut unchanged = 0;
        for _ in 0..MOST_LOOKS {
            let Held::Own { id, .. } = seen else {
                return Ok(seen == Held::Nothing);
            };
            if unchanged == UNCHANGED_LOOKS {
                return self.delete_draft(key, id).await.map(|()| true);
            }
            self.clock.sleep(BETWEEN_LOOKS).await;
            let now = self.held(key).await?;
            unchanged = if now == seen { unchanged + 1 } else { 0 };
            seen = now;
        }
        Ok(false)
    }

    async fn held(&self, key: &PrKey) -> Result<Held, ApiError> {
        let reviews = self.listed_reviews(key).await?;
        let Some(draft) = reviews.into_iter().find(|one| !one.is_submitted()) else {
            return Ok(Held::Nothing);
        };
        if !is_own_draft(&draft) {
            return Ok(Held::Persons);
        }
        match self.review_comment_ids(key, draft.id).await {
            Ok(comments) => Ok(Held::Own {
                id: draft.id,
                comments: comments.len(),
            }),
            Err(gone) if gone.is_not_found() => Ok(Held::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Sends what GitHub refuses as long as the account has a draft: again, once the reviewer's is gone. Several runs may wait for
    /// one another.
    pub(super) async fn without_draft<T, S>(
        &self,
        key: &PrKey,
        send: impl Fn() -> S,
    ) -> Result<T, ApiError>
    where
        S: Future<Output = Result<T, ApiError>>,
    {
        for _ in 0..MOST_DRAFTS {
            match send().await {
                Err(error) if is_second_draft(&error) => {
                    if !matches!(self.outlast_draft(key).await, Ok(true)) {
                        return Err(error);
                    }
                }
                outcome => return outcome,
            }
        }
        send().await
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
                    self.outlast_draft(key).await?;
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
            // It was deleted by the try before, or submitted meanwhile.
            Err(error) if error.is_not_found() => Ok(()),
            Err(ApiError::Unprocessable { .. }) => Ok(()),
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

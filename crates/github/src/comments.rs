//! Reads the comments of a pull request: reviews, review comments and the conversation, to the end. `once.rs` has the
//! writes that must happen once.

use super::client::GitHub;
use super::error::{ApiError, may};
use super::exchange::Call;
use super::wire;
use reviewer_core::domain::{CommentId, CommitSha, Login, PrKey, RepoName, ReviewEvent, Side};
use reviewer_core::event::Association;
use serde_json::json;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub id: CommentId,
    pub in_reply_to: Option<CommentId>,
    pub review_id: Option<u64>,
    /// `None` where the account was deleted.
    pub author: Option<Login>,
    pub author_id: Option<u64>,
    pub association: Association,
    pub body: String,
    pub path: String,
    /// `None` when the comment is outdated or on the file as a whole.
    pub line: Option<u32>,
    pub original_line: Option<u32>,
    /// The first line of a range that ends in `original_line`.
    pub original_start_line: Option<u32>,
    pub start_line: Option<u32>,
    pub side: Side,
    /// On the file as a whole.
    pub on_file: bool,
    /// The commit it hangs on now; GitHub moves it with each push.
    pub commit: Option<CommitSha>,
    pub original_commit: Option<CommitSha>,
    pub created_at: String,
    pub updated_at: String,
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: u64,
    pub author: Option<Login>,
    pub author_id: Option<u64>,
    pub association: Association,
    pub body: String,
    /// `APPROVED`, `CHANGES_REQUESTED`, `COMMENTED` or `DISMISSED`; of a draft `PENDING`.
    pub state: String,
    pub commit: Option<CommitSha>,
    /// `None` while it is pending.
    pub submitted_at: Option<String>,
    pub html_url: String,
}

impl Review {
    pub(super) fn is_submitted(&self) -> bool {
        self.state != "PENDING"
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueComment {
    pub id: CommentId,
    pub author: Option<Login>,
    pub author_id: Option<u64>,
    pub association: Association,
    pub body: String,
    pub created_at: String,
    pub html_url: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    pub commit_id: CommitSha,
    pub body: String,
    /// `None`: a draft, which nobody is told of.
    pub event: Option<ReviewEvent>,
    pub comments: Vec<NewReviewComment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReviewComment {
    pub path: String,
    pub body: String,
    pub line: u32,
    pub side: Side,
    /// The first line of a range, before `line`; GitHub refuses one that is equal to it.
    pub start_line: Option<u32>,
    pub start_side: Option<Side>,
}

/// A comment on a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFileComment {
    pub path: String,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRef {
    pub id: u64,
    pub html_url: String,
}

/// A comment that the reviewer posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedComment {
    pub id: CommentId,
    pub path: String,
    pub body: String,
    pub html_url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactTo {
    IssueComment(CommentId),
    ReviewComment(CommentId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    Eyes,
    Rocket,
    ThumbsUp,
    Confused,
}

impl GitHub {
    /// Every review comment, oldest first. GitHub lists none of a draft here.
    pub async fn review_comments(&self, key: &PrKey) -> Result<Vec<ReviewComment>, ApiError> {
        let route = format!("{}/comments?per_page=100", pull(key));
        let id = |comment: &wire::ReviewComment| comment.id;
        let comments = self.growing("list the review comments", route, id).await?;
        Ok(comments.into_iter().map(domain_review_comment).collect())
    }

    /// Every review that was submitted, oldest first. Nobody but this account sees a draft, and it says nothing yet.
    pub async fn reviews(&self, key: &PrKey) -> Result<Vec<Review>, ApiError> {
        let mut reviews = self.listed_reviews(key).await?;
        reviews.retain(Review::is_submitted);
        Ok(reviews)
    }

    pub(super) async fn listed_reviews(&self, key: &PrKey) -> Result<Vec<Review>, ApiError> {
        let route = format!("{}/reviews?per_page=100", pull(key));
        let id = |review: &wire::Review| review.id;
        let reviews = self.growing("list the reviews", route, id).await?;
        Ok(reviews.into_iter().map(domain_review).collect())
    }

    pub async fn issue_comments(&self, key: &PrKey) -> Result<Vec<IssueComment>, ApiError> {
        let route = format!(
            "/repos/{}/issues/{}/comments?per_page=100",
            key.repo, key.number
        );
        let id = |comment: &wire::IssueComment| comment.id;
        let comments = self
            .growing("list the conversation's comments", route, id)
            .await?;
        Ok(comments.into_iter().map(domain_issue_comment).collect())
    }

    /// True if the token may comment. Asks with a reply to a comment that does not exist: GitHub refuses it either way,
    /// but says which of the two is missing.
    pub async fn may_comment(&self, key: &PrKey) -> Result<bool, ApiError> {
        let route = format!("{}/comments/1/replies", pull(key));
        let body = json!({"body": "Asked whether this token may comment."});
        let call = Call::probe("comment on the pull request", route, body);
        let asked = self.json::<wire::ReviewComment>(call).await;
        asked.map_or_else(may, |_| Ok(true))
    }

    /// The comments of one review: GitHub does not name them when it is created.
    pub async fn review_comment_ids(
        &self,
        key: &PrKey,
        review_id: u64,
    ) -> Result<Vec<PostedComment>, ApiError> {
        let route = format!("{}/reviews/{review_id}/comments?per_page=100", pull(key));
        let id = |comment: &wire::ReviewComment| comment.id;
        let comments = self
            .growing("list the review's comments", route, id)
            .await?;
        Ok(comments.into_iter().map(posted).collect())
    }

    /// Rewrites a review comment of the token's own account. GitHub tells nobody of that.
    pub async fn edit_comment(
        &self,
        repo: &RepoName,
        id: CommentId,
        body: &str,
    ) -> Result<(), ApiError> {
        let route = format!("/repos/{repo}/pulls/comments/{id}");
        let call = Call::patch("rewrite a comment", route, json!({"body": body}));
        let call = call.or_hint("the comment is gone");
        self.done(call.repeatable()).await
    }

    pub async fn react(
        &self,
        repo: &RepoName,
        to: ReactTo,
        reaction: Reaction,
    ) -> Result<(), ApiError> {
        let route = match to {
            ReactTo::IssueComment(id) => format!("/repos/{repo}/issues/comments/{id}/reactions"),
            ReactTo::ReviewComment(id) => format!("/repos/{repo}/pulls/comments/{id}/reactions"),
        };
        let body = json!({"content": reaction.as_str()});
        let call = Call::post("react to a comment", route, body);
        self.done(call.repeatable()).await
    }
}

impl Reaction {
    fn as_str(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::Rocket => "rocket",
            Self::ThumbsUp => "+1",
            Self::Confused => "confused",
        }
    }
}

pub(super) fn pull(key: &PrKey) -> String {
    format!("/repos/{}/pulls/{}", key.repo, key.number)
}

fn account(user: Option<wire::User>) -> (Option<Login>, Option<u64>) {
    user.map_or((None, None), |user| {
        (Some(Login::new(&user.login)), user.id)
    })
}

fn association(text: Option<&str>) -> Association {
    Association::parse(text.unwrap_or_default())
}

fn sha(text: Option<&str>) -> Option<CommitSha> {
    text?.parse().ok()
}

pub(super) fn reference(wire: wire::Review) -> ReviewRef {
    ReviewRef {
        id: wire.id,
        html_url: wire.html_url.unwrap_or_default(),
    }
}

fn domain_review_comment(wire: wire::ReviewComment) -> ReviewComment {
    let (author, author_id) = account(wire.user);
    ReviewComment {
        id: CommentId(wire.id),
        in_reply_to: wire.in_reply_to_id.map(CommentId),
        review_id: wire.pull_request_review_id,
        author,
        author_id,
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        path: wire.path.unwrap_or_default(),
        line: wire.line,
        original_line: wire.original_line,
        original_start_line: wire.original_start_line,
        start_line: wire.start_line,
        side: if wire.side.as_deref() == Some("LEFT") {
            Side::Left
        } else {
            Side::Right
        },
        on_file: wire.subject_type.as_deref() == Some("file"),
        commit: sha(wire.commit_id.as_deref()),
        original_commit: sha(wire.original_commit_id.as_deref()),
        created_at: wire.created_at.unwrap_or_default(),
        updated_at: wire.updated_at.unwrap_or_default(),
        html_url: wire.html_url.unwrap_or_default(),
    }
}

fn domain_review(wire: wire::Review) -> Review {
    let (author, author_id) = account(wire.user);
    Review {
        id: wire.id,
        author,
        author_id,
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        state: wire.state.unwrap_or_default(),
        commit: sha(wire.commit_id.as_deref()),
        submitted_at: wire.submitted_at,
        html_url: wire.html_url.unwrap_or_default(),
    }
}

fn domain_issue_comment(wire: wire::IssueComment) -> IssueComment {
    let (author, author_id) = account(wire.user);
    IssueComment {
        id: CommentId(wire.id),
        author,
        author_id,
        association: association(wire.author_association.as_deref()),
        body: wire.body.unwrap_or_default(),
        created_at: wire.created_at.unwrap_or_default(),
        html_url: wire.html_url.unwrap_or_default(),
    }
}

pub(super) fn posted(wire: wire::ReviewComment) -> PostedComment {
    PostedComment {
        id: CommentId(wire.id),
        path: wire.path.unwrap_or_default(),
        body: wire.body.unwrap_or_default(),
        html_url: wire.html_url.unwrap_or_default(),
    }
}

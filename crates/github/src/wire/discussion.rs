//! Reviews and comments of a pull request, as REST answers, and the reviews that are posted.

use super::User;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewComment {
    pub id: u64,
    pub in_reply_to_id: Option<u64>,
    pub pull_request_review_id: Option<u64>,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub body: Option<String>,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub original_line: Option<u32>,
    pub original_start_line: Option<u32>,
    pub start_line: Option<u32>,
    pub side: Option<String>,
    pub subject_type: Option<String>,
    pub commit_id: Option<String>,
    pub original_commit_id: Option<String>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Review {
    pub id: u64,
    pub node_id: Option<String>,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub body: Option<String>,
    pub state: Option<String>,
    pub commit_id: Option<String>,
    pub submitted_at: Option<String>,
    pub html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct IssueComment {
    pub id: u64,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub body: Option<String>,
    pub created_at: Option<String>,
    pub html_url: Option<String>,
}

/// A review to post. `position` is on its way out and never sent.
#[derive(Debug, Serialize)]
pub(crate) struct ReviewToPost<'a> {
    pub commit_id: &'a str,
    pub body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<&'static str>,
    pub comments: Vec<CommentToPost<'a>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CommentToPost<'a> {
    pub path: &'a str,
    pub body: &'a str,
    pub line: u32,
    pub side: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_side: Option<&'static str>,
}

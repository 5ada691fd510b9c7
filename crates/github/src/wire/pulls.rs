//! Pull requests, their files and commits, and who is asked to review, as REST answers.

use super::{User, null_is_empty};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(crate) struct PullRequest {
    pub number: u64,
    pub title: Option<String>,
    pub body: Option<String>,
    pub draft: Option<bool>,
    pub state: Option<String>,
    pub locked: Option<bool>,
    pub merged: Option<bool>,
    pub merged_at: Option<String>,
    pub user: Option<User>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub labels: Vec<Label>,
    pub head: Branch,
    pub base: Branch,
    pub html_url: Option<String>,
    pub changed_files: Option<u64>,
    pub additions: Option<u64>,
    pub deletions: Option<u64>,
    pub review_comments: Option<u64>,
    pub maintainer_can_modify: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Branch {
    pub sha: String,
    #[serde(rename = "ref")]
    pub name: Option<String>,
    pub repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Repo {
    pub id: Option<u64>,
    pub full_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ChangedFile {
    pub filename: String,
    pub previous_filename: Option<String>,
    pub status: Option<String>,
    #[serde(default)]
    pub additions: u64,
    #[serde(default)]
    pub deletions: u64,
    pub patch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Commit {
    pub sha: String,
    #[serde(rename = "commit")]
    pub detail: Option<CommitDetail>,
    pub author: Option<User>,
    #[serde(default, deserialize_with = "null_is_empty")]
    pub parents: Vec<Parent>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Parent {
    pub sha: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CommitDetail {
    pub message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Comparison {
    pub merge_base_commit: Commit,
}

#[derive(Debug, Deserialize)]
pub(crate) struct UserPermission {
    pub permission: Option<String>,
    pub role_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RequestedReviewers {
    pub users: Vec<User>,
    pub teams: Vec<Team>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Team {
    pub slug: String,
}

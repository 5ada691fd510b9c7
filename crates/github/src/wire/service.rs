//! GitHub's JSON, as the service reads it: one pull request with everything that decides about it, lists of open ones,
//! installations of an app and their tokens, deliveries of webhooks.

use super::{Actor, Connection, Nodes, Oid, PageInfo, User, number_of};
use reviewer_core::domain::CommitSha;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeData {
    pub repository: Option<ProbeRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub(crate) struct ProbeRepository {
    pub database_id: Option<u64>,
    pub name_with_owner: String,
    #[serde(default)]
    pub auto_merge_allowed: bool,
    #[serde(default)]
    pub merge_commit_allowed: bool,
    #[serde(default)]
    pub squash_merge_allowed: bool,
    #[serde(default)]
    pub rebase_merge_allowed: bool,
    pub pull_request: Option<ProbePull>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub(crate) struct ProbePull {
    pub id: String,
    pub number: u64,
    pub state: Option<String>,
    pub updated_at: Option<String>,
    #[serde(default)]
    pub is_draft: bool,
    #[serde(default)]
    pub locked: bool,
    #[serde(default = "yes")]
    pub is_cross_repository: bool,
    pub head_ref_oid: String,
    pub head_ref_name: String,
    pub base_ref_name: String,
    pub author: Option<Actor>,
    pub mergeable: Option<String>,
    pub merge_state_status: Option<String>,
    pub auto_merge_request: Option<AutoMerge>,
    #[serde(default)]
    pub is_in_merge_queue: bool,
    #[serde(default)]
    pub is_merge_queue_enabled: bool,
    pub merged_by: Option<Actor>,
    pub merge_commit: Option<Oid>,
    pub base_ref: Option<ProbeBase>,
    pub labels: Option<Nodes<ProbeLabel>>,
    pub review_requests: Option<Nodes<ProbeRequest>>,
    pub commits: Option<Nodes<ProbeCommit>>,
    pub comments: Option<Nodes<ProbeComment>>,
    pub reviews: Option<Connection<ProbeReview>>,
}

/// A head whose origin is not told counts as a fork's.
fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AutoMerge {
    pub enabled_by: Option<Actor>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeBase {
    pub target: Option<ProbeTarget>,
}

impl ProbeBase {
    /// The commit at the end of the branch.
    pub fn head(&self) -> Option<CommitSha> {
        self.target.as_ref()?.oid.as_ref()?.parse().ok()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeTarget {
    pub oid: Option<String>,
    pub file: Option<ProbeEntry>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeEntry {
    pub object: Option<super::Blob>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeLabel {
    pub name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProbeRequest {
    pub requested_reviewer: Option<ProbeRequested>,
}

/// A team has no login here.
#[derive(Debug, Deserialize)]
pub(crate) struct ProbeRequested {
    pub login: Option<String>,
    #[serde(rename = "__typename")]
    pub typename: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeCommit {
    pub commit: ProbeHead,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbeHead {
    pub oid: String,
    pub author: Option<ProbePerson>,
    pub committer: Option<ProbePerson>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ProbePerson {
    pub user: Option<Actor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProbeComment {
    full_database_id: Option<Value>,
    pub author: Option<Actor>,
    pub author_association: Option<String>,
    pub created_at: Option<String>,
    pub last_edited_at: Option<String>,
    pub body: Option<String>,
}

impl ProbeComment {
    pub(crate) fn id(&self) -> Option<u64> {
        number_of(self.full_database_id.as_ref())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProbeReview {
    full_database_id: Option<Value>,
    pub author: Option<Actor>,
    pub author_association: Option<String>,
    #[serde(default)]
    pub author_can_push_to_repository: bool,
    #[serde(default)]
    pub viewer_did_author: bool,
    pub editor: Option<Actor>,
    pub last_edited_at: Option<String>,
    pub commit: Option<Oid>,
    pub state: Option<String>,
    pub submitted_at: Option<String>,
    pub body: Option<String>,
}

impl ProbeReview {
    pub(crate) fn id(&self) -> Option<u64> {
        number_of(self.full_database_id.as_ref())
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewsData {
    pub repository: Option<ReviewsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewsRepository {
    pub pull_request: Option<ReviewsPull>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReviewsPull {
    pub reviews: Option<Connection<ProbeReview>>,
}

/// The answer of a mutation about the merge of a pull request; its errors tell everything.
#[derive(Debug, Deserialize)]
pub(crate) struct Acknowledged {}

#[derive(Debug, Deserialize)]
pub(crate) struct MergeData {
    pub repository: Option<MergeRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergeRepository {
    pub pull_request: Option<MergePull>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MergePull {
    pub state: Option<String>,
    pub head_ref_oid: Option<String>,
    pub auto_merge_request: Option<AutoMerge>,
    #[serde(default)]
    pub is_in_merge_queue: bool,
    pub merge_commit: Option<Oid>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Merged {
    pub sha: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NamedData {
    pub repository: Option<NamedRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamedRepository {
    pub database_id: Option<u64>,
    pub name_with_owner: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OpenPullsData {
    pub repository: Option<OpenPullsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenPullsRepository {
    pub database_id: Option<u64>,
    pub pull_requests: OpenPulls,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenPulls {
    pub page_info: PageInfo,
    pub nodes: Option<Vec<Option<OpenPull>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenPull {
    pub number: u64,
    pub head_ref_oid: String,
    pub base_ref_name: String,
    pub base_ref: Option<ProbeBase>,
    pub updated_at: String,
}

/// The modes of the files of two commits, each file under a name of the query's own.
#[derive(Debug, Deserialize)]
pub(crate) struct ModesData {
    pub repository: Option<ModesRepository>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ModesRepository {
    pub from: Option<Value>,
    pub to: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ComparedFiles {
    pub files: Option<Vec<ComparedFile>>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct ComparedFile {
    pub filename: String,
    pub previous_filename: Option<String>,
    pub status: Option<String>,
    pub sha: Option<String>,
    pub additions: Option<u64>,
    pub deletions: Option<u64>,
    pub patch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Installation {
    pub id: u64,
    pub account: Option<User>,
    pub suspended_at: Option<String>,
    #[serde(default, deserialize_with = "super::null_is_empty")]
    pub permissions: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AppIdentity {
    pub slug: Option<String>,
    #[serde(default, deserialize_with = "super::null_is_empty")]
    pub events: Vec<String>,
    #[serde(default, deserialize_with = "super::null_is_empty")]
    pub permissions: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub(crate) struct InstallationToken {
    pub token: String,
    pub expires_at: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct InstallationRepositories {
    #[serde(default, deserialize_with = "super::null_is_empty")]
    pub repositories: Vec<super::Repo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookDelivery {
    pub id: u64,
    pub guid: String,
    pub delivered_at: String,
    #[serde(default)]
    pub status: String,
    pub status_code: Option<i64>,
    pub event: String,
    pub action: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookConfig {
    pub url: Option<String>,
    pub content_type: Option<String>,
    /// Asterisks, if there is one.
    pub secret: Option<String>,
    pub insecure_ssl: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RepositoryHook {
    pub id: u64,
    pub active: bool,
    #[serde(default, deserialize_with = "super::null_is_empty")]
    pub events: Vec<String>,
    pub config: HookConfig,
    pub last_response: Option<HookResponse>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookResponse {
    /// Null before the first delivery.
    pub code: Option<i64>,
    pub status: Option<String>,
    pub message: Option<String>,
}

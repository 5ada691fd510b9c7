//! GitHub's JSON, as it comes and as it is sent. What GitHub may leave out or null is optional here, also where
//! its own description says otherwise (`line` of an outdated comment); what must be there is judged where the
//! domain's types are made.

use http::StatusCode;
use reviewer_core::domain::Login;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

mod closed;
mod publishing;
mod service;
pub(crate) use closed::*;
pub(crate) use publishing::*;
pub(crate) use service::*;

#[derive(Debug, Deserialize)]
pub(crate) struct User {
    pub login: String,
    pub id: Option<u64>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Team {
    pub slug: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RequestedReviewers {
    pub users: Vec<User>,
    pub teams: Vec<Team>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Repo {
    pub id: Option<u64>,
    pub full_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Branch {
    pub sha: String,
    #[serde(rename = "ref")]
    pub name: Option<String>,
    pub repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct PullRequest {
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
pub struct ChangedFile {
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
pub struct ReviewComment {
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
pub struct Review {
    pub id: u64,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub body: Option<String>,
    pub state: Option<String>,
    pub commit_id: Option<String>,
    pub submitted_at: Option<String>,
    pub html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct IssueComment {
    pub id: u64,
    pub user: Option<User>,
    pub author_association: Option<String>,
    pub body: Option<String>,
    pub created_at: Option<String>,
    pub html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Created {
    pub id: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CheckRuns {
    pub check_runs: Vec<CheckRun>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CheckRun {
    pub id: u64,
    pub status: Option<String>,
    pub conclusion: Option<String>,
    pub external_id: Option<String>,
    pub started_at: Option<String>,
    #[serde(default)]
    pub completed_at: Option<String>,
    pub output: Option<CheckRunOutput>,
    pub app: Option<App>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NamedChecks {
    #[serde(default)]
    pub check_runs: Vec<NamedCheck>,
}

/// A check run of any app.
#[derive(Debug, Deserialize)]
pub(crate) struct NamedCheck {
    pub id: u64,
    #[serde(default)]
    pub name: String,
    pub conclusion: Option<String>,
    pub details_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CheckRunOutput {
    pub text: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct App {
    pub slug: Option<String>,
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

/// The body of a refused call. `errors` may hold texts or objects.
#[derive(Debug)]
pub(super) struct ErrorBody {
    pub message: String,
    pub errors: Vec<String>,
    pub abuse: bool,
}

impl ErrorBody {
    pub(super) fn parse(body: &str, status: StatusCode) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let said = json.get("message").and_then(Value::as_str);
        let message = said.map_or_else(
            || {
                status
                    .canonical_reason()
                    .unwrap_or("no reason given")
                    .to_owned()
            },
            one_line,
        );
        let errors = json
            .get("errors")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        Self {
            message,
            errors: errors.iter().map(refusal_words).collect(),
            abuse: errors
                .iter()
                .any(|error| error.get("code").and_then(Value::as_str) == Some("abuse")),
        }
    }
}

fn refusal_words(error: &Value) -> String {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let words = match (error.as_str(), text("message")) {
        (Some(words), _) | (None, Some(words)) => words.to_owned(),
        _ => {
            let place: Vec<&str> = [text("resource"), text("field")]
                .into_iter()
                .flatten()
                .collect();
            format!("{}: {}", place.join("."), text("code").unwrap_or("invalid"))
        }
    };
    one_line(&words)
}

/// GitHub's words inside one of the reviewer's sentences.
fn one_line(text: &str) -> String {
    text.chars()
        .take(300)
        .flat_map(|c| {
            if c.is_control() {
                c.escape_debug().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[derive(Debug, Deserialize)]
pub(super) struct GraphQlAnswer {
    #[serde(default)]
    pub data: Value,
    #[serde(default, deserialize_with = "null_is_empty")]
    errors: Vec<GraphQlError>,
}

#[derive(Debug, Deserialize)]
struct GraphQlError {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    #[serde(default)]
    code: Value,
    #[serde(default)]
    extensions: Value,
}

/// The type of a rate limit, as GitHub documents it.
pub(super) const RATE_LIMITED: &str = "RATE_LIMITED";

impl GraphQlError {
    /// The type; for a rate limit always the documented one, because GitHub has other names for it.
    fn kind(&self) -> &str {
        let kind = self.kind.as_deref().unwrap_or_default();
        let codes = [&self.code, &self.extensions["code"]];
        let limited = codes.iter().any(|code| **code == "graphql_rate_limit");
        if limited || kind == "RATE_LIMIT" {
            RATE_LIMITED
        } else {
            kind
        }
    }
}

impl GraphQlAnswer {
    /// Type and message of each.
    pub(super) fn errors(self) -> Vec<(String, String)> {
        let words = |error: GraphQlError| {
            let message = error.message.as_deref().unwrap_or("no reason given");
            (error.kind().to_owned(), one_line(message))
        };
        self.errors.into_iter().map(words).collect()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Viewer {
    pub viewer: User,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileData {
    pub repository: Option<FileRepository>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileRepository {
    pub object: Option<Blob>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob {
    pub text: Option<String>,
    pub is_truncated: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadsData {
    pub viewer: User,
    pub repository: Option<ThreadsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadsRepository {
    pub pull_request: Option<ThreadsPullRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadsPullRequest {
    pub review_threads: Connection<Thread>,
}

/// A connection whose further pages nobody wants.
#[derive(Debug, Deserialize)]
pub(super) struct Connected<T> {
    #[serde(default = "Option::default")]
    nodes: Option<Vec<Option<T>>>,
}

impl<T> Connected<T> {
    pub fn items(self) -> impl Iterator<Item = T> {
        self.nodes.into_iter().flatten().flatten()
    }
}

/// Everything may be missing, because an answer may be partial.
#[derive(Debug, Deserialize)]
pub(super) struct SurroundingsData {
    repository: Option<SurroundingsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SurroundingsRepository {
    #[serde(default)]
    is_private: bool,
    pull_request: Option<ClosingPullRequest>,
    head: Option<CheckedCommit>,
    base: Option<CheckedCommit>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClosingPullRequest {
    closing_issues_references: Option<Connected<LinkedIssue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckedCommit {
    status_check_rollup: Option<Rollup>,
}

#[derive(Debug, Deserialize)]
struct Rollup {
    contexts: Connected<AnyCheck>,
}

/// A check run or a status.
#[derive(Debug, Deserialize)]
#[serde(tag = "__typename", rename_all_fields = "camelCase")]
pub(super) enum AnyCheck {
    CheckRun {
        name: String,
        conclusion: Option<String>,
        details_url: Option<String>,
        title: Option<String>,
        annotations: Option<Connected<CheckAnnotation>>,
    },
    StatusContext {
        context: String,
        state: String,
        description: Option<String>,
        target_url: Option<String>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckAnnotation {
    pub annotation_level: Option<String>,
    pub path: String,
    pub message: String,
    pub location: AnnotationSpan,
}

#[derive(Debug, Deserialize)]
pub(super) struct AnnotationSpan {
    pub start: AnnotationPosition,
}

#[derive(Debug, Deserialize)]
pub(super) struct AnnotationPosition {
    pub line: u32,
}

impl SurroundingsData {
    pub fn is_private(&self) -> bool {
        self.repository.as_ref().is_some_and(|one| one.is_private)
    }

    /// The closed issues, where any may be seen, and the checks of the head and of the base.
    pub fn issues_and_checks(self) -> (Option<Vec<LinkedIssue>>, [Vec<AnyCheck>; 2]) {
        let Some(repository) = self.repository else {
            return (None, [Vec::new(), Vec::new()]);
        };
        let pull = repository.pull_request;
        let issues = pull.and_then(|pull| pull.closing_issues_references);
        let checks = [repository.head, repository.base].map(|commit| {
            let rollup = commit.and_then(|commit| commit.status_check_rollup);
            rollup.map_or_else(Vec::new, |rollup| rollup.contexts.items().collect())
        });
        (issues.map(|issues| issues.items().collect()), checks)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct LinkedIssue {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub repository: NamedRepository,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamedRepository {
    pub name_with_owner: String,
    pub is_private: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextsData {
    pub repository: Option<TextsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TextsRepository {
    pull_request: Option<TextsPullRequest>,
    /// The other commits, each under a name of the query's own.
    #[serde(flatten)]
    others: BTreeMap<String, Option<TextsCommit>>,
}

impl TextsRepository {
    /// The texts, those of the other commits first, then of the pull request's, then of the heads that were replaced;
    /// of both the newest before the oldest.
    pub(super) fn texts(self) -> Vec<String> {
        let pull = self.pull_request.map(TextsPullRequest::commits);
        let others = self.others.into_values().flatten();
        let all = others.chain(pull.into_iter().flatten());
        let suites = all.filter_map(|commit| commit.check_suites);
        let suites = suites.flat_map(Nodes::all);
        let runs = suites.filter_map(|suite| suite.check_runs);
        runs.flat_map(Nodes::all)
            .filter_map(|run| run.text)
            .collect()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextsPullRequest {
    commits: Nodes<TextsNode>,
    timeline_items: Option<Nodes<TextsPush>>,
}

impl TextsPullRequest {
    fn commits(self) -> impl Iterator<Item = TextsCommit> {
        let commits = self.commits.all().map(|node| node.commit);
        let pushes = self.timeline_items.into_iter().flat_map(Nodes::all);
        let replaced = pushes.filter_map(|push| push.before_commit);
        commits.rev().chain(replaced.rev())
    }
}

/// A forced push, and the head that it replaced.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextsPush {
    before_commit: Option<TextsCommit>,
}

#[derive(Debug, Deserialize)]
struct TextsNode {
    commit: TextsCommit,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextsCommit {
    check_suites: Option<Nodes<TextsSuite>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextsSuite {
    check_runs: Option<Nodes<CheckRunOutput>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HeadPullsData {
    pub repository: Option<HeadPulls>,
}

#[derive(Debug, Deserialize)]
pub(super) struct HeadPulls {
    object: Option<HeadCommit>,
    /// Those that were asked for by their numbers, each under a name of the query's own.
    #[serde(flatten)]
    known: BTreeMap<String, Option<HeadPull>>,
}

impl HeadPulls {
    pub(super) fn all(self) -> impl Iterator<Item = HeadPull> {
        let pulls = self
            .object
            .and_then(|commit| commit.associated_pull_requests);
        let pulls = pulls.into_iter().flat_map(Nodes::all);
        pulls.chain(self.known.into_values().flatten())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadCommit {
    associated_pull_requests: Option<Nodes<HeadPull>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeadPull {
    pub number: u64,
    pub state: Option<String>,
    pub is_draft: Option<bool>,
    pub is_cross_repository: Option<bool>,
    pub head_ref_oid: Option<String>,
    pub base_ref_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct QueueData {
    pub repository: Option<QueueRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueRepository {
    merge_queue: Option<MergeQueue>,
}

impl QueueRepository {
    pub(super) fn all(self) -> impl Iterator<Item = QueueEntry> {
        let entries = self.merge_queue.and_then(|queue| queue.entries);
        entries.into_iter().flat_map(Nodes::all)
    }
}

#[derive(Debug, Deserialize)]
struct MergeQueue {
    entries: Option<Nodes<QueueEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueEntry {
    pub base_commit: Option<Oid>,
    pub head_commit: Option<Oid>,
    pub pull_request: Option<HeadPull>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Oid {
    pub oid: String,
}

/// A list of which one page is enough.
#[derive(Debug, Deserialize)]
pub(super) struct Nodes<T> {
    #[serde(default = "Option::default")]
    nodes: Option<Vec<Option<T>>>,
}

impl<T> Nodes<T> {
    pub(super) fn all(self) -> impl DoubleEndedIterator<Item = T> {
        self.nodes.unwrap_or_default().into_iter().flatten()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct NodeData {
    pub node: Option<NodeThread>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NodeThread {
    pub comments: Option<Connection<ThreadComment>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection<T> {
    pub page_info: PageInfo,
    /// GitHub's schema allows null in the list and for it.
    #[serde(default = "Option::default")]
    pub nodes: Option<Vec<Option<T>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub has_next_page: bool,
    pub end_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "as GitHub tells them")]
pub(super) struct Thread {
    pub id: String,
    pub is_resolved: bool,
    pub is_outdated: bool,
    #[serde(default)]
    pub viewer_can_resolve: bool,
    #[serde(default)]
    pub viewer_can_unresolve: bool,
    pub resolved_by: Option<Actor>,
    pub comments: Connection<ThreadComment>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadComment {
    /// A BigInt, which GitHub sends as text.
    pub full_database_id: Option<Value>,
    /// Not asked for everywhere.
    pub author: Option<Actor>,
    pub last_edited_at: Option<String>,
    pub editor: Option<Actor>,
}

impl ThreadComment {
    pub(super) fn id(&self) -> Option<u64> {
        number_of(self.full_database_id.as_ref())
    }
}

/// A BigInt, which GitHub sends as text.
fn number_of(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Actor {
    pub login: String,
    #[serde(rename = "__typename")]
    pub typename: Option<String>,
}

impl Actor {
    /// The account as REST names it.
    pub(super) fn account(&self) -> Login {
        Login::from_graphql(&self.login, self.typename.as_deref().unwrap_or_default())
    }
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

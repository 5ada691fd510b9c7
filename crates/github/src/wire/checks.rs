//! Check runs, as REST answers, and the texts of those that hold records, as GraphQL answers.

use super::Nodes;
use serde::Deserialize;
use std::collections::BTreeMap;

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
pub(crate) struct CheckRunOutput {
    pub text: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct App {
    pub slug: Option<String>,
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
pub(crate) struct TextsData {
    pub repository: Option<TextsRepository>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextsRepository {
    pull_request: Option<TextsPullRequest>,
    /// The other commits, each under a name of the query's own.
    #[serde(flatten)]
    others: BTreeMap<String, Option<TextsCommit>>,
}

impl TextsRepository {
    /// The texts, those of the other commits first, then of the pull request's, then of the heads that were replaced;
    /// of both the newest before the oldest.
    pub(crate) fn texts(self) -> Vec<String> {
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

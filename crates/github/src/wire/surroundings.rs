//! The issues that a pull request closes, and the checks of others on its head and base, as GraphQL answers.

use super::Nodes;
use serde::Deserialize;

/// Everything may be missing, because an answer may be partial.
#[derive(Debug, Deserialize)]
pub(crate) struct SurroundingsData {
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
    closing_issues_references: Option<Nodes<LinkedIssue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckedCommit {
    status_check_rollup: Option<Rollup>,
}

#[derive(Debug, Deserialize)]
struct Rollup {
    contexts: Nodes<AnyCheck>,
}

/// A check run or a status.
#[derive(Debug, Deserialize)]
#[serde(tag = "__typename", rename_all_fields = "camelCase")]
pub(crate) enum AnyCheck {
    CheckRun {
        name: String,
        conclusion: Option<String>,
        details_url: Option<String>,
        title: Option<String>,
        annotations: Option<Nodes<CheckAnnotation>>,
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
pub(crate) struct CheckAnnotation {
    pub annotation_level: Option<String>,
    pub path: String,
    pub message: String,
    pub location: AnnotationSpan,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AnnotationSpan {
    pub start: AnnotationPosition,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AnnotationPosition {
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
            rollup.map_or_else(Vec::new, |rollup| rollup.contexts.all().collect())
        });
        (issues.map(|issues| issues.all().collect()), checks)
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct LinkedIssue {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub repository: NamedRepository,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamedRepository {
    pub name_with_owner: String,
    pub is_private: bool,
}

//! The comments analyzer in the report: the open conversations of people, each as a finding with its priority.

use super::consensus::{IssuesReport, RequesterReport};
use super::reviewers::{RaisedReport, SourceReport};
use crate::panel::analysis::{Analysis, PendingIssue};
use crate::panel::consensus::Totals;
use crate::panel::review_state::ReviewState;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use reviewer_text::sanitize::{clean, without_dumps};
use reviewer_text::sentence::{cell, code};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// The number of conversations that a page lists.
const LISTED: usize = 10;
/// The longest title of one, in characters.
const TITLE: usize = 120;

/// The result of the comments analyzer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnalyzerReport {
    pub agent: &'static str,
    pub pr_number: u64,
    pub review_state: ReviewStateReport,
    pub stats: ThreadsReport,
    /// True if some of the open conversations have no priority of a model; they count as P1.
    pub threads_truncated: bool,
    pub issues: IssuesReport,
    pub pending_issues: Vec<RaisedReport>,
    pub full_report: String,
}

/// The judgement of people on the pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewStateReport {
    pub has_changes_requested: bool,
    pub changes_requested_by: Vec<RequesterReport>,
}

/// The conversations that people began on lines of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadsReport {
    pub total_threads: usize,
    pub resolved_threads: usize,
    /// With those that count for nothing, because nobody in them has write access or opened the pull request.
    pub unresolved_threads: usize,
}

impl From<&ReviewState> for ReviewStateReport {
    fn from(people: &ReviewState) -> Self {
        let requesters = people.changes_requested_by().iter();
        Self {
            has_changes_requested: people.has_changes_requested(),
            changes_requested_by: requesters.map(RequesterReport::from).collect(),
        }
    }
}

impl AnalyzerReport {
    #[must_use]
    pub fn new(pr_number: u64, analysis: &Analysis, people: &ReviewState) -> Self {
        let totals: Totals = analysis.priorities().collect();
        let unresolved = analysis.issues.len() + analysis.uncounted;
        let mut report = Self {
            agent: "comments-analyzer",
            pr_number,
            review_state: people.into(),
            stats: ThreadsReport {
                total_threads: analysis.resolved + unresolved,
                resolved_threads: analysis.resolved,
                unresolved_threads: unresolved,
            },
            threads_truncated: analysis.unweighed() > 0,
            issues: totals.into(),
            pending_issues: analysis.issues.iter().map(pending).collect(),
            full_report: String::new(),
        };
        list(&mut report.full_report, analysis);
        report
    }

    /// The conversations that count, for a page.
    pub(super) fn markdown(&self, out: &mut String) {
        if !self.full_report.is_empty() {
            let _ = writeln!(out, "{}", self.full_report);
        }
    }
}

fn pending(issue: &PendingIssue) -> RaisedReport {
    let text = |text: &str| clean(&without_dumps(text));
    let conversation = &issue.conversation;
    let first = conversation.words.first();
    let weighed = issue.weighed.as_ref();
    RaisedReport {
        id: format!("conversation-{}", conversation.root.0),
        priority: issue.priority.name(),
        category: None,
        file: conversation.file.clone(),
        line: conversation.line,
        title: title(issue),
        description: text(weighed.map_or("", |one| &one.description)),
        suggestion: text(weighed.map_or("", |one| &one.suggestion)),
        source: SourceReport {
            kind: "human",
            name: first.map_or_else(String::new, |words| words.author.to_string()),
            review_id: Some(conversation.root.0),
            timestamp: first.map_or_else(String::new, |words| words.created_at.clone()),
        },
    }
}

/// The request in one line: in the model's words, else the first line of the person's.
fn title(issue: &PendingIssue) -> String {
    let first = issue.conversation.words.first();
    let own = first.and_then(|words| words.body.lines().next());
    let weighed = issue.weighed.as_ref().map(|one| one.title.as_str());
    clean(&Prose::line(weighed.or(own).unwrap_or_default()))
}

fn list(out: &mut String, analysis: &Analysis) {
    if analysis.issues.is_empty() {
        return;
    }
    let number = analysis.issues.len();
    let _ = writeln!(out, "{} of people:\n", plural(number, "open conversation"));
    let mut issues: Vec<&PendingIssue> = analysis.issues.iter().collect();
    issues.sort_by_key(|issue| (issue.priority, issue.conversation.root));
    for issue in issues.iter().take(LISTED) {
        let conversation = &issue.conversation;
        let place = match conversation.line {
            Some(line) => format!("{}:{line}", visible(&conversation.file)),
            None => visible(&conversation.file).into_owned(),
        };
        let place = match conversation.url.as_str() {
            "" => code(&place),
            url => format!("[{}]({url})", code(&place)),
        };
        let weighed = if issue.is_known {
            ""
        } else {
            " (no model has weighed it)"
        };
        let (priority, title) = (issue.priority.name(), cell(&title(issue), TITLE));
        let _ = writeln!(out, "- {priority}{weighed} {place}: {title}");
    }
    if number > LISTED {
        let _ = writeln!(
            out,
            "- and {}",
            plural(number - LISTED, "more conversation")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Person;
    use crate::domain::{CommentId, Login};
    use crate::panel::analysis::Weighed;
    use crate::panel::consensus::Priority;
    use crate::panel::open_conversations::{OpenConversation, Words};

    fn issue(root: u64, priority: Priority, title: Option<&str>) -> PendingIssue {
        PendingIssue {
            conversation: OpenConversation {
                root: CommentId(root),
                file: "src/page.ts".into(),
                line: Some(8),
                outdated: false,
                url: format!("https://github.test/r{root}"),
                words: vec![Words {
                    author: Login::new("ann"),
                    person: Person::default(),
                    body: "This loses a page.\nReally | it <b>does</b>.".into(),
                    created_at: "2026-01-24T00:00:00Z".into(),
                }],
            },
            priority,
            is_known: title.is_some(),
            weighed: title.map(|title| Weighed {
                root: CommentId(root),
                priority,
                title: title.into(),
                description: "The division rounds down.".into(),
                suggestion: String::new(),
            }),
        }
    }

    #[test]
    fn people_read_each_conversation_with_its_priority_the_heaviest_first() {
        let analysis = Analysis {
            resolved: 2,
            uncounted: 1,
            issues: vec![
                issue(1, Priority::P3, Some("Rename the constant")),
                issue(2, Priority::P1, None),
            ],
        };
        let report = AnalyzerReport::new(7, &analysis, &ReviewState::default());
        let mut page = String::new();
        report.markdown(&mut page);
        assert_eq!(
            page,
            "2 open conversations of people:\n\n\
             - P1 (no model has weighed it) [`src/page.ts:8`](https://github.test/r2): This loses a page.\n\
             - P3 [`src/page.ts:8`](https://github.test/r1): Rename the constant\n\n"
        );
        let report = serde_json::to_value(&report).unwrap();
        assert_eq!(report["agent"], "comments-analyzer");
        assert_eq!(report["prNumber"], 7);
        assert_eq!(report["reviewState"]["hasChangesRequested"], false);
        assert_eq!(report["stats"]["totalThreads"], 5);
        assert_eq!(report["stats"]["unresolvedThreads"], 3);
        assert_eq!(report["threadsTruncated"], true);
        assert_eq!(report["issues"]["p1_critical"], 1);
        let pending = &report["pendingIssues"][0];
        assert_eq!(pending["title"], "Rename the constant");
        assert_eq!(pending["source"]["type"], "human");
        assert_eq!(pending["source"]["name"], "ann");
        assert_eq!(pending["source"]["reviewId"], 1);
    }

    #[test]
    fn nobody_reads_of_conversations_that_are_not_there() {
        let report = AnalyzerReport::new(7, &Analysis::default(), &ReviewState::default());
        let mut page = String::new();
        report.markdown(&mut page);
        assert_eq!(page, "");
    }
}

//! Outcomes: what became of each issue, and the two documents around a fix, in the shapes that other tools read (A4, the
//! payload, and A5, the result). `fixed + rejected = issues` holds by construction: the result is made from the issues.

use super::issue::{Issue, IssueId, Source};
use crate::domain::Category;
use serde::Serialize;
use std::collections::BTreeMap;

/// The reason for an issue that nobody said anything about.
pub const UNMENTIONED: &str = "the fixer said nothing about it";
/// The name of the fixer in its result.
pub const AGENT: &str = "pr-fix";

/// The outcome of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Fixed {
        description: String,
    },
    Rejected {
        reason: String,
    },
    /// Optional, and not done.
    Deferred {
        reason: String,
    },
    /// Not done, and not by a judgement of the fixer: a later fix tries it again.
    Undone {
        reason: String,
    },
}

impl Outcome {
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed { .. })
    }
}

/// An issue with its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub issue: Issue,
    pub outcome: Outcome,
}

/// Gives every issue its outcome, in the order of the issues. `said`: what the fixer said, after checks.
#[must_use]
pub fn settle(issues: &[Issue], said: &BTreeMap<IssueId, Outcome>) -> Vec<Settled> {
    let settled = issues.iter().map(|issue| {
        let outcome = match said.get(&issue.id) {
            Some(Outcome::Rejected { reason } | Outcome::Deferred { reason }) => {
                not_done(issue, reason)
            }
            Some(outcome @ (Outcome::Fixed { .. } | Outcome::Undone { .. })) => outcome.clone(),
            None if issue.optional => not_done(issue, UNMENTIONED),
            None => Outcome::Undone {
                reason: UNMENTIONED.to_owned(),
            },
        };
        Settled {
            issue: issue.clone(),
            outcome,
        }
    });
    settled.collect()
}

/// Takes back every fix, because the edits were not delivered. Nobody judged the issues, so they may be tried again.
pub fn undo_all(settled: &mut [Settled], why: &str) {
    for one in settled.iter_mut().filter(|one| one.outcome.is_fixed()) {
        one.outcome = Outcome::Undone {
            reason: why.to_owned(),
        };
    }
}

/// Gives the issues about which nothing was said the reason why the session ended before.
pub fn tell_end(settled: &mut [Settled], why: &str) {
    for one in settled {
        if let Outcome::Undone { reason } | Outcome::Deferred { reason } = &mut one.outcome
            && reason == UNMENTIONED
        {
            why.clone_into(reason);
        }
    }
}

fn not_done(issue: &Issue, reason: &str) -> Outcome {
    let reason = reason.to_owned();
    if issue.optional {
        Outcome::Deferred { reason }
    } else {
        Outcome::Rejected { reason }
    }
}

/// The task of the fixer (A4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FixPayload {
    pub pr_number: u64,
    /// The cycle, counted from 1.
    pub round: u32,
    pub issues_to_fix: Vec<IssueDocument>,
    pub optional_issues: Vec<IssueDocument>,
}

impl FixPayload {
    #[must_use]
    pub fn new(pr_number: u64, round: u32, issues: &[Issue]) -> Self {
        let documents = |optional: bool| {
            let issues = issues.iter().filter(|issue| issue.optional == optional);
            issues.map(IssueDocument::from).collect()
        };
        Self {
            pr_number,
            round,
            issues_to_fix: documents(false),
            optional_issues: documents(true),
        }
    }
}

/// An issue as documents show it (A1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IssueDocument {
    pub id: String,
    pub priority: &'static str,
    pub category: Option<&'static str>,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub title: String,
    pub description: String,
    pub source: SourceDocument,
}

/// The source of an issue as documents show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceDocument {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub name: String,
    /// The thread, the comment or the review on GitHub.
    #[serde(rename = "reviewId")]
    pub review_id: Option<u64>,
    /// Null for a finding, whose thread tells it.
    pub timestamp: Option<String>,
}

impl From<&Issue> for IssueDocument {
    fn from(issue: &Issue) -> Self {
        let of_id = match &issue.id {
            IssueId::Finding(_) => None,
            IssueId::Comment(id) => Some(id.0),
            IssueId::Review(id) => Some(*id),
        };
        let (category, source) = match &issue.source {
            Source::Finding {
                thread,
                category,
                reviewers,
            } => {
                let name = match reviewers.as_slice() {
                    [] => "reviewer".to_owned(),
                    names => names.join(", "),
                };
                let source = SourceDocument {
                    kind: "agent",
                    name,
                    review_id: Some(thread.0),
                    timestamp: None,
                };
                (category.map(Category::as_str), source)
            }
            Source::Person { author, created_at } => {
                let source = SourceDocument {
                    kind: "human",
                    name: author.to_string(),
                    review_id: of_id,
                    timestamp: Some(created_at.clone()),
                };
                (None, source)
            }
        };
        Self {
            id: issue.id.to_string(),
            priority: issue.priority.name(),
            category,
            file: issue.file.clone(),
            line: issue.line,
            title: issue.title.clone(),
            description: issue.text.clone(),
            source,
        }
    }
}

/// The work of the fixer (A5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FixResult {
    pub agent: &'static str,
    pub pr_number: u64,
    pub summary: Summary,
    pub fixed_issues: Vec<FixedIssue>,
    pub rejected_issues: Vec<RejectedIssue>,
    pub deferred_issues: Vec<RejectedIssue>,
    pub commits: Vec<CommitDocument>,
}

/// The number of issues by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    pub fixed: usize,
    pub rejected: usize,
    pub deferred: usize,
}

/// An issue that was fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FixedIssue {
    pub finding_id: String,
    /// Null where the fix is only a patch.
    pub commit_sha: Option<String>,
    pub description: String,
    /// True if it was none of the issues to fix.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// An issue that was not fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedIssue {
    pub finding_id: String,
    pub reason: String,
}

/// A commit of the fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitDocument {
    pub sha: String,
    pub message: String,
}

impl FixResult {
    #[must_use]
    pub fn new(pr_number: u64, settled: &[Settled], commit: Option<CommitDocument>) -> Self {
        let mut result = Self {
            agent: AGENT,
            pr_number,
            summary: Summary::default(),
            fixed_issues: Vec::new(),
            rejected_issues: Vec::new(),
            deferred_issues: Vec::new(),
            commits: Vec::new(),
        };
        for Settled { issue, outcome } in settled {
            let finding_id = issue.id.to_string();
            match outcome {
                Outcome::Fixed { description } => result.fixed_issues.push(FixedIssue {
                    finding_id,
                    commit_sha: commit.as_ref().map(|commit| commit.sha.clone()),
                    description: description.clone(),
                    optional: issue.optional,
                }),
                Outcome::Rejected { reason } => result.rejected_issues.push(RejectedIssue {
                    finding_id,
                    reason: reason.clone(),
                }),
                Outcome::Undone { reason } if !issue.optional => {
                    result.rejected_issues.push(RejectedIssue {
                        finding_id,
                        reason: reason.clone(),
                    });
                }
                Outcome::Deferred { reason } | Outcome::Undone { reason } => {
                    result.deferred_issues.push(RejectedIssue {
                        finding_id,
                        reason: reason.clone(),
                    });
                }
            }
        }
        result.summary = Summary {
            fixed: result.fixed_issues.len(),
            rejected: result.rejected_issues.len(),
            deferred: result.deferred_issues.len(),
        };
        result.commits.extend(commit);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::issue::fixture::issue;
    use super::*;
    use crate::domain::Login;
    use crate::panel::consensus::Priority;
    use proptest::prelude::*;
    use serde_json::json;

    fn optional(id: &str) -> Issue {
        Issue {
            priority: Priority::P3,
            optional: true,
            ..issue(id, "a.rs")
        }
    }

    fn fixed() -> Outcome {
        Outcome::Fixed {
            description: "Rounds up.".into(),
        }
    }

    fn rejected() -> Outcome {
        Outcome::Rejected {
            reason: "The list is never empty.".into(),
        }
    }

    #[test]
    fn the_result_has_the_shape_that_others_read() {
        let issues = [
            issue("a", "a.rs"),
            issue("b", "a.rs"),
            optional("c"),
            optional("d"),
        ];
        let said = [("a", fixed()), ("c", fixed()), ("d", rejected())];
        let said = said
            .map(|(id, outcome)| (id.parse().unwrap(), outcome))
            .into();
        let commit = CommitDocument {
            sha: "abcdef0".into(),
            message: "Fix 2 review findings".into(),
        };
        let result = FixResult::new(123, &settle(&issues, &said), Some(commit));
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({
                "agent": "pr-fix",
                "prNumber": 123,
                "summary": {"fixed": 2, "rejected": 1, "deferred": 1},
                "fixedIssues": [
                    {"findingId": "a", "commitSha": "abcdef0", "description": "Rounds up."},
                    {"findingId": "c", "commitSha": "abcdef0", "description": "Rounds up.", "optional": true},
                ],
                "rejectedIssues": [{"findingId": "b", "reason": "the fixer said nothing about it"}],
                "deferredIssues": [{"findingId": "d", "reason": "The list is never empty."}],
                "commits": [{"sha": "abcdef0", "message": "Fix 2 review findings"}],
            })
        );
    }

    #[test]
    fn the_payload_has_the_shape_that_others_read() {
        let of_person = Issue {
            id: "comment-9".parse().unwrap(),
            source: Source::Person {
                author: Login::new("ann"),
                created_at: "2026-01-24T00:00:00Z".into(),
            },
            file: None,
            line: None,
            ..issue("x", "a.rs")
        };
        let payload = FixPayload::new(123, 1, &[issue("a", "a.rs"), optional("c"), of_person]);
        let payload = serde_json::to_value(payload).unwrap();
        let ids = |list: &str| -> Vec<String> {
            let issues = payload[list].as_array().unwrap().iter();
            issues
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(payload["prNumber"], 123);
        assert_eq!(payload["round"], 1);
        assert_eq!(ids("issuesToFix"), ["a", "comment-9"]);
        assert_eq!(ids("optionalIssues"), ["c"]);
        assert_eq!(
            payload["issuesToFix"][1],
            json!({
                "id": "comment-9", "priority": "P1", "category": null, "file": null, "line": null,
                "title": "The last page is lost.", "description": "It happens on every call.",
                "source": {"type": "human", "name": "ann", "reviewId": 9, "timestamp": "2026-01-24T00:00:00Z"},
            })
        );
        assert_eq!(payload["issuesToFix"][0]["source"]["type"], "agent");
    }

    proptest! {
        #[test]
        fn fixed_and_rejected_are_all_issues_whatever_was_said(
            needed in 0_usize..6,
            extra in 0_usize..4,
            said in prop::collection::vec((0_usize..14, any::<bool>()), 0..14),
        ) {
            let names: Vec<String> = (0..needed + extra).map(|n| format!("i{n}")).collect();
            let issues: Vec<Issue> = names
                .iter()
                .enumerate()
                .map(|(n, name)| if n < needed { issue(name, "a.rs") } else { optional(name) })
                .collect();
            let outcome = |is_fixed| if is_fixed { fixed() } else { rejected() };
            let said = said.iter().map(|(n, is_fixed)| (format!("i{n}").parse().unwrap(), outcome(*is_fixed)));
            let result = FixResult::new(1, &settle(&issues, &said.collect()), None);
            let fixed = result.fixed_issues.iter().filter(|one| !one.optional).count();
            prop_assert_eq!(fixed + result.rejected_issues.len(), needed);
            prop_assert_eq!(result.fixed_issues.len() - fixed + result.deferred_issues.len(), extra);
        }
    }
}

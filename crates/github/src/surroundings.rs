//! The issues that a pull request closes, and the checks of its head and base with what they say: check runs of apps, and statuses.
//! One request, because no review depends on it: what the token may not see is left out of the answer.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::context::intent::{IssueName, LinkedIssue, MOST_ISSUES};
use reviewer_core::domain::{Annotation, CommitSha, NamedCheck, PrKey};
use serde_json::json;

/// The closed issues are those that the description names with GitHub's words, and those that somebody linked by hand.
pub(super) const SURROUNDINGS: &str =
    "query($owner: String!, $name: String!, $number: Int!, $most: Int!, $head: GitObjectID!, $base: GitObjectID!) {
  repository(owner: $owner, name: $name) {
    isPrivate
    pullRequest(number: $number) {
      closingIssuesReferences(first: $most) {
        nodes { number title body repository { nameWithOwner isPrivate } }
      }
    }
    head: object(oid: $head) { ...checks }
    base: object(oid: $base) { ...checks }
  }
}
fragment checks on GitObject {
  ... on Commit {
    statusCheckRollup {
      contexts(first: 100) {
        nodes {
          __typename
          ... on CheckRun {
            name
            conclusion
            detailsUrl
            title
            annotations(first: 20) { nodes { annotationLevel path message location { start { line } } } }
          }
          ... on StatusContext { context state description targetUrl }
        }
      }
    }
  }
}";

/// The answer to what surrounds a pull request.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The issues that the token may see, up to one more than are shown; `None` where it may see none at all.
    pub issues: Option<Vec<LinkedIssue>>,
    /// True if not everybody may read the pull request.
    pub private: bool,
    /// The checks of the head, as far as the token may see them.
    pub head: Vec<NamedCheck>,
    /// The same of the base.
    pub base: Vec<NamedCheck>,
}

impl GitHub {
    pub async fn surroundings(
        &self,
        key: &PrKey,
        (head, base): (&CommitSha, &CommitSha),
    ) -> Result<Surroundings, ApiError> {
        let variables = json!({
            "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "most": MOST_ISSUES + 1,
            "head": head.as_str(), "base": base.as_str(),
        });
        let name = "read the linked issues and the checks";
        let call = Call::query(name, SURROUNDINGS, &variables).or_partial();
        let data: wire::SurroundingsData = self.graphql(call).await?;
        let private = data.is_private();
        let (issues, [head, base]) = data.issues_and_checks();
        let named = |checks: Vec<wire::AnyCheck>| checks.into_iter().filter_map(named).collect();
        Ok(Surroundings {
            issues: issues.map(|issues| issues.into_iter().filter_map(linked).collect()),
            private,
            head: named(head),
            base: named(base),
        })
    }
}

fn linked(wire: wire::LinkedIssue) -> Option<LinkedIssue> {
    Some(LinkedIssue {
        name: IssueName {
            repo: wire.repository.name_with_owner.parse().ok()?,
            number: wire.number,
        },
        private: wire.repository.is_private,
        title: wire.title,
        body: wire.body,
    })
}

fn named(check: wire::AnyCheck) -> Option<NamedCheck> {
    Some(match check {
        wire::AnyCheck::CheckRun {
            name,
            conclusion,
            details_url,
            title,
            annotations,
        } => NamedCheck {
            name,
            conclusion: conclusion.map(|conclusion| conclusion.to_lowercase()),
            details_url,
            title,
            annotations: annotations
                .into_iter()
                .flat_map(wire::Nodes::all)
                .map(|one| Annotation {
                    fails: one.annotation_level.as_deref() == Some("FAILURE"),
                    path: one.path,
                    line: one.location.start.line,
                    message: one.message,
                })
                .collect(),
        },
        wire::AnyCheck::StatusContext {
            context,
            state,
            description,
            target_url,
        } => NamedCheck {
            name: context,
            conclusion: match state.as_str() {
                "PENDING" | "EXPECTED" => None,
                state => Some(state.to_lowercase()),
            },
            details_url: target_url,
            title: description,
            annotations: Vec::new(),
        },
        wire::AnyCheck::Other => return None,
    })
}

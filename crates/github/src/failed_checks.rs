//! The checks of two commits with what they say, in one request: check runs of apps, and statuses.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::domain::{Annotation, CommitSha, NamedCheck, RepoName};
use serde_json::json;

pub(super) const CHECKS: &str =
    "query($owner: String!, $name: String!, $head: GitObjectID!, $base: GitObjectID!) {
  repository(owner: $owner, name: $name) {
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
            annotations(first: 20) { nodes { path message location { start { line } } } }
          }
          ... on StatusContext { context state description targetUrl }
        }
      }
    }
  }
}";

impl GitHub {
    /// The checks of a head and of its base.
    pub async fn checks_of(
        &self,
        repo: &RepoName,
        (head, base): (&CommitSha, &CommitSha),
    ) -> Result<(Vec<NamedCheck>, Vec<NamedCheck>), ApiError> {
        let variables = json!({
            "owner": repo.owner(), "name": repo.name(), "head": head.as_str(), "base": base.as_str(),
        });
        let call = Call::query("read the checks of the head", CHECKS, &variables);
        let data: wire::ChecksData = self.graphql(call).await?;
        let [head, base] = data.checks();
        let named = |checks: Vec<wire::AnyCheck>| checks.into_iter().filter_map(named).collect();
        Ok((named(head), named(base)))
    }
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
                .flat_map(wire::Connected::items)
                .map(|one| Annotation {
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

//! The issues that a pull request closes: those that its description names with GitHub's words, and those that somebody linked by
//! hand.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use super::wire;
use reviewer_core::context::intent::{IssueName, LinkedIssue, MOST_ISSUES};
use reviewer_core::domain::PrKey;
use serde_json::json;

pub(super) const LINKED: &str =
    "query($owner: String!, $name: String!, $number: Int!, $most: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      closingIssuesReferences(first: $most) {
        nodes { number title body repository { nameWithOwner } }
      }
    }
  }
}";

impl GitHub {
    /// The issues that the token may see, up to one more than are shown.
    pub async fn linked_issues(&self, key: &PrKey) -> Result<Vec<LinkedIssue>, ApiError> {
        let variables = json!({
            "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "most": MOST_ISSUES + 1,
        });
        let call = Call::query("read the linked issues", LINKED, &variables);
        let data: wire::LinkedData = self.graphql(call).await?;
        Ok(data.issues().filter_map(domain).collect())
    }
}

fn domain(wire: wire::LinkedIssue) -> Option<LinkedIssue> {
    Some(LinkedIssue {
        name: IssueName {
            repo: wire.repository.name_with_owner.parse().ok()?,
            number: wire.number,
        },
        title: wire.title,
        body: wire.body,
    })
}

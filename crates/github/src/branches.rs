//! Branches of the repository: where one is, what its rules demand, and a new one.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, encoded};
use super::pulls::commit_sha;
use super::wire;
use reviewer_core::domain::{CommitSha, RepoName};
use serde_json::json;

/// The last commits of a branch.
const BRANCH: &str = "query($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) {
    ref(qualifiedName: $branch) {
      target {
        ... on Commit {
          history(first: 20) {
            nodes { oid message tree { oid } parents(first: 2) { nodes { oid } } }
          }
        }
      }
    }
  }
}";

/// The rules of a branch, as far as a token sees them that may read the repository. Who may bypass them is not told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchRules {
    /// Some rule protects the branch.
    pub protected: bool,
    /// Only a pull request changes the branch.
    pub needs_pull_request: bool,
    /// The names of the checks that have to pass, each once.
    pub required_checks: Vec<String>,
}

impl BranchRules {
    /// True if a direct push will be refused unless the token may bypass the rules.
    #[must_use]
    pub fn refuses_pushes(&self) -> bool {
        self.needs_pull_request || !self.required_checks.is_empty()
    }
}

impl GitHub {
    /// The commit that a branch is at; `None` where there is no such branch.
    pub async fn branch_head(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Option<CommitSha>, ApiError> {
        let commits = self.branch_commits(repo, branch).await?;
        let head = commits.as_deref().and_then(<[_]>::first);
        head.map(|commit| commit_sha("read a branch", &commit.oid))
            .transpose()
    }

    /// The last twenty commits, newest first; `None` where there is no such branch.
    pub(super) async fn branch_commits(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<Option<Vec<wire::BranchCommit>>, ApiError> {
        let variables = json!({
            "owner": repo.owner(), "name": repo.name(), "branch": format!("refs/heads/{branch}"),
        });
        let call = Call::query("read a branch", BRANCH, &variables);
        let data: wire::BranchData = self.graphql(call).await?;
        Ok(data.commits())
    }

    /// Makes a branch at a commit. Returns where the branch is: elsewhere, if it was there before.
    pub async fn create_branch(
        &self,
        repo: &RepoName,
        branch: &str,
        at: &CommitSha,
    ) -> Result<CommitSha, ApiError> {
        let send = || async {
            let body = json!({"ref": format!("refs/heads/{branch}"), "sha": at.as_str()});
            let call = Call::post("make a branch", format!("/repos/{repo}/git/refs"), body);
            self.done(call).await.map(|()| at.clone())
        };
        let look = || async { self.branch_head(repo, branch).await };
        match self.once(send, look).await {
            Err(refused @ ApiError::Unprocessable { .. }) => look().await?.ok_or(refused),
            outcome => outcome,
        }
    }

    /// Reads the rules of a branch, those of rulesets and those of branch protection. An old GitHub Enterprise Server
    /// has no rulesets.
    pub async fn branch_rules(
        &self,
        repo: &RepoName,
        branch: &str,
    ) -> Result<BranchRules, ApiError> {
        let name = "read the rules of a branch";
        let route = format!("/repos/{repo}/branches/{}", encoded(branch));
        let known: wire::ProtectedBranch = self.json(Call::get(name, route)).await?;
        let route = format!(
            "/repos/{repo}/rules/branches/{}?per_page=100",
            encoded(branch)
        );
        let key = |rule: &wire::Rule| (rule.kind.clone(), rule.parameters.to_string());
        let rules = self.pages(name, route, |page: Vec<wire::Rule>| page, key);
        let rules = match rules.await {
            Err(error) if error.is_not_found() => Vec::new(),
            rules => rules?,
        };
        Ok(domain_rules(&known, &rules))
    }
}

fn domain_rules(known: &wire::ProtectedBranch, rules: &[wire::Rule]) -> BranchRules {
    let of = |kind: &'static str| rules.iter().filter(move |rule| rule.kind == kind);
    let named = of("required_status_checks")
        .flat_map(|rule| wire::contexts(&rule.parameters["required_status_checks"]));
    let classic = wire::contexts(&known.protection["required_status_checks"]);
    let mut required_checks: Vec<String> = named.chain(classic).collect();
    required_checks.sort_unstable();
    required_checks.dedup();
    BranchRules {
        protected: known.protected == Some(true) || !rules.is_empty(),
        needs_pull_request: of("pull_request").chain(of("update")).next().is_some(),
        required_checks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_checks_come_from_rulesets_and_from_branch_protection() {
        let known = json!({"protected": true, "protection": {"enabled": true,
            "required_status_checks": {"enforcement_level": "everyone", "contexts": ["test", "lint"]}}});
        let rules = json!([
            {"type": "deletion", "ruleset_id": 1},
            {"type": "required_status_checks", "parameters": {
                "required_status_checks": [{"context": "build", "integration_id": 1}, {"context": "test"}]}},
        ]);
        let known = serde_json::from_value(known).unwrap();
        let rules: Vec<wire::Rule> = serde_json::from_value(rules).unwrap();
        let read = domain_rules(&known, &rules);
        assert_eq!(read.required_checks, ["build", "lint", "test"]);
        assert!(read.protected && read.refuses_pushes() && !read.needs_pull_request);
        let free = serde_json::from_value(json!({"protected": false})).unwrap();
        assert_eq!(domain_rules(&free, &[]), BranchRules::default());
        let only: Vec<wire::Rule> = serde_json::from_value(json!([{"type": "deletion"}])).unwrap();
        assert!(!domain_rules(&free, &only).refuses_pushes());
    }
}

//! Check runs: the gate that people see, and the record that later runs read.

use super::client::GitHub;
use super::error::{ApiError, may};
use super::exchange::{Call, encoded};
use super::wire;
use reviewer_core::domain::{CheckRunInfo, CommitSha, Conclusion, NamedCheck, PrKey, RepoName};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// GitHub takes no more characters in `summary`, nor in `text`.
const LONGEST_FIELD: usize = 65_535;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheckRun {
    pub name: String,
    pub head_sha: CommitSha,
    /// Whose run it is, for the runs that find it later.
    pub external_id: String,
    /// The target of the "details" link.
    pub details_url: Option<String>,
    pub output: CheckOutput,
    /// `None`: it is in progress.
    pub conclusion: Option<Conclusion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutput {
    pub title: String,
    /// Cut where it is too long.
    pub summary: String,
    /// Sent whole, as it holds the record; at most 65535 characters.
    pub text: Option<String>,
}

impl GitHub {
    /// Opens a check run, in progress or concluded at once.
    pub async fn create_check_run(
        &self,
        repo: &RepoName,
        check: &NewCheckRun,
    ) -> Result<u64, ApiError> {
        let mut body = json!({
            "name": check.name,
            "head_sha": check.head_sha.as_str(),
            "status": "in_progress",
            "external_id": check.external_id,
            "output": output(&check.output),
        });
        if let Some(conclusion) = check.conclusion {
            body["status"] = json!("completed");
            body["conclusion"] = json!(conclusion.as_str());
        }
        if let Some(url) = &check.details_url {
            body["details_url"] = json!(url);
        }
        let send = || async {
            let route = format!("/repos/{repo}/check-runs");
            let call = Call::post("open the check run", route, body.clone());
            let created: wire::Created = self.json(call).await?;
            Ok(created.id)
        };
        let look = || async {
            let runs = self.check_runs(repo, &check.head_sha, &check.name).await?;
            let mut ours = runs.into_iter().filter(|run| {
                run.external_id.as_deref() == Some(&check.external_id)
                    && run.conclusion.is_none() == check.conclusion.is_none()
            });
            Ok(ours.next().map(|run| run.id))
        };
        self.once(send, look).await
    }

    /// True if the token may write check runs. Asks for one on a commit that does not exist: GitHub refuses it either
    /// way, but says which of the two is missing.
    pub async fn may_check(&self, repo: &RepoName) -> Result<bool, ApiError> {
        let body = json!({"name": "Asked whether this token may write checks.", "head_sha": "0".repeat(40)});
        let route = format!("/repos/{repo}/check-runs");
        let call = Call::probe("open a check run", route, body);
        self.json::<wire::Created>(call)
            .await
            .map_or_else(may, |_| Ok(true))
    }

    /// Writes into a check run that stays in progress.
    pub async fn note(&self, repo: &RepoName, id: u64, note: &CheckOutput) -> Result<(), ApiError> {
        let route = format!("/repos/{repo}/check-runs/{id}");
        let body = json!({ "output": output(note) });
        let call = Call::patch("write into the check run", route, body);
        self.done(call.repeatable()).await
    }

    pub async fn conclude(
        &self,
        repo: &RepoName,
        id: u64,
        conclusion: Conclusion,
        result: &CheckOutput,
    ) -> Result<(), ApiError> {
        let body = json!({"status": "completed", "conclusion": conclusion.as_str(), "output": output(result)});
        let call = Call::patch(
            "conclude the check run",
            format!("/repos/{repo}/check-runs/{id}"),
            body,
        );
        self.done(call.repeatable()).await
    }

    /// All runs of that name on a commit, older ones among them.
    pub async fn check_runs(
        &self,
        repo: &RepoName,
        sha: &CommitSha,
        name: &str,
    ) -> Result<Vec<CheckRunInfo>, ApiError> {
        let route = format!(
            "/repos/{repo}/commits/{sha}/check-runs?check_name={}&filter=all&per_page=100",
            encoded(name)
        );
        let all = |page: wire::CheckRuns| page.check_runs;
        let runs = self
            .pages("list the check runs", route, all, |run| run.id)
            .await?;
        Ok(runs.into_iter().map(domain_check_run).collect())
    }

    /// The newest run of each check on a commit, whatever its name.
    pub async fn all_checks(
        &self,
        repo: &RepoName,
        sha: &CommitSha,
    ) -> Result<Vec<NamedCheck>, ApiError> {
        let route = format!("/repos/{repo}/commits/{sha}/check-runs?filter=latest&per_page=100");
        let all = |page: wire::NamedChecks| page.check_runs;
        let runs = self
            .pages("list the checks of a commit", route, all, |run| run.id)
            .await?;
        let check = |run: wire::NamedCheck| NamedCheck {
            name: run.name,
            conclusion: run.conclusion,
            details_url: run.details_url,
            title: None,
            annotations: Vec::new(),
        };
        Ok(runs.into_iter().map(check).collect())
    }

    /// Returns the texts of the check runs of that name on these commits, on the last ten of the pull request, and on
    /// the heads that its last fifty forced pushes replaced, all in one request. A commit that is gone has none.
    pub async fn check_texts(
        &self,
        key: &PrKey,
        heads: &[CommitSha],
        name: &str,
    ) -> Result<Vec<String>, ApiError> {
        let variables = json!({
            "owner": key.repo.owner(), "name": key.repo.name(), "number": key.number, "check": name,
        });
        let call = Call::query(
            "read what earlier runs remember",
            &texts_query(heads),
            &variables,
        );
        let data: wire::TextsData = self.graphql(call).await?;
        Ok(data
            .repository
            .map(wire::TextsRepository::texts)
            .unwrap_or_default())
    }
}

/// Reads the texts of the check runs of one name on the last commits of a pull request, on its replaced heads, and on
/// others.
const TEXTS: &str = "query($owner: String!, $name: String!, $number: Int!, $check: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      commits(last: 10) { nodes { commit { ...texts } } }
      timelineItems(last: 50, itemTypes: [HEAD_REF_FORCE_PUSHED_EVENT]) {
        nodes { ... on HeadRefForcePushedEvent { beforeCommit { ...texts } } }
      }
    }
    OTHERS
  }
}
fragment texts on Commit {
  checkSuites(first: 20, filterBy: { checkName: $check }) {
    nodes {
      checkRuns(first: 20, filterBy: { checkName: $check, checkType: ALL }) { nodes { text } }
    }
  }
}";

/// A commit's id is nothing but hexadecimal digits, so it can stand in the query itself.
fn texts_query(heads: &[CommitSha]) -> String {
    let mut others = String::new();
    for (index, head) in heads.iter().enumerate() {
        let _ = writeln!(
            others,
            "head{index}: object(oid: \"{head}\") {{ ...texts }}"
        );
    }
    TEXTS.replace("OTHERS", &others)
}

fn output(output: &CheckOutput) -> Value {
    let summary: String = output.summary.chars().take(LONGEST_FIELD).collect();
    let mut body = json!({"title": output.title, "summary": summary});
    if let Some(text) = &output.text {
        body["text"] = json!(text);
    }
    body
}

fn domain_check_run(wire: wire::CheckRun) -> CheckRunInfo {
    CheckRunInfo {
        id: wire.id,
        status: wire.status.unwrap_or_default(),
        conclusion: wire.conclusion,
        external_id: wire.external_id.filter(|id| !id.is_empty()),
        text: wire.output.and_then(|output| output.text),
        app_slug: wire.app.and_then(|app| app.slug),
        started_at: wire.started_at,
        completed_at: wire.completed_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(texts: &Value) -> Value {
        json!({ "checkSuites": { "nodes": [null, { "checkRuns": { "nodes": texts } }] } })
    }

    #[test]
    fn what_earlier_runs_remember_is_read_around_everything_that_is_gone() {
        let [old, new, other, first, last] =
            ["old", "new", "other", "first", "last"].map(|text| commit(&json!([{"text": text}])));
        let answer = json!({ "repository": {
            "pullRequest": {
                "commits": { "nodes": [{"commit": old}, null, {"commit": new}] },
                "timelineItems": { "nodes": [
                    {"beforeCommit": first}, null, {"beforeCommit": null}, {}, {"beforeCommit": last},
                ] },
            },
            "head0": null,
            "head1": other,
            "head2": { "checkSuites": null },
            "head3": commit(&json!([null, {"text": null}])),
        } });
        let data: wire::TextsData = serde_json::from_value(answer).unwrap();
        let texts = data.repository.unwrap().texts();
        assert_eq!(texts, ["other", "new", "old", "last", "first"]);
        let gone: wire::TextsData = serde_json::from_value(json!({ "repository": {
            "pullRequest": null } }))
        .unwrap();
        assert!(gone.repository.unwrap().texts().is_empty());
    }

    #[test]
    fn every_head_is_asked_for_by_a_name_of_its_own() {
        let heads = ["a", "b"].map(|c| c.repeat(40).parse().unwrap());
        let query = texts_query(&heads);
        for (index, head) in heads.iter().enumerate() {
            let asked = format!("head{index}: object(oid: \"{head}\")");
            assert!(query.contains(&asked), "{query}");
        }
        assert!(!texts_query(&[]).contains("object("));
    }
}

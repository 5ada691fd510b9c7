//! Compares two heads of a pull request: an approval carries over from one to the other only if they change the same
//! files in the same way, by their objects. In doubt they do not.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::{Call, encoded};
use super::wire;
use reviewer_core::domain::{CommitSha, RepoName};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// GitHub lists no more files of a comparison, and does not say that there are more.
const MOST_FILES: usize = 300;
/// Files whose modes are asked for at once.
const FILES_A_QUERY: usize = 50;
const NAME: &str = "compare two heads";

impl GitHub {
    /// True if both heads make the same change to the branch: the same files with the same contents, modes and patches.
    /// A head that is gone makes none. `base` is a branch or a commit of it.
    pub async fn is_same_change(
        &self,
        repo: &RepoName,
        base: &str,
        from: &CommitSha,
        to: &CommitSha,
    ) -> Result<bool, ApiError> {
        if from == to {
            return Ok(true);
        }
        let Some(before) = self.change(repo, base, from).await? else {
            return Ok(false);
        };
        let Some(after) = self.change(repo, base, to).await? else {
            return Ok(false);
        };
        if before != after {
            return Ok(false);
        }
        let kept = before
            .iter()
            .filter(|file| file.status.as_deref() != Some("removed"));
        let paths: Vec<&str> = kept.map(|file| file.filename.as_str()).collect();
        self.have_same_entries(repo, from, to, &paths).await
    }

    /// The files that a head changes, sorted; `None` where GitHub does not tell all of them.
    async fn change(
        &self,
        repo: &RepoName,
        base: &str,
        head: &CommitSha,
    ) -> Result<Option<Vec<wire::ComparedFile>>, ApiError> {
        let route = format!("/repos/{repo}/compare/{}...{head}", encoded(base));
        let hint = "one of the two commits is gone, as after a force push";
        let compared = self.json(Call::get(NAME, route).or_hint(hint)).await;
        let compared: wire::ComparedFiles = match compared {
            Err(error) if error.is_not_found() => return Ok(None),
            compared => compared?,
        };
        let Some(mut files) = compared.files else {
            return Ok(None);
        };
        let told = |file: &wire::ComparedFile| file.sha.is_some() && file.status.is_some();
        if files.len() >= MOST_FILES || !files.iter().all(told) {
            return Ok(None);
        }
        files.sort_by(|one, other| one.filename.cmp(&other.filename));
        Ok(Some(files))
    }

    /// REST tells no mode, and an executable is another thing than a plain file.
    async fn have_same_entries(
        &self,
        repo: &RepoName,
        from: &CommitSha,
        to: &CommitSha,
        paths: &[&str],
    ) -> Result<bool, ApiError> {
        for some in paths.chunks(FILES_A_QUERY) {
            let query = entries_query(some.len());
            let mut variables = json!({
                "owner": repo.owner(), "name": repo.name(), "from": from.as_str(), "to": to.as_str(),
            });
            for (index, path) in some.iter().enumerate() {
                variables[format!("path{index}")] = json!(path);
            }
            let call = Call::query("compare the modes of files", &query, &variables);
            let data: wire::ModesData = self.graphql(call).await?;
            let commits = data.repository.map(|one| (one.from, one.to));
            let Some((Some(from), Some(to))) = commits else {
                return Ok(false);
            };
            if from != to || !has_all(&from, some.len()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Paths are variables: no text of others stands in a query.
fn entries_query(files: usize) -> String {
    let mut query =
        "query($owner: String!, $name: String!, $from: GitObjectID!, $to: GitObjectID!".to_owned();
    for index in 0..files {
        let _ = write!(query, ", $path{index}: String!");
    }
    query.push_str(
        ") {
  repository(owner: $owner, name: $name) {
    from: object(oid: $from) { ...entries }
    to: object(oid: $to) { ...entries }
  }
}
fragment entries on Commit {\n",
    );
    for index in 0..files {
        let _ = writeln!(
            query,
            "  file{index}: file(path: $path{index}) {{ mode oid }}"
        );
    }
    query.push('}');
    query
}

fn has_all(commit: &Value, files: usize) -> bool {
    let known = |index: usize| {
        commit
            .get(format!("file{index}"))
            .is_some_and(Value::is_object)
    };
    (0..files).all(known)
}

//! A commit on a branch, by the mutation `createCommitOnBranch`: GitHub makes it only on the head that is expected, all
//! of it or nothing, never by force, and signs it. Its refusals are told apart here, because each needs another answer.

use super::client::GitHub;
use super::error::{ApiError, sentence};
use super::exchange::{Call, not_understood};
use super::pulls::commit_sha;
use super::wire;
use data_encoding::BASE64;
use reviewer_core::domain::{CommitSha, RepoName};
use serde_json::{Value, json};

const COMMIT: &str = "mutation($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) { commit { oid tree { oid } } }
}";

const NAME: &str = "commit on the branch";

/// The commit of a dry run.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

const WORKFLOWS: &str = ".github/workflows/";

/// A commit to make. GitHub gives every file that it writes the mode of a plain one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    pub repo: RepoName,
    pub branch: String,
    /// The only head that it is made on.
    pub expected_head: CommitSha,
    pub headline: String,
    /// Ends in trailers, by which the commit is found again.
    pub body: String,
    pub additions: Vec<FileAddition>,
    /// Paths that the head has.
    pub deletions: Vec<String>,
}

/// A file to write, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAddition {
    pub path: String,
    pub contents: Vec<u8>,
}

/// A commit that is on the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub sha: CommitSha,
    /// The id of its tree; empty in a dry run.
    pub tree: String,
    /// It was found on the branch: an earlier request made it, of this run or of another one. Somebody with write
    /// access can make one that looks alike, so the tree has to be compared.
    pub already: bool,
}

/// A commit that was not made. Every sentence says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    #[error("The branch {branch} is not at {expected} any more{}; nothing was written.", now_at(head.as_ref()))]
    StaleHead {
        branch: String,
        expected: CommitSha,
        /// The commit that the branch is at now, as far as GitHub told.
        head: Option<CommitSha>,
    },
    #[error("The token may not commit on {branch} ({message}); it needs `contents: write`.")]
    NotPermitted { branch: String, message: String },
    #[error("The branch {branch} is protected against pushes of this token ({message}).")]
    Protected { branch: String, message: String },
    #[error(
        "The pull request of {branch} is in a merge queue, and GitHub takes no push meanwhile."
    )]
    Queued { branch: String },
    #[error(
        "The commit changes files of {WORKFLOWS}, for which the token needs the permission `workflows` ({message})."
    )]
    WorkflowFiles { message: String },
    #[error("There is no branch {branch} any more.")]
    BranchGone { branch: String },
    #[error("The commit would publish a secret of this run, so it was not sent.")]
    Secret,
    #[error("GitHub did not accept the token of input push_token; give it a valid one.")]
    PushToken,
    #[error("GitHub refused the commit on {branch}: {message}.")]
    Refused { branch: String, message: String },
    #[error(transparent)]
    Api(ApiError),
}

fn now_at(head: Option<&CommitSha>) -> String {
    head.map_or_else(String::new, |head| format!(", but at {head}"))
}

impl GitHub {
    /// Makes the commit, with the token of input `push_token` where there is one. Asked again for a commit that is on
    /// the branch, it finds that one.
    pub async fn create_commit_on_branch(
        &self,
        commit: &NewCommit,
    ) -> Result<Committed, CommitError> {
        if self.shows_secret(commit) {
            return Err(CommitError::Secret);
        }
        let variables = json!({ "input": input(commit) });
        let send = || async { self.send_commit(&variables).await };
        let look = || async {
            let commits = self.branch_commits(&commit.repo, &commit.branch).await?;
            Ok(commits.and_then(|commits| made(&commits, commit)))
        };
        match self.once(send, look).await {
            Ok(committed) => Ok(committed),
            Err(error) => self.judge(commit, error).await,
        }
    }

    /// True if the token may commit on a branch that is there. Asks with a head that no branch has: GitHub refuses the
    /// commit either way, but says which of the two is wrong. It does not tell beforehand if the branch is protected;
    /// `branch_rules` does. A dry run does not ask.
    pub async fn may_commit(&self, repo: &RepoName, branch: &str) -> Result<bool, CommitError> {
        let nowhere = commit_sha(NAME, NO_COMMIT).map_err(CommitError::Api)?;
        let asked = NewCommit {
            repo: repo.clone(),
            branch: branch.to_owned(),
            expected_head: nowhere,
            headline: "Asked whether this token may commit.".to_owned(),
            body: String::new(),
            additions: Vec::new(),
            deletions: Vec::new(),
        };
        if self.is_dry_run() {
            return Ok(true);
        }
        match self.send_commit(&json!({ "input": input(&asked) })).await {
            Ok(_) => Ok(true),
            Err(error) => match self.refusal(&asked, error) {
                CommitError::StaleHead { .. } => Ok(true),
                CommitError::NotPermitted { .. } => Ok(false),
                other => Err(other),
            },
        }
    }

    async fn send_commit(&self, variables: &Value) -> Result<Committed, ApiError> {
        let call = Call::push(NAME, COMMIT, variables);
        let data: wire::CommitData = self.graphql(call).await?;
        let made = data.create_commit_on_branch.and_then(|made| made.commit);
        let (sha, tree) = match made {
            Some(made) => (made.oid, made.tree.map(|tree| tree.oid)),
            None if self.is_dry_run() => (NO_COMMIT.to_owned(), None),
            None => return Err(not_understood(NAME, &"it names no commit")),
        };
        Ok(Committed {
            sha: commit_sha(NAME, &sha)?,
            tree: tree.unwrap_or_default(),
            already: false,
        })
    }

    /// Names the refusal of a request. Where it may come of the commit being there, the branch tells.
    async fn judge(&self, commit: &NewCommit, error: ApiError) -> Result<Committed, CommitError> {
        let refusal = self.refusal(commit, error);
        let depends = matches!(
            refusal,
            CommitError::StaleHead { .. }
                | CommitError::BranchGone { .. }
                | CommitError::Refused { .. }
        );
        if !depends {
            return Err(refusal);
        }
        let Ok(found) = self.branch_commits(&commit.repo, &commit.branch).await else {
            return Err(refusal);
        };
        let branch = commit.branch.clone();
        let Some(commits) = found else {
            return Err(CommitError::BranchGone { branch });
        };
        if let Some(made) = made(&commits, commit) {
            return Ok(made);
        }
        Err(match refusal {
            CommitError::StaleHead { expected, .. } => CommitError::StaleHead {
                branch,
                expected,
                head: commits.first().and_then(|head| head.oid.parse().ok()),
            },
            CommitError::BranchGone { .. } => CommitError::Refused {
                branch,
                message: "it did not find what the commit names, though the branch is there"
                    .to_owned(),
            },
            other => other,
        })
    }

    fn refusal(&self, commit: &NewCommit, error: ApiError) -> CommitError {
        match error {
            ApiError::GraphQl { errors, .. } => refused(commit, &errors),
            ApiError::Forbidden { message, .. } => {
                refused(commit, &[("FORBIDDEN".to_owned(), message)])
            }
            ApiError::Unauthorized { .. } if self.push.is_some() => CommitError::PushToken,
            other => CommitError::Api(other),
        }
    }

    /// The last look at a commit: whatever is found is not masked, because half a file is no fix.
    fn shows_secret(&self, commit: &NewCommit) -> bool {
        let paths = commit.additions.iter().map(|file| file.path.as_str());
        let texts = paths.chain(commit.deletions.iter().map(String::as_str));
        let texts = texts.chain([
            commit.branch.as_str(),
            commit.headline.as_str(),
            commit.body.as_str(),
        ]);
        let shows = |text: &str| self.redactor().clean_own(text) != text;
        let mut contents = commit.additions.iter().map(|file| &file.contents);
        texts.into_iter().any(shows) || contents.any(|bytes| shows(&String::from_utf8_lossy(bytes)))
    }
}

fn input(commit: &NewCommit) -> Value {
    let additions = commit
        .additions
        .iter()
        .map(|file| json!({"path": file.path, "contents": BASE64.encode(&file.contents)}));
    let deletions = commit.deletions.iter();
    json!({
        "branch": {
            "repositoryNameWithOwner": commit.repo.to_string(), "branchName": commit.branch,
        },
        "expectedHeadOid": commit.expected_head.as_str(),
        "message": { "headline": commit.headline, "body": commit.body },
        "fileChanges": {
            "additions": additions.collect::<Vec<_>>(),
            "deletions": deletions.map(|path| json!({ "path": path })).collect::<Vec<_>>(),
        },
    })
}

/// The commit among the last ones of its branch: on the expected head, with its first line and its trailers. GitHub
/// may have added others.
fn made(commits: &[wire::BranchCommit], wanted: &NewCommit) -> Option<Committed> {
    let found = commits.iter().find(|one| {
        let message = one.message.as_deref().unwrap_or_default();
        let mut lines = message.lines().map(str::trim_end);
        let headline = lines.next() == Some(wanted.headline.trim_end());
        let lines: Vec<&str> = lines.collect();
        let same = trailers(&wanted.body).all(|line| lines.contains(&line));
        one.has_parent(wanted.expected_head.as_str()) && headline && same
    })?;
    Some(Committed {
        sha: found.oid.parse().ok()?,
        tree: found
            .tree
            .as_ref()
            .map(|tree| tree.oid.clone())
            .unwrap_or_default(),
        already: true,
    })
}

/// The lines of the last paragraph.
fn trailers(body: &str) -> impl Iterator<Item = &str> {
    let lines = body.trim_end().lines().rev().map(str::trim_end);
    lines.take_while(|line| !line.is_empty())
}

/// A refusal in GitHub's words, as one of ours. The order matters: GitHub says `FORBIDDEN` of rulesets, too.
fn refused(commit: &NewCommit, errors: &[(String, String)]) -> CommitError {
    let kind = |kinds: &[&str]| {
        errors
            .iter()
            .any(|(kind, _)| kinds.contains(&kind.as_str()))
    };
    let says = |words: &str| {
        let mut messages = errors
            .iter()
            .map(|(_, message)| message.to_ascii_lowercase());
        messages.any(|message| message.contains(words))
    };
    let (branch, message) = (commit.branch.clone(), words(errors));
    let moved = says("expected branch to point to") || says("but expected");
    if kind(&["STALE_DATA", "STALE_HEAD_OID"]) || moved {
        return CommitError::StaleHead {
            branch,
            expected: commit.expected_head.clone(),
            head: None,
        };
    }
    if says("merge queue") {
        return CommitError::Queued { branch };
    }
    let forbidden = says("resource not accessible") || kind(&["FORBIDDEN", "INSUFFICIENT_SCOPES"]);
    let rules =
        says("rule violations") || says("protected branch") || says("through a pull request");
    if kind(&["BRANCH_PROTECTION_RULE_VIOLATION"]) || rules {
        return CommitError::Protected { branch, message };
    }
    let refused_workflow = says("create or update workflow") || says("`workflow");
    if refused_workflow || (forbidden && changes_workflows(commit)) {
        return CommitError::WorkflowFiles { message };
    }
    if forbidden {
        return CommitError::NotPermitted { branch, message };
    }
    if kind(&["NOT_FOUND"]) && !says("requested for deletion") {
        return CommitError::BranchGone { branch };
    }
    CommitError::Refused { branch, message }
}

/// GitHub's messages in one line.
fn words(errors: &[(String, String)]) -> String {
    let messages = errors.iter().map(|(_, message)| sentence(message));
    messages.collect::<Vec<_>>().join("; ")
}

/// GitHub does not always say that it is about these.
fn changes_workflows(commit: &NewCommit) -> bool {
    let added = commit.additions.iter().map(|file| &file.path);
    added
        .chain(&commit.deletions)
        .any(|path| path.to_ascii_lowercase().starts_with(WORKFLOWS))
}

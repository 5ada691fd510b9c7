//! Commits that GitHub makes for a client, with its refusals, and the events that follow from what a token does. Git's
//! own pushes are no part of it: the reviewer does none.

use super::GitHub;
use super::git::Change;
use super::shapes::user_id;
use super::state::{Identity, Protection, State};

/// What a client wants committed.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub branch: &'a str,
    pub expected_head: &'a str,
    pub message: String,
    pub additions: Vec<(String, Vec<u8>)>,
    pub deletions: Vec<String>,
}

/// GitHub's type of an error, and its words.
pub type Refusal = (&'static str, String);

/// Something that workflows can listen to, done with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// `push` or `pull_request`.
    pub event: &'static str,
    pub action: Option<&'static str>,
    pub pull: Option<u64>,
    pub actor: String,
    pub branch: String,
    pub before: String,
    pub after: String,
    pub label: Option<String>,
    /// Workflows run: not for what `GITHUB_TOKEN` did.
    pub starts: bool,
}

impl GitHub {
    /// What tokens did since the last look, in order, and whether it starts workflows.
    pub fn take_happenings(&self) -> Vec<Happening> {
        self.with(|state| std::mem::take(&mut state.happenings))
    }

    /// Puts rules on a branch.
    pub fn protect(&self, branch: &str, protection: Protection) {
        self.with(|state| {
            let rules = &mut state.repository.protections;
            rules.insert(branch.into(), protection);
        });
    }

    pub fn delete_branch(&self, branch: &str) {
        let name = format!("refs/heads/{branch}");
        self.with(|state| state.git.write(&["update-ref", "-d", &name]));
    }
}

impl Protection {
    /// What stands against a direct push.
    fn violation(&self) -> Option<String> {
        let checks = self.required_checks.len();
        if self.needs_pull_request {
            Some("Changes must be made through a pull request.".into())
        } else {
            (checks > 0)
                .then(|| format!("{checks} of {checks} required status checks are expected."))
        }
    }
}

impl State {
    /// The head of a branch that is there, whatever else has its name.
    pub fn branch_head(&self, branch: &str) -> Option<String> {
        self.git.commit_of(&format!("refs/heads/{branch}"))
    }

    /// Commits as `createCommitOnBranch` does: on the expected head or not at all.
    pub fn commit_on_branch(
        &mut self,
        identity: &Identity,
        wanted: &Wanted<'_>,
    ) -> Result<String, Refusal> {
        let head = self.branch_head(wanted.branch).ok_or_else(|| {
            let message = format!("Branch '{}' does not exist", wanted.branch);
            ("NOT_FOUND", message)
        })?;
        if head != wanted.expected_head {
            let expected = wanted.expected_head;
            let message = format!(
                "Expected branch to point to \"{expected}\" but it did not.  Pull and try again."
            );
            return Err(("STALE_DATA", message));
        }
        self.judge_branch(identity, wanted.branch)?;
        self.judge_paths(identity, wanted, &head)?;
        // Whatever the file was before: its mode is a plain file's.
        let added = wanted.additions.iter();
        let added = added.map(|(path, bytes)| Change::write(path, bytes.clone()));
        let removed = wanted.deletions.iter().map(|path| Change::remove(path));
        let changes: Vec<Change> = removed.chain(added).collect();
        self.tick();
        let login = &identity.login;
        let author = format!(
            "{login} <{}+{login}@users.noreply.github.com>",
            user_id(login)
        );
        let people = [author.as_str(), "GitHub <noreply@github.com>"];
        let at = self.epoch_seconds();
        let parents = [head.as_str()];
        let git = &self.git;
        let sha = git.commit_by(
            people,
            wanted.branch,
            &parents,
            &wanted.message,
            at,
            &changes,
        );
        self.moved(identity, wanted.branch, &head, &sha);
        Ok(sha)
    }

    fn judge_branch(&self, identity: &Identity, branch: &str) -> Result<(), Refusal> {
        let queued = |number: &u64| {
            let pull = self.pulls.get(number);
            pull.is_some_and(|pull| pull.head.branch == branch && !pull.is_from_fork())
        };
        if self.queue.iter().any(|entry| queued(&entry.pull)) {
            let message = "A pull request for this branch has been added to a merge queue. Branches that are queued \
                for merging cannot be updated. To modify this branch, dequeue the associated pull request.";
            return Err(("BRANCH_PROTECTION_RULE_VIOLATION", message.into()));
        }
        let rules = self.repository.protections.get(branch);
        let rules = rules.filter(|rules| !rules.bypass.contains(&identity.login));
        let Some((rules, violation)) = rules.and_then(|rules| Some((rules, rules.violation()?)))
        else {
            return Ok(());
        };
        Err(if rules.ruleset {
            let message = format!("Repository rule violations found\n\n{violation}\n\n");
            ("FORBIDDEN", message)
        } else {
            ("BRANCH_PROTECTION_RULE_VIOLATION", violation)
        })
    }

    fn judge_paths(
        &self,
        identity: &Identity,
        wanted: &Wanted<'_>,
        head: &str,
    ) -> Result<(), Refusal> {
        let kind = |path: &str| {
            let found = self.git.ask(&["cat-file", "-t", &format!("{head}:{path}")]);
            found.map(|kind| kind.trim().to_owned())
        };
        let added = wanted.additions.iter().map(|(path, _)| path);
        for path in added.clone().chain(&wanted.deletions) {
            let malformed =
                |part: &str| matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git");
            if path.split('/').any(malformed) || path.contains('\0') {
                let message = format!("The path '{path}' contains a malformed path component");
                return Err(("UNPROCESSABLE", message));
            }
            let workflow = path.starts_with(".github/workflows/");
            if workflow && !identity.may("workflows:write") {
                return Err(("FORBIDDEN", workflow_words(identity, path)));
            }
        }
        for path in added {
            let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
            let in_file = above.any(|folder| kind(folder).as_deref() == Some("blob"));
            if in_file || kind(path).as_deref() == Some("tree") {
                let message = format!("The path '{path}' is a folder or lies in a file");
                return Err(("UNPROCESSABLE", message));
            }
        }
        let there = |path: &&String| kind(path).as_deref() == Some("blob");
        if wanted.deletions.iter().any(|path| !there(&path)) {
            let message = format!(
                "A path was requested for deletion which does not exist as of commit oid `{head}`"
            );
            return Err(("NOT_FOUND", message));
        }
        Ok(())
    }

    /// A branch has a new head: its pull requests follow, and workflows hear of it, or do not.
    pub fn moved(&mut self, identity: &Identity, branch: &str, before: &str, after: &str) {
        let happening = Happening {
            event: "push",
            action: None,
            pull: None,
            actor: identity.login.clone(),
            branch: branch.into(),
            before: before.into(),
            after: after.into(),
            label: None,
            starts: identity.starts_workflows(),
        };
        self.happenings.push(happening.clone());
        let of_branch = self.pulls.values().filter(|pull| {
            pull.head.branch == branch && !pull.is_from_fork() && pull.state == "open"
        });
        let numbers: Vec<u64> = of_branch.map(|pull| pull.number).collect();
        for number in numbers {
            self.push(number, after);
            self.happenings.push(Happening {
                event: "pull_request",
                action: Some("synchronize"),
                pull: Some(number),
                ..happening.clone()
            });
        }
    }

    /// An action on a pull request that leaves its head alone.
    pub fn acted(
        &mut self,
        identity: &Identity,
        action: &'static str,
        pull: u64,
        label: Option<&str>,
    ) {
        if action != "opened" {
            self.announce("pull_request", Some(action), pull, &identity.login);
        }
        let head = &self.pulls[&pull].head;
        self.happenings.push(Happening {
            event: "pull_request",
            action: Some(action),
            pull: Some(pull),
            actor: identity.login.clone(),
            branch: head.branch.clone(),
            before: head.sha.clone(),
            after: head.sha.clone(),
            label: label.map(str::to_owned),
            starts: identity.starts_workflows(),
        });
    }
}

fn workflow_words(identity: &Identity, path: &str) -> String {
    let (who, what) = if identity.typename == "Bot" {
        ("GitHub App", "`workflows` permission")
    } else {
        ("Personal Access Token", "`workflow` scope")
    };
    format!("refusing to allow a {who} to create or update workflow `{path}` without {what}")
}

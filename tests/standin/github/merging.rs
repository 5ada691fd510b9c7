//! Merging, as GitHub does it: whether a pull request can be merged, the merge bound to a head with its refusals,
//! auto-merge, and what happens by itself when checks end or people approve.

use serde_json::json;

use super::GitHub;
use super::pushing::Refusal;
use super::reply::{Reply, Request};
use super::state::{Identity, Merged, PullRequest, State};
use super::writes::Write;

const NOT_MERGEABLE: &str = "Pull Request is not mergeable";

impl GitHub {
    /// A person presses the button.
    pub fn merge(&self, number: u64, login: &str) -> String {
        self.with(|state| state.merge(number, login, "merge"))
    }

    /// `closed`, `reopened`, `converted_to_draft`, `ready_for_review`, `locked` or `unlocked`, by a person.
    pub fn act(&self, number: u64, action: &'static str, login: &str) {
        self.with(|state| state.act(number, action, login));
    }

    /// A check of some other app ends on the head of a pull request.
    pub fn conclude(&self, number: u64, check: &str, conclusion: &str) {
        self.with(|state| {
            let head = state.pulls[&number].head.sha.clone();
            state.conclude(check, &head, conclusion);
        });
    }
}

impl State {
    pub fn act(&mut self, number: u64, action: &'static str, login: &str) {
        self.tick();
        let pull = self
            .pulls
            .get_mut(&number)
            .expect("the pull request exists");
        match action {
            "closed" => pull.state = "closed".into(),
            "reopened" => pull.state = "open".into(),
            "converted_to_draft" => pull.draft = true,
            "ready_for_review" => pull.draft = false,
            "locked" => pull.locked = true,
            "unlocked" => pull.locked = false,
            other => panic!("nobody can do {other} here"),
        }
        self.announce("pull_request", Some(action), number, login);
    }

    /// `None` while GitHub computes it, and of what is not open.
    pub fn mergeable(&self, pull: &PullRequest) -> Option<bool> {
        (pull.unsettled == 0 && pull.state == "open").then(|| self.merge_tree(pull).is_some())
    }

    /// The tree of head and base together; `None`: they conflict.
    fn merge_tree(&self, pull: &PullRequest) -> Option<String> {
        let base = self.branch_head(&pull.base.branch)?;
        let args = ["merge-tree", "--write-tree", &base, &pull.head.sha];
        Some(self.git.ask(&args)?.lines().next()?.trim().to_owned())
    }

    /// GraphQL's `mergeStateStatus`.
    pub fn merge_state(&self, pull: &PullRequest) -> &'static str {
        match self.mergeable(pull) {
            None => "UNKNOWN",
            Some(false) => "DIRTY",
            Some(true) if pull.draft => "DRAFT",
            Some(true) if self.missing_rule(pull).is_some() => "BLOCKED",
            Some(true) if self.has_other_trouble(pull) => "UNSTABLE",
            Some(true) => "CLEAN",
        }
    }

    /// GitHub's words about the first rule of the base that is not met.
    fn missing_rule(&self, pull: &PullRequest) -> Option<String> {
        let rules = self.repository.protections.get(&pull.base.branch)?;
        let passed = |name: &str| {
            let mut runs = self.check_runs.iter().rev();
            let run = runs.find(|run| run.name == name && run.head_sha == pull.head.sha);
            run.map(|run| run.conclusion.as_deref() == Some("success"))
        };
        for name in &rules.required_checks {
            match passed(name) {
                Some(true) => {}
                Some(false) => {
                    return Some(format!("Required status check \"{name}\" is failing."));
                }
                None => return Some(format!("Required status check \"{name}\" is expected.")),
            }
        }
        let wanted = rules.required_reviews;
        (self.approvals(pull.number) < wanted).then(|| {
            let review = if wanted == 1 {
                "review is"
            } else {
                "reviews are"
            };
            format!("At least {wanted} approving {review} required by reviewers with write access.")
        })
    }

    /// People with write access whose last word is an approval. GitHub counts those of older heads, too, unless a rule
    /// says otherwise.
    fn approvals(&self, number: u64) -> usize {
        let mut last = std::collections::BTreeMap::new();
        for review in self.reviews.iter().filter(|one| one.pull == number) {
            if matches!(
                review.state.as_str(),
                "APPROVED" | "CHANGES_REQUESTED" | "DISMISSED"
            ) {
                last.insert(review.user.as_str(), review.state.as_str());
            }
        }
        let writes = |login: &str| matches!(self.permission(login).as_str(), "write" | "admin");
        let approving = last.into_iter().filter(|(_, state)| *state == "APPROVED");
        approving.filter(|(login, _)| writes(login)).count()
    }

    fn has_other_trouble(&self, pull: &PullRequest) -> bool {
        let of_head = self.check_runs.iter();
        let mut of_head = of_head.filter(|run| run.head_sha == pull.head.sha);
        let fine = ["success", "neutral", "skipped"];
        of_head.any(|run| {
            run.conclusion
                .as_deref()
                .is_none_or(|one| !fine.contains(&one))
        })
    }

    /// Merges, whatever stands against it, and returns the commit on the base branch.
    pub fn merge(&mut self, number: u64, login: &str, method: &str) -> String {
        let pull = self.pulls[&number].clone();
        let base = self
            .branch_head(&pull.base.branch)
            .expect("the base exists");
        let tree = self.merge_tree(&pull).expect("no conflicts");
        let at = self.tick();
        let message = format!("Merge pull request #{number} from {}", pull.head.branch);
        let stamp = format!("{} +0000", self.epoch_seconds());
        let second = (method == "merge").then(|| format!("parent {}\n", pull.head.sha));
        let commit = format!(
            "tree {tree}\nparent {base}\n{}author {login} <{login}@example.com> {stamp}\n\
             committer GitHub <noreply@github.com> {stamp}\n\n{message}\n",
            second.unwrap_or_default()
        );
        let args = ["hash-object", "-t", "commit", "-w", "--stdin"];
        let sha = self
            .git
            .feed(&args, commit.as_bytes())
            .expect("git commits");
        let sha = String::from_utf8_lossy(&sha).trim().to_owned();
        let branch = format!("refs/heads/{}", pull.base.branch);
        self.git.write(&["update-ref", &branch, &sha]);
        self.announce_push(login, &pull.base.branch, &base, &sha);
        if let Some(pull) = self.pulls.get_mut(&number) {
            pull.state = "closed".into();
            pull.auto_merge = None;
            pull.merged = Some(Merged {
                by: login.into(),
                sha: sha.clone(),
                at,
            });
        }
        self.announce("pull_request", Some("closed"), number, login);
        sha
    }

    /// What is armed is merged as soon as nothing stands against it.
    pub fn settle(&mut self) {
        let numbers: Vec<u64> = self.pulls.keys().copied().collect();
        for number in numbers {
            let pull = self.pulls[&number].clone();
            let Some((by, method)) = pull.auto_merge.clone() else {
                continue;
            };
            if pull.state == "open" && matches!(self.merge_state(&pull), "CLEAN" | "UNSTABLE") {
                self.merge(number, &by, &method);
            }
        }
    }

    /// GitHub's refusal to merge: status and words.
    fn merge_refusal(
        &self,
        pull: &PullRequest,
        sha: Option<&str>,
        method: &str,
    ) -> Option<(u16, String)> {
        let not = |words: &str| Some((405, words.to_owned()));
        if pull.merged.is_some() || pull.state != "open" {
            return not(NOT_MERGEABLE);
        }
        if sha.is_some_and(|sha| sha != pull.head.sha) {
            let words = "Head branch was modified. Review and try the merge again.";
            return Some((409, words.to_owned()));
        }
        if pull.draft {
            return not("Pull Request is still a draft");
        }
        if self.repository.queued_branches.contains(&pull.base.branch) {
            return not(
                "Repository rule violations found\n\nChanges must be made through the merge queue\n\n",
            );
        }
        if !self.repository.merge_methods.contains(method) {
            let kind = match method {
                "merge" => "Merge commits",
                "squash" => "Squash merges",
                _ => "Rebase merges",
            };
            return not(&format!("{kind} are not allowed on this repository."));
        }
        if let Some(words) = self.missing_rule(pull) {
            return not(&words);
        }
        self.merge_tree(pull)
            .is_none()
            .then(|| (405, NOT_MERGEABLE.to_owned()))
    }

    pub fn arm(
        &mut self,
        identity: &Identity,
        number: u64,
        head: Option<&str>,
        method: &str,
    ) -> Result<(), Refusal> {
        let pull = self.pulls[&number].clone();
        let refused = |words: &str| Err(("UNPROCESSABLE", format!("Pull request {words}")));
        if !self.repository.auto_merge_allowed {
            return refused("Auto merge is not allowed for this repository");
        }
        if pull.state != "open" {
            return refused("Pull request is closed");
        }
        if head.is_some_and(|head| head != pull.head.sha) {
            return refused("Head sha does not match the expected one");
        }
        let status = self.merge_state(&pull);
        if status != "BLOCKED" && status != "BEHIND" {
            return refused(&format!(
                "Pull request is in {} status",
                status.to_lowercase()
            ));
        }
        self.tick();
        let by = identity.login.clone();
        if let Some(pull) = self.pulls.get_mut(&number) {
            pull.auto_merge = Some((by.clone(), method.to_lowercase()));
        }
        let head = pull.head.sha;
        self.announce("pull_request", Some("auto_merge_enabled"), number, &by);
        self.writes.push(Write::AutoMergeArmed {
            pull: number,
            head,
            by,
        });
        Ok(())
    }

    pub fn disarm(&mut self, identity: &Identity, number: u64) -> Result<(), Refusal> {
        let armed = self
            .pulls
            .get_mut(&number)
            .and_then(|pull| pull.auto_merge.take());
        if armed.is_none() {
            let words = "Can't disable auto-merge for this pull request.";
            return Err(("UNPROCESSABLE", words.into()));
        }
        self.tick();
        let by = identity.login.clone();
        self.announce("pull_request", Some("auto_merge_disabled"), number, &by);
        self.writes
            .push(Write::AutoMergeDisarmed { pull: number, by });
        Ok(())
    }

    pub fn put_in_queue(
        &mut self,
        identity: &Identity,
        number: u64,
        head: Option<&str>,
    ) -> Result<(), Refusal> {
        let pull = self.pulls[&number].clone();
        let refused = |words: &str| Err(("UNPROCESSABLE", format!("Pull request {words}")));
        if !self.repository.queued_branches.contains(&pull.base.branch) {
            return refused("The base branch has no merge queue");
        }
        if pull.state != "open" || pull.draft {
            return refused("Pull request is not in a mergeable state");
        }
        if head.is_some_and(|head| head != pull.head.sha) {
            return refused("Head sha does not match the expected one");
        }
        if self.queue.iter().any(|entry| entry.pull == number) {
            return refused("Pull request is already in the queue");
        }
        if let Some(words) = self.missing_rule(&pull) {
            return refused(&words);
        }
        self.enqueue(number);
        self.writes.push(Write::Enqueued {
            pull: number,
            head: pull.head.sha,
            by: identity.login.clone(),
        });
        Ok(())
    }
}

/// `PUT …/merge`.
pub fn put(state: &mut State, identity: &Identity, request: &Request, pull: &PullRequest) -> Reply {
    let method = request.text("merge_method").unwrap_or("merge").to_owned();
    if let Some((status, words)) = state.merge_refusal(pull, request.text("sha"), &method) {
        return Reply::error(status, &words);
    }
    let sha = state.merge(pull.number, &identity.login, &method);
    state.writes.push(Write::Merge {
        pull: pull.number,
        head: pull.head.sha.clone(),
        by: identity.login.clone(),
        method,
    });
    let message = "Pull Request successfully merged";
    Reply::json(
        200,
        &json!({ "sha": sha, "merged": true, "message": message }),
    )
}

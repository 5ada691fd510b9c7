//! Delivers a fix: as one commit on the branch, as a pull request onto it, or as a file. It runs nothing and accepts only the list
//! of edits; GitHub makes the commit, on the head that was fixed and on no other.

use super::ground::Ground;
use crate::gather::Facts;
use crate::host::{Failure, Job, Setup};
use reviewer_core::config::FixDelivery;
use reviewer_core::domain::{CommitSha, Login};
use reviewer_core::fix::gate::Gate;
use reviewer_core::fix::outcome::Settled;
use reviewer_core::fix::report::{FixReport, KeptOutcome};
use reviewer_core::publish::comment::fixing::{self, Delivered, Waits};
use reviewer_github::{
    ApiError, CommitError, Committed, FileAddition, NewCommit, NewPull, PullRequest,
};
use reviewer_repo::git::{FileEdit, TreeId};
use reviewer_text::count::plural;
use std::fmt::Write as _;

/// A commit that is ready to be made.
pub(super) struct Commit<'a> {
    pub edits: &'a [FileEdit],
    pub settled: &'a [Settled],
    pub review_url: &'a str,
    /// The tree of the head with these edits.
    pub tree: &'a TreeId,
}

/// The file with the patch, in the workspace.
const PATCH_FILE: &str = "opencode-fix.patch";

/// The reason why a fix was not delivered, in a sentence.
pub(super) type NotDelivered = String;

/// Stands for the words of a finding that must not be in a commit.
const UNSAID: &str = "a finding whose words look like a secret";

/// The message of the commit: a headline, the review, and a line and a trailer for each finding that was fixed.
pub(super) fn message(settled: &[Settled], review_url: &str, gate: &Gate) -> (String, String) {
    let fixed: Vec<&Settled> = settled
        .iter()
        .filter(|one| one.outcome.is_fixed())
        .collect();
    let headline = format!("Fix {}", plural(fixed.len(), "review finding"));
    let mut body = String::new();
    if !review_url.is_empty() {
        body.push_str(review_url);
        body.push_str("\n\n");
    }
    for one in &fixed {
        let title = fixing::line(&one.issue.title);
        // One finding that speaks of a secret must not keep the others from being committed.
        let may = gate.judge_words("the commit message", &title).is_ok();
        let title = if may { title.as_str() } else { UNSAID };
        let _ = writeln!(body, "- {title}");
    }
    body.push('\n');
    for one in &fixed {
        let _ = writeln!(body, "{TRAILER}{}", one.issue.id);
    }
    (headline, body.trim_end().to_owned())
}

/// The trailer of a finding that was fixed.
const TRAILER: &str = "Review-Finding: ";

/// The words of a message. The ids of its trailers are the reviewer's own, and would pass for secrets beside a finding about one.
fn without_trailers(headline: &str, body: &str) -> String {
    let lines = body.lines().filter(|line| !line.starts_with(TRAILER));
    std::iter::once(headline)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The branch of a stacked pull request: letters of a fixed alphabet only.
fn stacked_branch(number: u64, cycle: u32, head: &str) -> String {
    format!(
        "opencode-reviewer/fix-{number}-{cycle}-{}",
        &head[..7.min(head.len())]
    )
}

/// Opens the pull request with a fix onto the branch, if there is none yet. Returns its address.
async fn open_stacked(
    job: &Job<'_>,
    pull: &PullRequest,
    branch: &str,
    (headline, body): (&str, &str),
) -> Result<String, ApiError> {
    let number = job.pr.number;
    let marker = fixing::MARKER;
    let new = NewPull {
        title: headline.to_owned(),
        head: branch.to_owned(),
        base: pull.head_ref.clone(),
        body: format!("{marker}\n\nFixes findings of #{number}.\n\n{body}"),
    };
    let opened = job.github.create_pull_request(&job.pr.repo, &new).await?;
    Ok(opened.html_url)
}

/// The place where a fix waits: what was committed stays, even if GitHub opens no pull request with it.
fn waits(opened: Result<String, ApiError>, branch: String) -> Waits {
    opened.map_or_else(
        |error| Waits::Branch {
            branch,
            why: error.to_string(),
        },
        Waits::Pull,
    )
}

/// True if a run that was cut off can have left the fix on a branch of its own.
pub(super) fn may_be_stacked(job: &Job<'_>, facts: &Facts, report: &FixReport) -> bool {
    let is_stacked = job.host.config.fix.delivery == FixDelivery::PullRequest;
    is_stacked && !facts.pull.from_fork && report.delivery.is_none()
}

/// The commit that a run left for a pull request onto the branch before it was cut off, and where it waits: that pull request is
/// opened now if it was not.
pub(super) async fn stacked(
    job: &Job<'_>,
    facts: &Facts,
    report: &FixReport,
) -> Result<Option<(CommitSha, Waits)>, Failure> {
    if !may_be_stacked(job, facts, report) {
        return Ok(None);
    }
    let branch = stacked_branch(job.pr.number, report.cycle, &report.head);
    let made = job.github.branch_head(&job.pr.repo, &branch).await;
    let made = made.map_err(Failure::new)?;
    let Some(commit) = made.filter(|commit| commit.as_str() != report.head) else {
        return Ok(None);
    };
    let fixed = report.outcomes.iter();
    let fixed = fixed.filter(|kept| kept.outcome == KeptOutcome::Fixed);
    let headline = format!("Fix {}", plural(fixed.count(), "review finding"));
    let opened = open_stacked(job, &facts.pull, &branch, (&headline, "")).await;
    Ok(Some((commit, waits(opened, branch))))
}

impl Commit<'_> {
    /// Delivers the fix as the input says; a fork always gets a patch.
    pub(super) async fn deliver(
        &self,
        job: &Job<'_>,
        ground: &Ground,
        (gate, cycle): (&Gate, u32),
        delivery: FixDelivery,
    ) -> Result<Delivered, NotDelivered> {
        let (headline, body) = message(self.settled, self.review_url, gate);
        gate.judge_words("the commit message", &without_trailers(&headline, &body))
            .map_err(|refusal| refusal.to_string())?;
        let pull = &ground.facts.pull;
        match delivery {
            _ if pull.from_fork => self.patch(job, ground).await,
            FixDelivery::Patch => self.patch(job, ground).await,
            FixDelivery::Push => {
                let commit = self.commit(job, ground, &pull.head_ref, (&headline, &body));
                let commit = commit.await?;
                let starts_workflows = starts_workflows(job, ground);
                let waiting = if starts_workflows {
                    Vec::new()
                } else {
                    waiting(job, ground).await
                };
                Ok(Delivered::Pushed {
                    commit,
                    starts_workflows,
                    waiting,
                })
            }
            FixDelivery::PullRequest => {
                let branch = stacked_branch(job.pr.number, cycle, pull.head_sha.as_str());
                let repo = &job.pr.repo;
                let made = job
                    .github
                    .create_branch(repo, &branch, &pull.head_sha)
                    .await;
                made.map_err(|error| error.to_string())?;
                let commit = self
                    .commit(job, ground, &branch, (&headline, &body))
                    .await?;
                let opened = open_stacked(job, pull, &branch, (&headline, &body)).await;
                let waits = waits(opened, branch);
                Ok(Delivered::Stacked { commit, waits })
            }
        }
    }

    async fn commit(
        &self,
        job: &Job<'_>,
        ground: &Ground,
        branch: &str,
        (headline, body): (&str, &str),
    ) -> Result<CommitSha, NotDelivered> {
        let additions = self.edits.iter().filter_map(|edit| {
            Some(FileAddition {
                path: edit.path.clone(),
                contents: edit.content.clone()?,
            })
        });
        let deletions = self.edits.iter().filter(|edit| edit.content.is_none());
        let commit = NewCommit {
            repo: job.pr.repo.clone(),
            branch: branch.to_owned(),
            expected_head: ground.head().clone(),
            headline: headline.to_owned(),
            body: body.to_owned(),
            additions: additions.collect(),
            deletions: deletions.map(|edit| edit.path.clone()).collect(),
        };
        match job.github.create_commit_on_branch(&commit).await {
            Ok(Committed { sha, tree, .. }) if tree.is_empty() || tree == self.tree.as_str() => {
                Ok(sha)
            }
            Ok(Committed { sha, .. }) => Err(format!(
                "The commit {} on {branch} does not have the files of this fix; look at it before you go on.",
                sha.short()
            )),
            Err(error @ CommitError::Protected { .. }) => Err(format!(
                "{error} Set fix_delivery to pull_request or patch."
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Writes the patch beside the report.
    async fn patch(&self, job: &Job<'_>, ground: &Ground) -> Result<Delivered, NotDelivered> {
        let repository = &ground.facts.change.repository;
        let patch = repository.patch_to(ground.head(), self.tree).await;
        let patch = patch.map_err(|error| format!("The patch could not be made: {error:#}."))?;
        let setup = job.host.setup;
        let Some(workspace) = &setup.environment.workspace else {
            return Err(
                "There is no workspace to write the patch to; set GITHUB_WORKSPACE.".into(),
            );
        };
        crate::actions::write_file(&workspace.join(PATCH_FILE), &patch)
            .map_err(|error| format!("The file {PATCH_FILE} could not be written: {error}."))?;
        set_patch_file(setup, PATCH_FILE);
        Ok(Delivered::Patch)
    }
}

/// Names the patch to the steps after this one.
pub(super) fn set_patch_file(setup: &Setup, name: &str) {
    if let Err(error) = setup.actions.set_output("patch_file", name) {
        setup.actions.warning(&format!(
            "A file of the runner could not be written: {error}"
        ));
    }
}

/// The account of a workflow's own token.
const WORKFLOW: &str = "github-actions[bot]";

/// True if the push starts workflows: with every token but a workflow's own.
pub(super) fn starts_workflows(job: &Job<'_>, ground: &Ground) -> bool {
    let viewer = &ground.facts.viewer;
    job.host.config.fix.push_token.is_some() || *viewer != Login::new(WORKFLOW)
}

/// The required checks of the base branch that nothing starts on the new head; the reviewer's own is among the run's duties.
async fn waiting(job: &Job<'_>, ground: &Ground) -> Vec<String> {
    let base = &ground.facts.pull.base_ref;
    let rules = job.github.branch_rules(&job.pr.repo, base).await;
    let checks = rules.map(|rules| rules.required_checks).unwrap_or_default();
    let own = reviewer_core::state::check_mark::CHECK_NAME;
    checks.into_iter().filter(|name| name != own).collect()
}

/// Tells before the push what it will not start.
pub(super) async fn warn(job: &Job<'_>, ground: &Ground) {
    if !starts_workflows(job, ground) {
        let waiting = waiting(job, ground).await;
        job.host
            .setup
            .actions
            .line(&fixing::push_starts_nothing(&waiting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_message_are_no_words_of_it() {
        let body = "https://github.test/r1\n\n- A token is logged.\n\nReview-Finding: 83187e5a8178f320\nReview-Finding: comment-12";
        let words = without_trailers("Fix 2 review findings", body);
        assert_eq!(
            words,
            "Fix 2 review findings\nhttps://github.test/r1\n\n- A token is logged.\n"
        );
    }
}

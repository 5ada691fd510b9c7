//! Everything a run reads before it works: the pull request and its discussion from GitHub, the change and the
//! rules from git objects. The two sources are read side by side.

use super::carried::Carried;
use super::change::Change;
use super::earlier::{self, Earlier};
use super::{Run, Stop, dismissing, past};
use crate::authority::{Action, judge};
use crate::context::rules::RuleFile;
use crate::context::since::Since;
use crate::domain::{CommitSha, FindingId, Login, PrKey, Score, Thread};
use crate::git::Repository;
use crate::github::{
    ApiError, ChangedFile, CommitInfo, GitHub, IssueComment, PullRequest, PullState, Review,
};
use crate::plan::{self, Cause, Plan, Situation, SpendScope};
use crate::state::rebuild::{Lost, Rebuilt, Remark};
use crate::state::record::{self, Record};
use crate::state::spending::Account;
use sha2::{Digest, Sha256};
use std::path::Path;

/// The pull request as the run found it.
pub struct Reading {
    pub pull: PullRequest,
    pub merge_base: CommitSha,
    pub files: Vec<ChangedFile>,
    pub commits: Vec<CommitInfo>,
    pub threads: Vec<Thread>,
    pub lost: Vec<Lost>,
    pub others: Vec<Remark>,
    pub conversation: Vec<IssueComment>,
    pub reviews: Vec<Review>,
    pub warnings: Vec<String>,
    pub change: Change,
    /// Hash of what a review depends on besides the code.
    pub rules_hash: String,
    pub plan: Plan,
    /// What the newest run on this head has left, whether it was done or not.
    pub on_head: Option<OnHead>,
    /// The check runs of ours on this head that were concluded before the discussion was read.
    pub concluded: Vec<u64>,
    /// What is new since the change was reviewed; `None`: all of it.
    pub since: Option<Since>,
    /// How much of the model the run may use.
    pub scope: SpendScope,
    /// What the pull request had cost before this run.
    pub account: Account,
    /// What runs before have found and could not post.
    pub carried: Carried,
}

impl Reading {
    pub async fn of(
        run: &Run<'_>,
        pull: PullRequest,
        scope: SpendScope,
        snapshot: &Path,
    ) -> Result<Self, Stop> {
        let merge_base = run
            .github
            .merge_base(&run.pr.repo, &pull.base_sha, &pull.head_sha)
            .await
            .map_err(Stop::fail)?;
        let (talk, change) = tokio::join!(
            Talk::of(run, &pull),
            change(run, &pull, &merge_base, snapshot)
        );
        let (talk, change) = super::both(talk, change)?;
        let mut reading = Self {
            plan: Plan::Review,
            on_head: None,
            concluded: Vec::new(),
            since: None,
            scope,
            account: Account::default(),
            carried: Carried::default(),
            rules_hash: rules_hash(run, &change.rules),
            merge_base,
            files: Vec::new(),
            commits: Vec::new(),
            threads: Vec::new(),
            lost: Vec::new(),
            others: Vec::new(),
            conversation: Vec::new(),
            reviews: Vec::new(),
            warnings: Vec::new(),
            change,
            pull,
        };
        reading.hear(run, talk).await?;
        Ok(reading)
    }

    /// The discussion and the plan once more, after another run has worked on this head.
    pub async fn again(&mut self, run: &Run<'_>) -> Result<(), Stop> {
        let talk = Talk::of(run, &self.pull).await?;
        self.hear(run, talk).await
    }

    /// Takes in what was said, and decides by it what is to be done.
    async fn hear(&mut self, run: &Run<'_>, mut talk: Talk) -> Result<(), Stop> {
        past::follow_renames(run, self, &mut talk.rebuilt.threads).await;
        let mut records: Vec<Record> = talk.on_head.iter().map(|one| one.record.clone()).collect();
        records.extend(talk.of_manifests);
        records.extend(earlier::records(run, &self.pull, &talk.rebuilt).await?);
        self.account = Account::of(&records);
        let unread = records.is_empty() && talk.rebuilt.has_reviews;
        talk.rebuilt
            .warnings
            .extend(unread.then(|| self.assume_half(run)).flatten());
        let knows = |record: &Record| record.knows_of_fixes(&talk.rebuilt.threads);
        let (records, outdated): (Vec<Record>, Vec<Record>) = records.into_iter().partition(knows);
        let change = plan::Change {
            merge_base: &self.merge_base,
            head: &self.pull.head_sha,
            files: self.change.diffs.len(),
            owed: self.change.owed().count(),
            unreadable: &self.change.unreadable().collect::<Vec<_>>(),
        };
        let is_about = |one: &OnHead| {
            let record = &one.record;
            record.is_about(change.merge_base, change.head, &self.rules_hash) && knows(record)
        };
        let concluded = talk.on_head.iter().filter(|one| one.concluded_at.is_some());
        self.concluded = concluded.map(|one| one.id).collect();
        self.on_head = talk.on_head.into_iter().find(is_about);
        self.plan = plan::plan(records.clone(), &change, &self.rules_hash);
        (self.files, self.commits) = (talk.files, talk.commits);
        (self.conversation, self.reviews) = (talk.conversation, talk.reviews);
        (self.threads, self.lost) = (talk.rebuilt.threads, talk.rebuilt.lost);
        (self.others, self.warnings) = (talk.rebuilt.others, talk.rebuilt.warnings);
        let all: Vec<Record> = records.iter().chain(&outdated).cloned().collect();
        self.carried = Carried::of(run, self, &all);
        self.since = None;
        if self.plan == Plan::Review {
            match earlier::review(run, self, records).await {
                Some(Earlier::Same(record)) => self.plan = Plan::Known(record),
                Some(Earlier::Since(since)) => self.since = Some(since),
                None => {}
            }
        }
        self.remember_findings();
        Ok(())
    }
}

/// The record of a check run on the head.
#[derive(Debug, Clone)]
pub struct OnHead {
    pub id: u64,
    pub record: Record,
    /// RFC 3339, as GitHub gave it; `None` while the check is in progress.
    pub concluded_at: Option<String>,
}

/// The pull request to review. Who may not even read it is told what a review takes, and not only the first step of it.
pub async fn to_review(github: &GitHub, pr: &PrKey) -> Result<PullRequest, Stop> {
    match github.pull_request(pr).await {
        Ok(pull) => Ok(pull),
        Err(error) if error.is_permission() => Err(Stop::fail(
            "The token may not read the pull request; a review is posted, too, so add `pull-requests: write` to the \
             job's permissions.",
        )),
        Err(error) => Err(not_found(pr, &error)),
    }
}

/// The pull request, or a sentence about why there is none.
pub async fn found(github: &GitHub, pr: &PrKey) -> Result<PullRequest, Stop> {
    let found = github.pull_request(pr).await;
    found.map_err(|error| not_found(pr, &error))
}

fn not_found(pr: &PrKey, error: &ApiError) -> Stop {
    if error.is_not_found() {
        return Stop::fail(format!(
            "The pull request {pr} was not found; check its number, and that github_token may read {}.",
            pr.repo
        ));
    }
    Stop::fail(error)
}

impl Reading {
    /// What earlier reviews have cost cannot be read: half of the day's limits counts. Returns the warning.
    fn assume_half(&mut self, run: &Run<'_>) -> Option<String> {
        let config = &run.engine.config;
        let (usd, tokens) = (config.max_cost_usd_per_day, config.max_tokens_per_day);
        self.account.assume_half(run.today, usd, tokens);
        let limited = usd.is_some() || tokens.is_some();
        // Without keys no record is ever read, which is told by itself.
        (limited && run.keys.can_sign()).then(|| {
            "The pull request has reviews of ours, but no record of what they cost can be read; half of the day's \
             limits counts as spent. Keep an old key as a second state_key to have its records read."
                .into()
        })
    }

    /// Where a record stands in for the review, its findings count as it has them, whatever became of the comments and
    /// of the manifest that listed them.
    fn remember_findings(&mut self) {
        let (Plan::Recompute(record) | Plan::Known(record)) = &self.plan else {
            return;
        };
        let missing = record.missing(&self.threads);
        for (id, score) in missing.filter(|(id, _)| !self.carried.has(id)) {
            let head = self.pull.head_sha.clone();
            if let Some(lost) = self.lost.iter_mut().find(|lost| lost.id == id) {
                lost.head = head;
            } else {
                let lost = Lost { id, score, head };
                self.warnings.push(lost.to_string());
                self.lost.push(lost);
            }
        }
    }

    /// Scores of the findings of this head whose comments somebody deleted.
    pub fn missed(&self) -> Vec<Score> {
        let lost = self
            .lost
            .iter()
            .filter(|lost| lost.head == self.pull.head_sha);
        lost.map(|lost| lost.score).collect()
    }

    /// Whether a run that does not review has something to post all the same: a reply in a thread, or a finding that an
    /// earlier run could not post.
    pub fn owes_words(&self) -> bool {
        self.carried.is_due() || !self.to_judge(false).is_empty()
    }

    /// The open threads that this run judges, with the change if it `reviews` that: none where nobody pays for it.
    pub fn to_judge(&self, reviews: bool) -> Vec<&Thread> {
        if !self.scope.allow_discussion() {
            return Vec::new();
        }
        plan::to_judge(&self.threads, &self.pull.head_sha, |thread| {
            reviews || self.may_be_fixed(thread)
        })
    }
}

impl Reading {
    /// Whether a push that is not reviewed may have fixed a finding: one in an excused file, or one that the review which
    /// stands in for this head does not know, because what it was about was taken back. Looked at once for each head.
    fn may_be_fixed(&self, thread: &Thread) -> bool {
        let (Plan::Known(record), None) = (&self.plan, &self.on_head) else {
            return false;
        };
        let lists = |id: &FindingId| record.findings.iter().any(|one| one.id == id.as_str());
        let is_listed = thread.finding_id.as_ref().is_some_and(lists);
        let mut excused = self.change.excused();
        !is_listed || excused.any(|(path, _)| path == thread.file)
    }
}

/// How much of the model the run may use; nothing at all where the pull request is to be left alone.
pub async fn spend_scope(run: &Run<'_>, pull: &PullRequest) -> Result<SpendScope, Stop> {
    let situation = Situation {
        kind: &run.event.kind,
        open: pull.state == PullState::Open,
        draft: pull.draft,
        from_fork: pull.from_fork,
        forks: run.engine.config.fork_reviews,
        labels: &pull.labels,
        skip_label: &run.engine.config.skip_label,
        skip: &run.engine.config.skip,
        author: pull.author.as_ref(),
        files: pull.changed_files,
        lines: pull.changed_lines,
        mention: &run.engine.config.mention,
    };
    if let Some(reason) = situation.skip_reason() {
        return Err(Stop::Skip(reason.to_string()));
    }
    let scope = by_cause(run, pull).await?;
    super::reactions::seen(run).await;
    Ok(scope)
}

/// Whether words of this person may cost something.
pub async fn may_spend(run: &Run<'_>, pull: &PullRequest, login: &Login) -> Result<bool, Stop> {
    let action = Action::Spend {
        from_fork: pull.from_fork,
    };
    let (memory, author) = (run.memory(), pull.author.as_ref());
    let person = memory.person(login, author, action).await?;
    Ok(judge(person, action).is_ok())
}

/// How much of the model the run may use, by what caused it.
async fn by_cause(run: &Run<'_>, pull: &PullRequest) -> Result<SpendScope, Stop> {
    let cause = Cause {
        kind: &run.event.kind,
        dismisses: dismissing::is_asked(run),
        repo: &run.pr.repo,
        from_fork: pull.from_fork,
        forks: run.engine.config.fork_reviews,
        mention: &run.engine.config.mention,
    };
    let speaker = match cause.needs().zip(run.event.speaker()) {
        Some((action, login)) => {
            let (memory, author) = (run.memory(), pull.author.as_ref());
            Some((login, memory.person(login, author, action).await?))
        }
        None => None,
    };
    let scope = cause.scope(speaker);
    scope.map_err(|reason| Stop::Skip(reason.to_string()))
}

/// What GitHub holds of the discussion.
struct Talk {
    files: Vec<ChangedFile>,
    commits: Vec<CommitInfo>,
    rebuilt: Rebuilt,
    conversation: Vec<IssueComment>,
    reviews: Vec<Review>,
    /// What runs before have left on this head, newest first.
    on_head: Vec<OnHead>,
    /// The same in the manifests of reviews.
    of_manifests: Vec<Record>,
}

impl Talk {
    async fn of(run: &Run<'_>, pull: &PullRequest) -> Result<Self, Stop> {
        let github = &run.github;
        // First, so that whatever a run posted before it concluded its check is in what is read after it.
        let checks = on_head(run, &pull.head_sha).await.map_err(Stop::fail)?;
        let (files, commits, conversation, reviews) = tokio::try_join!(
            github.files(&run.pr),
            github.commits(&run.pr),
            github.issue_comments(&run.pr),
            github.reviews(&run.pr),
        )
        .map_err(Stop::fail)?;
        let rebuilt = run
            .memory()
            .rebuild(pull.author.as_ref(), &reviews, &files)
            .await?;
        let from_reviews = reviews
            .iter()
            .rev()
            .filter_map(|review| record::from_manifest(&review.body, &run.pr, &run.keys));
        Ok(Self {
            of_manifests: from_reviews.collect(),
            on_head: checks,
            files,
            commits,
            rebuilt,
            conversation,
            reviews,
        })
    }
}

/// The records of our check runs on this head, newest first. Without the right to read them there is no memory there.
pub async fn on_head(run: &Run<'_>, head: &CommitSha) -> Result<Vec<OnHead>, ApiError> {
    let runs = run
        .github
        .check_runs(&run.pr.repo, head, super::check::NAME)
        .await;
    match runs {
        Ok(mut runs) => {
            runs.sort_by_key(|check| std::cmp::Reverse(check.id));
            let records = runs.into_iter().filter_map(|check| {
                Some(OnHead {
                    id: check.id,
                    record: record::read(check.text.as_deref()?, &run.pr, &run.keys)?,
                    concluded_at: check.completed_at,
                })
            });
            Ok(records.collect())
        }
        Err(error) if error.is_permission() || error.is_not_found() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The commits are fetched where the workspace does not have them.
async fn change(
    run: &Run<'_>,
    pull: &PullRequest,
    merge_base: &CommitSha,
    snapshot: &Path,
) -> Result<Change, Stop> {
    let environment = &run.engine.setup.environment;
    let directory = run.engine.scratch.directory("objects")?;
    let workspace = environment.workspace.as_deref();
    let repository = Repository::open(&directory, workspace, &environment.for_git())?;
    let commits = [merge_base, &pull.head_sha];
    repository.ensure(&commits, &run.remote()).await?;
    Change::of(&run.engine, repository, commits, snapshot).await
}

fn rules_hash(run: &Run<'_>, rules: &[RuleFile]) -> String {
    let mut hash = Sha256::new();
    hash.update(run.engine.config.fingerprint());
    for rule in rules {
        hash.update(format!("\n{}\n{}\n", rule.path, rule.text.len()));
        hash.update(&rule.text);
    }
    data_encoding::HEXLOWER.encode(&hash.finalize()[..8])
}

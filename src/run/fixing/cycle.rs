//! One cycle of fixing: a session, its checks, the delivery of what it fixed, and the report about it.

mod handover;

use super::delivery::{self, Commit};
use super::ground::Ground;
use super::orders;
use super::session::{self, Bench, Stage};
use super::verifying::{Checked, Checks};
use super::{Fixing, LoopEnd, now, post};
use crate::host::{Aim, Failure, Job};
use crate::run::CheckRun;
use crate::run::outcome::Outcome;
use reviewer_core::config::FixDelivery;
use reviewer_core::domain::CommitSha;
use reviewer_core::fix::brief::FixBrief;
use reviewer_core::fix::bundle::BundleEdit;
use reviewer_core::fix::gate::Gate;
use reviewer_core::fix::issue::{Issue, IssueId};
use reviewer_core::fix::memory;
use reviewer_core::fix::outcome::{
    self, CommitDocument, FixPayload, FixResult, Outcome as IssueOutcome, Settled,
};
use reviewer_core::fix::report::{Delivery, FixReport, KeptIssue, KeptOutcome};
use reviewer_core::fix::reverts::{self, LineMarks};
use reviewer_core::fix::selection::Selection;
use reviewer_core::publish::comment::fallback;
use reviewer_core::publish::comment::fixing::{self, Delivered, FixTold, Verified};
use reviewer_core::report::events::EventKind;
use reviewer_core::state::spending::{Account, Spent};
use reviewer_repo::git::FileEdit;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The number of times that a failed check goes back to the model.
const MOST_CORRECTIONS: u32 = 2;

/// The beginning of a sentence about a fix that was not made.
const NOTHING: &str = "Nothing was fixed: ";

/// One cycle: a session, its checks, and the delivery of what it fixed.
pub(super) struct Cycle<'a> {
    pub job: &'a Job<'a>,
    pub ground: &'a Arc<Ground>,
    pub selection: Selection,
    /// Counted over the life of the pull request.
    pub number: u32,
    /// The comment that asked for it; `None` where it is due by itself.
    pub command: Option<u64>,
}

/// The result of the session and its checks.
struct Made {
    settled: Vec<Settled>,
    report: FixReport,
    edits: Vec<FileEdit>,
    /// The same, with what they were made for.
    bundled: Vec<BundleEdit>,
    verified: Verified,
    /// The id of the tree that was checked.
    tree: Option<String>,
    beyond: Vec<String>,
    /// The sentence about another model that went on with the fix.
    fallback: Option<String>,
    gate: Gate,
    review_url: String,
    /// The reason why the session ended early.
    ended: Option<String>,
}

/// The reason why a fix was not delivered.
struct Refused {
    why: String,
    /// True if GitHub did not answer, so that the fix counts as not tried.
    unanswered: bool,
}

impl Cycle<'_> {
    pub(super) async fn run(
        &self,
        outcome: &mut Outcome,
        check: &CheckRun,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        let job = self.job;
        self.created(outcome, fixing);
        if self.delivers_by_push() {
            delivery::warn(job, self.ground).await;
        }
        let made = self.make().await;
        self.enter_cost(outcome);
        self.bring(made?, outcome, check, fixing).await
    }

    /// Delivers what was made, and tells people.
    async fn bring(
        &self,
        mut made: Made,
        outcome: &mut Outcome,
        check: &CheckRun,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        // Signed, before anything is pushed: a run that is cut off here is made good by the next one.
        outcome.record.fix = serde_json::to_value(&made.report).ok();
        let delivered = match check.write_undelivered(&outcome.record).await {
            Ok(()) => self.deliver(&made).await,
            Err(error) => Err(Refused {
                why: fixing::not_written(&error.to_string()),
                unanswered: true,
            }),
        };
        let (delivered, refused) = match delivered {
            Ok(delivered) => (delivered, None),
            Err(refused) => (Delivered::Nothing, Some(refused)),
        };
        if let Some(refused) = &refused {
            made.undeliver(&refused.why);
            made.report.void = refused.unanswered || self.has_moved().await;
        }
        made.tell_delivery(&delivered);
        outcome.record.fix = serde_json::to_value(&made.report).ok();
        let result = self.result(&made);
        let told = self.report(&made, &delivered, &result).await;
        let refused = refused.map(|refused| refused.why);
        let around = (&delivered, refused, result);
        self.note(&made, around, outcome, fixing).await;
        if let Err(Failure(why)) = told {
            // A commit is not undone for want of its report, and its head has to be reviewed.
            let warning = fixing::untold(&why.join(" "), &delivered);
            outcome.report.warnings.push(warning);
        }
        Ok(())
    }

    /// True if the pull request is at another head by now.
    async fn has_moved(&self) -> bool {
        let pull = self.job.github.pull_request(&self.job.pr).await;
        pull.is_ok_and(|pull| pull.head_sha != *self.ground.head())
    }

    /// Enters the cost of the session in the report and in the account of the pull request.
    fn enter_cost(&self, outcome: &mut Outcome) {
        let (job, used) = (self.job, self.job.host.session().usage.used());
        outcome.report.cost_usd += used.told.cost;
        outcome.report.tokens += used.tokens().number;
        let spent = job.spent(used.told.cost, used.tokens().number);
        self.enter(spent, outcome);
    }

    fn enter(&self, spent: Spent, outcome: &mut Outcome) {
        let account = Account::from_records([&outcome.record]).plus(spent);
        let record = std::mem::take(&mut outcome.record);
        outcome.record = account.entered_in(record, self.job.today);
    }

    fn created(&self, outcome: &Outcome, fixing: &mut Fixing) {
        let payload = self.payload();
        let issues = payload.issues_to_fix.len() + payload.optional_issues.len();
        let (cycle, review) = (self.number, outcome.title());
        let details =
            json!({ "cycle": cycle, "issues": issues, "review": review, "payload": payload });
        fixing.event(self.job, EventKind::FixCreated, details);
    }

    /// The task, as other tools read it.
    fn payload(&self) -> FixPayload {
        FixPayload::new(self.job.pr.number, self.number, &self.selection.issues)
    }

    /// The work, as other tools read it.
    fn result(&self, made: &Made) -> FixResult {
        let commit = made.report.commit.clone().map(|sha| CommitDocument {
            sha,
            message: delivery::message(&made.settled, &made.review_url, &made.gate).0,
        });
        FixResult::new(self.job.pr.number, &made.settled, commit)
    }

    fn delivers_by_push(&self) -> bool {
        let pull = &self.ground.facts.pull;
        self.job.host.config.fix.delivery == FixDelivery::Push && !pull.from_fork
    }

    /// Makes the edits, and what is to be remembered of them.
    async fn make(&self) -> Result<Made, Failure> {
        let (job, ground) = (self.job, self.ground);
        let issues: Arc<[Issue]> = self.selection.issues.clone().into();
        let shown = ground.shown(job, &issues).await?;
        let specification = ground.specification().await?;
        let (summary, review_url) = ground.review();
        let pull = &ground.facts.pull;
        let brief = FixBrief {
            fence: &job.host.fence,
            title: &pull.title,
            body: &pull.body,
            base_ref: &pull.base_ref,
            head: ground.head(),
            summary: &summary,
            review_url: &review_url,
            issues: &shown,
            rules: &ground.facts.change.rules,
            specification: &specification,
        };
        let (_, beyond) = brief.begin().map_err(anyhow::Error::from)?;
        let beyond: Vec<String> = beyond.iter().map(|issue| issue.id.to_string()).collect();
        let within = issues
            .iter()
            .filter(|issue| !beyond.contains(&issue.id.to_string()));
        let issues: Arc<[Issue]> = within.cloned().collect();
        let settings = &job.host.config.fix.settings;
        let redactor = Arc::clone(&job.host.secrets.redactor);
        let gate = Gate::new(Arc::clone(&issues), settings.allow.clone(), redactor);
        let bench = Bench::new(job, ground, Arc::clone(&issues));
        let (ended, checked) = self.hold(&bench, &brief).await?;
        let fixed = bench.finish().await;
        let mut fixed = fixed.ok_or_else(|| Failure::new("the fix session is gone"))?;
        let mut edits = session::file_edits(&fixed.edits.changed_files());
        if let Some(why) = &ended {
            outcome::tell_end(&mut fixed.settled, why);
        }
        if !checked.failure.is_empty() {
            let why = checks_fail(ended.as_deref());
            outcome::undo_all(&mut fixed.settled, &why);
            edits.clear();
        }
        let report = self.kept(&fixed.settled, |issue| reverts::marks(&fixed.edits, issue));
        let changed = Some(fixed.edits.changed_files()).filter(|_| !edits.is_empty());
        let bundled = handover::bundled(&changed.unwrap_or_default(), &fixed.ground.quotes);
        Ok(Made {
            report,
            settled: fixed.settled,
            edits,
            bundled,
            verified: checked.verified,
            tree: checked.tree,
            beyond,
            fallback: job.host.session().fell_back().map(fallback::in_fix),
            gate,
            review_url,
            ended,
        })
    }

    /// Holds the session on a bench, and lets it correct what the checks find. Returns why it ended early, if it did, and the
    /// last checks.
    async fn hold(
        &self,
        bench: &Bench,
        brief: &FixBrief<'_>,
    ) -> Result<(Option<String>, Checked), Failure> {
        let job = self.job;
        let mut held = bench.hold(job, brief, Stage::Begin).await?;
        let mut checks = Checks::new(job, self.ground);
        let mut checked = checks.run(&bench.edits().await, held.user).await?;
        for _ in 0..MOST_CORRECTIONS {
            if checked.failure.is_empty() {
                break;
            }
            let stage = Stage::Verify(&checked.failure);
            held = bench.hold(job, brief, stage).await?;
            checked = checks.run(&bench.edits().await, held.user).await?;
        }
        Ok((held.ended, checked))
    }

    /// The signed memory of the cycle, before its delivery.
    fn kept(&self, settled: &[Settled], marks: impl Fn(&IssueId) -> Vec<LineMarks>) -> FixReport {
        let redactor = &self.job.host.secrets.redactor;
        let outcomes = settled.iter().map(|Settled { issue, outcome }| {
            // Before it is signed: afterwards nothing of it may change.
            let told = Issue {
                title: redactor.clean(&issue.title).into_owned(),
                text: redactor.clean(&issue.text).into_owned(),
                ..issue.clone()
            };
            KeptIssue::new(&told, outcome.into(), marks(&issue.id))
        });
        let facts = &self.ground.facts;
        FixReport {
            at: now(self.job),
            cycle: self.number,
            max: self.job.host.config.fix.max_cycles,
            branch: facts.pull.head_ref.clone(),
            head: self.ground.head().to_string(),
            command: self.command,
            known: memory::known(&facts.threads),
            outcomes: outcomes.collect(),
            ..FixReport::default()
        }
        .fitted()
    }

    async fn deliver(&self, made: &Made) -> Result<Delivered, Refused> {
        if made.edits.is_empty() {
            return Ok(Delivered::Nothing);
        }
        let refused = |why, unanswered| Refused { why, unanswered };
        match orders::called_off(self.job).await {
            Ok(None) => {}
            Ok(Some(reason)) => return Err(refused(reason.to_string(), false)),
            Err(why) => return Err(refused(why, true)),
        }
        let committed = self.commit(made).await;
        committed.map_err(|why| refused(why, false))
    }

    async fn commit(&self, made: &Made) -> Result<Delivered, String> {
        let (job, ground) = (self.job, self.ground);
        let repository = &ground.facts.change.repository;
        let tree = repository.tree_with(ground.head(), &made.edits).await;
        let tree = tree.map_err(|error| format!("The fix cannot be committed: {error:#}."))?;
        let verified = made.tree.as_deref();
        if verified.is_some_and(|verified| verified != tree.as_str()) {
            return Err(
                "The files of the fix are not the ones that were verified; nothing was pushed."
                    .into(),
            );
        }
        let commit = Commit {
            edits: &made.edits,
            settled: &made.settled,
            review_url: &made.review_url,
            tree: &tree,
        };
        let delivery = job.host.config.fix.delivery;
        commit
            .deliver(job, ground, (&made.gate, self.number), delivery)
            .await
    }

    /// Posts the report of the fix.
    async fn report(
        &self,
        made: &Made,
        delivered: &Delivered,
        result: &FixResult,
    ) -> Result<(), Failure> {
        let job = self.job;
        let documents = json!({ "payload": self.payload(), "result": result });
        let told = FixTold {
            report: &made.report,
            settled: &made.settled,
            delivered,
            verified: &made.verified,
            left_out: &self.selection.left_out,
            beyond: &made.beyond,
            fallback: made.fallback.as_deref(),
        };
        post(
            job,
            &fixing::fix_report(&told, &documents, (&job.pr, &job.keys)),
        )
        .await
    }

    /// Tells the run what became of the cycle.
    async fn note(
        &self,
        made: &Made,
        (delivered, refused, result): (&Delivered, Option<String>, FixResult),
        outcome: &mut Outcome,
        fixing: &mut Fixing,
    ) {
        let (job, cycle) = (self.job, self.number);
        let fixed = result.summary.fixed;
        match delivered {
            Delivered::Nothing => {
                let why = refused.or_else(|| made.why_not());
                let why = why.unwrap_or_else(|| "the fixer changed nothing".into());
                let why_alone = why.strip_prefix(NOTHING).unwrap_or(&why);
                let note = format!("{NOTHING}{why_alone}");
                outcome.report.notes.push(note);
                fixing.event(
                    job,
                    EventKind::FixFailed,
                    json!({ "cycle": cycle, "why": why, "result": result }),
                );
                fixing.end = Some(LoopEnd::Unfinished);
            }
            Delivered::Pushed {
                commit,
                starts_workflows,
                ..
            } => {
                let sha = commit.as_str();
                let details =
                    json!({ "cycle": cycle, "fixed": fixed, "commit": sha, "result": result });
                fixing.event(job, EventKind::FixCompleted, details);
                fixing.pushed = Some(commit.clone());
                let goes_on = match job.aim {
                    // The service orders the review of what it had fixed.
                    _ if job.is_ordered_fix() => false,
                    Aim::Loop => true,
                    Aim::Review | Aim::Fix => !starts_workflows,
                    // Another job reviews what this one publishes.
                    Aim::PatchOut(_) | Aim::Publish(_) => false,
                };
                let pushed = !job.host.config.dry_run;
                fixing.goes_on = goes_on && pushed && is_head(job, commit).await;
                if fixing.goes_on {
                    let details = json!({ "cycle": cycle, "head": commit.as_str() });
                    fixing.event(job, EventKind::ReReview, details);
                }
            }
            Delivered::Stacked { commit, .. } => {
                let commit = commit.as_str();
                let details =
                    json!({ "cycle": cycle, "fixed": fixed, "commit": commit, "result": result });
                fixing.event(job, EventKind::FixCompleted, details);
            }
            Delivered::Patch => {
                fixing.event(
                    job,
                    EventKind::FixCompleted,
                    json!({ "cycle": cycle, "fixed": fixed, "result": result }),
                );
            }
        }
    }
}

/// The number of looks for the new head, and the pause between: GitHub tells of a push a little later.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);

/// True once the pull request is at this commit. If somebody pushed since, their event gets the head reviewed.
async fn is_head(job: &Job<'_>, commit: &CommitSha) -> bool {
    for _ in 0..LOOKS {
        match job.github.pull_request(&job.pr).await {
            Ok(pull) if pull.head_sha == *commit => return true,
            _ => job.host.setup.clock.sleep(BETWEEN_LOOKS).await,
        }
    }
    false
}

impl Made {
    /// Nothing was delivered, so nothing is fixed.
    fn undeliver(&mut self, why: &str) {
        outcome::undo_all(&mut self.settled, why);
        for kept in &mut self.report.outcomes {
            if kept.outcome == KeptOutcome::Fixed {
                // It may be tried again: it was not the fixer who failed.
                kept.outcome = KeptOutcome::Deferred;
            }
        }
    }

    /// The reason why nothing was changed, if it was not the fixer's judgement.
    fn why_not(&self) -> Option<String> {
        let undone = self.settled.iter().find_map(|one| match &one.outcome {
            IssueOutcome::Undone { reason } => Some(reason.clone()),
            _ => None,
        });
        self.ended.clone().or(undone)
    }

    fn tell_delivery(&mut self, delivered: &Delivered) {
        let (commit, delivery) = match delivered {
            Delivered::Pushed { commit, .. } => (Some(commit), Some(Delivery::Push)),
            Delivered::Stacked { commit, .. } => (Some(commit), Some(Delivery::PullRequest)),
            Delivered::Patch => (None, Some(Delivery::Patch)),
            Delivered::Nothing => (None, None),
        };
        self.report.commit = commit.map(ToString::to_string);
        self.report.delivery = delivery;
    }
}

/// The reason why a fix that the project's checks refuse is not delivered.
fn checks_fail(ended: Option<&str>) -> String {
    let why = "the project's checks fail because of it";
    ended.map_or_else(|| why.to_owned(), |ended| format!("{why}, and {ended}"))
}

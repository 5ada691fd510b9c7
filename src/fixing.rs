//! Fixing, after a review: from open findings to one commit. Readable top to bottom: gather, decide, session, verify, deliver,
//! report. The session that shapes changed code holds no token; what is delivered is a list of edits, on the head that was fixed.

mod catch_up;
mod delivery;
mod ground;
mod orders;
mod session;
mod verifying;

pub(crate) use catch_up::catch_up;
pub(crate) use orders::stop_as_asked;

use crate::host::{Failure, Job};
use crate::run::outcome::Outcome;
use crate::run::{CheckRun, replies};
use delivery::Commit;
use ground::Ground;
use orders::Asked;
use reviewer_core::config::{FixDelivery, FixMode};
use reviewer_core::context::fix_brief::FixBrief;
use reviewer_core::domain::{CommitSha, Verdict};
use reviewer_core::fix::gate::Gate;
use reviewer_core::fix::issue::Issue;
use reviewer_core::fix::memory::{self, Delivery, FixReport, KeptIssue, KeptOutcome, Memory, Stop};
use reviewer_core::fix::outcome::{
    CommitDocument, FixPayload, FixResult, Outcome as IssueOutcome, Settled,
};
use reviewer_core::fix::preflight::{self, NotFixed};
use reviewer_core::fix::reverts;
use reviewer_core::fix::rounds::{self, Mode, Next, OpenWork, Situation};
use reviewer_core::fix::selection::Selection;
use reviewer_core::panel::consensus::{Consensus, Priority, Ruling};
use reviewer_core::panel::review_state::ReviewState;
use reviewer_core::publish::comment::fixing::{
    self, Delivered, Escalation, FixTold, HUMAN_REVIEW, Verified,
};
use reviewer_core::report::events::{EventKind, EventReport};
use reviewer_github::{DryRun, PullState};
use serde_json::json;
use session::{Bench, Stage};
use std::sync::Arc;
use std::time::Duration;
use verifying::Checks;

/// The number of times that a failed check goes back to the model.
const MOST_CORRECTIONS: u32 = 2;

/// Where fixing stands after a run.
#[derive(Debug, Default)]
pub(crate) struct Fixing {
    pub events: Vec<EventReport>,
    /// True if the head is now a commit of the fix whose review no push event starts.
    pub goes_on: bool,
    pub end: Option<LoopEnd>,
}

/// The end of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopEnd {
    Converged,
    /// At the cap, or with nothing left that may be fixed.
    NeedsPeople,
    /// Stopped, waiting for a command, or failed.
    Unfinished,
}

/// Fixes what the review left open, if somebody asked for it or the workflow wants it.
pub(crate) async fn after_review(
    job: &Job<'_>,
    outcome: &mut Outcome,
    (check, dry_run): (&CheckRun, &DryRun),
) -> Fixing {
    let asked = Asked::from_job(job);
    let mode = job.host.config.fix.mode;
    if !(asked.is_some() || mode == FixMode::Auto) {
        return Fixing::default();
    }
    let mut fixing = Fixing::default();
    let told = Box::pin(attempt(
        job,
        outcome,
        (check, dry_run),
        asked.as_ref(),
        &mut fixing,
    ))
    .await;
    if let Err(Failure(sentences)) = told {
        let why = sentences.join(" ");
        fixing.event(job, EventKind::FixFailed, json!({ "why": why }));
        fixing.end = Some(LoopEnd::Unfinished);
        outcome.report.notes.push(format!("The fix failed: {why}"));
        if let Some(asked) = &asked {
            answer(job, asked, outcome, &format!("The fix failed: {why}")).await;
        }
    }
    fixing
}

impl Fixing {
    fn event(&mut self, job: &Job<'_>, kind: EventKind, details: serde_json::Value) {
        self.events.push(EventReport {
            at: now(job),
            event: kind,
            details,
        });
    }
}

/// The time, as reports keep it.
fn now(job: &Job<'_>) -> String {
    let now = chrono::DateTime::<chrono::Utc>::from(job.host.setup.clock.now());
    now.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

async fn attempt(
    review: &Job<'_>,
    outcome: &mut Outcome,
    (check, dry_run): (&CheckRun, &DryRun),
    asked: Option<&Asked>,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let job = &review.fixing(dry_run)?;
    let pull = job
        .github
        .pull_request(&job.pr)
        .await
        .map_err(Failure::new)?;
    let moved = pull.head_sha.as_str() != outcome.record.head;
    let snapshot = job.host.scratch.directory("head")?;
    let asked = match asked {
        Some(asked) => Some(asked.clone().completed(job, pull.author.as_ref()).await?),
        None => None,
    };
    let asked = asked.as_ref();
    let ground = Arc::new(Ground::gather(job, pull, &snapshot).await?);
    orders::note_reverts(job, &ground, fixing).await?;
    let memory = orders::remember(job, &ground, asked).await?;
    let only = asked.and_then(|asked| asked.thread);
    let selection = ground.select(&memory, only);
    let next = next(job, (&ground, &memory, &selection), outcome, asked);
    if let Some(told) = told_before(job, &ground, asked, &selection, moved).await? {
        return refuse(job, outcome, asked, &told.to_string(), fixing).await;
    }
    match next {
        Next::Fix { cycle, command, .. } => {
            let plan = Cycle {
                job,
                ground: &ground,
                selection,
                number: cycle,
                command,
            };
            Box::pin(plan.run(outcome, check, fixing)).await
        }
        other => conclude(job, (&ground, &selection), outcome, asked, &other, fixing).await,
    }
}

/// Decides what comes next.
fn next(
    job: &Job<'_>,
    (ground, memory, selection): (&Ground, &Memory, &Selection),
    outcome: &Outcome,
    asked: Option<&Asked>,
) -> Next {
    let facts = &ground.facts;
    let open = facts.open_threads();
    let open = open.filter(|thread| Priority::from(thread.assessment.score) <= Priority::P2);
    let head = ground.head();
    let of_head = facts.commits.iter().find(|commit| commit.sha == *head);
    let situation = Situation {
        memory,
        mode: match job.host.config.fix.mode {
            FixMode::Auto => Mode::Auto,
            FixMode::OnRequest | FixMode::Off => Mode::OnRequest,
        },
        max_cycles: job.host.config.fix.max_cycles,
        head,
        head_is_ours: of_head.is_some_and(|commit| {
            let author = commit.author.as_ref();
            author == Some(&facts.viewer) && commit.message.contains("\nReview-Finding: ")
        }),
        reviewed: !matches!(outcome.verdict, Verdict::Incomplete | Verdict::Error),
        open: OpenWork {
            findings: open.count(),
            conversations: facts.open_conversations().count(),
            consensus: consensus(outcome),
            fixable: selection.needed() + usize::from(asked.is_some()) * selection.optional(),
        },
        command: asked.and_then(Asked::command),
    };
    rounds::next(&situation)
}

/// The consensus of the review; from its open findings alone where the run came to none.
fn consensus(outcome: &Outcome) -> Consensus {
    let reached = outcome.report.consensus.as_ref();
    reached.map_or_else(
        || {
            let standing = outcome.standing.iter().copied().map(Priority::from);
            Ruling::decide(standing, [], ReviewState::default()).consensus()
        },
        |reached| reached.consensus,
    )
}

/// The reason why nothing may be fixed, before the model is asked.
async fn told_before(
    job: &Job<'_>,
    ground: &Ground,
    asked: Option<&Asked>,
    selection: &Selection,
    head_moved: bool,
) -> Result<Option<NotFixed>, Failure> {
    let (config, pull) = (&job.host.config.fix, &ground.facts.pull);
    let pushes = config.delivery != FixDelivery::Patch && !pull.from_fork;
    let queued = pushes && job.github.is_queued(&job.pr).await.unwrap_or(false);
    let branch = match pushes {
        true => job
            .github
            .branch_head(&job.pr.repo, &pull.head_ref)
            .await
            .map_err(Failure::new)?,
        false => None,
    };
    let facts = preflight::Facts {
        off: config.mode == FixMode::Off,
        asked_by: asked.map(|asked| (&asked.by, asked.person)),
        labels: &pull.labels,
        closed: pull.state == PullState::Closed,
        merged: pull.state == PullState::Merged,
        locked: pull.locked,
        queued,
        head_moved,
        has_branch: branch.is_some(),
        pushes,
        from_fork: pull.from_fork,
        may_push: !pushes || branch.is_none() || may_push(job, &pull.head_ref).await,
        can_sign: job.keys.can_sign(),
        read_all: true,
        issues: match asked {
            Some(_) => selection.issues.len(),
            // Due by itself: what is open decides whether there is something to do.
            None => 1,
        },
    };
    Ok(preflight::preflight(&facts).err())
}

/// True unless GitHub says that the token may not push; what it does not say, its refusal of the commit will.
async fn may_push(job: &Job<'_>, branch: &str) -> bool {
    let may = job.github.may_commit(&job.pr.repo, branch).await;
    may.unwrap_or(true)
}

/// Tells whoever asked why nothing is fixed; a fix that was due by itself leaves a note.
async fn refuse(
    job: &Job<'_>,
    outcome: &mut Outcome,
    asked: Option<&Asked>,
    why: &str,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    fixing.end = Some(LoopEnd::Unfinished);
    outcome.report.notes.push(why.to_owned());
    if let Some(asked) = asked {
        answer(job, asked, outcome, why).await;
    }
    Ok(())
}

async fn answer(job: &Job<'_>, asked: &Asked, outcome: &mut Outcome, text: &str) {
    let Ok(head) = outcome.record.head.parse::<CommitSha>() else {
        return;
    };
    if let Err(Failure(sentences)) = replies::tell_asker(job, &head, asked.place(), text).await {
        outcome.leave_unanswered(sentences);
    }
}

/// Ends rounds: nothing is left to do, or nothing that may be done without people.
async fn conclude(
    job: &Job<'_>,
    (ground, selection): (&Ground, &Selection),
    outcome: &mut Outcome,
    asked: Option<&Asked>,
    next: &Next,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let mention = &job.host.config.mention;
    let stuck: Vec<&Issue> = selection.stuck().collect();
    let (end, note) = match next {
        Next::Converged => (LoopEnd::Converged, "Nothing is left to fix.".to_owned()),
        Next::AtCap { cycles, call } => {
            let why = Escalation::AtCap {
                cycles: *cycles,
                stuck: &stuck,
            };
            if *call {
                call_people(job, ground, &why, outcome, fixing).await?;
            }
            let number = job.pr.number;
            let told =
                format!("PR #{number} exceeded max fix cycles ({cycles}) — requires human review");
            (LoopEnd::NeedsPeople, told)
        }
        Next::ManualIntervention => {
            let why = Escalation::Manual { stuck: &stuck };
            let tried = !ground.memory.cycles().is_empty();
            if tried && !ground.memory.has_escalated() {
                call_people(job, ground, &why, outcome, fixing).await?;
            }
            let told =
                "Manual intervention required: nothing is left that may be fixed.".to_owned();
            (LoopEnd::NeedsPeople, told)
        }
        Next::WaitsForCommand(why) => (
            LoopEnd::Unfinished,
            format!("No further fix: {why}. `{mention} fix` asks for one."),
        ),
        Next::Stopped(Stop::Ordered(order)) => (
            LoopEnd::Unfinished,
            format!(
                "Nothing was fixed: {} has stopped it. `{mention} fix resume` lets it go on.",
                order.by
            ),
        ),
        Next::Stopped(Stop::Reverted(commit)) => (
            LoopEnd::Unfinished,
            format!(
                "Nothing was fixed: the fix {commit:.7} was reverted. `{mention} fix resume` lets it go on."
            ),
        ),
        Next::Review | Next::Fix { .. } => (
            LoopEnd::Unfinished,
            "Nothing was fixed: the head is not reviewed to the end.".to_owned(),
        ),
    };
    fixing.end = Some(end);
    if let (Some(asked), false) = (
        asked,
        end == LoopEnd::NeedsPeople && ground.memory.has_escalated(),
    ) {
        answer(job, asked, outcome, &note).await;
    }
    outcome.report.notes.push(note);
    outcome.needs_people |= end == LoopEnd::NeedsPeople;
    Ok(())
}

/// Calls people, once: a comment that mentions them, and a label.
async fn call_people(
    job: &Job<'_>,
    ground: &Ground,
    why: &Escalation<'_>,
    outcome: &mut Outcome,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let (facts, at) = (&ground.facts, now(job));
    let discussion = crate::gather::Memory::from_job(job);
    let author = facts.pull.author.as_ref();
    let people = discussion.human_reviewers(author, &facts.reviews).await?;
    let reason = why.reason();
    let report = FixReport {
        at: at.clone(),
        head: ground.head().to_string(),
        human_review_required: true,
        escalation_reason: Some(reason.clone()),
        escalated_at: Some(at),
        ..FixReport::default()
    };
    let place = (&job.pr, &job.keys);
    let mention = &job.host.config.mention;
    let body = fixing::escalation(job.pr.number, why, &people, mention, (&report, place));
    post(job, &body).await?;
    if let Err(error) = job.github.add_label(&job.pr, HUMAN_REVIEW).await {
        let note = format!("The label {HUMAN_REVIEW} could not be set: {error}");
        outcome.report.warnings.push(note);
    }
    outcome.needs_people = true;
    fixing.event(job, EventKind::HumanEscalation, json!({ "reason": reason }));
    Ok(())
}

async fn post(job: &Job<'_>, body: &str) -> Result<(), Failure> {
    let body = job.host.secrets.redactor.clean(body);
    job.github
        .comment(&job.pr, &body)
        .await
        .map(drop)
        .map_err(Failure::new)
}

/// One cycle: a session, its checks, and the delivery of what it fixed.
struct Cycle<'a> {
    job: &'a Job<'a>,
    ground: &'a Arc<Ground>,
    selection: Selection,
    number: u32,
    command: Option<u64>,
}

/// The result of the session and its checks.
struct Made {
    settled: Vec<Settled>,
    report: FixReport,
    edits: Vec<reviewer_repo::git::FileEdit>,
    verified: Verified,
    tree: Option<reviewer_repo::git::TreeId>,
    beyond: Vec<String>,
    gate: Gate,
    review_url: String,
    /// Why the session ended early.
    ended: Option<String>,
}

impl Cycle<'_> {
    async fn run(
        &self,
        outcome: &mut Outcome,
        check: &CheckRun,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        let job = self.job;
        let issues = self.selection.issues.len();
        fixing.event(
            job,
            EventKind::FixCreated,
            json!({ "cycle": self.number, "issues": issues, "review": outcome.title() }),
        );
        if self.delivers_by_push() {
            delivery::warn(job, self.ground).await;
        }
        let mut made = self.make().await?;
        // Signed, before anything is pushed: a run that is cut off here is made good by the next one.
        outcome.record.fix = serde_json::to_value(&made.report).ok();
        check.write_undelivered(&outcome.record).await;
        let delivered = self.deliver(&made).await;
        let (delivered, refused) = match delivered {
            Ok(delivered) => (delivered, None),
            Err(why) => (Delivered::Nothing, Some(why)),
        };
        if let Some(why) = &refused {
            made.undeliver(why);
        }
        made.tell_delivery(&delivered);
        outcome.record.fix = serde_json::to_value(&made.report).ok();
        self.report(&made, &delivered).await?;
        self.note(&made, &delivered, refused, outcome, fixing).await;
        Ok(())
    }

    fn delivers_by_push(&self) -> bool {
        let pull = &self.ground.facts.pull;
        self.job.host.config.fix.delivery == FixDelivery::Push && !pull.from_fork
    }

    /// Holds the session, and lets it correct what the checks find.
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
        let mut ended = bench.hold(job, &brief, Stage::Begin).await?;
        let mut checks = Checks::new(job, ground);
        let mut checked = checks.run(&bench.edits().await).await?;
        for _ in 0..MOST_CORRECTIONS {
            if checked.failure.is_empty() {
                break;
            }
            ended = bench
                .hold(job, &brief, Stage::Verify(&checked.failure))
                .await?;
            checked = checks.run(&bench.edits().await).await?;
        }
        let fixed = bench
            .finish()
            .await
            .ok_or_else(|| Failure::new("the fix session is gone"))?;
        let edits = session::file_edits(&fixed.edits.changed_files());
        let mut settled = fixed.settled;
        let broken = !checked.failure.is_empty();
        if broken {
            reject_all(&mut settled, "the project's checks fail because of it");
        }
        let report = self.kept(&settled, &fixed.edits);
        Ok(Made {
            report,
            settled,
            edits: if broken { Vec::new() } else { edits },
            verified: checked.verified,
            tree: checked.tree,
            beyond,
            gate,
            review_url,
            ended,
        })
    }

    /// The signed memory of the cycle, before its delivery.
    fn kept(&self, settled: &[Settled], edits: &reviewer_core::fix::EditList) -> FixReport {
        let outcomes = settled.iter().map(|one| {
            let kept = match one.outcome {
                IssueOutcome::Fixed { .. } => KeptOutcome::Fixed,
                IssueOutcome::Rejected { .. } => KeptOutcome::Rejected,
                IssueOutcome::Deferred { .. } => KeptOutcome::Deferred,
            };
            KeptIssue::new(&one.issue, kept, reverts::marks(edits, &one.issue.id))
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
    }

    async fn deliver(&self, made: &Made) -> Result<Delivered, String> {
        if made.edits.is_empty() {
            return Ok(Delivered::Nothing);
        }
        let (job, ground) = (self.job, self.ground);
        let repository = &ground.facts.change.repository;
        let tree = repository.tree_with(ground.head(), &made.edits).await;
        let tree = tree.map_err(|error| format!("The fix cannot be committed: {error:#}."))?;
        if made.tree.as_ref().is_some_and(|verified| *verified != tree) {
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
    async fn report(&self, made: &Made, delivered: &Delivered) -> Result<(), Failure> {
        let job = self.job;
        let number = job.pr.number;
        let commit = made.report.commit.clone().map(|sha| CommitDocument {
            sha,
            message: delivery::message(&made.settled, &made.review_url).0,
        });
        let documents = json!({
            "payload": FixPayload::new(number, self.number, &self.selection.issues),
            "result": FixResult::new(number, &made.settled, commit),
        });
        let told = FixTold {
            report: &made.report,
            settled: &made.settled,
            delivered,
            verified: &made.verified,
            left_out: &self.selection.left_out,
            beyond: &made.beyond,
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
        delivered: &Delivered,
        refused: Option<String>,
        outcome: &mut Outcome,
        fixing: &mut Fixing,
    ) {
        let (job, cycle) = (self.job, self.number);
        let fixed = made
            .settled
            .iter()
            .filter(|one| one.outcome.is_fixed())
            .count();
        match delivered {
            Delivered::Nothing => {
                let why = refused.or_else(|| made.ended.clone());
                let why = why.unwrap_or_else(|| "the fixer changed nothing".into());
                outcome
                    .report
                    .notes
                    .push(format!("Nothing was fixed: {why}"));
                fixing.event(
                    job,
                    EventKind::FixFailed,
                    json!({ "cycle": cycle, "why": why }),
                );
                fixing.end = Some(LoopEnd::Unfinished);
            }
            Delivered::Pushed {
                commit,
                starts_workflows,
                ..
            } => {
                let details = json!({ "cycle": cycle, "fixed": fixed, "commit": commit.as_str() });
                fixing.event(job, EventKind::FixCompleted, details);
                fixing.goes_on = !starts_workflows && is_head(job, commit).await;
                if fixing.goes_on {
                    let details = json!({ "cycle": cycle, "head": commit.as_str() });
                    fixing.event(job, EventKind::ReReview, details);
                }
            }
            Delivered::Stacked { commit, .. } => {
                let details = json!({ "cycle": cycle, "fixed": fixed, "commit": commit.as_str() });
                fixing.event(job, EventKind::FixCompleted, details);
            }
            Delivered::Patch => {
                fixing.event(
                    job,
                    EventKind::FixCompleted,
                    json!({ "cycle": cycle, "fixed": fixed }),
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
        reject_all(&mut self.settled, why);
        for kept in &mut self.report.outcomes {
            if kept.outcome == KeptOutcome::Fixed {
                // It may be tried again: it was not the fixer who failed.
                kept.outcome = KeptOutcome::Deferred;
            }
        }
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

fn reject_all(settled: &mut [Settled], why: &str) {
    for one in settled.iter_mut().filter(|one| one.outcome.is_fixed()) {
        one.outcome = IssueOutcome::Rejected {
            reason: why.to_owned(),
        };
    }
}

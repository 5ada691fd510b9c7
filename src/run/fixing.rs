//! Fixing, after a review: from open findings to one commit. Readable top to bottom: gather, decide, session, verify, deliver,
//! report. The session that shapes changed code holds no token; what is delivered is a list of edits, on the head that was fixed.

mod catch_up;
mod conclusion;
mod cycle;
mod delivery;
mod ground;
mod orders;
mod round;
mod session;
mod verifying;

pub(crate) use catch_up::{catch_up, owes_word, tell_fixes};
pub(crate) use orders::stop_as_asked;

use crate::gather::Facts;
use crate::host::{Aim, Failure, Job};
use crate::run::outcome::Outcome;
use crate::run::{CheckRun, replies};
use cycle::Cycle;
use ground::Ground;
use orders::Asked;
use reviewer_core::config::{FixDelivery, FixMode};
use reviewer_core::domain::{CommitSha, Verdict};
use reviewer_core::fix::bundle::Bundle;
use reviewer_core::fix::memory::Memory;
use reviewer_core::fix::preflight::{self, NotFixed};
use reviewer_core::fix::report;
use reviewer_core::fix::rounds::{self, Mode, Next, OpenWork, Situation};
use reviewer_core::fix::selection::Selection;
use reviewer_core::panel::consensus::{Consensus, Priority, Ruling};
use reviewer_core::publish::comment;
use reviewer_core::report::events::{EventKind, EventReport};
use reviewer_github::{CommitInfo, DryRun, PullRequest, PullState};
use serde_json::json;
use std::sync::Arc;

/// The state of fixing after a run.
#[derive(Debug, Default)]
pub(crate) struct Fixing {
    pub events: Vec<EventReport>,
    /// True if the head is now a commit of the fix whose review no push event starts.
    pub goes_on: bool,
    pub end: Option<LoopEnd>,
    /// The commit of a fix that was pushed to the pull request's branch.
    pub pushed: Option<CommitSha>,
    /// The reason why fixing broke off.
    pub failed: Option<String>,
    /// True if somebody who asked was told that nothing is fixed.
    pub refused: bool,
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
        let note = comment::fixing::failed(&why);
        fixing.failed = Some(why);
        if let Some(asked) = &asked {
            answer(job, asked, outcome, &note).await;
        }
        outcome.report.notes.push(note);
    }
    fixing
}

/// True if the event's comment asks to fix.
pub(crate) fn is_asked(job: &Job<'_>) -> bool {
    Asked::from_job(job).is_some()
}

impl Fixing {
    /// True if a fix that was wanted was not delivered.
    pub(crate) fn has_failed(&self) -> bool {
        let failed = |one: &EventReport| one.event == EventKind::FixFailed;
        self.refused || self.events.iter().any(failed)
    }

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
    time(job).to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

fn time(job: &Job<'_>) -> chrono::DateTime<chrono::Utc> {
    job.host.setup.clock.now().into()
}

/// The sentence that ends the publication of a fix whose head is not the head any more, unless the fix itself moved it.
pub(crate) async fn of_other_head(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<Option<String>, Failure> {
    let Aim::Publish(bundle) = job.aim else {
        return Ok(None);
    };
    if bundle.head() == Some(pull.head_sha.clone()) {
        return Ok(None);
    }
    let commits = job.github.commits(&job.pr).await.map_err(Failure::new)?;
    let why = format!(
        "Nothing was fixed: the bundle is a fix of {:.7}, and the head is {} by now; ask for a fix again.",
        bundle.head,
        pull.head_sha.short()
    );
    Ok(landed(bundle, &commits).is_none().then_some(why))
}

/// The commit that an earlier run made of the bundle which this one is to publish.
pub(crate) fn published(job: &Job<'_>, facts: &Facts) -> Option<CommitSha> {
    let Aim::Publish(bundle) = job.aim else {
        return None;
    };
    landed(bundle, &facts.commits)
}

fn landed(bundle: &Bundle, commits: &[CommitInfo]) -> Option<CommitSha> {
    let mut commits = commits.iter();
    let found = commits.find(|commit| {
        let mut parents = commit.parents.iter();
        parents.any(|parent| parent.as_str() == bundle.head) && bundle.is_of(&commit.message)
    });
    found.map(|commit| commit.sha.clone())
}

/// Fixes in a host of its own, with what is left of the run's budget.
async fn attempt(
    review: &Job<'_>,
    outcome: &mut Outcome,
    (check, dry_run): (&CheckRun, &DryRun),
    asked: Option<&Asked>,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
    let job = review.fixing(dry_run)?;
    let attempted = Box::pin(attempt_on(&job, outcome, check, asked, fixing)).await;
    job.host.end_sessions();
    let fallbacks = job.host.fallbacks.all();
    outcome
        .report
        .set_fallbacks(&fallbacks, review.host.is_panel());
    attempted
}

async fn attempt_on(
    job: &Job<'_>,
    outcome: &mut Outcome,
    check: &CheckRun,
    asked: Option<&Asked>,
    fixing: &mut Fixing,
) -> Result<(), Failure> {
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
    let Some(mut ground) = Ground::gather(job, pull, &snapshot).await? else {
        let why = NotFixed::NotRead.to_string();
        refuse(job, outcome, asked, &why, fixing).await;
        return Ok(());
    };
    let reverts = &ground.reverts;
    if let Some(told) = orders::note_reverts(job, &ground.facts, reverts).await? {
        let details = json!({ "commits": reverts.commits, "findings": reverts.findings });
        fixing.event(job, EventKind::FixReverted, details);
        ground.memory = ground.memory.with_report(&told);
    }
    let ground = Arc::new(ground);
    let memory = orders::remember(job, &ground, asked).await?;
    if asked.is_some_and(|asked| memory.serves(asked.comment)) {
        let note = "This request was served by an earlier run.";
        outcome.report.notes.push(note.into());
        fixing.end = Some(LoopEnd::Unfinished);
        return Ok(());
    }
    let selection = ground.select(&memory, asked.and_then(|asked| asked.thread));
    let (next, granted) = next(job, (&ground, &memory, &selection), outcome, asked);
    // Where nothing is due, nothing stands against it.
    let is_due = asked.is_some() || next != Next::Converged;
    if is_due && let Some(why) = told_before(job, &ground, asked, &selection, moved).await? {
        let told = match why {
            NotFixed::NothingToFix => comment::fixing::nothing_to_fix(&selection.left_out),
            why => why.to_string(),
        };
        refuse(job, outcome, asked, &told, fixing).await;
        return Ok(());
    }
    let step = Step {
        job,
        ground: &ground,
        selection,
        asked,
        next,
        granted,
    };
    Box::pin(step.take(outcome, check, fixing)).await
}

/// The next step, against which nothing stands.
struct Step<'a> {
    job: &'a Job<'a>,
    ground: &'a Arc<Ground>,
    selection: Selection,
    asked: Option<&'a Asked>,
    next: Next,
    /// The cycles that were granted.
    granted: u32,
}

impl Step<'_> {
    /// Tells the round, where there are rounds, and fixes or ends.
    async fn take(
        self,
        outcome: &mut Outcome,
        check: &CheckRun,
        fixing: &mut Fixing,
    ) -> Result<(), Failure> {
        let (job, ground, asked) = (self.job, self.ground, self.asked);
        if matches!(self.next, Next::Fix { .. })
            && let Some(why) = session::nothing_left(job, ground)
        {
            conclusion::does_not_fit(job, outcome, asked, &why, fixing).await;
            return Ok(());
        }
        if job.host.in_rounds() {
            let round = round::Round {
                ground,
                selection: &self.selection,
                consensus: consensus(job, ground, outcome),
                granted: self.granted,
            };
            round.tell(job, &self.next).await?;
        }
        match self.next {
            Next::Fix { cycle, command, .. } => {
                let plan = Cycle {
                    job,
                    ground,
                    selection: self.selection,
                    number: cycle,
                    command,
                };
                match job.aim {
                    Aim::Review | Aim::Loop | Aim::Fix => {
                        Box::pin(plan.run(outcome, check, fixing)).await
                    }
                    Aim::PatchOut(path) => Box::pin(plan.hand_over(path, outcome, fixing)).await,
                    Aim::Publish(bundle) => {
                        Box::pin(plan.publish(bundle, outcome, check, fixing)).await
                    }
                }
            }
            other => {
                let about = (&**ground, &self.selection);
                conclusion::conclude(job, about, outcome, asked, &other, fixing).await
            }
        }
    }
}

/// Decides what comes next. Returns it with the number of cycles that were granted.
fn next(
    job: &Job<'_>,
    (ground, memory, selection): (&Ground, &Memory, &Selection),
    outcome: &Outcome,
    asked: Option<&Asked>,
) -> (Next, u32) {
    let facts = &ground.facts;
    let open = facts.open_threads();
    let open = open.filter(|thread| Priority::from(thread.assessment.score) <= Priority::P2);
    let head = ground.head();
    let of_head = facts.commits.iter().find(|commit| commit.sha == *head);
    let asks = asked.is_some_and(|asked| asked.command().is_some());
    let situation = Situation {
        memory,
        mode: match job.host.config.fix.mode {
            _ if job.is_ordered_fix() => Mode::Ordered,
            FixMode::Auto => Mode::Auto,
            FixMode::OnRequest | FixMode::Off => Mode::OnRequest,
        },
        max_cycles: job.host.config.fix.max_cycles,
        head,
        // By whatever account it was pushed: with a `push_token`, it is another one.
        head_is_ours: of_head.is_some_and(|commit| commit.message.contains("\nReview-Finding: ")),
        reviewed: !matches!(outcome.verdict, Verdict::Incomplete | Verdict::Error),
        open: OpenWork {
            findings: open.count(),
            conversations: facts.open_conversations().count(),
            consensus: consensus(job, ground, outcome),
            fixable: selection.needed() + usize::from(asks) * selection.optional(),
        },
        command: asked
            .and_then(Asked::command)
            .filter(|_| !job.is_ordered_fix()),
    };
    (rounds::next(&situation), situation.granted())
}

/// The consensus of the review; from its open findings and the reviews of people where the run came to none.
fn consensus(job: &Job<'_>, ground: &Ground, outcome: &Outcome) -> Consensus {
    let reached = outcome.report.consensus.as_ref();
    reached.map_or_else(
        || {
            let standing = outcome.standing.iter().copied().map(Priority::from);
            Ruling::decide(standing, [], ground::people(job, &ground.facts)).consensus()
        },
        |reached| reached.consensus,
    )
}

/// The sentence about the checks of others that failed on a commit of a fix. What cannot be read is not told, and a service looks
/// itself.
async fn failed_checks(job: &Job<'_>, commit: &CommitSha) -> Option<String> {
    if !job.uses_check_runs() {
        return None;
    }
    let checks = job.github.all_checks(&job.pr.repo, commit).await;
    let checks = checks
        .inspect_err(|error| tracing::debug!("the checks of the fix are not known: {error}"))
        .unwrap_or_default();
    comment::fixing::checks_failed(commit, &reviewer_core::fix::failed_checks(&checks))
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
    let writes = !matches!(job.aim, Aim::PatchOut(_));
    let pushes = writes && config.delivery != FixDelivery::Patch && !pull.from_fork;
    let queued = pushes && job.github.is_queued(&job.pr).await.unwrap_or(false);
    let branch = if pushes {
        let head = job.github.branch_head(&job.pr.repo, &pull.head_ref).await;
        head.map_err(Failure::new)?
    } else {
        None
    };
    let facts = preflight::Facts {
        off: config.mode == FixMode::Off,
        asked_by: asked
            .filter(|asked| !asked.at_shell)
            .map(|asked| (&asked.by, asked.person)),
        labels: &pull.labels,
        closed: pull.state == PullState::Closed,
        merged: pull.state == PullState::Merged,
        locked: pull.locked,
        queued,
        head_moved,
        has_branch: branch.is_some(),
        pushes,
        from_fork: pull.from_fork,
        protected: pushes
            && config.delivery == FixDelivery::Push
            && !delivery::starts_workflows(job, ground)
            && takes_no_push(job, &pull.head_ref).await,
        may_push: !pushes || branch.is_none() || may_push(job, &pull.head_ref).await,
        can_sign: job.keys.can_sign(),
        read_all: true,
        issues: match asked {
            Some(asked) if !asked.resumes => selection.issues.len(),
            // Due by itself: what is open decides whether there is something to do.
            _ => 1,
        },
    };
    Ok(preflight::preflight(&facts).err())
}

/// True if the rules of a branch take changes by pull requests only. A workflow's own token cannot be exempt from them, as an app
/// can.
async fn takes_no_push(job: &Job<'_>, branch: &str) -> bool {
    let rules = job.github.branch_rules(&job.pr.repo, branch).await;
    rules.is_ok_and(|rules| rules.needs_pull_request)
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
) {
    fixing.end = Some(LoopEnd::Unfinished);
    fixing.refused = asked.is_some();
    outcome.report.notes.push(why.to_owned());
    if let Some(asked) = asked {
        answer(job, asked, outcome, why).await;
    }
}

async fn answer(job: &Job<'_>, asked: &Asked, outcome: &mut Outcome, text: &str) {
    let Ok(head) = outcome.record.head.parse::<CommitSha>() else {
        return;
    };
    if asked.at_shell {
        return;
    }
    if let Err(Failure(sentences)) = replies::tell_asker(job, &head, asked.place(), text).await {
        outcome.leave_unanswered(sentences);
    }
}

/// Posts a comment about fixing. Its block is signed, and words beside each other in it would pass for secrets, so it is left as
/// it is; its texts were cleaned before.
async fn post(job: &Job<'_>, body: &str) -> Result<(), Failure> {
    let (text, block) = report::split(body);
    let body = format!("{}{block}", job.host.secrets.redactor.clean(text));
    job.github
        .comment(&job.pr, &body)
        .await
        .map(drop)
        .map_err(Failure::new)
}

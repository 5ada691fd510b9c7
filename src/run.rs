//! A run for a pull request, readable top to bottom: gather, plan, lease, sessions, recheck, publish, conclude.

mod check_run;
pub(crate) mod collected;
mod dismiss;
pub(crate) mod draft;
pub(crate) mod exits;
pub(crate) mod fixing;
mod judgements;
mod large_change;
mod lead;
mod ordered;
pub(crate) mod outcome;
mod past_decisions;
mod reactions;
mod recheck;
pub(crate) mod replies;
pub(crate) mod review_session;
pub(crate) mod same_head;
mod sessions;
mod staged;

use crate::gather::pull_request;
use crate::gather::{Facts, Frame, settings, spend_scope, web_guard};
use crate::host::sidecar::Running;
use crate::host::{self, Aim, Budget, Failure, Job, Setup, both};
pub(crate) use check_run::CheckRun;
use draft::Draft;
use exits::Ended;
use fixing::{Fixing, LoopEnd};
use judgements::Judgements;
pub(crate) use judgements::given as given_review;
use ordered::Told;
pub(crate) use ordered::run_session;
use outcome::{Outcome, Surroundings};
use reviewer_core::event::{Event, EventKind, SkipReason};
use reviewer_core::plan::agenda::{Agenda, ModelObstacle, Task};
use reviewer_core::publish::comment;
use reviewer_core::report::dry_run;
use reviewer_core::report::events::{EventKind as Step, EventReport};
use reviewer_core::state::record::Record;
use reviewer_github::{DryRun, PullRequest};
pub(crate) use sessions::allowances;
use std::ops::ControlFlow;
use std::time::Duration;

/// The state of a run that is cut off: whatever ends it concludes the check and leaves the report so far.
#[derive(Default)]
struct Unfinished {
    check: CheckRun,
    draft: Draft,
    dry_run: DryRun,
    judgements: Judgements,
}

/// The review of a run, and what follows on it.
struct Round {
    code: u8,
    fixing: Fixing,
    told: Told,
}

/// The things that the rounds of a run share.
struct Rounds<'a> {
    aim: Aim<'a>,
    budget: Budget,
    /// The steps of fixing so far.
    events: Vec<EventReport>,
    /// The time that GitHub asked to wait before anything is tried again.
    wait: Option<Duration>,
}

/// Does what an event asks for; `no_key`: as far as no model is needed for it. Where a fix was pushed that starts no workflow, the
/// new head is reviewed, too. Returns the exit code.
pub(crate) async fn run(setup: &Setup, event: &Event, no_key: Option<SkipReason>) -> u8 {
    let (last, _) = in_rounds(setup, event, no_key, Aim::Review).await;
    last.code
}

/// The same with the exit code of `loop`, which tells how the rounds ended.
pub(crate) async fn run_loop(setup: &Setup, event: &Event) -> u8 {
    let (last, _) = in_rounds(setup, event, None, Aim::Loop).await;
    match (last.code, last.fixing.end) {
        (code @ 2.., _) => code,
        (_, Some(LoopEnd::Converged)) => 0,
        (_, Some(LoopEnd::NeedsPeople)) => 1,
        (_, Some(LoopEnd::Unfinished) | None) => 2,
    }
}

/// The same for `fix`, with an exit code that tells whether something was fixed.
pub(crate) async fn run_fix(setup: &Setup, event: &Event, aim: Aim<'_>) -> u8 {
    let (last, rounds) = in_rounds(setup, event, None, aim).await;
    let fixed = rounds
        .events
        .iter()
        .any(|one| one.event == Step::FixCompleted);
    match last.code {
        code @ 2.. => code,
        _ => u8::from(!fixed && last.fixing.pushed.is_none()),
    }
}

async fn in_rounds<'a>(
    setup: &Setup,
    event: &Event,
    mut no_key: Option<SkipReason>,
    aim: Aim<'a>,
) -> (Round, Rounds<'a>) {
    let mut rounds = Rounds {
        aim,
        budget: Budget::new(setup.clock),
        events: Vec::new(),
        wait: None,
    };
    let mut event = event.clone();
    loop {
        let round = round(setup, &event, no_key.take(), &mut rounds).await;
        if !round.fixing.goes_on {
            return (round, rounds);
        }
        // Nobody else is told of the push, so this run is its event.
        event.kind = EventKind::Pushed;
    }
}

async fn round(
    setup: &Setup,
    event: &Event,
    no_key: Option<SkipReason>,
    rounds: &mut Rounds<'_>,
) -> Round {
    let (unfinished, aim) = (Unfinished::default(), rounds.aim);
    let whole = async {
        let (ended, fixing) = Box::pin(perform(setup, event, no_key, rounds, &unfinished)).await;
        let told = Told::new(&ended);
        let code = exits::ended(setup, &unfinished.check, &unfinished.draft, ended).await;
        if !matches!(aim, Aim::PatchOut(_)) {
            exits::print_dry_run(setup, &unfinished.dry_run);
        }
        Round { code, fixing, told }
    };
    tokio::select! {
        round = whole => round,
        signal = exits::stop_signal() => Round {
            code: exits::cancelled(setup, &unfinished.check, &unfinished.draft, signal).await,
            fixing: Fixing::default(),
            told: Told::Failed(comment::check::cancelled().1.to_owned()),
        }
    }
}

/// Reviews, then fixes what somebody wants fixed.
async fn perform(
    setup: &Setup,
    event: &Event,
    no_key: Option<SkipReason>,
    rounds: &mut Rounds<'_>,
    unfinished: &Unfinished,
) -> (Result<Ended, Failure>, Fixing) {
    let (budget, aim) = (rounds.budget.clone(), rounds.aim);
    let asks_model = no_key.is_none() && !matches!(aim, Aim::Publish(_));
    let mut job = match job(setup, event, asks_model, budget, unfinished) {
        Ok(job) => job,
        Err(failure) => return (Err(failure), Fixing::default()),
    };
    job.aim = aim;
    let mut ended = Box::pin(review(&mut job, no_key, unfinished)).await;
    rounds.wait = job.github.asked_to_wait().await;
    job.host.end_sessions();
    let mut fixing = Fixing::default();
    if let Ok(Ended::Published(commit)) = &ended {
        fixing.pushed = Some(commit.clone());
    }
    if let Ok(Ended::Concluded(outcome)) = &mut ended {
        let around = (&unfinished.check, &unfinished.dry_run);
        let told = outcome.report.notes.len();
        fixing = fixing::after_review(&job, outcome, around).await;
        reactions::fixed(&job, &fixing).await;
        if setup.actions.is_runner() && !matches!(aim, Aim::Review) {
            // Whoever called `fix` reads the log, and not only the summary.
            let notes = outcome.report.notes.iter().skip(told);
            notes.for_each(|note| setup.actions.line(note));
        }
        rounds.events.append(&mut fixing.events);
        outcome.report.events.clone_from(&rounds.events);
    }
    (ended, fixing)
}

fn job<'a>(
    setup: &'a Setup,
    event: &'a Event,
    asks_model: bool,
    budget: Budget,
    unfinished: &Unfinished,
) -> Result<Job<'a>, Failure> {
    let admitted = host::admitted(setup, asks_model)?;
    Job::new(setup, event, admitted, &unfinished.dry_run, budget)
}

/// Finds out whether the run has something to do at all, and does it.
async fn review(
    job: &mut Job<'_>,
    no_key: Option<SkipReason>,
    unfinished: &Unfinished,
) -> Result<Ended, Failure> {
    let pull = pull_request::to_review(&job.github, &job.pr).await?;
    if let Some(reason) = fixing::of_other_head(job, &pull).await? {
        return Ok(Ended::Skipped(reason));
    }
    if let Some(why) = job.order().and_then(|order| order.stale(&pull.head_sha)) {
        return Err(Failure::new(why));
    }
    let ended = Box::pin(with_settings(job, pull, no_key, unfinished)).await;
    if ended.is_err() {
        unfinished.judgements.after_failure(job).await;
    }
    ended
}

/// Reads the settings of the base branch, and does what they and the event allow.
async fn with_settings(
    job: &mut Job<'_>,
    pull: PullRequest,
    no_key: Option<SkipReason>,
    unfinished: &Unfinished,
) -> Result<Ended, Failure> {
    let unread = settings::take(job, &pull).await?;
    let obstacle = unread.map(ModelObstacle::Settings);
    let obstacle = obstacle.or(no_key.map(ModelObstacle::NoKey));
    let scope = match spend_scope(job, &pull).await? {
        ControlFlow::Continue(scope) => scope,
        ControlFlow::Break(reason) => {
            unfinished.judgements.leave_alone(job, &pull).await;
            return Ok(Ended::Skipped(reason));
        }
    };
    let frame = Frame {
        pull,
        scope,
        obstacle,
    };
    reactions::seen(job).await;
    let ended = Box::pin(gather_and_act(job, frame, unfinished)).await;
    reactions::ended(job, &ended).await;
    ended
}

/// Gathers the facts while the sidecar starts, where a model may be asked.
async fn gather_and_act(
    job: &Job<'_>,
    frame: Frame,
    unfinished: &Unfinished,
) -> Result<Ended, Failure> {
    let actions = &job.host.setup.actions;
    actions.glimpse("reading the pull request", "");
    let snapshot = job.host.scratch.directory("head")?;
    let asks_model = frame.obstacle.is_none() && !job.takes_review_as_it_is();
    let (running, facts) = tokio::join!(
        Running::start_if(asks_model, &job.host, &snapshot),
        Facts::gather(job, frame, &snapshot),
    );
    let (running, facts) = both(running, facts)?;
    let mut notes = Vec::new();
    if let Some(running) = &running {
        running.tell_confinement(&job.host);
        notes.extend(web_guard::open(&job.host, &facts.change).await?);
        notes.extend(comment::issues_not_read(&facts.intent));
    }
    if job.host.config.dry_run && !job.takes_review_as_it_is() {
        notes.push(dry_run::NOTE.into());
    }
    let around = Surroundings {
        running: running.as_ref(),
        notes,
    };
    let ended = Box::pin(act(job, facts, &around, unfinished)).await;
    if let Some(running) = running {
        running.stop().await;
    }
    ended
}

/// Does what a person asked for by the event, then what the run itself has to do; an approval of an earlier head ends first.
async fn act(
    job: &Job<'_>,
    facts: Facts,
    around: &Surroundings<'_>,
    unfinished: &Unfinished,
) -> Result<Ended, Failure> {
    let facts = match dismiss::as_asked(job, facts).await? {
        ControlFlow::Continue(facts) => facts,
        ControlFlow::Break(reason) => return Ok(Ended::Skipped(reason)),
    };
    if let Some(reason) = fixing::stop_as_asked(job, &facts).await? {
        return Ok(Ended::Skipped(reason));
    }
    if let Some(commit) = fixing::published(job, &facts) {
        fixing::tell_fixes(job, &facts, None).await?;
        return Ok(Ended::Published(commit));
    }
    unfinished.judgements.withdraw_stale(job, &facts).await;
    let (pull, viewer) = (facts.pull.clone(), facts.viewer.clone());
    let ended = Box::pin(follow(job, facts, around, unfinished)).await;
    if !matches!(ended, Ok(Ended::Concluded(_))) {
        unfinished
            .judgements
            .replace_stale(job, &pull, &viewer)
            .await;
    }
    ended
}

/// Decides what the run does. A fix that takes the review as it is asks no model about the change.
fn agenda(job: &Job<'_>, facts: &Facts) -> Agenda {
    let agenda = facts.agenda(job);
    match job.aim {
        Aim::Fix if job.is_ordered_fix() => {
            let head = &facts.pull.head_sha;
            let record = Record {
                head: head.to_string(),
                merge_base: facts.merge_base.to_string(),
                ..Record::default()
            };
            agenda.ordered(head, record)
        }
        Aim::Review | Aim::Loop | Aim::Fix => agenda,
        Aim::PatchOut(_) => agenda.without_session(&facts.pull.head_sha),
        Aim::Publish(_) => Agenda {
            waits: true,
            ..agenda.without_session(&facts.pull.head_sha)
        },
    }
}

/// Deletes what a run that was ended has left. Where that fails, the next review does it, as GitHub takes none beside a draft.
async fn discard_draft(job: &Job<'_>) {
    if let Err(error) = job.github.outlast_draft(&job.pr).await {
        tracing::debug!("a draft of a review is left: {error}");
    }
}

/// Follows the agenda that the facts lead to.
async fn follow(
    job: &Job<'_>,
    mut facts: Facts,
    around: &Surroundings<'_>,
    unfinished: &Unfinished,
) -> Result<Ended, Failure> {
    let (check, running) = (&unfinished.check, around.running);
    let mut agenda = agenda(job, &facts);
    if agenda.posts()
        && let Some(reason) = replies::may_not_comment(job, &facts.pull).await?
    {
        return Ok(Ended::Skipped(reason));
    }
    if let Some(reason) = replies::only(job, &facts, &agenda, running).await? {
        return Ok(Ended::Skipped(reason));
    }
    check.open(job, &facts).await;
    let waits = agenda.waits || fixing::owes_word(job, &facts).await;
    if waits && check.wait_for_turn(job, &facts.pull.head_sha).await? {
        facts = facts.again(job).await?;
        agenda = self::agenda(job, &facts);
    }
    if facts.has_draft && waits {
        discard_draft(job).await;
    }
    fixing::catch_up(job, &mut facts, check).await;
    let mut outcome = match (&agenda.task, running) {
        (Task::Conclude(record), _) => {
            Outcome::new(job, &facts, &agenda, Record::clone(record), None, around)
        }
        (Task::Session { covered }, Some(running)) => {
            let covered = covered.as_deref().cloned();
            sessions::hold(job, &facts, &agenda, covered, running, around, unfinished).await?
        }
        (Task::Fail(why) | Task::Skip(why), _) => return Err(Failure::new(why)),
        (Task::Decline(why), _) => {
            return Err(Failure::new(comment::requests::not_accepted(
                why,
                &facts.pull.head_sha,
            )));
        }
        (Task::Help | Task::Session { .. }, _) => {
            return Err(Failure::new(comment::lacking::NO_SIDECAR));
        }
    };
    let judgements = &unfinished.judgements;
    judgements.settle(job, &facts, check, &mut outcome).await;
    if agenda.tells_state {
        replies::tell_state(job, &facts, &agenda, &mut outcome).await;
    }
    Ok(Ended::Concluded(Box::new(outcome)))
}

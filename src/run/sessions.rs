//! The session of a run, from the first prompt to the last comment: desk, passes, recheck, outbox.

use super::collected::{self, Collected};
use super::outcome::unfinished::{first, left_out, why_ended};
use super::outcome::{Outcome, Published, Surroundings, evidence, report};
use super::past_decisions::DecisionNotes;
use super::recheck::Recheck;
use super::review_session::{self, Concluded, Ground, Matter, Talk};
use super::staged::{Staged, publishable};
use super::{CheckRun, Unfinished, exits, replies};
use crate::gather::decided::PastDecisions;
use crate::gather::excerpts::Excerpts;
use crate::gather::static_analysis::{Analysis, Workspace};
use crate::gather::{Facts, discussion, human_reviewers};
use crate::host::sidecar::Running;
use crate::host::{Failure, Job};
use crate::outbox::{Outbox, Sent};
use reviewer_core::domain::{CommentId, CommitSha, FileDiff, Finding, Tally, Verdict};
use reviewer_core::event::Command;
use reviewer_core::plan::agenda::Agenda;
use reviewer_core::publish::comment::judgement::Judged;
use reviewer_core::publish::comment::{self, Figures};
use reviewer_core::report::document::SuspicionReport;
use reviewer_core::review::desk::Subject;
use reviewer_core::review::session_outcome::{End, Outcome as Held};
use reviewer_core::state::decided::DecidedHere;
use reviewer_core::state::record::Record;
use reviewer_core::state::spending::{self, Allowances};
use reviewer_text::count::dollars;
use std::collections::HashMap;
use std::sync::Arc;

/// Judges the open threads that wait for it, answers the questions, and reviews the change unless a record covers it.
pub(crate) async fn hold(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    covered: Option<Record>,
    running: &Running,
    around: &Surroundings<'_>,
    unfinished: &Unfinished,
) -> Result<Outcome, Failure> {
    let (concluded, analysis, past) =
        ask(job, facts, agenda, covered.is_none(), running, unfinished).await?;
    let (held, collected) = (concluded.outcome, concluded.collected);
    let unanswered = replies::send(job, &facts.pull.head_sha, &held).await;
    let recheck = Recheck::look(job, facts, &publishable(&collected, facts)).await;
    let looked_again = covered.is_none() && held.end == End::Complete;
    let missed = (!looked_again).then(|| agenda.missed(&facts.pull.head_sha));
    let staged = Staged::after_session(&collected, facts, &recheck, missed);
    let mut record = record(job, facts, (&held, &collected), covered);
    if job.host.weighs_conversations() {
        record.conversations = facts.analysis(&collected.weighed).remembered();
    }
    staged.enter_in(&mut record, facts);
    let can_owe = unfinished.check.is_open();
    let result = (&held, &staged, &record);
    let left_behind = recheck.left_behind.len();
    let sent = publish(job, facts, agenda, result, left_behind, unfinished).await;
    let published = Published {
        sent: recheck.left_out_of(sent),
        held: &held,
        staged,
        can_owe,
        suspicions: concluded
            .suspicions
            .iter()
            .map(SuspicionReport::from)
            .collect(),
        reviewers: collected.reviewers(&job.host, &held, &facts.threads),
        unanswered,
        static_analysis: analysis.report(&collected.candidates),
        memory: DecisionNotes::new(&collected.repeated, past),
    };
    let mut outcome = Outcome::new(job, facts, agenda, record, Some(published), around);
    outcome.report.warnings.extend(analysis.warnings());
    unfinished.draft.take();
    Ok(outcome)
}

/// Opens the desk and asks the model, until the session ends.
async fn ask(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    reviews: bool,
    running: &Running,
    unfinished: &Unfinished,
) -> Result<(Concluded, Analysis, PastDecisions), Failure> {
    if reviews {
        let (place, base) = (job.pr.to_string(), &facts.pull.base_ref);
        review_session::announce(&job.host, &place, &facts.change, base);
    }
    let diffs = review_session::diff_files(&facts.change).await?;
    let to_judge = facts.to_judge(agenda);
    let remembering = async {
        if reviews {
            PastDecisions::read(job, facts).await
        } else {
            PastDecisions::Nothing(None)
        }
    };
    let code = facts.code();
    let (excerpts, past) = tokio::join!(Excerpts::read(job, &code, &to_judge), remembering);
    let people = human_reviewers::who_decides(job, facts, &to_judge).await?;
    let subject = Arc::new(subject(
        facts,
        excerpts.changed_since,
        excerpts.removed_lines,
        people,
        past.here(),
    ));
    let analysis = analysis(job, facts, agenda, reviews, &diffs)?;
    let ground = Ground {
        subject: &subject,
        carried: &agenda.backlog.findings,
        candidates: analysis.candidates(),
        draft: &unfinished.draft,
    };
    review_session::open_desks(&job.host, &facts.change, &ground)?;
    watch(job, facts, agenda, unfinished);
    let title = format!("Review of {}", job.pr);
    let session = Talk {
        sidecar: &running.sidecar,
        title: &title,
        to_judge: &excerpts.code,
        questions: &agenda.questions,
        conversations: &facts.conversations_to_weigh(job),
        candidates: analysis.candidates(),
        reviews,
    };
    let material = Material {
        diffs: &diffs,
        decided: past.here(),
        ground: Some(ground),
    };
    let mut concluded = talk(job, facts, agenda, session, material).await?;
    if !reviews {
        concluded.outcome.beyond.clear();
    }
    if let End::Refused(why) = &concluded.outcome.end {
        return Err(Failure::new(why));
    }
    Ok((concluded, analysis, past))
}

/// The results of static analysis about the part of the change that is reviewed.
fn analysis(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    reviews: bool,
    diffs: &[(FileDiff, String)],
) -> Result<Analysis, Failure> {
    if !reviews {
        return Ok(Analysis::default());
    }
    let workspace = Workspace::of_job(&job.host);
    Analysis::read(&job.host, &workspace, diffs, facts.since(agenda))
}

/// Writes down what is about to be posted, and posts it.
async fn publish(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    (held, staged, record): (&Held, &Staged<'_>, &Record),
    left_behind: usize,
    unfinished: &Unfinished,
) -> Sent {
    let check = &unfinished.check;
    let details = check.page().or_else(|| job.url());
    let cost = held.used.told.cost;
    let model = job.host.models();
    let fallback = comment::fallback::footer(&job.host.fallbacks.all());
    let outbox = Outbox {
        figures: Figures {
            files: facts.change.diffs.len(),
            model: &model,
            fallback: fallback.as_deref(),
            cost_usd: (cost > 0.0 || report::prices_known(&job.host)).then_some(cost),
            seconds: held.passes.iter().map(|pass| pass.took.as_secs()).sum(),
            details: details.as_deref(),
        },
        voice: job.voice(&facts.pull),
        diffs: &facts.change.diffs,
        findings: staged.findings.iter().collect(),
        replies: staged.replies.iter().collect(),
        open: staged.untouched(),
        partial: held.end != End::Complete,
        record: (!check.is_open()).then(|| serde_json::to_value(record).unwrap_or_default()),
    };
    write_undelivered(agenda, staged, record, check).await;
    let mut sent = outbox.send_replies(&job.github).await;
    let unsaid = left_behind + sent.failed.len();
    let all_said = evidence(job, Some(&held.end), record, staged, &sent, unsaid);
    let verdict = Verdict::from_evidence(&all_said);
    let judged = if staged.findings.is_empty() {
        Judged::COMMENT
    } else {
        let judging = &unfinished.judgements;
        let judged = judging.of_findings(job, facts, verdict, &record.escalations);
        judged.await
    };
    outbox.send_findings(&job.github, &judged, &mut sent).await;
    sent
}

/// Writes the findings that are about to be posted into the check run first. Replies cannot be listed there: where
/// there are some, a run that is cut off has to be repeated.
async fn write_undelivered(
    agenda: &Agenda,
    staged: &Staged<'_>,
    record: &Record,
    check: &CheckRun,
) {
    let unposted: Vec<&Finding> = staged.unposted(&Sent::default());
    if unposted.is_empty() {
        return;
    }
    let mut pending = Record {
        unsent: unposted.len() + staged.replies.len(),
        ..record.clone()
    };
    if !agenda.backlog.enter_in(&mut pending, &unposted) || !staged.replies.is_empty() {
        pending.passes.clear();
    }
    if let Err(error) = check.write_undelivered(&pending).await {
        tracing::debug!("the check run does not hold what is about to be posted: {error}");
    }
}

/// From the first finding on, the report says what there is.
fn watch(job: &Job<'_>, facts: &Facts, agenda: &Agenda, unfinished: &Unfinished) {
    let open: Vec<_> = facts.open_threads().collect();
    let mut report = report::of_pull_request(job, facts, agenda, &[], &HashMap::new(), &open);
    report.set_verdict(Verdict::Incomplete, &Tally::default());
    let setup = job.host.setup;
    let file = exits::report_file(setup);
    let redactor = setup.actions.redactor().clone();
    let desks = collected::desks(&job.host);
    unfinished
        .draft
        .watch(report, &desks, file.as_ref(), &redactor);
}

fn subject(
    facts: &Facts,
    changed_since: HashMap<CommitSha, Vec<FileDiff>>,
    removed_lines: HashMap<CommentId, Vec<String>>,
    human_reviewers: Vec<String>,
    decided: &[DecidedHere],
) -> Subject {
    let commits = [&facts.merge_base, &facts.pull.head_sha];
    Subject {
        threads: discussion::shown_threads(&facts.threads),
        changed_since,
        removed_lines,
        human_reviewers,
        others: facts.others.clone(),
        decided: decided.to_vec(),
        ..review_session::subject(&facts.change, commits)
    }
}

/// The material that a session about a pull request is given beside the facts.
#[derive(Clone, Copy)]
pub(crate) struct Material<'a> {
    /// Each changed file that is shown, with the path of its diff in the snapshot.
    pub diffs: &'a [(FileDiff, String)],
    /// The questions about code of the change that people decided in other pull requests.
    pub decided: &'a [DecidedHere],
    /// `None`: nothing is reviewed.
    pub ground: Option<Ground<'a>>,
}

/// Leads a session about the pull request to its end.
pub(crate) async fn talk(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    talk: Talk<'_>,
    material: Material<'_>,
) -> Result<Concluded, Failure> {
    let pull = &facts.pull;
    let commits: Vec<(String, String)> = facts
        .commits
        .iter()
        .map(|commit| {
            (
                commit.sha.short().to_owned(),
                commit.message.lines().next().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let conversation = discussion::conversation(job, facts);
    let author = pull.author.as_ref();
    let matter = Matter {
        title: &pull.title,
        body: &pull.body,
        intent: &facts.intent,
        checks: &facts.checks,
        decided: material.decided,
        author: author.map_or("a deleted account", |author| author.as_str()),
        base_ref: &pull.base_ref,
        head: &pull.head_sha,
        commits: &commits,
        change: &facts.change,
        diffs: material.diffs,
        since: facts.since(agenda),
        threads: &facts.threads,
        conversation: &conversation,
        section: None,
    };
    let allowances = allowances(job, facts);
    review_session::hold(&job.host, talk, &matter, allowances, material.ground).await
}

/// The limits of this run, given what the pull request has taken today.
pub(crate) fn allowances(job: &Job<'_>, facts: &Facts) -> Allowances {
    let config = &job.host.config;
    // The limits count what this run has used besides, so its own lines are left out.
    let before = facts.account.without(&job.host.receipts());
    let usd = before.cost_on(job.today);
    if usd > 0.0 {
        let line = format!(
            "The pull request has cost {} today, before this run.",
            dollars(usd)
        );
        job.host.setup.actions.line(&line);
    }
    let (most, per_day) = (Some(config.max_cost_usd), config.max_cost_usd_per_day);
    let tokens = before.tokens_on(job.today);
    Allowances {
        usd: spending::allowance(("max_cost_usd", "USD"), most, per_day, usd),
        tokens: spending::allowance(
            ("max_tokens", "tokens"),
            config.max_tokens,
            config.max_tokens_per_day,
            tokens,
        ),
    }
}

/// Makes the record for the next run: the one that covers this head, or a new one, with what this run has cost.
fn record(
    job: &Job<'_>,
    facts: &Facts,
    (held, collected): (&Held, &Collected),
    covered: Option<Record>,
) -> Record {
    let used = &held.used;
    let spent = job.spent(used.told.cost, used.tokens().number);
    let account = facts.account.plus(spent);
    let record = covered.unwrap_or_else(|| made(job, facts, held, collected));
    account.entered_in(record, job.today)
}

/// Makes the record of this run's review.
fn made(job: &Job<'_>, facts: &Facts, held: &Held, collected: &Collected) -> Record {
    let again = job
        .request()
        .filter(|request| request.command == Command::ReviewFull);
    Record {
        head: facts.pull.head_sha.to_string(),
        merge_base: facts.merge_base.to_string(),
        rules: facts.rules_hash.clone(),
        passes: held.finished_passes(),
        left_out: first(left_out(&facts.change, held)),
        unshown: Some(held.beyond.len() + held.unreviewed().count()),
        ended: why_ended(held),
        unfinished_reviewers: held.end.unfinished_reviewers(),
        asked: again.map(|request| request.comment.0),
        escalations: collected.escalations.clone(),
        ..Record::default()
    }
}

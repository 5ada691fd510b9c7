//! A review from the first prompt to the last comment: desk, passes, outbox, report.

use super::check::CheckRun;
use super::concluding::{self, conclude, evidence, first, left_out};
use super::finish::Finished;
use super::meanwhile::Meanwhile;
use super::past::Past;
use super::reading::Reading;
use super::session::{self, Talk};
use super::staged::{Staged, publishable};
use super::{Run, Stop, asking, finish, people, words};
use crate::context::brief::Brief;
use crate::context::suspicion::Suspicions;
use crate::domain::{CommentId, CommitSha, FileDiff, Finding, Thread};
use crate::event::Command;
use crate::opencode::Supervisor;
use crate::plan::{self, Question};
use crate::publish::comment;
use crate::publish::outbox::{Outbox, Sent};
use crate::random;
use crate::report::document::SuspicionReport;
use crate::report::verdict::{Tally, Verdict};
use crate::review::desk::{Desk, Subject};
use crate::review::run::{End, Outcome};
use crate::state::record::Record;
use crate::state::spending::{self, Allowances};
use std::collections::HashMap;
use std::sync::Arc;

/// Judges the open threads that wait for it, answers the questions, and reviews the change unless a record covers it.
pub async fn review(
    run: &Run<'_>,
    sidecar: &Arc<Supervisor>,
    reading: Reading,
    check: &CheckRun,
    covered: Option<Record>,
    questions: &[Question],
) -> Result<Finished, Stop> {
    let diffs = session::diff_files(&reading.change).await?;
    let mut to_judge = reading.to_judge(covered.is_none());
    let later = to_judge.len().saturating_sub(plan::MOST_JUDGED);
    to_judge.truncate(plan::MOST_JUDGED);
    let past = Past::of(run, &reading, &to_judge).await;
    let people = people::who_decides(run, &reading, &to_judge).await?;
    run.engine.session().desk.open(Desk::new(
        subject(&reading, past.changed_since, past.removed_lines, people),
        session::weights(&run.engine, reading.change.sensitivity),
        run.engine.session().reviewer.id,
        random::hex(16)?,
    ));
    run.engine.session().desk.with(|desk| {
        let findings = reading.carried.findings.iter();
        findings.for_each(|finding| desk.carry(finding.clone()));
    });
    watch(run, &reading);
    let title = format!("Review of {}", run.pr);
    let (opened, ()) = tokio::join!(
        session::open(&run.engine, sidecar, &title),
        check.open(run, &reading)
    );
    let mut conversation = opened?;
    let talk = Talk {
        conversation: &mut conversation,
        to_judge: &past.excerpts,
        questions,
        reviews: covered.is_none(),
    };
    let (mut outcome, suspicions) = passes(run, talk, &reading, &diffs).await?;
    if covered.is_some() {
        outcome.beyond.clear();
    }
    if let End::Refused(why) = &outcome.end {
        return Err(Stop::fail(session::refusal(&run.engine, why)));
    }
    let unanswered = asking::send(run, &reading, &outcome).await;
    let meanwhile = Meanwhile::of(run, &reading, &publishable(run, &reading)).await;
    let misses = covered.is_some() || outcome.end != End::Complete;
    let staged = Staged::of(run, &reading, &meanwhile, misses);
    let mut record = record(run, &reading, &outcome, covered);
    staged.enter_in(&mut record, &reading);
    let all_said = evidence(run, &outcome, &record, &staged, &Sent::default(), 0);
    let outbox = Outbox {
        voice: run.voice(&reading.pull),
        diffs: &reading.change.diffs,
        findings: staged.findings.iter().collect(),
        replies: staged.replies.iter().collect(),
        event: Verdict::of(&all_said).review_event(),
        partial: outcome.end != End::Complete,
        record: (!check.is_open()).then(|| serde_json::to_value(&record).unwrap_or_default()),
    };
    promise(&reading, &staged, &record, check).await;
    let mut sent = outbox.send(&run.github).await;
    let left_behind = meanwhile.left_behind.iter();
    sent.failed
        .extend(left_behind.map(|(_, sentence)| sentence.clone()));
    let can_owe = check.is_open();
    let mut finished = conclude(run, &reading, &outcome, &staged, sent, record, can_owe);
    run.draft.take();
    finished.report.suspicions = suspicions.iter().map(SuspicionReport::from).collect();
    finished.leave_unanswered(unanswered);
    if later > 0 {
        let note = comment::left_for_later(later);
        finished.report.notes.push(note);
    }
    Ok(finished)
}

/// What is about to be posted stands in the check run first. Replies cannot be owed: where there are some, a run that is
/// cut off has to be repeated.
async fn promise(reading: &Reading, staged: &Staged<'_>, record: &Record, check: &CheckRun) {
    let unposted: Vec<&Finding> = staged.unposted(&Sent::default());
    if unposted.is_empty() {
        return;
    }
    let mut promised = Record {
        unsent: unposted.len() + staged.replies.len(),
        ..record.clone()
    };
    if !reading.carried.settle(&mut promised, &unposted) || !staged.replies.is_empty() {
        promised.passes.clear();
    }
    check.promise(&promised).await;
}

/// From the first finding on, the report says what there is.
fn watch(run: &Run<'_>, reading: &Reading) {
    let threads = reading.threads.iter();
    let open: Vec<&Thread> = threads.filter(|thread| thread.status.is_open()).collect();
    let mut report = concluding::report(run, reading, &[], &HashMap::new(), &open);
    report.set_verdict(Verdict::Incomplete, &Tally::default());
    let setup = run.engine.setup;
    let file = finish::report_file(setup);
    let watcher = run
        .draft
        .watcher(report, file, setup.actions.redactor().clone());
    run.engine.session().desk.watch(watcher);
}

fn subject(
    reading: &Reading,
    changed_since: HashMap<CommitSha, Vec<FileDiff>>,
    removed_lines: HashMap<CommentId, Vec<String>>,
    human_reviewers: Vec<String>,
) -> Subject {
    let commits = [&reading.merge_base, &reading.pull.head_sha];
    Subject {
        threads: words::shown_threads(&reading.threads),
        changed_since,
        removed_lines,
        human_reviewers,
        others: reading.others.clone(),
        ..session::subject(&reading.change, commits)
    }
}

pub async fn passes(
    run: &Run<'_>,
    talk: Talk<'_>,
    reading: &Reading,
    diffs: &[(FileDiff, String)],
) -> Result<(Outcome, Suspicions), Stop> {
    let pull = &reading.pull;
    let commits: Vec<(String, String)> = reading
        .commits
        .iter()
        .map(|commit| {
            (
                commit.sha.short().to_owned(),
                commit.message.lines().next().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let conversation = words::conversation(run, reading);
    let (change, since) = (&reading.change, reading.since.as_ref());
    let snapshot = &change.snapshot;
    let left_out = session::left_out(snapshot);
    let parts = session::parts(
        &run.engine,
        talk.conversation.client(),
        change,
        (diffs, since),
    )
    .await;
    let brief = Brief {
        fence: &run.engine.fence,
        folder: snapshot.own_folder(),
        left_out: &left_out,
        title: &pull.title,
        body: &pull.body,
        author: pull
            .author
            .as_ref()
            .map_or("a deleted account", |author| author.as_str()),
        base_ref: &pull.base_ref,
        head: &pull.head_sha,
        commits: &commits,
        diffs,
        parts: &parts,
        excused: change.hidden(),
        unreadable: change.unreadable().count(),
        since,
        rules: &change.rules,
        threads: &reading.threads,
        conversation: &conversation,
        sensitivity: reading.change.sensitivity,
    };
    session::hold(&run.engine, talk, &brief, allowances(run, reading)).await
}

/// What this run may take, given what the pull request has taken today.
fn allowances(run: &Run<'_>, reading: &Reading) -> Allowances {
    let config = &run.engine.config;
    let usd = reading.account.cost_on(run.today);
    if usd > 0.0 {
        let line = format!("The pull request has cost ${usd:.4} today, before this run.");
        run.engine.setup.actions.line(&line);
    }
    let (most, per_day) = (Some(config.max_cost_usd), config.max_cost_usd_per_day);
    let tokens = reading.account.tokens_on(run.today);
    Allowances {
        usd: spending::allowance("max_cost_usd", most, per_day, usd),
        tokens: spending::allowance(
            "max_tokens",
            config.max_tokens,
            config.max_tokens_per_day,
            tokens,
        ),
    }
}

/// What the next run finds: the record that covers this head, or a new one, with what this run has cost.
fn record(run: &Run<'_>, reading: &Reading, outcome: &Outcome, covered: Option<Record>) -> Record {
    let used = &outcome.used;
    let spent = run.spent(used.told.cost, used.tokens().number);
    let account = reading.account.plus(spent);
    let record = covered.unwrap_or_else(|| made(run, reading, outcome));
    account.entered_in(record, run.today)
}

/// What this run has reviewed.
fn made(run: &Run<'_>, reading: &Reading, outcome: &Outcome) -> Record {
    let finished = outcome.passes.iter().filter(|pass| pass.summary.is_some());
    let passes = finished.map(|pass| pass.number).filter(|n| *n > 0);
    let request = asking::request(run);
    let again = request.filter(|request| request.command == Command::ReviewFull);
    Record {
        head: reading.pull.head_sha.to_string(),
        merge_base: reading.merge_base.to_string(),
        rules: reading.rules_hash.clone(),
        passes: passes.collect(),
        left_out: first(left_out(&reading.change, &outcome.beyond)),
        unshown: Some(outcome.beyond.len()),
        ended: concluding::why_ended(outcome),
        asked: again.map(|request| request.comment.0),
        ..Record::default()
    }
}

//! What a review has come to: its verdict, its report, and what the next run is to know.

use super::change::Change;
use super::finish::{Finished, headline};
use super::reading::Reading;
use super::staged::Staged;
use super::{Engine, Run};
use crate::domain::{CommentId, CommitSha, Evidence, Finding, Score, Tally, Thread, Verdict};
use crate::outbox::Sent;
use crate::publish::comment;
use crate::report::Report;
use crate::report::document::{
    ExcusedReport, FindingReport, LedgerReport, LeftOutReport, PassReport, Said, ThreadReport,
};
use crate::review::desk::Entry;
use crate::review::outcome::{End, Outcome};
use crate::snapshot::Snapshot;
use crate::state::record::Record;
use crate::text::count::plural;
use crate::text::hidden::visible;
use std::collections::HashMap;

/// Changed files that the model had to see and could not: those that nobody can show, and those beyond its context.
pub fn left_out(change: &Change, beyond: &[String]) -> Vec<String> {
    let beyond = beyond.iter();
    let beyond = beyond.map(|path| format!("{} (the change is too large)", visible(path)));
    change.unreadable().chain(beyond).collect()
}

/// As many as people read, and a record holds; the report has them all.
pub fn first(mut left_out: Vec<String>) -> Vec<String> {
    const MOST: usize = 50;
    if left_out.len() > MOST {
        let more = plural(left_out.len() - MOST, "more file");
        left_out.truncate(MOST);
        left_out.push(format!("{more}, listed in the report"));
    }
    left_out
}

/// What the verdict rests on, given what was sent.
pub fn evidence(
    run: &Run<'_>,
    outcome: &Outcome,
    record: &Record,
    staged: &Staged<'_>,
    sent: &Sent,
    unpublished: usize,
) -> Evidence {
    let policy = &run.engine.config.policy;
    let open = staged.open();
    let old = open_scores(&open, &sent.resolved, policy.threshold);
    let new = staged.said().map(|finding| finding.assessment.score);
    // On a head that was reviewed, a thread that could not be judged stays open, and that is all.
    let unjudged = matches!(outcome.end, End::NotJudged(_) | End::NotAsked(_));
    Evidence {
        complete: outcome.end == End::Complete || (unjudged && record.stands_by_itself()),
        left_out: record.unexcused(),
        unpublished,
        tally: Tally::of(
            old.chain(new).chain(staged.lost.iter().copied()),
            policy.blocking,
        ),
    }
}

pub fn conclude(
    run: &Run<'_>,
    reading: &Reading,
    outcome: &Outcome,
    staged: &Staged<'_>,
    sent: Sent,
    mut record: Record,
    can_owe: bool,
) -> Finished {
    let is_said = |finding: &&Finding| sent.said.contains_key(finding.id.as_str());
    let issues_found = staged.said().filter(is_said).count();
    let unpublished = staged.said().count() - issues_found + sent.failed.len();
    record.unsent = unpublished;
    let evidence = evidence(run, outcome, &record, staged, &sent, unpublished);
    // What was not said must be said: by the next run, which reviews this head again unless the record holds it all.
    let held = reading.carried.settle(&mut record, &staged.unposted(&sent));
    let answered = sent.unanswered == 0;
    if unpublished > 0 && !(held && can_owe && answered) {
        record.passes.clear();
    }
    let verdict = Verdict::of(&evidence);
    let mut still_open = staged.open();
    still_open.retain(|thread| !sent.resolved.contains(&thread.id));
    let mut report = report(run, reading, &staged.entries, &sent.said, &still_open);
    report.set_verdict(verdict, &evidence.tally);
    report.passes = outcome.passes.iter().map(PassReport::from).collect();
    report.set_used(&outcome.used);
    report.ledger = LedgerReport::from(&record);
    report.left_out = left_out(&reading.change, &outcome.beyond);
    report.reasons = reasons(outcome, &record, &sent);
    report.notes.extend(way_out(run, verdict, &record));
    report.warnings.extend(outcome.restarts.iter().cloned());
    if verdict != Verdict::Incomplete {
        report.warnings.extend(why_ended(outcome));
    }
    let since = reading.since.as_ref();
    report.reviewed_since = since.map(|since| since.head.to_string());
    report.notes.extend(since.map(comment::only_what_is_new));
    report.notes.extend(reading.carried.dropped.iter().cloned());
    report.warnings.extend(sent.warnings);
    report
        .notes
        .extend(sent.left_open.then(comment::conversations_stay_open));
    report.review_url = sent.review_url;
    Finished {
        report,
        verdict,
        tally: evidence.tally,
        headline: headline(reading, &record),
        issues_found,
        record,
        unanswered: Vec::new(),
        pr: run.pr.clone(),
        keys: run.keys.clone(),
        fail_job: run.engine.config.fail_job,
    }
}

/// The scores of open threads that count: not closed in this run, and at or above the threshold that is set now.
pub fn open_scores<'a>(
    threads: &'a [&Thread],
    resolved: &'a [CommentId],
    threshold: Score,
) -> impl Iterator<Item = Score> + 'a {
    let open = threads
        .iter()
        .filter(|thread| !resolved.contains(&thread.id));
    let scores = open.map(|thread| thread.assessment.score);
    scores.filter(move |score| *score >= threshold)
}

/// What people can do about an incomplete review that is not just to be posted.
pub fn way_out(run: &Run<'_>, verdict: Verdict, record: &Record) -> Option<String> {
    let acceptable = run.keys.can_sign() && record.unsent == 0 && !record.undone().is_empty();
    let incomplete = verdict == Verdict::Incomplete && acceptable;
    incomplete.then(|| comment::how_to_accept(&run.engine.config.mention))
}

fn reasons(outcome: &Outcome, record: &Record, sent: &Sent) -> Vec<String> {
    let mut reasons = why_incomplete(outcome, &record.left_out);
    reasons.extend_from_slice(&sent.failed);
    reasons
}

/// Why a review ended early.
pub fn why_ended(outcome: &Outcome) -> Option<String> {
    match &outcome.end {
        End::Complete | End::Refused(_) => None,
        End::NotAsked(why) => Some(format!("Nothing was asked of the model: {why}.")),
        End::NotJudged(why) => Some(format!("The open threads were not judged: {why}")),
        End::NotSubmitted(pass, why) => Some(format!(
            "Pass {pass} of 4 was never submitted by the model{why}."
        )),
        End::OutOfTime(pass) => Some(format!(
            "The time ran out in pass {pass} of 4; review_timeout_minutes sets it."
        )),
        End::OverBudget(pass, why) => Some(format!(
            "The review was stopped in pass {pass} of 4: {why}."
        )),
        End::Failed(pass, why) => Some(format!("Pass {pass} of 4 failed: {why}")),
    }
}

/// What keeps a review from being whole.
pub fn why_incomplete(outcome: &Outcome, left_out: &[String]) -> Vec<String> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|file| format!("Not shown to the model: {file}."));
    why_ended(outcome).into_iter().chain(left_out).collect()
}

/// The report of a run, without its verdict and its costs.
pub fn report(
    run: &Run<'_>,
    reading: &Reading,
    entries: &[Entry],
    said: &HashMap<String, Said>,
    still_open: &[&Thread],
) -> Report {
    let mut warnings = reading.warnings.clone();
    if !run.keys.can_sign() {
        let has_gate = run.engine.config.policy.blocking.is_some();
        warnings.push(comment::unsigned(has_gate).into());
    }
    let commits = [&reading.merge_base, &reading.pull.head_sha];
    Report {
        pull_request: Some(run.pr.to_string()),
        threads: still_open
            .iter()
            .map(|thread| ThreadReport::from(*thread))
            .collect(),
        warnings,
        ..of_change(&run.engine, &reading.change, commits, entries, said)
    }
}

/// The same of a change, wherever it comes from.
pub fn of_change(
    engine: &Engine<'_>,
    change: &Change,
    [merge_base, head]: [&CommitSha; 2],
    entries: &[Entry],
    said: &HashMap<String, Said>,
) -> Report {
    let masked = change.diffs.iter().filter(|diff| diff.mask().is_some());
    Report {
        version: 1,
        pull_request: None,
        head: head.to_string(),
        merge_base: merge_base.to_string(),
        verdict: String::new(),
        reasons: Vec::new(),
        open_issues: 0,
        blocking_issues: 0,
        model: engine.model().to_string(),
        sandbox: None,
        tokens: 0,
        tokens_estimated: false,
        cost_usd: 0.0,
        ledger: LedgerReport::default(),
        sensitivity: change.sensitivity.to_string(),
        sensitivity_evidence: change.evidence.clone(),
        passes: Vec::new(),
        findings: entries
            .iter()
            .map(|entry| FindingReport::new(entry, said))
            .collect(),
        threads: Vec::new(),
        reviewed_since: None,
        excused: change.excused().map(ExcusedReport::from).collect(),
        left_out: left_out(change, &[]),
        left_out_unchanged: left_out_unchanged(&change.snapshot),
        masked: masked.map(|diff| diff.path.clone()).collect(),
        suspicions: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        review_url: None,
    }
}

/// The unchanged files that the snapshot is without, by reason.
fn left_out_unchanged(snapshot: &Snapshot) -> Vec<LeftOutReport> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    let reports = reasons.filter_map(|(reason, files)| {
        let unchanged = files.iter().filter(|file| !file.changed);
        let paths: Vec<&str> = unchanged.map(|file| file.path.as_str()).collect();
        LeftOutReport::new(reason.to_string(), &paths)
    });
    reports.collect()
}

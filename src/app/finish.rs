//! The ways out: a verdict, a skip, a failure, a signal. Each tells the runner, the check run and the log.

use super::check::CheckRun;
use super::draft::Draft;
use super::reading::Reading;
use super::{Run, Setup, concluding};
use crate::actions::{self, LogRedactor};
use crate::domain::{PrKey, Thread};
use crate::github::{CheckOutput, Conclusion, Rehearsal};
use crate::publish::comment;
use crate::report::document::LedgerReport;
use crate::report::summary::Page;
use crate::report::verdict::{Evidence, Tally, Verdict};
use crate::report::{Report, rehearsal, sarif, summary};
use crate::state::record::{self, Record};
use crate::state::signature::Keys;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// A run that reached a verdict.
pub struct Finished {
    pub report: Report,
    pub verdict: Verdict,
    pub tally: Tally,
    /// What the check is titled with, where there is more to say than the verdict.
    pub headline: Option<String>,
    /// New in this run, and on the pull request.
    pub issues_found: usize,
    pub record: Record,
    /// A sentence for each question without an answer. They fail the job and not the check, which is about the
    /// change alone.
    pub unanswered: Vec<String>,
    pub pr: PrKey,
    pub keys: Keys,
    pub fail_job: bool,
}

impl Finished {
    /// The check's title. What blocks is said first, whatever else there is to say.
    fn title(&self) -> String {
        let words = comment::check_title(self.verdict, &self.tally);
        match (&self.headline, self.verdict) {
            (Some(headline), Verdict::Clean) => headline.clone(),
            (Some(headline), Verdict::Findings) => format!("{headline}; {words}"),
            _ => words,
        }
    }

    pub fn leave_unanswered(&mut self, sentences: Vec<String>) {
        self.report.reasons.extend_from_slice(&sentences);
        self.unanswered.extend(sentences);
    }
}

/// The verdict of a head that was reviewed before, from the threads as they are now.
pub fn recomputed(run: &Run<'_>, reading: &Reading, record: Record) -> Finished {
    let open: Vec<&Thread> = reading
        .threads
        .iter()
        .filter(|thread| thread.status.is_open())
        .collect();
    let policy = &run.engine.config.policy;
    let scores = concluding::open_scores(&open, &[], policy.threshold);
    let tally = Tally::of(scores.chain(reading.missed()), policy.blocking);
    let verdict = Verdict::of(&Evidence {
        complete: true,
        left_out: record.unexcused(),
        unpublished: 0,
        tally,
    });
    let mut report = concluding::report(run, reading, &[], &HashMap::new(), &open);
    report.set_verdict(verdict, &tally);
    report.left_out.clone_from(&record.left_out);
    let headline = headline(reading, &record);
    let reason = match &headline {
        Some(headline) => format!("{headline}."),
        None => {
            "This change was reviewed before; the verdict follows from its threads as they are now."
                .into()
        }
    };
    report.reasons.push(reason);
    report.reasons.extend(record.ended.clone());
    let unseen = record.left_out.iter();
    report
        .reasons
        .extend(unseen.map(|file| format!("Not shown to the model: {file}.")));
    // Nothing is left to be posted, or the record would not be enough.
    let record = Record {
        unsent: 0,
        ..reading.account.entered_in(record, run.today)
    };
    report.ledger = LedgerReport::from(&record);
    report
        .notes
        .extend(concluding::way_out(run, verdict, &record));
    Finished {
        report,
        verdict,
        tally,
        headline,
        issues_found: 0,
        record,
        unanswered: Vec::new(),
        pr: run.pr.clone(),
        keys: run.keys.clone(),
        fail_job: run.engine.config.fail_job,
    }
}

/// What a check says besides its verdict: who accepted the head, or that nothing of it had to be shown.
pub fn headline(reading: &Reading, record: &Record) -> Option<String> {
    if let Some(accepted) = &record.accepted {
        return Some(comment::accepted(&accepted.by, &record.undone()));
    }
    let nothing_owed = reading.change.owed().next().is_none() && record.left_out.is_empty();
    let excused = reading.change.excused().map(|(_, excuse)| excuse);
    nothing_owed.then(|| comment::nothing_to_review(excused))
}

/// What the head's other pull requests make of a verdict: one that is blocked holds this one back, as both share a
/// check. The record keeps the verdict of its own. Returns the check's title.
async fn in_company(check: &CheckRun, finished: &mut Finished) -> String {
    let own = finished.verdict;
    finished.record.verdict = own.to_string();
    let title = finished.title();
    let Some((place, company)) = check.company(own).await else {
        return title;
    };
    finished.record.base_ref = place.base_ref;
    let report = &mut finished.report;
    report.warnings.extend(company.unknown.clone());
    if !company.strangers.is_empty() {
        let strangers = comment::another_check(&company.strangers);
        report.warnings.push(strangers);
    }
    let unreviewed = company.neighbours.iter().filter(|one| one.record.is_none());
    report.notes.extend(unreviewed.map(comment::shares_head));
    if let (Some(why), Conclusion::Success) = (&company.failed, own.conclusion()) {
        report.reasons.push(why.clone());
        finished.verdict = Verdict::Incomplete;
        report.set_verdict(finished.verdict, &finished.tally);
        return comment::check_title(finished.verdict, &finished.tally);
    }
    let holders = company.holders(finished.pr.number);
    if holders.is_empty() || own.conclusion() != Conclusion::Success {
        return title;
    }
    let sentences = holders.iter().map(|one| comment::held_back(one));
    report.warnings.extend(sentences);
    finished.verdict = Verdict::Blocking;
    report.set_verdict(finished.verdict, &finished.tally);
    let numbers: Vec<u64> = holders.iter().map(|one| one.number).collect();
    comment::check_held_back(&numbers)
}

/// Concludes the check, writes summary, outputs and report. Returns the exit code.
pub async fn finished(setup: &Setup, check: &CheckRun, mut finished: Finished) -> u8 {
    let headline = in_company(check, &mut finished).await;
    let finished = &finished;
    let markdown = summary::markdown(&finished.report, Page::Step);
    let output = CheckOutput {
        title: headline.clone(),
        summary: setup
            .actions
            .clean(&summary::markdown(&finished.report, Page::Check))
            .into_owned(),
        text: Some(record::render(
            &finished.record,
            &finished.pr,
            &finished.keys,
        )),
    };
    let written = match check.conclude(finished.verdict.conclusion(), &output).await {
        Ok(written) => written,
        Err(error) => {
            setup
                .actions
                .warning(&format!("The check run could not be concluded: {error}"));
            false
        }
    };
    told(setup, setup.actions.append_summary(&markdown));
    set_outputs(setup, finished);
    write_report(setup, &finished.report);
    for warning in &finished.report.warnings {
        setup.actions.warning(warning);
    }
    match finished.verdict {
        Verdict::Incomplete | Verdict::Error => {
            for reason in &finished.report.reasons {
                setup.actions.error(reason);
            }
            setup.actions.error(&headline);
        }
        _ => {
            for sentence in &finished.unanswered {
                setup.actions.error(sentence);
            }
            setup.actions.line(&headline);
        }
    }
    if !finished.unanswered.is_empty() {
        return Verdict::Incomplete.exit_code(false, written);
    }
    finished.verdict.exit_code(finished.fail_job, written)
}

/// A merge group was judged, and its check says how. Returns the exit code.
pub fn judged(setup: &Setup, title: &str, verdict: Verdict, fail_job: bool) -> u8 {
    setup.actions.line(title);
    let summary = format!("## {title}\n");
    told(setup, setup.actions.append_summary(&summary));
    let status = verdict.to_string();
    told(setup, setup.actions.set_output("review_status", &status));
    verdict.exit_code(fail_job, true)
}

fn set_outputs(setup: &Setup, finished: &Finished) {
    let outputs = [
        ("review_status", finished.verdict.to_string()),
        ("issues_found", finished.issues_found.to_string()),
        ("open_issues", finished.tally.open.to_string()),
        ("blocking_issues", finished.tally.blocking.to_string()),
        ("cost_usd", format!("{:.4}", finished.report.cost_usd)),
        ("tokens", finished.report.tokens.to_string()),
    ];
    for (name, value) in outputs {
        told(setup, setup.actions.set_output(name, &value));
    }
}

/// What a dry run would have posted.
pub fn rehearsed(setup: &Setup, rehearsal: &Rehearsal) {
    let unsent = rehearsal.unsent();
    if unsent.is_empty() {
        return;
    }
    let actions = &setup.actions;
    let steps = rehearsal::steps(&unsent);
    actions.line(rehearsal::TITLE);
    if steps.iter().all(|step| step.body.is_empty()) {
        actions.line(rehearsal::NOTHING);
    }
    for step in steps {
        actions.line(&step.heading);
        if !step.body.is_empty() {
            told(setup, actions.foreign(&step.body));
        }
    }
}

const REPORT_FILE: &str = "opencode-review.json";
const SARIF_FILE: &str = "opencode-review.sarif";

/// Where the report goes, if there is a workspace.
pub fn report_file(setup: &Setup) -> Option<PathBuf> {
    let workspace = setup.environment.workspace.as_ref()?;
    Some(workspace.join(REPORT_FILE))
}

/// The report as the file holds it.
pub fn json(report: &Report, redactor: &LogRedactor) -> Vec<u8> {
    let report = redactor.clean_value(serde_json::to_value(report).unwrap_or_default());
    serde_json::to_vec_pretty(&report).unwrap_or_default()
}

fn write_report(setup: &Setup, report: &Report) {
    let Some(workspace) = &setup.environment.workspace else {
        return;
    };
    let redactor = setup.actions.redactor();
    let sarif = redactor.clean_value(sarif::log(report));
    let sarif = serde_json::to_vec_pretty(&sarif).unwrap_or_default();
    for (output, name, content) in [
        ("report_file", REPORT_FILE, json(report, redactor)),
        ("sarif_file", SARIF_FILE, sarif),
    ] {
        match actions::write_file(&workspace.join(name), &content) {
            Ok(()) => told(setup, setup.actions.set_output(output, name)),
            Err(error) => setup
                .actions
                .warning(&format!("The file {name} could not be written: {error}")),
        }
    }
}

/// What a run that ended early had found, where people and machines look for it.
fn leave(setup: &Setup, draft: &Draft, why: &str) {
    let Some(mut report) = draft.take() else {
        return;
    };
    report.reasons.push(why.to_owned());
    let markdown = summary::markdown(&report, Page::Step);
    told(setup, setup.actions.append_summary(&markdown));
    write_report(setup, &report);
}

/// Nothing to do: one notice, no failure.
pub fn skipped(setup: &Setup, reason: &str) -> u8 {
    setup.actions.notice(reason);
    told(
        setup,
        setup
            .actions
            .set_output("review_status", &Verdict::Skipped.to_string()),
    );
    Verdict::Skipped.exit_code(false, false)
}

/// Could not review to the end: one line for each reason, and what there was.
pub fn broken(setup: &Setup, draft: &Draft, sentences: &[String]) -> u8 {
    leave(setup, draft, &sentences.join(" "));
    failed(setup, sentences)
}

/// Could not review: one line for each reason.
pub fn failed(setup: &Setup, sentences: &[String]) -> u8 {
    for sentence in sentences {
        setup.actions.error(sentence);
    }
    told(
        setup,
        setup
            .actions
            .set_output("review_status", &Verdict::Error.to_string()),
    );
    Verdict::Error.exit_code(false, false)
}

/// Waits for the runner to end us. The answer is the signal's number.
pub async fn stop_signal() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
    }
}

/// The runner waits seven and a half seconds, and then some; what is not written by then will not be.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Ended by a signal: nothing more is posted, the check run says so.
pub async fn cancelled(setup: &Setup, check: &CheckRun, draft: &Draft, signal: u8) -> u8 {
    leave(setup, draft, comment::check_cancelled().1);
    let (title, summary) = comment::check_cancelled();
    let output = CheckOutput {
        title: title.into(),
        summary: summary.into(),
        text: None,
    };
    let concluding = check.conclude(Conclusion::Cancelled, &output);
    let concluded = tokio::time::timeout(LAST_WORDS, concluding).await;
    if let Err(error) = concluded.unwrap_or_else(|_| Err("GitHub did not answer in time.".into())) {
        setup
            .actions
            .warning(&format!("The check run could not be concluded: {error}"));
    }
    setup
        .actions
        .notice("The run was cancelled; what it had not posted by then is left to the next run.");
    128 + signal
}

fn told(setup: &Setup, result: std::io::Result<()>) {
    if let Err(error) = result {
        setup.actions.warning(&format!(
            "A file of the runner could not be written: {error}"
        ));
    }
}

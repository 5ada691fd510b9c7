//! The ways out: a verdict, a skip, a failure, a signal. Each tells the runner, the check run and the log.

use super::check_run::CheckRun;
use super::draft::Draft;
use super::outcome::Outcome;
use crate::actions::{self, LogRedactor};
use crate::host::{Failure, Setup};
use reviewer_core::domain::{CommitSha, Conclusion, Verdict};
use reviewer_core::publish::comment::{self, gate};
use reviewer_core::report::code::Code;
use reviewer_core::report::html::{self, Material};
use reviewer_core::report::summary::Page;
use reviewer_core::report::{Report, dry_run, last_lines, sarif, summary};
use reviewer_core::state::record;
use reviewer_github::{CheckOutput, DryRun};
use std::path::PathBuf;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The end of a run.
pub enum Ended {
    /// Nothing was to be done, and that is right.
    Skipped(String),
    /// An earlier run made this commit of the fix that was to be published.
    Published(CommitSha),
    /// It reached a verdict.
    Concluded(Box<Outcome>),
}

/// Tells the runner, the check run and the log how a run ended. Returns the exit code.
pub(crate) async fn ended(
    setup: &Setup,
    check: &CheckRun,
    draft: &Draft,
    ended: Result<Ended, Failure>,
) -> u8 {
    match ended {
        Ok(Ended::Concluded(outcome)) => concluded(setup, check, *outcome).await,
        Ok(Ended::Skipped(reason)) => skipped(setup, &reason),
        Ok(Ended::Published(commit)) => skipped(setup, &comment::fixing::published(&commit)),
        Err(Failure(sentences)) => {
            check.fail(&sentences).await;
            broken(setup, draft, &sentences)
        }
    }
}

/// Applies the head's other pull requests to a verdict: one that is blocked holds this one back, as both share a check.
/// The record keeps the verdict of its own. Returns the check's title.
async fn in_company(check: &CheckRun, outcome: &mut Outcome) -> String {
    let own = outcome.verdict;
    outcome.record.verdict = own.to_string();
    let title = outcome.title();
    let Some((place, company)) = check.company(own).await else {
        return title;
    };
    outcome.record.base_ref = place.base_ref;
    let report = &mut outcome.report;
    report.warnings.extend(company.unknown.clone());
    if !company.strangers.is_empty() {
        let strangers = comment::same_head::another_check(&company.strangers);
        report.warnings.push(strangers);
    }
    let unreviewed = company.neighbours.iter().filter(|one| one.record.is_none());
    report
        .notes
        .extend(unreviewed.map(comment::same_head::shares_head));
    if let (Some(why), Conclusion::Success) = (&company.failed, own.conclusion()) {
        report.reasons.push(why.clone());
        report.green = Some(gate::by_running_again().into());
        outcome.verdict = Verdict::Incomplete;
        report.set_verdict(outcome.verdict, &outcome.tally);
        return comment::check::title(outcome.verdict, &outcome.tally);
    }
    let holders = company.holders(outcome.pr.number);
    if holders.is_empty() || own.conclusion() != Conclusion::Success {
        return title;
    }
    let sentences = holders.iter().map(|one| comment::same_head::held_back(one));
    report.warnings.extend(sentences);
    outcome.verdict = Verdict::Blocking;
    report.set_verdict(outcome.verdict, &outcome.tally);
    let numbers: Vec<u64> = holders.iter().map(|one| one.number).collect();
    report.green = Some(gate::by_settling(&numbers));
    comment::same_head::held_back_title(&numbers)
}

/// Concludes the check, writes summary, outputs and report. Returns the exit code.
async fn concluded(setup: &Setup, check: &CheckRun, mut outcome: Outcome) -> u8 {
    let headline = in_company(check, &mut outcome).await;
    let (outcome, page) = (&outcome, check.page());
    let markdown = summary::markdown(&outcome.report, Page::Step);
    let output = CheckOutput {
        title: headline.clone(),
        summary: setup
            .actions
            .clean(&summary::markdown(&outcome.report, Page::Check))
            .into_owned(),
        text: Some(record::render(&outcome.record, &outcome.pr, &outcome.keys)),
    };
    let written = match check.conclude(outcome.verdict.conclusion(), &output).await {
        Ok(written) => written,
        Err(error) => {
            setup
                .actions
                .warning(&format!("The check run could not be concluded: {error}"));
            false
        }
    };
    show(setup, &outcome.report, &outcome.code, &markdown);
    set_outputs(setup, outcome);
    let page = page.filter(|_| written);
    write_report(setup, &outcome.report, &outcome.code, page.as_deref());
    if !setup.actions.is_runner() {
        for sentence in &outcome.unanswered {
            setup.actions.error(sentence);
        }
        return code(outcome, written);
    }
    for warning in &outcome.report.warnings {
        setup.actions.warning(warning);
    }
    match outcome.verdict {
        Verdict::Incomplete | Verdict::Error => {
            for reason in &outcome.report.reasons {
                setup.actions.error(reason);
            }
            setup.actions.error(&headline);
        }
        _ => {
            for sentence in &outcome.unanswered {
                setup.actions.error(sentence);
            }
        }
    }
    for line in last_lines(&outcome.report, &headline, page.as_deref()) {
        setup.actions.line(&line);
    }
    code(outcome, written)
}

fn code(outcome: &Outcome, written: bool) -> u8 {
    if !outcome.unanswered.is_empty() {
        return Verdict::Incomplete.exit_code(false, written);
    }
    outcome.verdict.exit_code(outcome.fail_job, written)
}

/// The report for whoever started the run: the summary of a step, or text on a terminal.
fn show(setup: &Setup, report: &Report, code: &Code, markdown: &str) {
    if setup.actions.is_runner() {
        told(setup, setup.actions.append_summary(markdown));
    } else {
        setup.actions.answer_report(report, code);
    }
}

/// A merge group was judged, and its check says how. Returns the exit code.
pub(crate) fn judged(setup: &Setup, title: &str, verdict: Verdict, fail_job: bool) -> u8 {
    setup.actions.line(title);
    let summary = format!("## {title}\n");
    told(setup, setup.actions.append_summary(&summary));
    set_status(setup, verdict);
    verdict.exit_code(fail_job, true)
}

/// The output of a run that has no report.
fn set_status(setup: &Setup, verdict: Verdict) {
    let status = verdict.to_string();
    told(setup, setup.actions.set_output("review_status", &status));
}

fn set_outputs(setup: &Setup, outcome: &Outcome) {
    let outputs = [
        ("review_status", outcome.verdict.to_string()),
        ("issues_found", outcome.issues_found.to_string()),
        ("open_issues", outcome.tally.open.to_string()),
        ("blocking_issues", outcome.tally.blocking.to_string()),
        ("cost_usd", format!("{:.4}", outcome.report.cost_usd)),
        ("tokens", outcome.report.tokens.to_string()),
        ("human_review_required", outcome.needs_people.to_string()),
    ];
    for (name, value) in outputs {
        told(setup, setup.actions.set_output(name, &value));
    }
}

/// Prints what a dry run would have posted.
pub(crate) fn print_dry_run(setup: &Setup, dry_run: &DryRun) {
    let unsent = dry_run.unsent();
    if unsent.is_empty() {
        return;
    }
    let actions = &setup.actions;
    let steps = dry_run::steps(&unsent);
    told(setup, actions.answer_quoted(dry_run::TITLE, ""));
    if steps.iter().all(|step| step.body.is_empty()) {
        told(setup, actions.answer_quoted(dry_run::NOTHING, ""));
    }
    for step in steps {
        told(setup, actions.answer_quoted(&step.heading, &step.body));
    }
}

const REPORT_FILE: &str = "opencode-review.json";
const SARIF_FILE: &str = "opencode-review.sarif";
const HTML_FILE: &str = "opencode-review.html";

/// The path of the report, if there is a workspace.
pub(crate) fn report_file(setup: &Setup) -> Option<PathBuf> {
    let workspace = setup.environment.workspace.as_ref()?;
    Some(workspace.join(REPORT_FILE))
}

/// The report as the file holds it.
pub(crate) fn json(report: &Report, redactor: &LogRedactor) -> Vec<u8> {
    let report = redactor.clean_value(serde_json::to_value(report).unwrap_or_default());
    serde_json::to_vec_pretty(&report).unwrap_or_default()
}

fn write_report(setup: &Setup, report: &Report, code: &Code, check: Option<&str>) {
    let Some(workspace) = &setup.environment.workspace else {
        return;
    };
    let redactor = setup.actions.redactor();
    let sarif = redactor.clean_value(sarif::log(report));
    let sarif = serde_json::to_vec_pretty(&sarif).unwrap_or_default();
    let html = html::page(
        report,
        &Material {
            code,
            check,
            clean: &|text| redactor.clean(text).into_owned(),
        },
    );
    for (output, name, content) in [
        ("report_file", REPORT_FILE, json(report, redactor)),
        ("report_html", HTML_FILE, html.into_bytes()),
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

/// Leaves the findings of a run that ended early, where people and machines look for them.
fn leave(setup: &Setup, draft: &Draft, why: &str) {
    let Some(mut report) = draft.take() else {
        return;
    };
    report.reasons.push(why.to_owned());
    let markdown = summary::markdown(&report, Page::Step);
    show(setup, &report, &Code::new(), &markdown);
    write_report(setup, &report, &Code::new(), None);
}

/// Nothing to do: one notice, no failure.
pub(crate) fn skipped(setup: &Setup, reason: &str) -> u8 {
    setup.actions.notice(reason);
    set_status(setup, Verdict::Skipped);
    Verdict::Skipped.exit_code(false, false)
}

/// Could not review to the end: one line for each reason, and what there was.
fn broken(setup: &Setup, draft: &Draft, sentences: &[String]) -> u8 {
    leave(setup, draft, &sentences.join(" "));
    failed(setup, sentences)
}

/// Could not review: one line for each reason.
pub(crate) fn failed(setup: &Setup, sentences: &[String]) -> u8 {
    for sentence in sentences {
        setup.actions.error(sentence);
    }
    set_status(setup, Verdict::Error);
    Verdict::Error.exit_code(false, false)
}

/// Waits for the runner to end this process. The answer is the signal's number.
pub(crate) async fn stop_signal() -> u8 {
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
pub(crate) async fn cancelled(setup: &Setup, check: &CheckRun, draft: &Draft, signal: u8) -> u8 {
    leave(setup, draft, comment::check::cancelled().1);
    let (title, summary) = comment::check::cancelled();
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

//! `local`: a review of the working tree, for the person who sits before it. Sidecar, sandbox, passes and desk are those of
//! a pull request; where the change comes from and where the findings go is different, and GitHub is not asked.

use crate::actions::{self, Actions};
use crate::gather::change::Change;
use crate::gather::local_change::{self, LocalChange, no_directory};
use crate::gather::static_analysis::{Analysis, Workspace};
use crate::gather::{settings, web_guard};
use crate::host::sidecar::Running;
use crate::host::{Budget, Failure, Host, Setup, Work, configured};
use crate::run::collected;
use crate::run::draft::Draft;
use crate::run::exits;
use crate::run::outcome::report::{add_session, code, of_change};
use crate::run::outcome::unfinished::{first, left_out, why_incomplete};
use crate::run::review_session::{self, Concluded, Ground, Matter, Talk};
use reviewer_agent::opencode::Supervisor;
use reviewer_core::config::file;
use reviewer_core::context::intent::Intent;
use reviewer_core::domain::{CommitSha, Evidence, Sensitivity, Tally, Verdict};
use reviewer_core::publish::comment;
use reviewer_core::report::code::Code;
use reviewer_core::report::document::{ExcusedReport, SuspicionReport};
use reviewer_core::report::findings::Said;
use reviewer_core::report::{Report, markdown, sarif};
use reviewer_core::review::desk::Fate;
use reviewer_core::review::session_outcome::End;
use reviewer_core::state::spending::{self, Allowances};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The format that the result is printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Sarif,
    Markdown,
    Html,
}

/// The person's request.
#[derive(Debug)]
pub struct Order {
    /// Somewhere in the working tree.
    pub directory: PathBuf,
    /// `None`: the default branch.
    pub base: Option<String>,
    pub format: Format,
    /// A file that takes the result; `None`: standard output does.
    pub output: Option<PathBuf>,
}

/// The end of the command.
enum Ended {
    /// There was nothing to review, and that is right. The reason of the report says why.
    Nothing(Box<Report>),
    Reviewed(Box<Reviewed>),
}

/// A review that came to its end.
struct Reviewed {
    report: Report,
    verdict: Verdict,
    code: Code,
}

/// Reviews the working tree and prints the findings. Returns the exit code.
pub async fn local(setup: &Setup, order: &Order) -> u8 {
    if let Some(sentence) = order.output.as_deref().and_then(unwritable) {
        setup.actions.error(&sentence);
        return Verdict::Error.exit_code(true, true);
    }
    if let Some(sentence) = no_directory(&order.directory) {
        setup.actions.error(&sentence);
        return Verdict::Error.exit_code(true, true);
    }
    let draft = Draft::default();
    tokio::select! {
        ended = Box::pin(reviewed(setup, order, &draft)) => tell(setup, order, &draft, ended),
        signal = exits::stop_signal() => interrupted(setup, order, &draft, signal),
    }
}

/// Returns what is wrong with the file for the result, as far as it shows before a review is paid for.
fn unwritable(path: &Path) -> Option<String> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let shown = path.display();
    if path.is_dir() {
        return Some(format!("--output {shown} is a directory; name a file."));
    }
    let missing = parent.is_some_and(|parent| !parent.is_dir());
    missing.then(|| {
        format!("--output {shown} is in a directory that does not exist; create it first.")
    })
}

fn tell(setup: &Setup, order: &Order, draft: &Draft, ended: Result<Ended, Failure>) -> u8 {
    let (report, code, verdict) = match ended {
        Ok(Ended::Reviewed(reviewed)) => (reviewed.report, reviewed.code, reviewed.verdict),
        Ok(Ended::Nothing(report)) => {
            let verdict = if report.left_out.is_empty() {
                Verdict::Clean
            } else {
                Verdict::Incomplete
            };
            (*report, Code::new(), verdict)
        }
        Err(Failure(sentences)) => {
            setup.actions.settle();
            print_draft(setup, order, draft, &sentences);
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            return Verdict::Error.exit_code(true, true);
        }
    };
    setup.actions.settle();
    if print(setup, order, &report, &code) {
        verdict.exit_code(true, true)
    } else {
        Verdict::Error.exit_code(true, true)
    }
}

/// Ended by a signal: what was found by then was paid for.
fn interrupted(setup: &Setup, order: &Order, draft: &Draft, signal: u8) -> u8 {
    const INTERRUPTED: &str = "The review was interrupted.";
    setup.actions.settle();
    if !print_draft(setup, order, draft, &[INTERRUPTED.into()]) {
        setup.actions.line(INTERRUPTED);
    }
    128 + signal
}

/// Prints the findings of a review that did not end. Returns false if there are none.
fn print_draft(setup: &Setup, order: &Order, draft: &Draft, reasons: &[String]) -> bool {
    let Some(mut report) = draft.take() else {
        return false;
    };
    report.reasons.extend_from_slice(reasons);
    let found = report.findings.iter();
    report.open_issues = found.filter(|one| one.fate == "unpublished").count();
    print(setup, order, &report, &Code::new());
    true
}

/// Prints the report, or writes it to its file. False where the file cannot be written; then it is printed.
fn print(setup: &Setup, order: &Order, report: &Report, code: &Code) -> bool {
    let Some(path) = &order.output else {
        answer(&setup.actions, order.format, report, code);
        return true;
    };
    let shown = path.display();
    let written = actions::file_answers(&setup.actions, path)
        .map_err(|error| error.to_string())
        .and_then(|file| {
            answer(&file, order.format, report, code);
            file.lost_answer().map_or(Ok(()), |why| Err(why.to_owned()))
        });
    match written {
        Ok(()) => {
            setup.actions.line(&format!("The result is in {shown}."));
            true
        }
        Err(why) => {
            answer(&setup.actions, order.format, report, code);
            let sentence = format!("--output {shown} cannot be written: {why}");
            setup.actions.error(&sentence);
            false
        }
    }
}

fn answer(out: &Actions, format: Format, report: &Report, code: &Code) {
    match format {
        // A review has passes; this is the sentence that says why there was none.
        Format::Text if report.verdict == "clean" && report.passes.is_empty() => {
            out.answer(&report.reasons.join("\n"));
        }
        Format::Text => out.answer_report(report, code),
        Format::Json => out.answer_json(serde_json::to_value(report).unwrap_or_default()),
        Format::Sarif => out.answer_json(sarif::log(report)),
        Format::Markdown => out.answer(&markdown::page(report)),
        Format::Html => out.answer_html(report, code),
    }
}

/// A report that there is nothing to review.
fn nothing(host: &Host<'_>, [merge_base, head]: [&CommitSha; 2], why: String) -> Report {
    let sensitivity = host.config.policy.sensitivity;
    let mut report = Report {
        version: 1,
        head: head.to_string(),
        merge_base: merge_base.to_string(),
        model: host.models(),
        sensitivity: sensitivity.unwrap_or(Sensitivity::Moderate).to_string(),
        reasons: vec![why],
        ..Report::default()
    };
    report.set_verdict(Verdict::Clean, &Tally::default());
    report
}

async fn reviewed(setup: &Setup, order: &Order, draft: &Draft) -> Result<Ended, Failure> {
    let work = (Work::Review, Budget::new(setup.clock));
    let mut host = Host::new(setup, configured(setup, true)?, None, work)?;
    let base = order.base.as_deref();
    let (local, repository) = match local_change::take(&host, &order.directory, base).await? {
        ControlFlow::Continue(taken) => taken,
        ControlFlow::Break((commit, why)) => {
            let report = nothing(&host, [&commit, &commit], why);
            return Ok(Ended::Nothing(Box::new(report)));
        }
    };
    let own = repository.file(&local.merge_base, file::PATH, file::MOST_BYTES);
    if let Some(text) = own.await?
        && let Some(unread) = settings::apply(&mut host, &text)?
    {
        return Err(Failure::new(format!(
            "{unread} Until then nothing is reviewed, because this file may say what blocks."
        )));
    }
    let workspace = Workspace {
        root: local.root.clone(),
        from: order.directory.clone(),
    };
    let files = workspace.named(&host);
    host.config.ignore = host
        .config
        .ignore
        .with_files(files.iter().map(String::as_str));
    let snapshot = host.scratch.directory("head")?;
    let commits = [&local.merge_base, &local.head];
    let change = Change::load(&host, repository, commits, &snapshot).await?;
    if change.required().next().is_none() {
        return Ok(Ended::Nothing(Box::new(nothing_required(&host, &change))));
    }
    review_session::announce(&host, "", &change, &local.base);
    setup.actions.glimpse("starting OpenCode", "");
    let running = Running::start(&host, &snapshot).await?;
    running.tell_confinement(&host);
    let no_web = web_guard::open(&host, &change).await?;
    let sidecar = &running.sidecar;
    let taken = (&local, &workspace);
    let mut reviewed = Box::pin(review(&host, sidecar, taken, &change, draft)).await;
    if let Ok(reviewed) = &mut reviewed {
        reviewed.report.sandbox = Some(running.sandbox());
        reviewed.report.notes.extend(no_web);
    }
    running.stop().await;
    Ok(Ended::Reviewed(Box::new(reviewed?)))
}

/// A report that everything in the change is excused, or cannot be shown.
fn nothing_required(host: &Host<'_>, change: &Change) -> Report {
    let excused = change.excused().map(|(_, excuse)| excuse);
    let unreadable: Vec<String> = change.unreadable().collect();
    let why = comment::check::nothing_to_show(excused, &unreadable);
    let [merge_base, head] = &change.commits;
    let mut report = nothing(host, [merge_base, head], why);
    if !unreadable.is_empty() {
        report.set_verdict(Verdict::Incomplete, &Tally::default());
    }
    report.excused = change.excused().map(ExcusedReport::from).collect();
    report.left_out = unreadable;
    report
}

async fn review(
    host: &Host<'_>,
    sidecar: &Arc<Supervisor>,
    (local, workspace): (&LocalChange, &Workspace),
    change: &Change,
    draft: &Draft,
) -> Result<Reviewed, Failure> {
    let diffs = review_session::diff_files(change).await?;
    let subject = review_session::subject(change, [&local.merge_base, &local.head]);
    let analysis = Analysis::read(host, workspace, &diffs, None)?;
    let subject = Arc::new(subject);
    let ground = Ground {
        subject: &subject,
        carried: &[],
        candidates: analysis.candidates(),
        draft,
    };
    review_session::open_desks(host, change, &ground)?;
    watch(host, local, change, draft);
    let matter = Matter {
        title: &local.title,
        body: "",
        intent: &Intent::default(),
        checks: &[],
        decided: &[],
        author: &local.author,
        base_ref: &local.base,
        head: &local.head,
        commits: &local.commits,
        change,
        diffs: &diffs,
        since: None,
        threads: &[],
        conversation: &[],
        section: None,
    };
    let talk = Talk {
        sidecar,
        title: "Review of the working tree",
        to_judge: &[],
        questions: &[],
        conversations: &[],
        candidates: analysis.candidates(),
        reviews: true,
    };
    let config = &host.config;
    let allowances = Allowances {
        usd: spending::allowance(
            ("max_cost_usd", "USD"),
            Some(config.max_cost_usd),
            None,
            0.0,
        ),
        tokens: spending::allowance(("max_tokens", "tokens"), config.max_tokens, None, 0),
    };
    let end = review_session::hold(host, talk, &matter, allowances, Some(ground)).await?;
    if let End::Refused(why) = &end.outcome.end {
        return Err(Failure::new(why));
    }
    draft.take();
    let mut reviewed = concluded(host, local, change, &end, &analysis);
    let suspicions = end.suspicions.iter().map(SuspicionReport::from);
    reviewed.report.suspicions = suspicions.collect();
    Ok(reviewed)
}

/// From the first finding on, there is something to print.
fn watch(host: &Host<'_>, local: &LocalChange, change: &Change, draft: &Draft) {
    let commits = [&local.merge_base, &local.head];
    let mut report = of_change(host, change, commits, &[], &HashMap::new());
    report.set_verdict(Verdict::Incomplete, &Tally::default());
    let redactor = host.setup.actions.redactor().clone();
    draft.watch(report, &collected::desks(host), None, &redactor);
}

fn concluded(
    host: &Host<'_>,
    local: &LocalChange,
    change: &Change,
    end: &Concluded,
    analysis: &Analysis,
) -> Reviewed {
    let (held, collected) = (&end.outcome, &end.collected);
    let entries = &collected.entries;
    let findings = entries.iter().filter(|entry| entry.fate == Fate::Staged);
    let findings: Vec<_> = findings.map(|entry| &entry.finding).collect();
    let left_out = left_out(change, held);
    let evidence = Evidence {
        complete: held.end == End::Complete,
        left_out: left_out.len(),
        unpublished: 0,
        tally: Tally::count(
            findings.iter().map(|finding| finding.assessment.score),
            host.config.policy.blocking,
        ),
    };
    let verdict = Verdict::from_evidence(&evidence);
    let said = findings.iter().map(|one| (one.id.to_string(), Said::Here));
    let commits = [&local.merge_base, &local.head];
    let mut report = of_change(host, change, commits, entries, &said.collect());
    report.set_verdict(verdict, &evidence.tally);
    report.left_out.clone_from(&left_out);
    add_session(&mut report, held);
    report.set_fallbacks(&host.fallbacks.all(), host.is_panel());
    report.reviewers = collected.reviewers(host, held, &[]);
    report.reasons = why_incomplete(held, &first(left_out));
    report.notes.extend(not_part(&local.nested));
    report.static_analysis = analysis.report(&collected.candidates);
    report.warnings.extend(analysis.warnings());
    Reviewed {
        code: code(change, entries),
        report,
        verdict,
    }
}

fn not_part(nested: &[String]) -> Option<String> {
    (!nested.is_empty()).then(|| {
        let names = nested.join(", ");
        format!("Not reviewed, as each is a repository of its own: {names}.")
    })
}

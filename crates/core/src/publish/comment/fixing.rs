//! The comments about fixing: the report of a round, the report of a fix, and the call for people. Each is a new comment with the
//! marker of the loop; none is ever edited. No diffs, no secrets, and a cap.

use crate::domain::{CommitSha, PrKey};
use crate::fix::issue::Issue;
use crate::fix::memory::Stop;
use crate::fix::outcome::{Outcome, Settled};
use crate::fix::preflight::NotFixed;
use crate::fix::report::{self, FixReport, KeptOutcome};
use crate::fix::rounds::Next;
use crate::fix::selection::LeftOut;
use crate::state::signature::Keys;
use crate::verification::{Standing, Witness};
use reviewer_text::count::plural;
use reviewer_text::sanitize::{clean, without_dumps};
use reviewer_text::sentence::{cell, code, fenced};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

/// Stands in every comment of rounds and fixes, so that no analyzer takes them for words of people.
pub const MARKER: &str = "<!-- pr-review-loop-marker -->";
/// The label of a pull request that waits for people.
pub const HUMAN_REVIEW: &str = "human-review-required";

/// The largest comment, in characters.
const CAP: usize = 60_000;
const TRUNCATED: &str = "\n\n[TRUNCATED_COMMENT]";
const LONGEST_CELL: usize = 300;
/// The largest document that is folded into a comment.
const MAX_DOCUMENT: usize = 16_000;

/// The way in which a fix reached the pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    Pushed {
        commit: CommitSha,
        /// True if the push starts workflows.
        starts_workflows: bool,
        /// Required checks that do not run on the new head by themselves.
        waiting: Vec<String>,
    },
    Stacked {
        commit: CommitSha,
        waits: Waits,
    },
    /// A file of the run.
    Patch,
    /// Nothing was changed.
    Nothing,
}

/// The place where a fix beside the branch waits for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waits {
    /// A pull request onto the branch, by its address.
    Pull(String),
    /// Only a branch, and the reason why no pull request could be opened.
    Branch { branch: String, why: String },
}

/// The checks of a fix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Each command with what it showed.
    pub commands: Vec<(String, Standing)>,
    pub witness: Option<Witness>,
    /// Gaps of the sandbox and the like, a sentence each.
    pub notes: Vec<String>,
}

/// A fix, as its report tells it.
#[derive(Debug, Clone, Copy)]
pub struct FixTold<'a> {
    pub report: &'a FixReport,
    pub settled: &'a [Settled],
    pub delivered: &'a Delivered,
    pub verified: &'a Verified,
    /// Open issues that were not tried.
    pub left_out: &'a [LeftOut],
    /// Issues that the prompt had no room for.
    pub beyond: &'a [String],
    /// The sentence about another model that went on with the fix.
    pub fallback: Option<&'a str>,
}

/// The report of a fix, with its signed block.
#[must_use]
pub fn fix_report(told: &FixTold<'_>, documents: &impl Serialize, at: (&PrKey, &Keys)) -> String {
    let mut text = headline(told);
    let _ = write!(text, "\n\n{}", outcomes(told.settled));
    for sentence in delivery(told.delivered) {
        let _ = write!(text, "\n\n{sentence}");
    }
    let checks = checks(told.verified);
    if !checks.is_empty() {
        let _ = write!(text, "\n\n{checks}");
    }
    if let Some(fallback) = told.fallback {
        let _ = write!(text, "\n\n{fallback}");
    }
    let _ = write!(text, "{}", not_tried(told.left_out, told.beyond));
    let document = folded("Payload and result", documents);
    closed(&format!("{text}\n\n{document}"), told.report, at)
}

/// The answer to a `fix` for which nothing may be fixed, with the reason for each open finding.
#[must_use]
pub fn nothing_to_fix(left_out: &[LeftOut]) -> String {
    format!("{}{}", NotFixed::NothingToFix, not_tried(left_out, &[]))
}

/// The report of a round: what the review left open, and what follows.
#[must_use]
pub fn round_report(
    (review, of): (u32, u32),
    consensus: &str,
    rows: &[(&Issue, Option<&str>)],
    follows: &str,
    (report, at): (&FixReport, (&PrKey, &Keys)),
) -> String {
    let mut text = format!("### Review {review} of at most {of}: {consensus}\n");
    if !rows.is_empty() {
        text.push_str("\n| | Where | Finding | |\n| --- | --- | --- | --- |");
        for (issue, note) in rows {
            let _ = write!(
                text,
                "\n| {} | {} | {} | {} |",
                issue.priority.name(),
                place(issue),
                told_cell(&issue.title),
                told_cell(note.unwrap_or_default())
            );
        }
        text.push('\n');
    }
    let _ = write!(text, "\n{follows}");
    closed(&text, report, at)
}

/// The call for people, once, when every cycle is used or nothing is left that may be fixed.
#[must_use]
pub fn escalation(
    number: u64,
    why: &Escalation<'_>,
    people: &[String],
    mention: &str,
    (report, at): (&FixReport, (&PrKey, &Keys)),
) -> String {
    let called: Vec<String> = people.iter().map(|name| format!("@{name}")).collect();
    let called = match called.as_slice() {
        [] => String::new(),
        names => format!("{}: ", names.join(" ")),
    };
    let text = match why {
        Escalation::AtCap { cycles, stuck } => format!(
            "{called}PR #{number} exceeded max fix cycles ({cycles}) — requires human review. `{mention} fix resume` grants as many \
             cycles again, `{mention} fix` one.{}",
            stuck_section(stuck)
        ),
        Escalation::Manual { stuck } => format!(
            "{called}Manual intervention required: findings are open, and none of them is left that may be fixed.{}",
            stuck_section(stuck)
        ),
    };
    closed(&text, report, at)
}

/// The reason why people are called.
#[derive(Debug, Clone, Copy)]
pub enum Escalation<'a> {
    AtCap { cycles: u32, stuck: &'a [&'a Issue] },
    Manual { stuck: &'a [&'a Issue] },
}

impl Escalation<'_> {
    /// As the signed block and the report file keep it.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::AtCap { cycles, .. } => format!("Max fix cycles ({cycles}) exceeded"),
            Self::Manual { .. } => "Manual intervention required".into(),
        }
    }
}

/// The sentence about the end of rounds; `None` where they go on.
#[must_use]
pub fn rounds_ended(next: &Next, number: u64, mention: &str) -> Option<String> {
    Some(match next {
        Next::Converged => "Nothing is left to fix.".into(),
        Next::AtCap { cycles, .. } => {
            format!("PR #{number} exceeded max fix cycles ({cycles}) — requires human review")
        }
        Next::ManualIntervention => {
            "Manual intervention required: nothing is left that may be fixed.".into()
        }
        Next::WaitsForCommand(why) => {
            format!("No further fix: {why}. `{mention} fix` asks for one.")
        }
        Next::Stopped(Stop::Ordered(order)) => format!(
            "Nothing was fixed: {} has stopped it. `{mention} fix resume` lets it go on.",
            code(&order.by)
        ),
        Next::Stopped(Stop::Reverted(commit)) => format!(
            "Nothing was fixed: the fix {commit:.7} was reverted. `{mention} fix resume` lets it go on."
        ),
        Next::Review | Next::Fix { .. } => return None,
    })
}

/// The sentence about a fix that has no room in this run, with the command that goes on.
#[must_use]
pub fn does_not_fit(why: &str, command: &str) -> String {
    format!("Nothing was fixed: {why}. `{command}` goes on.")
}

/// The sentence about the report of a fix that could not be posted.
#[must_use]
pub fn untold(why: &str, delivered: &Delivered) -> String {
    let then = match delivered {
        Delivered::Pushed { .. } | Delivered::Stacked { .. } => "; the next run posts it",
        Delivered::Patch | Delivered::Nothing => "",
    };
    format!("The report of the fix could not be posted{then}: {why}")
}

/// The sentence about a fix that was published before.
#[must_use]
pub fn published(commit: &CommitSha) -> String {
    format!("The fix is published already, in {}.", commit.short())
}

/// The sentence about a fix that failed.
#[must_use]
pub fn failed(why: &str) -> String {
    format!("The fix failed: {why}")
}

/// The answer to `fix stop` and `fix resume`, with the signed order.
#[must_use]
pub fn ordered(
    resumes: bool,
    by: &str,
    mention: &str,
    report: &FixReport,
    at: (&PrKey, &Keys),
) -> String {
    let text = if resumes {
        format!("Fixing goes on, as {} asked.", code(by))
    } else {
        format!(
            "Fixing is stopped, as {} asked. `{mention} fix resume` lets it go on.",
            code(by)
        )
    };
    closed(&text, report, at)
}

/// The note about a revert, which ends fixing or a finding.
#[must_use]
pub fn reverted(report: &FixReport, mention: &str, at: (&PrKey, &Keys)) -> String {
    let text = match report.reverted_commits.as_slice() {
        [] => format!(
            "The fix of {} was taken back. It is not tried again.",
            plural(report.reverted_findings.len(), "finding")
        ),
        [commit, ..] => {
            let short: String = commit.chars().take(7).collect();
            format!(
                "The fix {} was reverted. Nothing more is fixed here until somebody with write access writes `{mention} fix \
                 resume`.",
                code(&short)
            )
        }
    };
    closed(&text, report, at)
}

/// The sentence about checks of others that failed on a commit of a fix; `None` where none did.
#[must_use]
pub fn checks_failed(commit: &CommitSha, names: &[String]) -> Option<String> {
    let shown: Vec<String> = names.iter().map(|name| code(name)).collect();
    let (commit, names) = (commit.short(), shown.join(", "));
    (!shown.is_empty()).then(|| format!("Checks failed on the fix {commit}: {names}."))
}

/// The reason why a fix is not pushed whose outcome could not be written down before: a run that is cut off would lose it.
#[must_use]
pub fn not_written(why: &str) -> String {
    format!("{why} A fix is pushed only after its outcome is in the check run; ask again.")
}

/// The warning about what an earlier run left to tell and this one could not post.
#[must_use]
pub fn could_not_tell(why: &str) -> String {
    format!("A fix or a revert of earlier is not told yet: {why}")
}

/// Said before a push that starts no workflow.
#[must_use]
pub fn push_starts_nothing(waiting: &[String]) -> String {
    let checks = match waiting {
        [] => String::new(),
        names => format!(
            " Required checks that will wait: {}.",
            names
                .iter()
                .map(|name| code(name))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    format!(
        "A push with the workflow's own token starts no workflow; set push_token to the token of an app to start them.{checks}"
    )
}

fn headline(told: &FixTold<'_>) -> String {
    let settled = told.settled.iter().filter(|one| !one.issue.optional);
    let fixed = told
        .settled
        .iter()
        .filter(|one| one.outcome.is_fixed())
        .count();
    let report = told.report;
    let cycle = format!("cycle {} of {}", report.cycle, report.max.max(report.cycle));
    let all = plural(settled.count().max(fixed), "finding");
    match told.delivered {
        Delivered::Pushed { commit, .. } | Delivered::Stacked { commit, .. } => {
            format!("### Fixed {fixed} of {all} in {} ({cycle})", commit.short())
        }
        Delivered::Patch => format!("### A patch for {fixed} of {all} ({cycle})"),
        Delivered::Nothing => format!("### Nothing was fixed of {all} ({cycle})"),
    }
}

fn outcomes(settled: &[Settled]) -> String {
    let mut table = String::from("| | Where | Finding | Outcome |\n| --- | --- | --- | --- |");
    for one in settled {
        let (mark, text) = match &one.outcome {
            Outcome::Fixed { description } => ("✅", description.clone()),
            Outcome::Rejected { reason } => ("❌", format!("Rejected: {reason}")),
            Outcome::Deferred { reason } => ("💤", format!("Deferred: {reason}")),
            Outcome::Undone { reason } => ("❌", format!("Not fixed: {reason}")),
        };
        let _ = write!(
            table,
            "\n| {mark} | {} | {} | {} |",
            place(&one.issue),
            told_cell(&one.issue.title),
            told_cell(&text)
        );
    }
    table
}

fn place(issue: &Issue) -> String {
    let shown = match (&issue.file, issue.line) {
        (Some(file), Some(line)) => code(&format!("{file}:{line}")),
        (Some(file), None) => code(file),
        (None, _) => "the change".into(),
    };
    cell(&shown, LONGEST_CELL)
}

fn told_cell(text: &str) -> String {
    cell(&without_dumps(text), LONGEST_CELL)
}

fn delivery(delivered: &Delivered) -> Vec<String> {
    match delivered {
        Delivered::Pushed {
            starts_workflows: false,
            waiting,
            ..
        } => vec![push_starts_nothing(waiting)],
        Delivered::Pushed { .. } => {
            vec!["The next review says whether the findings are fixed.".into()]
        }
        Delivered::Stacked { waits, .. } => vec![waits_in(waits)],
        Delivered::Patch => vec![
            "Nothing was pushed; the patch is the file that the output `patch_file` names.".into(),
        ],
        Delivered::Nothing => Vec::new(),
    }
}

fn checks(verified: &Verified) -> String {
    let lines = check_lines(verified);
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    match lines.as_slice() {
        [] => String::new(),
        lines => format!("**Verification**\n\n{}", lines.join("\n")),
    }
}

/// The results of the checks of a fix, a line each.
#[must_use]
pub fn check_lines(verified: &Verified) -> Vec<String> {
    let mut lines = Vec::new();
    for (command, standing) in &verified.commands {
        let told = match standing {
            Standing::Passed => "passed".to_owned(),
            Standing::FailedBefore(ending) => format!("{ending}, and failed before the fix"),
            Standing::Broken(ending) => format!("{ending}, because of the fix"),
            Standing::NotRun(why) => format!("not run: {why}"),
        };
        lines.push(format!("{} {told}", code(command)));
    }
    if let Some(witness) = &verified.witness {
        lines.push(format!("The fix is {witness}."));
    }
    lines.extend(verified.notes.iter().cloned());
    lines
}

fn not_tried(left_out: &[LeftOut], beyond: &[String]) -> String {
    let mut text = String::new();
    if !left_out.is_empty() {
        text.push_str("\n\n**Not tried**\n");
        for one in left_out {
            let _ = write!(
                text,
                "\n- {} {}: {}",
                place(&one.issue),
                told_cell(&one.issue.title),
                one.reason
            );
        }
    }
    if !beyond.is_empty() {
        let names: Vec<String> = beyond.iter().map(|id| code(id)).collect();
        let _ = write!(
            text,
            "\n\nLeft for a later fix, for lack of room: {}.",
            names.join(", ")
        );
    }
    text
}

fn stuck_section(stuck: &[&Issue]) -> String {
    if stuck.is_empty() {
        return String::new();
    }
    let mut text = "\n\n**Stuck**: fixed once, and raised again by the review.\n".to_owned();
    for issue in stuck {
        let _ = write!(text, "\n- {} {}", place(issue), told_cell(&issue.title));
    }
    text
}

/// A document in the shapes that other tools read, folded.
fn folded(title: &str, document: &impl Serialize) -> String {
    let document = serde_json::to_value(document).unwrap_or_default();
    let json = serde_json::to_string_pretty(&without_diffs(document)).unwrap_or_default();
    if json.len() > MAX_DOCUMENT {
        return format!("{title}: in the report file of the run.");
    }
    let json = json.replace("<!--", "\\u003c!--");
    format!(
        "<details><summary>{title}</summary>\n\n{}\n\n</details>",
        fenced("json", &json)
    )
}

/// A document whose texts hold no diff.
fn without_diffs(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(without_dumps(&text)),
        Value::Array(items) => items.into_iter().map(without_diffs).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (name, without_diffs(value)))
                .collect()
        }
        other => other,
    }
}

/// The comment: marker, text within the cap, signed block.
fn closed(text: &str, report: &FixReport, (pr, keys): (&PrKey, &Keys)) -> String {
    let block = report::render(report, pr, keys);
    // Escaped in a cell of a table.
    let text = text.replace("\\[diff removed\\]", "[diff removed]");
    let text = text.replace("[diff removed]", "[DIFF REDACTED]");
    let around = MARKER.len() + block.chars().count() + 4;
    let room = CAP.saturating_sub(around);
    let text = if text.chars().count() > room {
        let room = room.saturating_sub(TRUNCATED.len());
        let cut: String = text.chars().take(room).collect();
        // A folded part that is cut would fold what follows.
        let open = cut
            .rfind("<details>")
            .filter(|at| !cut[*at..].contains("</details>"));
        format!("{}{TRUNCATED}", &cut[..open.unwrap_or(cut.len())])
    } else {
        text
    };
    format!("{MARKER}\n{text}\n\n{block}")
}

/// The report of a fix that an earlier run pushed and could not tell any more. `waits`: where it waits, if not
/// on the branch itself.
#[must_use]
pub fn belated(
    report: &FixReport,
    commit: &CommitSha,
    waits: Option<&Waits>,
    at: (&PrKey, &Keys),
) -> String {
    let fixed = report.outcomes.iter();
    let fixed = fixed.filter(|kept| kept.outcome == KeptOutcome::Fixed);
    let waits = waits.map(waits_in).map(|words| format!("\n\n{words}"));
    let text = format!(
        "### Fixed {} in {} (cycle {} of {})\n\nThe run that pushed it could not say so.{}",
        plural(fixed.count(), "finding"),
        commit.short(),
        report.cycle,
        report.max.max(report.cycle),
        waits.unwrap_or_default()
    );
    closed(&text, report, at)
}

fn waits_in(waits: &Waits) -> String {
    match waits {
        Waits::Pull(url) => format!("The fix waits in a pull request onto this branch: {url}"),
        Waits::Branch { branch, why } => format!(
            "The fix waits on the branch {}; open a pull request with it, or delete it. None could be opened: {}",
            code(branch),
            told_cell(why)
        ),
    }
}

/// The longest line of a commit message.
const LONGEST_LINE: usize = 200;

/// A sentence of others as one line of a commit message.
#[must_use]
pub fn line(text: &str) -> String {
    let text = clean(&without_dumps(text));
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(LONGEST_LINE).collect();
    without_orders(&line)
}

/// A line in which git's hosts find nobody to call, nothing to close, and no word that keeps checks from running. A message is
/// no Markdown, so code marks do not help there.
fn without_orders(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        let next = rest.peek().copied().unwrap_or(' ');
        let is_number = |sign: &str| {
            let at = out.len().saturating_sub(sign.len());
            next.is_ascii_digit()
                && out
                    .get(at..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(sign))
        };
        if (matches!(c, '@' | '#') && next.is_alphanumeric()) || is_number("gh-") {
            out.push(' ');
        }
    }
    let out = out.replace("://", ": //").replace("***", "* *");
    let small = out.to_lowercase();
    if ["skip", "no ci", "no-ci", "no_ci", "noci"]
        .iter()
        .any(|word| small.contains(word))
    {
        return out.replace('[', "(").replace(']', ")");
    }
    out
}

#[cfg(test)]
#[path = "fixing_tests.rs"]
mod tests;

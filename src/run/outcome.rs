//! The outcome of a run: its verdict, its report, and what the next run is to know. One constructor, whether the model
//! was asked or a record stands in for it.

use super::past_decisions::DecisionNotes;
use super::staged::Staged;
use crate::gather::Facts;
use crate::gather::change::Change;
use crate::host::sidecar::Running;
use crate::host::{Host, Job};
use crate::outbox::Sent;
use reviewer_core::domain::{
    CommentId, CommitSha, Evidence, Finding, PASSES, PassNumber, PrKey, ReviewEvent, Score, Tally,
    Thread, Verdict,
};
use reviewer_core::panel::consensus::Totals;
use reviewer_core::plan::agenda::Agenda;
use reviewer_core::publish::comment;
use reviewer_core::publish::comment::gate::{self, Closing};
use reviewer_core::report::Report;
use reviewer_core::report::code::{Code, Excerpt};
use reviewer_core::report::document::{
    ExcusedReport, LedgerReport, LeftOutReport, PassReport, SectionReport, SuspicionReport,
};
use reviewer_core::report::findings::{FindingReport, Said, ThreadReport};
use reviewer_core::report::reviewers::ReviewerReport;
use reviewer_core::report::static_analysis::StaticAnalysisReport;
use reviewer_core::review::desk::Entry;
use reviewer_core::review::session_outcome::{End, Outcome as Held};
use reviewer_core::state::record::Record;
use reviewer_core::state::signature::Keys;
use reviewer_repo::snapshot::Snapshot;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use std::collections::HashMap;

/// The circumstances of a run that its report names.
pub(crate) struct Surroundings<'a> {
    /// `None` where no sidecar was needed.
    pub running: Option<&'a Running>,
    pub notes: Vec<String>,
}

/// The results of a session, and what was posted of them.
pub(crate) struct Published<'a> {
    pub held: &'a Held,
    pub staged: Staged<'a>,
    pub sent: Sent,
    /// True if the check run can hold what is still to be posted.
    pub can_owe: bool,
    pub suspicions: Vec<SuspicionReport>,
    /// The reviewers of a panel.
    pub reviewers: Vec<ReviewerReport>,
    /// A sentence for each question without an answer.
    pub unanswered: Vec<String>,
    /// The outcomes of the results of static analysis, where the run judged any.
    pub static_analysis: Option<StaticAnalysisReport>,
    /// The decisions of people in other pull requests, and what became of findings that repeat them.
    pub memory: DecisionNotes,
}

/// A run that reached a verdict.
pub struct Outcome {
    pub report: Report,
    pub verdict: Verdict,
    pub tally: Tally,
    /// The title of the check, where there is more to say than the verdict.
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
    /// The code of the findings.
    pub code: Code,
    /// The scores of the findings that are open.
    pub standing: Vec<Score>,
    /// All findings of the run by priority, whatever became of them.
    pub raised: Totals,
    /// True if people are to look: every cycle of fixing is used, or nothing is left that may be fixed.
    pub needs_people: bool,
    /// The event of the review with this run's findings.
    pub posted: Option<ReviewEvent>,
    /// The reason why the pull request does not show the run's decision.
    pub unstated: Option<String>,
}

impl Outcome {
    /// From what a session published, or, without one, from the record and the threads as they are now.
    pub fn new(
        job: &Job<'_>,
        facts: &Facts,
        agenda: &Agenda,
        record: Record,
        published: Option<Published<'_>>,
        around: &Surroundings<'_>,
    ) -> Self {
        let mut outcome = match published {
            Some(published) => Self::of_session(job, facts, agenda, record, published),
            None => Self::of_record(job, facts, agenda, record),
        };
        let report = &mut outcome.report;
        // Of the last process: one that was replaced may have had other walls.
        report.sandbox = around.running.map(Running::sandbox);
        report.notes.extend_from_slice(&around.notes);
        outcome
    }

    fn of_record(job: &Job<'_>, facts: &Facts, agenda: &Agenda, record: Record) -> Self {
        let staged = Staged::without_session(facts, agenda);
        // Nothing is left to be posted, or the record would not be enough.
        let record = Record {
            unsent: 0,
            ..facts.account.entered_in(record, job.today)
        };
        let evidence = evidence(job, None, &record, &staged, &Sent::default(), 0);
        let mut outcome = Self::judged(
            job,
            facts,
            agenda,
            (&staged, &Sent::default()),
            (record, evidence),
        );
        let (report, record) = (&mut outcome.report, &outcome.record);
        report.left_out.clone_from(&record.left_out);
        report.reasons.push(match &outcome.headline {
            Some(headline) => format!("{headline}."),
            None => comment::coverage::reviewed_before().into(),
        });
        report.reasons.extend(record.ended.clone());
        report.reasons.extend(
            record
                .left_out
                .iter()
                .map(|file| comment::coverage::not_shown(file)),
        );
        outcome
    }

    fn of_session(
        job: &Job<'_>,
        facts: &Facts,
        agenda: &Agenda,
        mut record: Record,
        published: Published<'_>,
    ) -> Self {
        let Published {
            held, staged, sent, ..
        } = &published;
        let is_said = |finding: &&Finding| sent.said.contains_key(finding.id.as_str());
        let issues_found = staged.said().filter(is_said).count();
        let unpublished = staged.said().count() - issues_found + sent.failed.len();
        record.unsent = unpublished;
        let evidence = evidence(job, Some(&held.end), &record, staged, sent, unpublished);
        // What was not said must be said: by the next run, which reviews this head again unless the record holds it all.
        let fits = agenda.backlog.enter_in(&mut record, &staged.unposted(sent));
        let answered = sent.unanswered == 0;
        if unpublished > 0 && !(fits && published.can_owe && answered) {
            record.passes.clear();
        }
        let mut outcome = Self::judged(job, facts, agenda, (staged, sent), (record, evidence));
        outcome.issues_found = issues_found;
        let (report, record) = (&mut outcome.report, &outcome.record);
        add_session(report, held);
        report.set_fallbacks(&job.host.fallbacks.all(), job.host.is_panel());
        report.left_out = left_out(&facts.change, held);
        report.reasons = why_incomplete(held, &record.left_out);
        report.reasons.extend_from_slice(&sent.failed);
        if outcome.verdict != Verdict::Incomplete {
            report.warnings.extend(why_ended(held));
        }
        let since = facts.since(agenda);
        report.reviewed_since = since.map(|since| since.head.to_string());
        report
            .notes
            .extend(since.map(comment::coverage::only_what_is_new));
        let dropped = agenda.backlog.dropped.iter();
        report
            .notes
            .extend(dropped.map(|(finding, why)| comment::unposted::dropped(finding, why)));
        report.warnings.extend_from_slice(&sent.warnings);
        let left_open = sent
            .left_open
            .then(comment::lacking::conversations_stay_open);
        report.notes.extend(left_open);
        report.review_url.clone_from(&sent.review_url);
        report.suspicions = published.suspicions;
        report.memory = published.memory.report;
        report.warnings.extend(published.memory.warnings);
        report.notes.extend(published.memory.note);
        report.reviewers = published.reviewers;
        report.static_analysis = published.static_analysis;
        outcome.leave_unanswered(published.unanswered);
        let later =
            (agenda.judge_later > 0).then(|| comment::coverage::left_for_later(agenda.judge_later));
        outcome.report.notes.extend(later);
        outcome
    }

    /// The verdict that follows from the evidence, with the report of the pull request as it is then.
    fn judged(
        job: &Job<'_>,
        facts: &Facts,
        agenda: &Agenda,
        (staged, sent): (&Staged<'_>, &Sent),
        (record, evidence): (Record, Evidence),
    ) -> Self {
        let verdict = Verdict::from_evidence(&evidence);
        let mut still_open = staged.open();
        still_open.retain(|thread| !sent.resolved.contains(&thread.id));
        let mut report = report(job, facts, agenda, &staged.entries, &sent.said, &still_open);
        report.set_verdict(verdict, &evidence.tally);
        report.ledger = LedgerReport::from(&record);
        report.green = way_to_green(job, facts, verdict, &evidence.tally, &record);
        Self {
            report,
            verdict,
            tally: evidence.tally,
            headline: headline(facts, &record),
            issues_found: 0,
            record,
            unanswered: Vec::new(),
            pr: job.pr.clone(),
            keys: job.keys.clone(),
            fail_job: job.host.config.fail_job,
            code: code(&facts.change, &staged.entries),
            standing: standing(job, staged, sent),
            raised: raised(staged),
            needs_people: false,
            posted: sent.event,
            unstated: None,
        }
    }

    /// The check's title. What blocks is said first, whatever else there is to say.
    pub(crate) fn title(&self) -> String {
        let words = comment::check::title(self.verdict, &self.tally);
        match (&self.headline, self.verdict) {
            (Some(headline), Verdict::Clean) => headline.clone(),
            (Some(headline), Verdict::Findings) => format!("{headline}; {words}"),
            _ => words,
        }
    }

    pub(crate) fn leave_unanswered(&mut self, sentences: Vec<String>) {
        self.report.reasons.extend_from_slice(&sentences);
        self.unanswered.extend(sentences);
    }
}

/// The code of findings, said or not, as the diffs have it.
pub(crate) fn code(change: &Change, entries: &[Entry]) -> Code {
    let code = entries.iter().filter_map(|Entry { finding, .. }| {
        let diff = change.diffs.iter().find(|diff| diff.path == finding.file)?;
        let excerpt = Excerpt::new(diff, finding.anchor)?;
        Some((finding.id.to_string(), excerpt))
    });
    code.collect()
}

/// Returns what a check says besides its verdict: who accepted the head, or that nothing of it had to be shown.
fn headline(facts: &Facts, record: &Record) -> Option<String> {
    if let Some(accepted) = &record.accepted {
        return Some(comment::check::accepted(&accepted.by, &record.undone()));
    }
    let nothing_required = facts.change.required().next().is_none() && record.left_out.is_empty();
    nothing_required.then(|| comment::check::nothing_to_review(facts.excuses()))
}

/// Changed files that the model had to see and did not: those that nobody can show, those with a line that no prompt holds, and
/// those of sections that were not reviewed to the end.
pub(crate) fn left_out(change: &Change, held: &Held) -> Vec<String> {
    let of = held.sections.len();
    let unreviewed = held.unreviewed();
    let unreviewed =
        unreviewed.map(|(path, section)| comment::passes::unreviewed(&visible(path), section, of));
    unshown(change, &held.beyond).chain(unreviewed).collect()
}

/// The files among them that are not shown at all.
pub(super) fn unshown(change: &Change, beyond: &[String]) -> impl Iterator<Item = String> {
    let beyond = beyond.iter();
    let beyond = beyond.map(|path| format!("{} (a line of it is too long)", visible(path)));
    change.unreadable().chain(beyond)
}

/// As many as people read, and a record holds; the report has them all.
pub(crate) fn first(mut left_out: Vec<String>) -> Vec<String> {
    const MOST: usize = 50;
    if left_out.len() > MOST {
        let more = plural(left_out.len() - MOST, "more file");
        left_out.truncate(MOST);
        left_out.push(format!("{more}, listed in the report"));
    }
    left_out
}

/// Collects the evidence for the verdict, given how the session ended, if there was one, and what was sent.
pub(crate) fn evidence(
    job: &Job<'_>,
    end: Option<&End>,
    record: &Record,
    staged: &Staged<'_>,
    sent: &Sent,
    unpublished: usize,
) -> Evidence {
    // On a head that was reviewed, a thread that could not be judged stays open, and that is all.
    let unjudged = matches!(end, Some(End::NotJudged(_) | End::NotAsked(_)));
    Evidence {
        complete: end.is_none_or(|end| *end == End::Complete)
            || (unjudged && record.stands_by_itself()),
        left_out: record.unexcused(),
        unpublished,
        tally: Tally::count(standing(job, staged, sent), job.host.config.policy.blocking),
    }
}

/// The scores of all findings that are open: on the pull request before the run, new, and those whose comments are gone.
fn standing(job: &Job<'_>, staged: &Staged<'_>, sent: &Sent) -> Vec<Score> {
    let open = staged.open();
    let old = open_scores(&open, &sent.resolved, job.host.config.policy.threshold);
    let new = staged.said().map(|finding| finding.assessment.score);
    old.chain(new).chain(staged.lost.iter().copied()).collect()
}

fn raised(staged: &Staged<'_>) -> Totals {
    let entries = staged.entries.iter();
    entries
        .map(|entry| entry.finding.assessment.score)
        .collect()
}

/// The scores of open threads that count: not closed in this run, and at or above the threshold that is set now.
fn open_scores<'a>(
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

/// The ways to turn a red check green; `None` where it is green.
fn way_to_green(
    job: &Job<'_>,
    facts: &Facts,
    verdict: Verdict,
    tally: &Tally,
    record: &Record,
) -> Option<String> {
    let mention = &job.host.config.mention;
    match verdict {
        Verdict::Blocking => Some(gate::by_closing(&Closing {
            blocking: tally.blocking,
            threshold: job.host.config.policy.blocking?.get(),
            mention,
            fork: facts.pull.from_fork,
            can_sign: job.keys.can_sign(),
        })),
        Verdict::Incomplete => {
            // What is just to be posted is not accepted, and an acceptance has to be signed.
            let acceptable = record.unsent == 0 && !record.undone().is_empty();
            Some(if acceptable && job.keys.can_sign() {
                gate::by_accepting(mention)
            } else {
                gate::by_running_again().into()
            })
        }
        Verdict::Clean | Verdict::Findings | Verdict::Skipped | Verdict::Error => None,
    }
}

/// Returns why a review ended early.
pub(crate) fn why_ended(held: &Held) -> Option<String> {
    why(&held.end)
}

fn why(end: &End) -> Option<String> {
    let place = |pass: &PassNumber| PASSES.place(*pass);
    match end {
        End::Complete | End::Refused(_) => None,
        End::Panel(ends) => {
            let ends = ends.iter().map(|(name, end)| (name.as_str(), reason(end)));
            Some(comment::passes::unfinished_reviewers(ends))
        }
        End::Sections(ends) => {
            let of = ends.first().map_or(0, |one| one.of);
            let ends = ends.iter().map(|one| (one.number, reason(&one.end)));
            Some(comment::passes::unfinished_sections(of, ends))
        }
        End::NotAsked(why) => Some(format!("Nothing was asked of the model: {why}.")),
        End::NotJudged(why) => Some(format!("The open threads were not judged: {why}")),
        End::NotSubmitted(pass, why) => Some(format!(
            "Pass {} was never submitted by the model{why}.",
            place(pass)
        )),
        End::OutOfTime(pass) => Some(format!(
            "The time ran out in pass {}; review_timeout_minutes sets it.",
            place(pass)
        )),
        End::OverBudget(pass, why) => Some(format!(
            "The review was stopped in pass {}: {why}.",
            place(pass)
        )),
        End::Failed(pass, why) => Some(format!("Pass {} failed: {why}", place(pass))),
    }
}

/// The same of one of several sessions, where a model that could not be used is told of, too.
pub(super) fn reason(end: &End) -> String {
    let refused = match end {
        End::Refused(why) => Some(why.clone()),
        _ => None,
    };
    why(end).or(refused).unwrap_or_default()
}

/// Adds the session to a report: what the model took and did, wherever the change comes from.
pub(crate) fn add_session(report: &mut Report, held: &Held) {
    report.passes = held.passes.iter().map(PassReport::from).collect();
    let sections = held.sections.iter();
    report.sections = sections
        .map(|log| SectionReport::new(log, reason(&log.end)))
        .collect();
    report.set_used(&held.used);
    report.warnings.extend_from_slice(&held.restarts);
    report.notes.extend_from_slice(&held.corrections);
}

/// Returns what keeps a review from being whole.
pub(crate) fn why_incomplete(held: &Held, left_out: &[String]) -> Vec<String> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|file| comment::coverage::not_shown(file));
    why_ended(held).into_iter().chain(left_out).collect()
}

/// The report of a run, without its verdict and its costs.
pub(crate) fn report(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    entries: &[Entry],
    said: &HashMap<String, Said>,
    still_open: &[&Thread],
) -> Report {
    let mut warnings = facts.warnings.clone();
    warnings.extend_from_slice(&agenda.warnings);
    if !job.keys.can_sign() {
        let has_gate = job.host.config.policy.blocking.is_some();
        warnings.push(comment::lacking::unsigned(has_gate).into());
    }
    let commits = [&facts.merge_base, &facts.pull.head_sha];
    Report {
        pull_request: Some(job.pr.to_string()),
        pull_request_url: Some(job.page()),
        threads: still_open
            .iter()
            .map(|thread| ThreadReport::from(*thread))
            .collect(),
        warnings,
        ..of_change(&job.host, &facts.change, commits, entries, said)
    }
}

/// The same of a change, wherever it comes from.
pub(crate) fn of_change(
    host: &Host<'_>,
    change: &Change,
    [merge_base, head]: [&CommitSha; 2],
    entries: &[Entry],
    said: &HashMap<String, Said>,
) -> Report {
    let masked = change.diffs.iter().filter(|diff| diff.mask().is_some());
    Report {
        version: 1,
        pull_request: None,
        pull_request_url: None,
        head: head.to_string(),
        merge_base: merge_base.to_string(),
        verdict: String::new(),
        reasons: Vec::new(),
        open_issues: 0,
        blocking_issues: 0,
        model: host.models(),
        fallbacks: Vec::new(),
        sandbox: None,
        tokens: 0,
        tokens_estimated: false,
        cost_usd: 0.0,
        ledger: LedgerReport::default(),
        sensitivity: change.sensitivity.to_string(),
        sensitivity_evidence: change.evidence.clone(),
        passes: Vec::new(),
        sections: Vec::new(),
        findings: entries
            .iter()
            .map(|entry| FindingReport::new(entry, said))
            .collect(),
        threads: Vec::new(),
        reviewed_since: None,
        excused: change.excused().map(ExcusedReport::from).collect(),
        left_out: unshown(change, &[]).collect(),
        left_out_unchanged: left_out_unchanged(&change.snapshot),
        masked: masked.map(|diff| diff.path.clone()).collect(),
        suspicions: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        review_url: None,
        decision: None,
        comment: None,
        escalations: Vec::new(),
        consensus: None,
        memory: None,
        events: Vec::new(),
        static_analysis: None,
        reviewers: Vec::new(),
        green: None,
        blocking_from: host.config.policy.blocking,
        files: change.diffs.len(),
        cost_known: prices_known(host),
    }
}

/// Returns true if OpenCode knows what each model costs: an endpoint of one's own has no prices in its catalogue.
pub(crate) fn prices_known(host: &Host<'_>) -> bool {
    let mut reviewers = host.sessions().reviewers();
    reviewers.all(|session| session.model().base_url.is_none())
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

//! The outcome of a run: its verdict, its report, and what the next run is to know. One constructor, whether the model
//! was asked or a record stands in for it.

mod evidence;
pub(crate) mod report;
pub(crate) mod unfinished;

pub(crate) use evidence::evidence;

use super::past_decisions::DecisionNotes;
use super::staged::Staged;
use crate::gather::Facts;
use crate::host::Job;
use crate::host::sidecar::Running;
use crate::outbox::Sent;
use evidence::{raised, standing, way_to_green};
use reviewer_core::domain::{Evidence, Finding, PrKey, ReviewEvent, Score, Tally, Verdict};
use reviewer_core::panel::consensus::Totals;
use reviewer_core::plan::agenda::Agenda;
use reviewer_core::publish::comment::{check, coverage, lacking, unposted};
use reviewer_core::report::Report;
use reviewer_core::report::code::Code;
use reviewer_core::report::document::{LedgerReport, SuspicionReport};
use reviewer_core::report::reviewers::ReviewerReport;
use reviewer_core::report::static_analysis::StaticAnalysisReport;
use reviewer_core::review::session_outcome::Outcome as Held;
use reviewer_core::state::record::Record;
use reviewer_core::state::signature::Keys;
use unfinished::{left_out, why_ended, why_incomplete};

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
            None => coverage::reviewed_before().into(),
        });
        report.reasons.extend(record.ended.clone());
        report
            .reasons
            .extend(record.left_out.iter().map(|file| coverage::not_shown(file)));
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
        report::add_session(report, held);
        report.set_fallbacks(&job.host.fallbacks.all(), job.host.is_panel());
        report.left_out = left_out(&facts.change, held);
        report.reasons = why_incomplete(held, &record.left_out);
        report.reasons.extend_from_slice(&sent.failed);
        if outcome.verdict != Verdict::Incomplete {
            report.warnings.extend(why_ended(held));
        }
        let since = facts.since(agenda);
        report.reviewed_since = since.map(|since| since.head.to_string());
        report.notes.extend(since.map(coverage::only_what_is_new));
        let dropped = agenda.backlog.dropped.iter();
        report
            .notes
            .extend(dropped.map(|(finding, why)| unposted::dropped(finding, why)));
        report.warnings.extend_from_slice(&sent.warnings);
        let left_open = sent.left_open.then(lacking::conversations_stay_open);
        report.notes.extend(left_open);
        report.review_url.clone_from(&sent.review_url);
        report.suspicions = published.suspicions;
        report.memory = published.memory.report;
        report.warnings.extend(published.memory.warnings);
        report.notes.extend(published.memory.note);
        report.reviewers = published.reviewers;
        report.static_analysis = published.static_analysis;
        outcome.leave_unanswered(published.unanswered);
        let later = (agenda.judge_later > 0).then(|| coverage::left_for_later(agenda.judge_later));
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
        let mut report =
            report::of_pull_request(job, facts, agenda, &staged.entries, &sent.said, &still_open);
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
            code: report::code(&facts.change, &staged.entries),
            standing: standing(job, staged, sent),
            raised: raised(staged),
            needs_people: false,
            posted: sent.event,
            unstated: None,
        }
    }

    /// The check's title. What blocks is said first, whatever else there is to say.
    pub(crate) fn title(&self) -> String {
        let words = check::title(self.verdict, &self.tally);
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

/// Returns what a check says besides its verdict: who accepted the head, or that nothing of it had to be shown.
fn headline(facts: &Facts, record: &Record) -> Option<String> {
    if let Some(accepted) = &record.accepted {
        return Some(check::accepted(&accepted.by, &record.undone()));
    }
    let nothing_required = facts.change.required().next().is_none() && record.left_out.is_empty();
    nothing_required.then(|| check::nothing_to_review(facts.excuses()))
}

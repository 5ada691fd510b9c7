//! The consensus of reviewer and people: the ruling, and its place in the report.

use super::given;
use crate::gather::Facts;
use crate::host::Job;
use crate::run::outcome::Outcome;
use reviewer_core::domain::ReviewEvent;
use reviewer_core::panel::analysis::Analysis;
use reviewer_core::panel::consensus::{Priority, Ruling};
use reviewer_core::panel::review_state::{Machines, ReviewState};
use reviewer_core::report::consensus::ConsensusReport;
use reviewer_core::report::conversations::AnalyzerReport;
use reviewer_github::Review;

/// The open conversations of people, as far as this run or an earlier one has weighed them.
pub(super) fn analysis(job: &Job<'_>, facts: &Facts) -> Analysis {
    let weighed = job.host.session().desk.with(|desk| desk.weighed().to_vec());
    facts.analysis(&weighed.unwrap_or_default())
}

pub(super) fn ruling(
    job: &Job<'_>,
    facts: &Facts,
    reviews: &[Review],
    analysis: &Analysis,
    outcome: &Outcome,
) -> Ruling {
    let machines = Machines {
        own: &facts.viewer,
        agents: &job.host.config.trusted_bots,
    };
    let people = ReviewState::read(reviews.iter().map(given), machines);
    let standing = outcome.standing.iter().copied().map(Priority::from);
    Ruling::decide(standing, analysis.priorities(), people)
}

pub(super) fn enter_consensus(
    job: &Job<'_>,
    outcome: &mut Outcome,
    analysis: &Analysis,
    ruling: &Ruling,
    posted: Option<ReviewEvent>,
) {
    let analyzer = AnalyzerReport::new(job.pr.number, analysis, &ruling.people);
    let (verdict, raised) = (outcome.verdict, outcome.raised);
    let mut report = ConsensusReport::new(ruling, verdict, raised, analyzer, posted);
    if let Some(why) = outcome.record.unfinished_reviewers() {
        report.withhold(why);
    }
    outcome.report.consensus = Some(report);
}

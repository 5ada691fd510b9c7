//! The use of what people decided in other pull requests, as the report tells it.

use crate::gather::decided::PastDecisions;
use reviewer_core::publish::comment::memory;
use reviewer_core::report::memory::MemoryReport;
use reviewer_core::review::desk::Repeated;

/// The memory of a run for its report.
#[derive(Debug, Default)]
pub(crate) struct DecisionNotes {
    pub report: Option<MemoryReport>,
    /// The reason why nothing is remembered, if there is one.
    pub note: Option<String>,
    /// Findings that were not made again and that somebody should see.
    pub warnings: Vec<String>,
}

impl DecisionNotes {
    /// `repeated`: of all desks, after the last session.
    pub(crate) fn new(repeated: &[Repeated], past: PastDecisions) -> Self {
        let (pulls, here) = match past {
            PastDecisions::Nothing(note) => {
                return Self {
                    note,
                    ..Self::default()
                };
            }
            PastDecisions::Read { pulls, here } => (pulls, here),
        };
        let report = MemoryReport::new(pulls, &here, repeated);
        let is_left = |one: &&Repeated| {
            let id = one.decided.to_string();
            report.left.iter().any(|left| left.decided == id)
        };
        let serious = repeated.iter().filter(|one| one.serious).filter(is_left);
        let warnings = serious.map(|one| {
            let (finding, pull) = (&one.finding, one.decided.pull);
            let assessment = &finding.assessment;
            let score = assessment.score.get();
            memory::serious_left(&finding.place(), score, &assessment.finding, pull)
        });
        let mut warnings: Vec<String> = warnings.collect();
        warnings.dedup();
        Self {
            warnings,
            report: Some(report),
            note: None,
        }
    }
}

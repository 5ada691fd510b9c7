//! The verdict of a run, and what it means for the check and the job. A green run that reviewed nothing is the
//! worst defect this product can have: `Clean` needs positive evidence.

use super::{Conclusion, Score};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    Findings,
    Blocking,
    Incomplete,
    Skipped,
    Error,
}

/// The judgement of a review on the pull request as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewEvent {
    Comment,
    RequestChanges,
    Approve,
}

impl ReviewEvent {
    /// As blocks and reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Comment => "comment",
            Self::RequestChanges => "request_changes",
            Self::Approve => "approve",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let all = [Self::Comment, Self::RequestChanges, Self::Approve];
        all.into_iter().find(|event| event.name() == name)
    }
}

/// The decision of a reviewer about a head, whatever GitHub makes of its review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    Approved,
    ChangesRequested,
    /// Neither: what is open does not block, or something keeps a clean change from being approved.
    Commented,
    /// The review did not look at everything.
    Incomplete,
}

impl ReviewDecision {
    const ALL: [Self; 4] = [
        Self::Approved,
        Self::ChangesRequested,
        Self::Commented,
        Self::Incomplete,
    ];

    /// As blocks and reports name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ChangesRequested => "changes_requested",
            Self::Commented => "commented",
            Self::Incomplete => "incomplete",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|decision| decision.name() == name)
    }

    /// The decision that an event stands for.
    #[must_use]
    pub fn from_event(event: ReviewEvent) -> Self {
        match event {
            ReviewEvent::Approve => Self::Approved,
            ReviewEvent::RequestChanges => Self::ChangesRequested,
            ReviewEvent::Comment => Self::Commented,
        }
    }
}

/// The open findings on the pull request after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub open: usize,
    pub blocking: usize,
}

impl Tally {
    #[must_use]
    pub fn count(open: impl IntoIterator<Item = Score>, blocking: Option<Score>) -> Self {
        let mut tally = Self::default();
        for score in open {
            tally.open += 1;
            tally.blocking += usize::from(blocking.is_some_and(|blocking| score >= blocking));
        }
        tally
    }
}

/// The facts that decide a verdict.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    /// Every pass was submitted for this head.
    pub complete: bool,
    /// Changed files that a cap kept from the model.
    pub left_out: usize,
    /// Findings that should have been published and are not.
    pub unpublished: usize,
    pub tally: Tally,
}

impl Verdict {
    #[must_use]
    pub fn from_evidence(evidence: &Evidence) -> Self {
        if !evidence.complete || evidence.left_out > 0 || evidence.unpublished > 0 {
            Self::Incomplete
        } else if evidence.tally.blocking > 0 {
            Self::Blocking
        } else if evidence.tally.open > 0 {
            Self::Findings
        } else {
            Self::Clean
        }
    }

    /// The check run's conclusion.
    #[must_use]
    pub fn conclusion(self) -> Conclusion {
        match self {
            Self::Clean | Self::Findings => Conclusion::Success,
            Self::Blocking | Self::Incomplete | Self::Error => Conclusion::Failure,
            Self::Skipped => Conclusion::Neutral,
        }
    }

    /// The job's exit code. The check is the gate; where it cannot be written, the job is.
    #[must_use]
    pub fn exit_code(self, fail_job: bool, check_written: bool) -> u8 {
        match self {
            Self::Clean | Self::Findings | Self::Skipped => 0,
            Self::Blocking => u8::from(fail_job || !check_written),
            Self::Incomplete | Self::Error => 2,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean => "clean",
            Self::Findings => "findings",
            Self::Blocking => "blocking",
            Self::Incomplete => "incomplete",
            Self::Skipped => "skipped",
            Self::Error => "error",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(open: &[u64]) -> Evidence {
        let scores = open.iter().filter_map(|n| Score::new(*n));
        Evidence {
            complete: true,
            left_out: 0,
            unpublished: 0,
            tally: Tally::count(scores, Score::new(9)),
        }
    }

    #[test]
    fn the_table_of_verdicts() {
        let rows = [
            (evidence(&[]), Verdict::Clean, "success", [0, 0, 0]),
            (evidence(&[5, 8]), Verdict::Findings, "success", [0, 0, 0]),
            (evidence(&[5, 9]), Verdict::Blocking, "failure", [0, 1, 1]),
            (
                Evidence {
                    complete: false,
                    ..evidence(&[])
                },
                Verdict::Incomplete,
                "failure",
                [2, 2, 2],
            ),
            (
                Evidence {
                    complete: false,
                    ..evidence(&[9])
                },
                Verdict::Incomplete,
                "failure",
                [2, 2, 2],
            ),
            (
                Evidence {
                    left_out: 1,
                    ..evidence(&[])
                },
                Verdict::Incomplete,
                "failure",
                [2, 2, 2],
            ),
            (
                Evidence {
                    unpublished: 1,
                    ..evidence(&[])
                },
                Verdict::Incomplete,
                "failure",
                [2, 2, 2],
            ),
        ];
        for (evidence, verdict, conclusion, exits) in rows {
            assert_eq!(Verdict::from_evidence(&evidence), verdict, "{evidence:?}");
            assert_eq!(verdict.conclusion().as_str(), conclusion);
            let seen =
                [(false, true), (true, true), (false, false)].map(|(f, c)| verdict.exit_code(f, c));
            assert_eq!(seen, exits, "{verdict}");
        }
        assert_eq!(Verdict::Skipped.exit_code(true, false), 0);
        assert_eq!(Verdict::Error.exit_code(false, true), 2);
    }

    #[test]
    fn nothing_blocks_where_blocking_is_off() {
        let tally = Tally::count(Score::new(10), None);
        assert_eq!(
            tally,
            Tally {
                open: 1,
                blocking: 0
            }
        );
    }
}

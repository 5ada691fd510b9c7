//! The outcome of a session with the model: why the passes ended, what each of them took, what was answered. Separate from
//! the driver, because the report is made of it.

use super::limits::{Count, Used};
use super::nudges::GivenUp;
use crate::domain::PassNumber;
use crate::plan::Question;
use std::time::Duration;

/// The result of a pass, and its use of time and tokens.
#[derive(Debug, Clone)]
pub struct PassLog {
    /// 0 for the turns before the passes.
    pub number: u8,
    pub title: &'static str,
    /// `None`: not submitted. Turn 0 ends without a submission.
    pub summary: Option<String>,
    pub tool_calls: usize,
    pub tokens: Count,
    pub cost_usd: f64,
    pub took: Duration,
}

/// The reason why the passes ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    /// With what kept it, if more is known than that.
    NotSubmitted(PassNumber, String),
    OutOfTime(PassNumber),
    OverBudget(PassNumber, String),
    /// The model cannot be used, and nothing was done before. With the whole sentence.
    Refused(String),
    Failed(PassNumber, String),
    /// The open threads could not be judged.
    NotJudged(String),
    /// There is no money left for anything.
    NotAsked(String),
}

impl End {
    /// `has_results`: an earlier part of the session has something to publish, which is not given up with the rest.
    #[must_use]
    pub fn of_pass(pass: PassNumber, given_up: GivenUp, has_results: bool) -> Self {
        match given_up {
            GivenUp::Refused(why) if has_results => Self::Failed(pass, why),
            GivenUp::Unfinished(why) => Self::NotSubmitted(pass, why.told()),
            GivenUp::OutOfTime => Self::OutOfTime(pass),
            GivenUp::OverBudget(why) => Self::OverBudget(pass, why),
            GivenUp::Refused(why) => Self::Refused(why),
            GivenUp::Failed(why) => Self::Failed(pass, why),
        }
    }

    #[must_use]
    pub fn of_threads(given_up: GivenUp) -> Self {
        match given_up {
            GivenUp::Unfinished(why) => Self::NotJudged(format!("the model did not{}", why.told())),
            GivenUp::OutOfTime => Self::NotJudged("the time ran out".into()),
            GivenUp::Refused(why) => Self::Refused(why),
            GivenUp::OverBudget(why) | GivenUp::Failed(why) => Self::NotJudged(why),
        }
    }
}

/// Everything that a session has come to.
#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub passes: Vec<PassLog>,
    pub used: Used,
    pub answers: Vec<Answer>,
    /// A sentence for each question without an answer.
    pub unanswered: Vec<String>,
    /// A sentence for each time that the sidecar was replaced.
    pub restarts: Vec<String>,
    /// A sentence for each claim of the model that was corrected.
    pub corrections: Vec<String>,
    /// Paths of the changed files that there was no room for.
    pub beyond: Vec<String>,
}

/// The model's answer to a question.
#[derive(Debug)]
pub struct Answer {
    pub question: Question,
    pub text: String,
}

//! The outcome of a session with the model: why the passes ended, what each of them took, what was answered. Separate from
//! the driver, because the report is made of it.

use super::limits::{Count, Used};
use super::nudges::GivenUp;
use crate::domain::PassNumber;
use crate::plan::Question;
use std::collections::BTreeSet;
use std::time::Duration;

/// The result of a pass, and its use of time and tokens.
#[derive(Debug, Clone, Default)]
pub struct PassLog {
    /// The reviewer's name; `None` where one reviews alone.
    pub reviewer: Option<String>,
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
    /// Some of several reviewers did not finish: the name of each, and why.
    Panel(Vec<(String, End)>),
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

    /// The names of the reviewers of a panel that did not finish.
    #[must_use]
    pub fn unfinished_reviewers(&self) -> Vec<String> {
        match self {
            Self::Panel(ends) => ends.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
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
    /// The number of reviewers whose passes these are.
    pub reviewers: usize,
}

impl Outcome {
    /// The outcome of a session that could not begin.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        Self {
            end: End::NotAsked(why.to_owned()),
            passes: Vec::new(),
            used: Used::default(),
            answers: Vec::new(),
            unanswered: Vec::new(),
            restarts: Vec::new(),
            corrections: Vec::new(),
            beyond: Vec::new(),
            reviewers: 1,
        }
    }

    /// The outcome of a panel. It is complete only if every reviewer is; what each of them did counts.
    #[must_use]
    pub fn of_panel(first: (String, Self), others: Vec<(String, Self)>) -> Self {
        let (name, mut all) = first;
        let named = |name: &str, passes: &mut Vec<PassLog>| {
            for pass in passes {
                pass.reviewer = Some(name.to_owned());
            }
        };
        named(&name, &mut all.passes);
        let mut ends = vec![(name, all.end)];
        for (name, mut one) in others {
            named(&name, &mut one.passes);
            all.passes.extend(one.passes);
            all.used += one.used;
            all.reviewers += one.reviewers;
            all.restarts.extend(one.restarts);
            all.corrections.extend(one.corrections);
            let beyond = one.beyond.into_iter();
            let beyond: Vec<String> = beyond.filter(|path| !all.beyond.contains(path)).collect();
            all.beyond.extend(beyond);
            ends.push((name, one.end));
        }
        all.restarts.dedup();
        ends.retain(|(_, end)| *end != End::Complete);
        all.end = if ends.is_empty() {
            End::Complete
        } else {
            End::Panel(ends)
        };
        all
    }

    /// The numbers of the passes that every reviewer has finished.
    #[must_use]
    pub fn finished_passes(&self) -> Vec<u8> {
        let all = |number: u8| {
            let logs = self.passes.iter().filter(|pass| pass.number == number);
            let finished = logs.filter(|pass| pass.summary.is_some());
            finished.count() == self.reviewers
        };
        let numbers: BTreeSet<u8> = self.passes.iter().map(|pass| pass.number).collect();
        numbers.into_iter().filter(|n| *n > 0 && all(*n)).collect()
    }
}

/// The model's answer to a question.
#[derive(Debug)]
pub struct Answer {
    pub question: Question,
    pub text: String,
}

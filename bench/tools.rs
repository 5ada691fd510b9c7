//! The tools that one can choose from, on the same pull requests: this action, bare OpenCode with the same prompts, PR-Agent.
//! Each is run anew for each measurement, in turn with the others. Separate from how the numbers are shown.

use super::bare::{self, Prompts};
use super::course::{Course, Size};
use super::measure::{self, Measured};
use super::ours;
use super::pr_agent::PrAgent;
use anyhow::Result;

/// Times are medians of as many runs.
pub const ROUNDS: usize = 3;
/// With bare OpenCode, on the medium pull request, where the ratio is what is asked for.
const PAIRS: usize = 7;

/// What came of one event, by tool; a run each round.
#[derive(Debug)]
pub struct Case {
    pub size: Size,
    pub pushed: bool,
    pub ours: Vec<Measured>,
    /// It remembers nothing, so that after a push it reviews everything again.
    pub bare: Vec<Measured>,
    /// Empty where PR-Agent is not installed.
    pub pr_agent: Vec<Measured>,
}

/// Both events of each size.
pub fn cases(pr_agent: Option<&PrAgent>) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for size in Size::ALL {
        let prompts = [whole(size, false)?, whole(size, true)?];
        let mut both = [false, true].map(|pushed| Case {
            size,
            pushed,
            ours: Vec::new(),
            bare: Vec::new(),
            pr_agent: Vec::new(),
        });
        for round in 1..=ROUNDS {
            eprintln!("{size:?}: round {round} of {ROUNDS}");
            let course = Course::open(size);
            both[0].ours.push(ours::run(&course, &course.opened())?);
            both[1].ours.push(ours::run(&course, &course.push())?);
            let course = Course::open(size);
            both[0].bare.push(bare::run(&course, &prompts[0])?);
            course.push();
            both[1].bare.push(bare::run(&course, &prompts[1])?);
            if let Some(pr_agent) = pr_agent {
                let course = Course::open(size);
                both[0]
                    .pr_agent
                    .push(pr_agent.run(&course, &course.opened())?);
                both[1]
                    .pr_agent
                    .push(pr_agent.run(&course, &course.push())?);
            }
        }
        cases.extend(both);
    }
    Ok(cases)
}

/// The prompts of a review of everything, for who remembers nothing.
fn whole(size: Size, pushed: bool) -> Result<Prompts> {
    let course = Course::open(size);
    if pushed {
        course.push();
    }
    bare::prompts(&ours::run(&course, &course.opened())?)
}

/// First reviews of the medium pull request: ours and bare OpenCode's, with the two in turn at the front.
pub fn pairs() -> Result<Vec<(Measured, Measured)>> {
    let ours = || {
        let course = Course::open(Size::Medium);
        ours::run(&course, &course.opened())
    };
    let prompts = bare::prompts(&ours()?)?;
    let bare = || bare::run(&Course::open(Size::Medium), &prompts);
    bare()?;
    let mut pairs = Vec::new();
    for number in 1..=PAIRS {
        eprintln!("pair {number} of {PAIRS}");
        let pair = if number % 2 == 1 {
            let ours = ours()?;
            (ours, bare()?)
        } else {
            let bare = bare()?;
            (ours()?, bare)
        };
        measure::comparable(&pair.0, &pair.1, "with bare OpenCode")?;
        pairs.push(pair);
    }
    Ok(pairs)
}

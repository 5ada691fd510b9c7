//! What further reviewers cost: the same pull request reviewed by one, by three and by five, in turn, with a model that takes
//! a moment for each turn. Every reviewer follows the same script; only the cross-examination is added, and is listed apart.

mod report;
mod script;

use super::course::{Course, Size};
use super::measure::Measured;
use super::ours;
use super::standin::model::Answer;
use super::standin::model::panel;
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
/// What the model takes for a turn.
const LATENCY: Duration = Duration::from_millis(200);
/// The panels that are measured. The first one is the measure of the others.
const PANELS: [usize; 3] = [1, 3, 5];

/// One run to warm the machine's caches, then rounds, with another panel at the front of each.
pub fn run() -> Result<String> {
    eprintln!("warming up: one review by one reviewer");
    review(PANELS[0])?;
    let mut rounds = Vec::new();
    for number in 1..=ROUNDS {
        eprintln!("panel-cost: round {number} of {ROUNDS}");
        let mut round: [Option<Run>; PANELS.len()] = Default::default();
        for offset in 0..PANELS.len() {
            let index = (number + offset) % PANELS.len();
            round[index] = Some(review(PANELS[index])?);
        }
        let [Some(one), Some(three), Some(five)] = round else {
            continue;
        };
        let round = Round { one, three, five };
        round.comparable()?;
        rounds.push(round);
    }
    Ok(report::render(&rounds, load()))
}

/// The mean number of processes that wanted a processor in the last five minutes, which is about how long the rounds take.
fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The reviews of one round.
struct Round {
    one: Run,
    three: Run,
    five: Run,
}

impl Round {
    /// Reviews of different length prove nothing about each other.
    fn comparable(&self) -> Result<()> {
        let alone = self.one.turns.of_each();
        let [wanted] = alone.as_slice() else {
            anyhow::bail!("one reviewer was to ask the model, not {}", alone.len());
        };
        for (run, reviewers) in [(&self.three, PANELS[1]), (&self.five, PANELS[2])] {
            let turns = run.turns.of_each();
            ensure!(
                turns == vec![*wanted; reviewers],
                "one reviewer takes {wanted} turns, each of {reviewers} takes {turns:?}"
            );
            ensure!(
                run.turns.of_examination() >= reviewers,
                "not every one of {reviewers} reviewers examines findings of others"
            );
        }
        Ok(())
    }
}

/// A review by some reviewers.
struct Run {
    measured: Measured,
    turns: Turns,
}

impl Run {
    fn wall(&self) -> f64 {
        self.measured.wall.as_secs_f64()
    }

    fn wall_without_examination(&self) -> f64 {
        self.wall() - self.turns.examination_time().as_secs_f64()
    }

    fn megabytes(&self) -> f64 {
        u32::try_from(self.measured.peak_kib).map_or(f64::NAN, |kib| f64::from(kib) * 1.024e-3)
    }
}

/// The first review of the pull request.
fn review(reviewers: usize) -> Result<Run> {
    let log: Arc<Mutex<Vec<Turn>>> = Arc::default();
    let noted = Arc::clone(&log);
    let mut answer = panel::panel((0..reviewers).map(script::reviewer).collect());
    let course = Course::open_with(Size::Medium, move |request| {
        let at = Instant::now();
        let answer = answer(request);
        let turn = Turn {
            reviewer: panel::reviewer(request),
            at,
            examines: examines(&answer),
        };
        noted.lock().expect("no panic").push(turn);
        answer
    });
    course.world.model.answers_after(LATENCY);
    let measured = ours::with_reviewers(&course, &course.opened(), reviewers)
        .with_context(|| format!("the review by {reviewers}"))?;
    let turns = log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Run {
        measured,
        turns: Turns(turns.clone()),
    })
}

fn examines(answer: &Answer) -> bool {
    let tools = ["submit_finding_verdict", "submit_same_cause"];
    match answer {
        Answer::Say { calls, .. } => calls
            .iter()
            .any(|call| tools.iter().any(|tool| call.name.ends_with(tool))),
        _ => false,
    }
}

/// A turn of the model.
#[derive(Clone)]
struct Turn {
    /// From 1.
    reviewer: usize,
    at: Instant,
    /// True if it judges findings of others.
    examines: bool,
}

/// The turns of a review, in the order in which the model was asked.
struct Turns(Vec<Turn>);

impl Turns {
    /// The number of turns of each reviewer, without those of cross-examination.
    fn of_each(&self) -> Vec<usize> {
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        for turn in self.0.iter().filter(|turn| !turn.examines) {
            *count.entry(turn.reviewer).or_default() += 1;
        }
        count.into_values().collect()
    }

    /// The number of turns of cross-examination, of all reviewers.
    fn of_examination(&self) -> usize {
        self.0.iter().filter(|turn| turn.examines).count()
    }

    /// The time from each turn of cross-examination to the next turn of the same reviewer. All examine at the same time, so it is
    /// that of the slowest.
    fn examination_time(&self) -> Duration {
        let mut taken: BTreeMap<usize, Duration> = BTreeMap::new();
        for (index, turn) in self.0.iter().enumerate().filter(|(_, turn)| turn.examines) {
            let mut later = self.0[index + 1..].iter();
            if let Some(next) = later.find(|next| next.reviewer == turn.reviewer) {
                *taken.entry(turn.reviewer).or_default() += next.at - turn.at;
            }
        }
        taken.into_values().max().unwrap_or_default()
    }
}

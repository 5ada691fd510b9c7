//! The cost of further reviewers as a table: the bars first, then what they follow from.

use super::super::table::median;
use super::{LATENCY, PANELS, ROUNDS, Round, Run};
use std::fmt::Write as _;
use std::time::Duration;

/// What the project wants to stay under. Printed beside the figures, never enforced: a busy machine is no defect.
const WALL: f64 = 1.35;
const MEGABYTES: f64 = 40.0;

/// A row of the table, of each run.
type Row = (&'static str, fn(&Run) -> f64, fn(f64) -> String);

const ROWS: [Row; 9] = [
    ("wall time, start to exit", Run::wall, seconds),
    (
        "  start to first model request",
        |run| run.measured.first_request.as_secs_f64(),
        seconds,
    ),
    (
        "  first to last model request",
        |run| seconds_between(run.measured.first_request, run.measured.last_request),
        seconds,
    ),
    (
        "  last model request to exit",
        |run| seconds_between(run.measured.last_request, run.measured.wall),
        seconds,
    ),
    (
        "of it cross-examination",
        |run| run.turns.examination_time().as_secs_f64(),
        seconds,
    ),
    (
        "processor time, with children",
        |run| run.measured.cpu.as_secs_f64(),
        seconds,
    ),
    ("peak memory", Run::megabytes, megabytes),
    (
        "model turns of each reviewer",
        |run| exact(run.turns.of_each().first().copied().unwrap_or_default()),
        number,
    ),
    (
        "turns of cross-examination, all",
        |run| exact(run.turns.of_examination()),
        number,
    ),
];

const RUNS: [fn(&Round) -> &Run; 3] = [
    |round| &round.one,
    |round| &round.three,
    |round| &round.five,
];

pub fn render(rounds: &[Round], load: Option<f64>) -> String {
    let mut out = format!(
        "\nThe medium pull request, four passes, {} ms for each turn of the model: several reviewers beside one\n\n",
        LATENCY.as_millis()
    );
    bars(&mut out, rounds);
    let _ = write!(
        out,
        "\n{:<44}",
        format!("median of {ROUNDS} runs, reviewers")
    );
    for reviewers in PANELS {
        let _ = write!(out, "{reviewers:>10}");
    }
    out.push('\n');
    for (name, of, show) in ROWS {
        let _ = write!(out, "{name:<44}");
        for run in RUNS {
            let _ = write!(out, "{:>10}", show(median(rounds.iter().map(run).map(of))));
        }
        out.push('\n');
    }
    let singles = rounds
        .iter()
        .map(|round| format!("{:.2}", without_examination(round)));
    let _ = writeln!(
        out,
        "\n{:<44}  {}",
        "the single ratios without cross-examination",
        singles.collect::<Vec<_>>().join(" ")
    );
    if let Some(load) = load {
        let _ = writeln!(
            out,
            "{:<44}{load:>10.1}   other work counts in the times, more so for several reviewers",
            "load of the machine"
        );
    }
    out
}

fn bars(out: &mut String, rounds: &[Round]) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let wall = of(without_examination);
    let _ = writeln!(
        out,
        "{:<44}{wall:>10.2}   target: at most {WALL}; {}",
        "wall time of three to one, same turns",
        said(wall <= WALL)
    );
    let _ = writeln!(
        out,
        "{:<44}{:>10.2}",
        "  with cross-examination",
        of(|round| round.three.wall() / round.one.wall())
    );
    let of_three = of(|round| (round.three.megabytes() - round.one.megabytes()) / 2.0);
    let of_five = of(|round| (round.five.megabytes() - round.one.megabytes()) / 4.0);
    let further = [
        ("memory per further reviewer, of three", of_three),
        ("memory per further reviewer, of five", of_five),
    ];
    for (name, figure) in further {
        let _ = writeln!(
            out,
            "{name:<44}{:>10}   target: at most {}; {}",
            megabytes(figure),
            megabytes(MEGABYTES),
            said(figure <= MEGABYTES)
        );
    }
}

/// The wall time of three to that of one, both without cross-examination, so of the same number of turns.
fn without_examination(round: &Round) -> f64 {
    round.three.wall_without_examination() / round.one.wall()
}

fn seconds_between(from: Duration, to: Duration) -> f64 {
    to.saturating_sub(from).as_secs_f64()
}

fn said(met: bool) -> &'static str {
    if met { "met" } else { "not met" }
}

fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

fn megabytes(value: f64) -> String {
    format!("{value:.0} MB")
}

fn number(value: f64) -> String {
    format!("{value:.0}")
}

fn exact(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::NAN, f64::from)
}

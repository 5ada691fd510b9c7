//! The numbers as a small table, ratios first.

use super::measure::Measured;
use super::prefix;
use std::fmt::Write as _;
use std::time::Duration;

/// What the project wants to stay under. Printed beside the ratio, never enforced: a busy machine is no defect.
pub const TARGET: f64 = 1.10;

pub type Pair = (Measured, Measured);

pub fn render(pairs: &[Pair]) -> String {
    let mut out = String::from(
        "\nThe medium pull request, four passes, instant model: the reviewer beside bare OpenCode\n\n",
    );
    ratios(&mut out, pairs);
    let _ = writeln!(
        out,
        "\n{:<34}{:>10}{:>10}",
        "median of the runs", "reviewer", "OpenCode"
    );
    seconds(&mut out, "wall time, start to exit", pairs, |m| m.wall);
    seconds(&mut out, "  start to first model request", pairs, |m| {
        m.first_request
    });
    seconds(&mut out, "  first to last model request", pairs, |m| {
        m.last_request.saturating_sub(m.first_request)
    });
    seconds(&mut out, "  last model request to exit", pairs, |m| {
        m.wall.saturating_sub(m.last_request)
    });
    seconds(&mut out, "processor time, with children", pairs, |m| m.cpu);
    if let Some((ours, bare)) = pairs.last() {
        let rows = [
            ("model requests", ours.requests.len(), bare.requests.len()),
            (
                "GitHub requests",
                ours.github_requests,
                bare.github_requests,
            ),
        ];
        for (name, ours, bare) in rows {
            let _ = writeln!(out, "{name:<34}{ours:>10}{bare:>10}");
        }
    }
    each(&mut out, pairs);
    out.push_str(
        "\nOpenCode's side gets its files and the tool server ready-made; its processor time is that of its process \
         alone.\n",
    );
    out
}

/// Ours over bare OpenCode's, the median of the pairs.
pub fn wall_ratio(pairs: &[Pair]) -> f64 {
    let ratio = |(ours, bare): &Pair| ours.wall.as_secs_f64() / bare.wall.as_secs_f64();
    median(pairs.iter().map(ratio))
}

fn ratios(out: &mut String, pairs: &[Pair]) {
    let _ = writeln!(
        out,
        "{:<34}{:>10.2}   target: at most {TARGET}",
        "wall time, median of the ratios",
        wall_ratio(pairs)
    );
    let shared: Vec<f64> = pairs
        .iter()
        .flat_map(|(ours, _)| prefix::shared(&ours.requests))
        .collect();
    let least = shared.iter().copied().fold(f64::INFINITY, f64::min);
    let _ = writeln!(
        out,
        "{:<34}{:>10.4}   least {least:.4}, of {} pairs of successive requests",
        "shared prefix, mean",
        mean(&shared),
        shared.len(),
    );
}

fn seconds(out: &mut String, name: &str, pairs: &[Pair], of: impl Fn(&Measured) -> Duration) {
    let ours = median(pairs.iter().map(|(ours, _)| of(ours).as_secs_f64()));
    let bare = median(pairs.iter().map(|(_, bare)| of(bare).as_secs_f64()));
    let _ = writeln!(out, "{name:<34}{ours:>8.2} s{bare:>8.2} s");
}

fn each(out: &mut String, pairs: &[Pair]) {
    let _ = writeln!(
        out,
        "\n{:<34}{:>10}{:>10}{:>10}",
        "wall time of each pair", "reviewer", "OpenCode", "ratio"
    );
    for (number, (ours, bare)) in (1..).zip(pairs) {
        let (ours, bare) = (ours.wall.as_secs_f64(), bare.wall.as_secs_f64());
        let _ = writeln!(
            out,
            "  {number:<32}{ours:>8.2} s{bare:>8.2} s{:>10.2}",
            ours / bare
        );
    }
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few dozen values")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

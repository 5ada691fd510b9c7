//! What the sandbox costs: the same review behind its walls and on a kernel that lacks them all, in turn. Separate from
//! the comparison with bare OpenCode, because both sides are ours and differ in the walls alone.

use super::measure::{self, Measured};
use super::ours;
use super::standin::world::through;
use super::table;
use anyhow::{Result, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const PAIRS: usize = 7;

/// What the project wants to stay under. Printed beside the ratio, never enforced: a busy machine is no defect.
const TARGET: f64 = 1.05;

/// What `tests/walls/lacking.rs` takes away. Each word is a filter of system calls, and a filter costs a little on its
/// own, so both sides have three.
const WALLS: &str = "nothing,nothing,nothing";
const NO_WALLS: &str = "landlock,user,calls";

/// One run each to warm the machine's caches, then pairs, with the two in turn at the front.
pub fn run() -> Result<String> {
    let lacking = lacking()?;
    eprintln!("warming up: one review behind the sandbox's walls, one without");
    let with = || review(&lacking, WALLS);
    let without = || review(&lacking, NO_WALLS);
    measure::comparable(&with()?, &without()?, "without the sandbox")?;
    let mut pairs = Vec::new();
    for number in 1..=PAIRS {
        eprintln!("sandbox: pair {number} of {PAIRS}");
        let pair = if number % 2 == 1 {
            let with = with()?;
            (with, without()?)
        } else {
            let without = without()?;
            (with()?, without)
        };
        measure::comparable(&pair.0, &pair.1, "without the sandbox")?;
        pairs.push((pair.0.wall.as_secs_f64(), pair.1.wall.as_secs_f64()));
    }
    Ok(render(&pairs))
}

/// Cargo builds no examples for a benchmark.
fn lacking() -> Result<PathBuf> {
    let built = Path::new(env!("CARGO_BIN_EXE_opencode-reviewer"));
    let program = built.with_file_name("examples").join("lacking");
    ensure!(
        program.is_file(),
        "{} is not there; build it with `cargo build --release --example lacking`, or run `make bench`, which does",
        program.display()
    );
    Ok(program)
}

fn review(lacking: &Path, features: &str) -> Result<Measured> {
    let (measured, report) = ours::small_as(|command| through(lacking, features, &command))?;
    let complete = report["sandbox"]["complete"].as_bool();
    ensure!(
        complete == Some(features == WALLS),
        "the sandbox is not what was to be measured: {}",
        report["sandbox"]
    );
    Ok(measured)
}

fn render(pairs: &[(f64, f64)]) -> String {
    let ratios: Vec<f64> = pairs.iter().map(|(with, without)| with / without).collect();
    let mut out = String::from(
        "\nThe same scripted review behind the sandbox's walls and without them, under as many filters\n\n",
    );
    let _ = writeln!(
        out,
        "{:<34}{:>10.3}   target: at most {TARGET}",
        "wall time, median of the ratios",
        table::median(ratios.iter().copied())
    );
    let _ = writeln!(
        out,
        "{:<34}{:>8.2} s{:>8.2} s",
        "median with and without",
        table::median(pairs.iter().map(|(with, _)| *with)),
        table::median(pairs.iter().map(|(_, without)| *without))
    );
    let singles: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
    let _ = writeln!(out, "{:<34}  {}", "the single ratios", singles.join(" "));
    out
}

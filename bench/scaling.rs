//! How our own work on text that somebody else wrote scales: each case at one size and at twice that. A ratio of about two is
//! linear. Separate from the reviews, because nothing but a function is measured here.

use super::measure;
use anyhow::Result;
use reviewer_core::context::since::{Moves, Since};
use reviewer_core::domain::{CommitSha, FileDiff};
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use std::fmt::Write as _;
use std::slice::from_ref;
use std::time::Duration;

/// What is repeated, to half a megabyte and to one.
const UNITS: [&str; 16] = [
    "password=",
    "password=1",
    "password=a-1",
    "\"password\":\"",
    "token: ",
    "token=",
    "key = ",
    "_key = q7",
    "secret ",
    "a",
    "A1b2C3d4",
    "eyJ",
    "sk-ant-",
    "https://",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
];
const BYTES: usize = 500_000;
const HUNKS: u32 = 400;
/// Each size is measured this often, and the least time counts.
const ROUNDS: usize = 3;

/// Measures all cases. Returns the table.
pub fn run() -> Result<String> {
    let mut out = format!(
        "\n{:<48}{:>14}{:>14}{:>10}\n",
        "processor time", "size", "twice", "ratio"
    );
    let redactor = Redactor::new(&[SecretString::from("5f0c9a7be1d24386a2")]);
    for unit in UNITS {
        let cleaned = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            least(|| drop(redactor.clean(&text)))
        };
        let times = [cleaned(BYTES)?, cleaned(2 * BYTES)?];
        row(&mut out, &format!("redacting {unit:?}"), times);
    }
    let head: CommitSha = "a".repeat(40).parse()?;
    let compared = |hunks: u32| {
        let (then, now) = (change(hunks, "b"), change(hunks, "c"));
        let moves = Moves::new(vec![change(hunks, "d")]);
        let (then, now) = (from_ref(&then), from_ref(&now));
        let compare = || drop(Since::compare(head.clone(), then, now, &moves));
        least(compare)
    };
    let times = [compared(HUNKS)?, compared(2 * HUNKS)?];
    row(
        &mut out,
        &format!("comparing {HUNKS} hunks after a rebase"),
        times,
    );
    let many = 50 * HUNKS;
    let times = [compared(many)?, compared(2 * many)?];
    row(
        &mut out,
        &format!("comparing {many} hunks after a rebase"),
        times,
    );
    Ok(out)
}

/// A file with so many hunks, each of them another.
fn change(hunks: u32, text: &str) -> FileDiff {
    let mut patch = String::new();
    for number in 0..hunks {
        let line = number * 10 + 1;
        // Writing to a String cannot fail.
        let _ = writeln!(
            patch,
            "@@ -{line},3 +{line},3 @@\n x\n-{number}\n+{text}{number}\n y"
        );
    }
    FileDiff {
        path: "a.rs".into(),
        hunks: FileDiff::parse_hunks(patch).unwrap_or_default(),
        ..FileDiff::default()
    }
}

fn least(work: impl Fn()) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..ROUNDS {
        let begun = measure::own_cpu()?;
        work();
        least = least.min(measure::own_cpu()?.saturating_sub(begun));
    }
    Ok(least)
}

fn row(out: &mut String, name: &str, [one, two]: [Duration; 2]) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    let ratio = two.as_secs_f64() / one.as_secs_f64().max(1e-9);
    let _ = writeln!(
        out,
        "{name:<48}{:>11.1} ms{:>11.1} ms{ratio:>10.2}",
        milliseconds(one),
        milliseconds(two)
    );
}

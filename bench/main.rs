//! `make bench`: how rebuilding the threads scales, what large pull requests take, what the reviewer costs on top of
//! OpenCode, and what the sandbox costs. For the latter two the same scripted four-pass review, with a model that answers at once, is run by our binary
//! and by bare OpenCode, or with and without the sandbox's walls, in turn. The numbers are printed and never judged.
//! `cargo bench --bench review -- rebuild` does the first part only; the others are `large`, `reviews` and `sandbox`.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "edge: a program that measures processes, with the stand-ins of the tests inside"
)]

mod bare;
#[path = "../examples/demo/findings.rs"]
mod findings;
mod large;
mod measure;
mod ours;
mod prefix;
mod rebuild;
mod sandbox;
#[path = "../examples/demo/script.rs"]
mod script;
#[allow(
    unused_imports,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]
#[path = "../tests/standin/mod.rs"]
mod standin;
mod table;

use anyhow::{Result, ensure};
use measure::Measured;
use std::process::ExitCode;

const PAIRS: usize = 5;

fn main() -> ExitCode {
    // `cargo test --all-targets` starts this, too, and nobody wants to wait for it there.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("Nothing is measured without `cargo bench --bench review`.");
        return ExitCode::SUCCESS;
    }
    let parts = ["rebuild", "large", "reviews", "sandbox"];
    let part = std::env::args().find(|argument| parts.contains(&argument.as_str()));
    match measure_part(part.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One part, or all of them.
fn measure_part(part: Option<&str>) -> Result<()> {
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    if wanted("rebuild") {
        print!("{}", rebuild::run()?);
    }
    if wanted("large") {
        print!("{}", large::run()?);
    }
    if wanted("reviews") {
        reviews()?;
    }
    if wanted("sandbox") {
        print!("{}", sandbox::run()?);
    }
    Ok(())
}

/// One run each to warm the machine's caches, then pairs, with the two in turn at the front.
fn reviews() -> Result<()> {
    eprintln!("warming up: one review, one run of bare OpenCode");
    let first = ours::run()?;
    let prompts = bare::prompts(&first)?;
    comparable(&first, &bare::run(&prompts)?)?;
    let mut pairs = Vec::new();
    for number in 1..=PAIRS {
        eprintln!("pair {number} of {PAIRS}");
        let pair = if number % 2 == 1 {
            let ours = ours::run()?;
            (ours, bare::run(&prompts)?)
        } else {
            let bare = bare::run(&prompts)?;
            (ours::run()?, bare)
        };
        comparable(&pair.0, &pair.1)?;
        pairs.push(pair);
    }
    print!("{}", table::render(&pairs));
    Ok(())
}

/// Two runs of different length prove nothing about each other.
fn comparable(ours: &Measured, bare: &Measured) -> Result<()> {
    ensure!(
        ours.requests.len() == bare.requests.len() && ours.staged == bare.staged,
        "the two runs differ: {} model requests and {} findings here, {} and {} with bare OpenCode",
        ours.requests.len(),
        ours.staged,
        bare.requests.len(),
        bare.staged
    );
    Ok(())
}

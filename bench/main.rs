//! `make bench`: what the reviewer costs on top of OpenCode. The same scripted four-pass review, with a model that
//! answers at once, is run by our binary and by bare OpenCode in turn; the numbers are printed and never judged.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "edge: a program that measures processes, with the stand-ins of the tests inside"
)]

mod bare;
#[path = "../examples/demo/findings.rs"]
mod findings;
mod measure;
mod ours;
mod prefix;
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
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One run each to warm the machine's caches, then pairs, with the two in turn at the front.
fn bench() -> Result<()> {
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

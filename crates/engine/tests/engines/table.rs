//! The table of the suite: a row per engine, a column per check.

use crate::deaths::Victims;
use crate::subject::Subject;
use crate::{checks, deaths, migration, moving};
use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Instant;

const CHECKS: &[&str] = &[
    "sequences",
    "dedupe",
    "one writer",
    "order",
    "timers",
    "long effects",
    "holding back",
    "forgetting",
    "sessions",
    "fences",
    "kill front",
    "kill worker",
    "kill server",
    "flood",
    "migration",
    "moving",
];

/// The choice of engines, checks and seeds.
#[derive(Debug)]
pub(crate) struct Choice {
    engines: Vec<String>,
    check: String,
    first: u64,
    seeds: u64,
}

impl Choice {
    /// From the environment, and the part of a check's name from the arguments.
    pub(crate) fn read(arguments: &[String]) -> Self {
        let number = |name: &str, without: u64| {
            let text = std::env::var(name).unwrap_or_default();
            text.parse().unwrap_or(without)
        };
        let engines = std::env::var("ENGINES").unwrap_or_else(|_| "memory,sqlite".to_owned());
        let check = arguments.iter().find(|argument| !argument.starts_with('-'));
        Self {
            engines: engines.split(',').map(str::to_owned).collect(),
            check: check.cloned().unwrap_or_default(),
            first: number("FIRST", 1),
            seeds: number("SEEDS", 3),
        }
    }

    /// True if an engine of this name takes part.
    pub(crate) fn has(&self, engine: &str) -> bool {
        self.engines.iter().any(|one| one == engine)
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.seeds
    }
}

/// The cells so far.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<(&'static str, Vec<String>)>,
    /// The engines of this build.
    known: Vec<&'static str>,
    failed: bool,
}

impl Table {
    /// Makes all checks with an engine, if it was chosen.
    pub(crate) async fn add<S: Subject>(&mut self, choice: &Choice) {
        self.known.push(S::NAME);
        if !choice.has(S::NAME) {
            return;
        }
        let subject = match S::start().await {
            Ok(subject) => subject,
            Err(missing) => {
                println!("{}: {missing}", S::NAME);
                self.failed = true;
                return;
            }
        };
        let mut row = Vec::new();
        for name in CHECKS {
            let cell = if name.contains(&choice.check) {
                self.cell(&subject, name, choice).await
            } else {
                String::new()
            };
            row.push(cell);
        }
        self.rows.push((S::NAME, row));
    }

    async fn cell<S: Subject>(&mut self, subject: &S, name: &str, choice: &Choice) -> String {
        let begun = Instant::now();
        let done = AssertUnwindSafe(check(subject, name, choice)).catch_unwind();
        let cell = match done.await {
            Ok(Ok(0)) => format!("ok {:.1} s", begun.elapsed().as_secs_f64()),
            Ok(Ok(seeds)) => {
                format!("ok {seeds} seeds {:.1} s", begun.elapsed().as_secs_f64())
            }
            Ok(Err(reason)) => format!("- {reason}"),
            Err(_) => {
                self.failed = true;
                "FAILED".to_owned()
            }
        };
        println!("{} | {name} | {cell}", S::NAME);
        cell
    }

    /// Prints the table. An engine that was chosen and is not in this build is a failure.
    pub(crate) fn print(&mut self, choice: &Choice) {
        for engine in &choice.engines {
            if !self.known.contains(&engine.as_str()) {
                println!(
                    "{engine}: this build has no such engine; restate needs --features restate"
                );
                self.failed = true;
            }
        }
        println!("\n| engine | {} |", CHECKS.join(" | "));
        println!("| --- |{}", " --- |".repeat(CHECKS.len()));
        for (name, row) in &self.rows {
            println!("| {name} | {} |", row.join(" | "));
        }
    }

    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(u8::from(self.failed))
    }
}

/// Makes a check. The number of its seeds, or the reason why it does not apply.
async fn check<S: Subject>(subject: &S, name: &str, choice: &Choice) -> Result<u64, &'static str> {
    match name {
        "sequences" => return Ok(seeded(choice, |seed| checks::sequences(subject, seed)).await),
        "dedupe" => checks::dedupe(subject).await,
        "one writer" => checks::one_writer(subject).await,
        "order" => checks::order(subject).await,
        "timers" => checks::timers(subject).await,
        "long effects" => checks::long_effects(subject).await,
        "holding back" => checks::holding_back(subject).await,
        "forgetting" => checks::forgetting(subject).await,
        "fences" => match S::FENCES {
            None => deaths::fences(subject).await,
            Some(reason) => return Err(reason),
        },
        "sessions" => checks::sessions(subject).await,
        "kill front" => {
            if let Some(reason) = S::FRONTS {
                return Err(reason);
            }
            let one = |seed| deaths::processes(subject, Victims::Front, seed);
            return Ok(seeded(choice, one).await);
        }
        "kill worker" => {
            if let Some(reason) = S::MORTAL {
                return Err(reason);
            }
            let one = |seed| deaths::processes(subject, Victims::Workers, seed);
            return Ok(seeded(choice, one).await);
        }
        "flood" => {
            if let Some(reason) = S::MORTAL {
                return Err(reason);
            }
            return Ok(seeded(choice, |seed| deaths::flood(subject, seed)).await);
        }
        "migration" if S::TABLES => migration::of_earlier_versions(subject).await,
        "migration" => return Err("there are no tables"),
        "moving" => {
            if let Some(reason) = S::MORTAL {
                return Err(reason);
            }
            moving::to_all(subject, choice).await;
        }
        "kill server" if S::SERVER => return Ok(deaths::servers::<S>(choice.seeds()).await),
        "kill server" => return Err("there is none"),
        _ => unreachable!("no check {name}"),
    }
    Ok(0)
}

/// Makes a check with all seeds, several at the same time.
async fn seeded<F: Future<Output = ()>>(choice: &Choice, one: impl Fn(u64) -> F) -> u64 {
    deaths::together(choice.seeds(), one).await;
    choice.seeds
}

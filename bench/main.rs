//! `make bench`: how rebuilding the threads and work on hostile text scale, what large pull requests take, this action beside
//! the tools that one would pick instead, what the sandbox costs, what further reviewers cost, and what the service costs. For the
//! tools, the sandbox and the reviewers the same scripted review is run in turn, with a model that answers at once, or for several
//! reviewers after a moment. The numbers are printed and, when all parts were run, written to `RESULTS.md`; they are never judged.
//! `cargo bench --bench review -- rebuild` does the first part only; the others are `scaling`, `large`, `tools`, `tokens`,
//! `sandbox`, `panel-cost`, `service` and `engines`, for which `ENGINES=sqlite,restate` names some stores. `panel` (with `--merges` for
//! examples) measures on published data and is no part of the page.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "edge: a program that measures processes, with the stand-ins of the tests inside"
)]

mod bare;
mod course;
#[path = "../examples/demo/findings.rs"]
mod findings;
mod large;
mod measure;
mod ours;
mod panel;
mod panel_cost;
mod pr_agent;
mod prefix;
mod rebuild;
mod results;
mod sandbox;
mod scaling;
#[path = "../examples/demo/script.rs"]
mod script;
mod service;
#[allow(
    unused_imports,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]
#[path = "../tests/standin/mod.rs"]
mod standin;
mod table;
mod tokens;
mod tools;

use anyhow::{Context as _, Result, ensure};
use pr_agent::PrAgent;
use reviewer_agent::opencode::find_opencode;
use reviewer_core::state::spending::Day;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::SystemTime;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bench/RESULTS.md");

fn main() -> ExitCode {
    // `cargo test --all-targets` starts this, too, and nobody wants to wait for it there.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("Nothing is measured without `cargo bench --bench review`.");
        return ExitCode::SUCCESS;
    }
    let parts = [
        "rebuild",
        "scaling",
        "large",
        "tools",
        "tokens",
        "sandbox",
        "panel-cost",
        "service",
        "engines",
        "panel",
    ];
    let part = std::env::args().find(|argument| parts.contains(&argument.as_str()));
    match measure_part(part.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One part, or all of them, which make a page.
fn measure_part(part: Option<&str>) -> Result<()> {
    if part == Some("panel") {
        let shown = std::env::args().any(|argument| argument == "--merges");
        print!("{}", panel::run(shown)?);
        return Ok(());
    }
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let pr_agent = PrAgent::installed()?;
    let mut page = heading(pr_agent.as_ref())?;
    let mut tell = |text: &str| {
        print!("{text}");
        page.push_str(text);
    };
    if wanted("tools") {
        let cases = tools::cases(pr_agent.as_ref())?;
        let pairs = tools::pairs()?;
        tell(&results::page(&cases, table::wall_ratio(&pairs)));
        tell(&plain("Beside bare OpenCode", &table::render(&pairs)));
    }
    if wanted("tokens") {
        tell(&plain("Input tokens", &tokens::run()?));
    }
    if wanted("rebuild") {
        tell(&plain("Rebuilding", &rebuild::run()?));
    }
    if wanted("scaling") {
        tell(&plain("Hostile text", &scaling::run()?));
    }
    if wanted("large") {
        tell(&plain("Large pull requests", &large::run()?));
    }
    if wanted("sandbox") {
        tell(&plain("The sandbox", &sandbox::run()?));
    }
    if wanted("panel-cost") {
        tell(&plain("Several reviewers", &panel_cost::run()?));
    }
    if wanted("service") {
        tell(&plain("The service", &service::run()?));
    }
    if wanted("engines") {
        tell(&plain("The service's stores", &service::engines::run()?));
    }
    if part.is_none() {
        std::fs::write(PAGE, page).context("writing RESULTS.md")?;
        eprintln!("written: {PAGE}");
    }
    Ok(())
}

/// What is a table already, as it is.
fn plain(title: &str, text: &str) -> String {
    format!(
        "\n## {title}\n\n```text\n{}\n```\n",
        text.trim_matches('\n')
    )
}

fn heading(pr_agent: Option<&PrAgent>) -> Result<String> {
    let theirs = match pr_agent {
        Some(found) => format!("PR-Agent {}", found.version),
        None => "without PR-Agent, which was not installed".to_owned(),
    };
    Ok(format!(
        "# Results\n\nWritten by `make bench` on {}: opencode-reviewer {}, OpenCode {}, {theirs}; {} processors.\n\n",
        Day::from_time(SystemTime::now()),
        env!("CARGO_PKG_VERSION"),
        opencode_version()?,
        std::thread::available_parallelism()?,
    ))
}

/// The one that all reviews here are made with.
fn opencode() -> Result<PathBuf> {
    let roots = [PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
    let path = std::env::var("PATH").unwrap_or_default();
    let given = std::env::var("OPENCODE_BIN").ok();
    find_opencode(given.as_deref(), &roots, &path)
        .context("OpenCode was not found; install it with `npm ci`")
}

fn opencode_version() -> Result<String> {
    let said = Command::new(opencode()?).arg("--version").output()?;
    ensure!(said.status.success(), "OpenCode does not say its version");
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

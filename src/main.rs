//! The command line: parses, hands over what came from outside, exits with the code that the pipeline gives.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: the one place that reads the environment"
)]

use clap::{Parser, Subcommand};
use opencode_reviewer::actions::Actions;
use opencode_reviewer::app::{self, Form, Setup};
use opencode_reviewer::clock::Clock;
use opencode_reviewer::config::environment::Environment;
use opencode_reviewer::config::inputs::RawInputs;
use opencode_reviewer::domain::{PrKey, RepoName};
use opencode_reviewer::eval;
use opencode_reviewer::event::{Event, EventKind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reviews pull requests as a senior engineer would.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Work(Work),
    /// Measure how well the reviewer judges
    #[command(hide = true)]
    Eval {
        #[command(subcommand)]
        what: Evaluation,
    },
}

/// What needs inputs and GitHub.
#[derive(Subcommand)]
enum Work {
    /// Review the pull request of the workflow event (what the container runs)
    Action,
    /// Review a pull request from a shell
    Review {
        #[command(flatten)]
        target: Target,
    },
    /// Show the reviewer's threads on a pull request
    State {
        #[command(flatten)]
        target: Target,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Say which comment decided each status, and why
        #[arg(long, conflicts_with = "json")]
        explain: bool,
    },
}

#[derive(Subcommand)]
enum Evaluation {
    /// Recall and false positives of recognised repetition, on a file of labelled pairs
    Dedupe {
        /// One JSON object a line, with "same" (true or false) and the texts "a" and "b"
        file: PathBuf,
    },
}

#[derive(clap::Args)]
struct Target {
    /// Repository as owner/name
    #[arg(long)]
    repo: RepoName,
    /// Number of the pull request
    #[arg(long)]
    pr: u64,
    /// An input of the action, such as --input model=openai/gpt-5 (repeatable). Secrets are read from
    /// GITHUB_TOKEN and OPENCODE_API_KEY
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    inputs: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE, such as model=openai/gpt-5".into())
}

fn main() -> ExitCode {
    let work = match Cli::parse().command {
        Command::Work(work) => work,
        Command::Eval {
            what: Evaluation::Dedupe { file },
        } => return ExitCode::from(eval_dedupe(&file)),
    };
    let vars: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| (lossy(&name), lossy(&value)))
        .collect();
    let environment = Environment::from_vars(vars.clone());
    logging(environment.debug);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime could not be started: {error}");
            return ExitCode::from(2);
        }
    };
    let setup = setup(environment, &vars, &work);
    let code = runtime.block_on(run(setup, work));
    runtime.shutdown_background();
    ExitCode::from(code)
}

async fn run(setup: Result<Setup, Vec<String>>, work: Work) -> u8 {
    let setup = match setup {
        Ok(setup) => setup,
        Err(sentences) => {
            for sentence in sentences {
                eprintln!("error: {sentence}");
            }
            return 2;
        }
    };
    match work {
        Work::Action => app::action(&setup).await,
        Work::Review { target } => app::review(&setup, &manual(target)).await,
        Work::State {
            target,
            json,
            explain,
        } => {
            let form = match (json, explain) {
                (true, _) => Form::Json,
                (false, true) => Form::Explained,
                (false, false) => Form::Table,
            };
            let pr = PrKey {
                repo: target.repo,
                number: target.pr,
            };
            app::state(&setup, &pr, form).await
        }
    }
}

fn eval_dedupe(file: &Path) -> u8 {
    let name = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!(
                "error: {name} cannot be read ({error}); give a text file in UTF-8 with one pair a line"
            );
            return 2;
        }
    };
    match eval::dedupe(&text) {
        Ok(counts) => {
            print!("{counts}");
            0
        }
        Err(error) => {
            eprintln!("error: {name} cannot be measured on: {error}");
            2
        }
    }
}

fn manual(target: Target) -> Event {
    Event {
        repo: target.repo,
        number: target.pr,
        kind: EventKind::Manual,
        before: None,
        sender: None,
    }
}

fn setup(
    environment: Environment,
    vars: &[(String, String)],
    work: &Work,
) -> Result<Setup, Vec<String>> {
    let mut inputs =
        RawInputs::from_vars(vars.iter().cloned()).map_err(|error| vec![error.to_string()])?;
    if let Work::Review { target } | Work::State { target, .. } = work {
        let fallback = |name: &str| {
            vars.iter()
                .find(|(key, _)| key == name)
                .map(|(_, v)| v.as_str())
        };
        for (input, variable) in [
            ("github_token", "GITHUB_TOKEN"),
            ("opencode_api_key", "OPENCODE_API_KEY"),
        ] {
            if let (false, Some(value)) = (inputs.is_given(input), fallback(variable)) {
                inputs.set(input, value);
            }
        }
        for (name, value) in &target.inputs {
            inputs.set(name, value);
        }
    }
    Ok(Setup {
        actions: Actions::new(
            environment.in_actions,
            environment.output.clone(),
            environment.step_summary.clone(),
        ),
        clock: Clock::scaled(environment.time_scale),
        roots: roots(),
        environment,
        inputs,
    })
}

/// Folders whose `node_modules` may hold the sidecar: where the image puts it, and above the executable, where
/// a checkout has it.
fn roots() -> Vec<PathBuf> {
    let mut roots = vec![PathBuf::from("/opt/opencode-reviewer")];
    if let Ok(executable) = std::env::current_exe() {
        roots.extend(executable.ancestors().skip(1).take(5).map(PathBuf::from));
    }
    roots
}

fn logging(debug: bool) {
    let default = if debug { "debug" } else { "warn" };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}

fn lossy(text: &std::ffi::OsStr) -> String {
    text.to_string_lossy().into_owned()
}

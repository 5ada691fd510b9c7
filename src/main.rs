//! The command line: parses, hands over what came from outside, exits with the code that the pipeline gives.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: the one place that reads the environment"
)]

use clap::{Parser, Subcommand};
use opencode_reviewer::actions::Actions;
use opencode_reviewer::app::{self, Setup};
use opencode_reviewer::clock::Clock;
use opencode_reviewer::config::environment::Environment;
use opencode_reviewer::config::inputs::RawInputs;
use opencode_reviewer::domain::{PrKey, RepoName};
use opencode_reviewer::event::{Event, EventKind};
use std::path::PathBuf;
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
    let cli = Cli::parse();
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
    let setup = setup(environment, &vars, &cli.command);
    let code = runtime.block_on(run(setup, cli.command));
    runtime.shutdown_background();
    ExitCode::from(code)
}

async fn run(setup: Result<Setup, Vec<String>>, command: Command) -> u8 {
    let setup = match setup {
        Ok(setup) => setup,
        Err(sentences) => {
            for sentence in sentences {
                eprintln!("error: {sentence}");
            }
            return 2;
        }
    };
    match command {
        Command::Action => app::action(&setup).await,
        Command::Review { target } => app::review(&setup, &manual(target)).await,
        Command::State { target, json } => {
            let pr = PrKey {
                repo: target.repo,
                number: target.pr,
            };
            app::state(&setup, &pr, json).await
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
    command: &Command,
) -> Result<Setup, Vec<String>> {
    let mut inputs =
        RawInputs::from_vars(vars.iter().cloned()).map_err(|error| vec![error.to_string()])?;
    if let Command::Review { target } | Command::State { target, .. } = command {
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

//! The command line: parses, hands over what came from outside, exits with the code that the pipeline gives.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: asks the system where it was started"
)]

use clap::{Parser, Subcommand, ValueEnum};
use opencode_reviewer::actions::{Actions, Errors, LogRedactor};
use opencode_reviewer::commands::{self, Form, Format, Order, Setup};
use opencode_reviewer::process_env;
use reviewer_agent::opencode::sandbox::{SandboxSpec, enter};
use reviewer_core::config::environment::Environment;
use reviewer_core::config::inputs::RawInputs;
use reviewer_core::domain::{PrKey, RepoName};
use reviewer_core::event::{Event, EventKind};
use reviewer_system::clock::Clock;
use std::ffi::OsString;
use std::io::IsTerminal;
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
    /// Restrict this process and become another program
    #[command(hide = true)]
    Confine {
        /// What the program may reach, as JSON
        #[arg(value_parser = walls)]
        walls: SandboxSpec,
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// What needs inputs.
#[derive(Subcommand)]
enum Work {
    /// Review the pull request of the workflow event (what the container runs)
    Action,
    /// Review a pull request from a shell
    Review {
        #[command(flatten)]
        target: Target,
        /// Print what would be posted, and post nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Review the working tree of the repository in the current directory; GitHub is not asked
    Local {
        /// Branch, tag or commit to compare with [default: the default branch of origin, else main, else master]
        #[arg(long)]
        base: Option<String>,
        /// How the findings are printed
        #[arg(long, value_enum, default_value_t = Print::Text)]
        format: Print,
        #[command(flatten)]
        given: Given,
    },
    /// Try everything that a review of a pull request needs, and review nothing
    Doctor {
        #[command(flatten)]
        target: Target,
        /// Do not ask the model, which costs a few tokens
        #[arg(long)]
        no_model: bool,
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

#[derive(clap::Args)]
struct Target {
    /// Repository as owner/name
    #[arg(long)]
    repo: RepoName,
    /// Number of the pull request
    #[arg(long)]
    pr: u64,
    #[command(flatten)]
    given: Given,
}

#[derive(clap::Args)]
struct Given {
    /// An input of the action, such as --input model=openai/gpt-5 (repeatable). Secrets are read from
    /// OPENCODE_API_KEY and, for a pull request, GITHUB_TOKEN
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    inputs: Vec<(String, String)>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Print {
    Text,
    Json,
    Sarif,
    Markdown,
}

impl Work {
    /// Inputs by arguments; none where a workflow gives them.
    fn given(&self) -> Option<&Given> {
        match self {
            Self::Action => None,
            Self::Local { given, .. } => Some(given),
            Self::Review { target, .. }
            | Self::Doctor { target, .. }
            | Self::State { target, .. } => Some(&target.given),
        }
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE, such as model=openai/gpt-5".into())
}

fn walls(json: &str) -> Result<SandboxSpec, serde_json::Error> {
    serde_json::from_str(json)
}

fn main() -> ExitCode {
    let work = match Cli::parse().command {
        Command::Work(work) => work,
        Command::Confine {
            walls,
            program,
            arguments,
        } => return failed(&enter::become_confined(&walls, &program, &arguments)),
    };
    let launcher = match std::env::current_exe() {
        Ok(launcher) => launcher,
        Err(error) => return failed(&format!("this program cannot find itself: {error}")),
    };
    let vars = match process_env::variables(&launcher) {
        Ok(vars) => vars,
        Err(error) => return failed(&format!("{error:#}")),
    };
    let environment = Environment::from_vars(vars.clone());
    let redactor = LogRedactor::default();
    logging(environment.debug, &redactor);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("the runtime could not be started: {error}")),
    };
    let setup = setup(launcher, environment, &vars, &work).map(|setup| Setup {
        actions: setup.actions.within(&redactor),
        ..setup
    });
    let colours = is_shown(&std::io::stdout(), &vars) && variable(&vars, "NO_COLOR").is_none();
    let code = runtime.block_on(run(&setup, work, colours));
    runtime.shutdown_background();
    // Hides the run's secrets until nothing of it can print any more.
    drop(setup);
    ExitCode::from(code)
}

fn failed(sentence: &str) -> ExitCode {
    Errors::default().complain(sentence);
    ExitCode::from(2)
}

/// A variable that is set to something.
fn variable<'a>(vars: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = vars.iter().find(|(key, _)| key == name);
    found
        .map(|(_, value)| value.as_str())
        .filter(|value| !value.is_empty())
}

/// Whether a person sees it, on a terminal that understands more than text.
fn is_shown(stream: &impl IsTerminal, vars: &[(String, String)]) -> bool {
    stream.is_terminal() && variable(vars, "TERM").is_some_and(|kind| kind != "dumb")
}

async fn run(setup: &Result<Setup, Vec<String>>, work: Work, colours: bool) -> u8 {
    let setup = match setup {
        Ok(setup) => setup,
        Err(sentences) => {
            for sentence in sentences {
                Errors::default().complain(sentence);
            }
            return 2;
        }
    };
    match work {
        Work::Action => commands::action(setup).await,
        Work::Review { target, .. } => commands::review(setup, &manual(target)).await,
        Work::Local { base, format, .. } => local(setup, base, format, colours).await,
        Work::Doctor { target, no_model } => commands::doctor(setup, &key(target), !no_model).await,
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
            commands::state(setup, &key(target), form).await
        }
    }
}

async fn local(setup: &Setup, base: Option<String>, format: Print, colours: bool) -> u8 {
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => {
            let sentence = format!("The current directory cannot be read: {error}");
            Errors::default().complain(&sentence);
            return 2;
        }
    };
    let format = match format {
        Print::Text => Format::Text,
        Print::Json => Format::Json,
        Print::Sarif => Format::Sarif,
        Print::Markdown => Format::Markdown,
    };
    let order = Order {
        directory,
        base,
        format,
        colours,
        out: Actions::new(false, None, None).beside(&setup.actions),
    };
    commands::local(setup, &order).await
}

fn key(target: Target) -> PrKey {
    PrKey {
        repo: target.repo,
        number: target.pr,
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
    launcher: PathBuf,
    environment: Environment,
    vars: &[(String, String)],
    work: &Work,
) -> Result<Setup, Vec<String>> {
    let mut inputs =
        RawInputs::from_vars(vars.iter().cloned()).map_err(|error| vec![error.to_string()])?;
    if let Some(given) = work.given() {
        for (input, name) in [
            ("github_token", "GITHUB_TOKEN"),
            ("opencode_api_key", "OPENCODE_API_KEY"),
        ] {
            if let (false, Some(value)) = (inputs.is_given(input), variable(vars, name)) {
                inputs.set(input, value);
            }
        }
        for (name, value) in &given.inputs {
            inputs.set(name, value);
        }
    }
    if let Work::Review { dry_run: true, .. } = work {
        inputs.set("dry_run", "true");
    }
    Ok(Setup {
        actions: match work {
            // The result has standard output for itself.
            Work::Local { .. } => {
                let stderr = std::io::stderr();
                let live = is_shown(&stderr, vars);
                Actions::writing_to(Box::new(stderr), false, None, None).live(live)
            }
            _ => Actions::new(
                environment.in_actions,
                environment.output.clone(),
                environment.step_summary.clone(),
            ),
        },
        clock: Clock::scaled(environment.time_scale).limited(environment.limit_scale),
        roots: roots(&launcher),
        launcher,
        environment,
        inputs,
    })
}

/// Folders whose `node_modules` may hold the sidecar: where the image puts it, and above the executable, where
/// a checkout has it.
fn roots(launcher: &Path) -> Vec<PathBuf> {
    let image = PathBuf::from("/opt/opencode-reviewer");
    let above = launcher.ancestors().skip(1).take(5).map(PathBuf::from);
    std::iter::once(image).chain(above).collect()
}

/// The crates whose messages a debug run shows.
const OUR_CRATES: [&str; 7] = [
    "opencode_reviewer",
    "reviewer_agent",
    "reviewer_core",
    "reviewer_github",
    "reviewer_repo",
    "reviewer_system",
    "reviewer_web",
];

/// Whatever is told besides the run's own lines may quote foreign text, the words of a panic included. Libraries tell
/// everything that passes through them when they are asked to debug, so only ours are.
fn logging(debug: bool, redactor: &LogRedactor) {
    let errors = Errors(redactor.clone());
    let of_panic = errors.clone();
    std::panic::set_hook(Box::new(move |panic| {
        of_panic.clone().complain(&panic.to_string());
    }));
    let default = if debug {
        format!(
            "warn,{}",
            OUR_CRATES.map(|name| format!("{name}=debug")).join(",")
        )
    } else {
        "warn".to_owned()
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(move || errors.clone())
        .without_time()
        .with_target(false)
        .init();
}

//! The command line: parses, hands over what came from outside, exits with the code that the pipeline gives.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: asks the system where it was started"
)]

mod aside;
mod cli;

use clap::Parser as _;
use cli::{Aside, Cli, Color, Command, Serve, StateTarget, Target, Telling, Work};
use opencode_reviewer::actions::{Actions, Errors, LogRedactor, Look, Verbosity};
use opencode_reviewer::commands::{self, ConfigOrder, Form, Half, Order, OrderedSession, Setup};
use opencode_reviewer::process_env;
use reviewer_agent::opencode::sandbox::enter;
use reviewer_core::config::Persona;
use reviewer_core::config::environment::Environment;
use reviewer_core::config::inputs::RawInputs;
use reviewer_core::config::shell;
use reviewer_core::domain::{PrKey, PullRef, RepoRef};
use reviewer_core::event::Event;
use reviewer_core::report::terminal;
use reviewer_core::session_order::SessionOrder;
use reviewer_system::clock::Clock;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Cli { command, telling } = Cli::parse();
    if let Command::Confine {
        spec,
        program,
        arguments,
    } = command
    {
        return failed(&enter::become_confined(&spec, &program, &arguments));
    }
    let launcher = match std::env::current_exe() {
        Ok(launcher) => launcher,
        Err(error) => return failed(&format!("this program cannot find itself: {error}")),
    };
    let takes_input = match &command {
        Command::Work(work) => work.is_session(),
        Command::Serve(serve) => serve.takes_input(),
        Command::Aside(_) | Command::Confine { .. } => false,
    };
    let vars = match process_env::variables(&launcher, takes_input) {
        Ok(vars) => vars,
        Err(error) => return failed(&format!("{error:#}")),
    };
    match command {
        Command::Work(work) => working(launcher, &vars, work, telling),
        Command::Aside(beside) => besides(beside, &vars, telling),
        Command::Serve(serve) => serving(launcher, &vars, serve, telling),
        Command::Confine { .. } => ExitCode::FAILURE,
    }
}

/// Runs a command that needs no inputs.
fn besides(beside: Aside, vars: &[(String, String)], telling: Telling) -> ExitCode {
    let actions = Actions::writing_to(Box::new(std::io::stderr()), false, None, None)
        .answering_to(Box::new(std::io::stdout()))
        .looking(look(telling, vars));
    match aside::run(beside, &actions, vars) {
        Ok(code) => ExitCode::from(unless_lost(&actions, code)),
        Err(sentence) => failed(&sentence),
    }
}

/// Runs a command that has inputs.
fn working(launcher: PathBuf, vars: &[(String, String)], work: Work, telling: Telling) -> ExitCode {
    let environment = Environment::from_vars(vars.iter().cloned());
    let redactor = LogRedactor::default();
    logging(environment.debug, &redactor);
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("the runtime could not be started: {error}")),
    };
    let setup = setup(launcher, environment, vars, &work, telling).map(|setup| Setup {
        actions: setup.actions.within(&redactor),
        ..setup
    });
    let code = runtime.block_on(run(&setup, work));
    runtime.shutdown_background();
    let code = match &setup {
        Ok(setup) => unless_lost(&setup.actions, code),
        Err(_) => code,
    };
    // Hides the run's secrets until nothing of it can print any more.
    drop(setup);
    ExitCode::from(code)
}

/// Runs the service, or one of its commands.
fn serving(
    launcher: PathBuf,
    vars: &[(String, String)],
    serve: Serve,
    telling: Telling,
) -> ExitCode {
    let environment = Environment::from_vars(vars.iter().cloned());
    let redactor = LogRedactor::default();
    logging(environment.debug, &redactor);
    let (runtime, directory) = match (tokio::runtime::Runtime::new(), std::env::current_dir()) {
        (Ok(runtime), Ok(directory)) => (runtime, directory),
        (Err(error), _) => return failed(&format!("the runtime could not be started: {error}")),
        (_, Err(error)) => {
            return failed(&format!("The current directory cannot be read: {error}"));
        }
    };
    let actions = Actions::writing_to(Box::new(std::io::stderr()), false, None, None)
        .answering_to(Box::new(std::io::stdout()))
        .telling(telling.verbosity())
        .looking(look(telling, vars))
        .within(&redactor);
    let setup = Setup {
        persona: None,
        session: None,
        inputs: RawInputs::default(),
        actions,
        clock: Clock::scaled(environment.time_scale).limited(environment.limit_scale),
        roots: roots(&launcher, vars),
        launcher,
        environment,
    };
    let (config, store) = (
        directory.join(serve.config()),
        serve.store().map(str::to_owned),
    );
    let order = serve.order(&directory);
    let from = (config.as_path(), store.as_deref());
    let code = runtime.block_on(commands::serve(&setup, from, vars, &order));
    runtime.shutdown_background();
    ExitCode::from(unless_lost(&setup.actions, code))
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

/// Returns true if a person sees the stream, on a terminal that understands more than text.
fn is_shown(stream: &impl IsTerminal, vars: &[(String, String)]) -> bool {
    stream.is_terminal() && variable(vars, "TERM").is_some_and(|kind| kind != "dumb")
}

/// Returns the look of a result on standard output.
fn look(telling: Telling, vars: &[(String, String)]) -> Look {
    const WIDTHS: (u16, u16) = (40, 120);
    let stdout = std::io::stdout();
    let size = console::Term::stdout().size_checked();
    let width = size.filter(|_| stdout.is_terminal());
    Look {
        colours: match telling.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_shown(&stdout, vars) && variable(vars, "NO_COLOR").is_none(),
        },
        width: width.map_or(terminal::USUAL_WIDTH, |(_, columns)| {
            columns.clamp(WIDTHS.0, WIDTHS.1).into()
        }),
    }
}

async fn run(setup: &Result<Setup, Vec<String>>, work: Work) -> u8 {
    let setup = match setup {
        Ok(setup) => setup,
        Err(sentences) => return refused(sentences),
    };
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => {
            return refused(&[format!("The current directory cannot be read: {error}")]);
        }
    };
    carry_out(setup, work, &directory).await
}

/// Does the work of a command. Returns the exit code.
async fn carry_out(setup: &Setup, work: Work, directory: &Path) -> u8 {
    let below = |path: Option<PathBuf>| {
        path.map_or_else(|| directory.to_owned(), |path| directory.join(path))
    };
    match work {
        Work::Action => commands::action(setup).await,
        Work::Local {
            base,
            path,
            format,
            output,
            ..
        } => {
            let order = Order {
                directory: below(path),
                base,
                format: format.into(),
                output,
            };
            commands::local(setup, &order).await
        }
        Work::Config {
            base,
            path,
            file,
            json,
            ..
        } => {
            let order = ConfigOrder {
                directory: below(path),
                base,
                file,
                json,
            };
            commands::config(setup, &order).await
        }
        Work::Loop { repo, pr, .. } => rounds(setup, repo.as_ref(), pr.as_ref(), directory).await,
        Work::State {
            target,
            memory,
            json,
            explain,
        } => {
            let form = match (json, explain) {
                (true, _) => Form::Json,
                (false, true) => Form::Explained,
                (false, false) => Form::Table,
            };
            state(setup, &target, (memory, form), directory).await
        }
        Work::Review { ref target, .. }
        | Work::Fix { ref target, .. }
        | Work::Doctor { ref target, .. } => match key(setup, target, directory).await {
            Ok(key) => at_pull(setup, work, &key, directory).await,
            Err(code) => code,
        },
    }
}

/// Does the work of a command that names a pull request.
async fn at_pull(setup: &Setup, work: Work, key: &PrKey, directory: &Path) -> u8 {
    match work {
        Work::Fix {
            patch_out, publish, ..
        } => {
            let half = half(patch_out, publish, directory);
            commands::fix(setup, key, &half).await
        }
        Work::Doctor { no_model, .. } => commands::doctor(setup, key, !no_model).await,
        _ => commands::review(setup, &Event::manual(key)).await,
    }
}

/// Shows the threads of the pull request that is named; without one, what is remembered of so many closed ones.
async fn state(
    setup: &Setup,
    target: &StateTarget,
    (memory, form): (Option<u8>, Form),
    directory: &Path,
) -> u8 {
    let repo = target.repo.as_ref();
    match &target.pr {
        Some(pull) => match commands::pull_request(setup, pull, repo, directory).await {
            Ok(key) => commands::state(setup, &key, form).await,
            Err(sentence) => refused(&[sentence]),
        },
        None => match commands::repository(setup, repo, directory).await {
            Ok(repo) => commands::remembered(setup, &repo, memory, form == Form::Json).await,
            Err(sentence) => refused(&[sentence]),
        },
    }
}

/// The half of a fix that the flags name.
fn half(patch_out: Option<PathBuf>, publish: Option<PathBuf>, directory: &Path) -> Half {
    match (patch_out, publish) {
        (Some(file), _) => Half::PatchOut(directory.join(file)),
        (None, Some(file)) => Half::Publish(directory.join(file)),
        (None, None) => Half::Both,
    }
}

/// Reviews and fixes the pull request that is named, or that of the branch. Returns the exit code.
async fn rounds(
    setup: &Setup,
    repo: Option<&RepoRef>,
    pull: Option<&PullRef>,
    directory: &Path,
) -> u8 {
    let found = match pull {
        Some(pull) => commands::pull_request(setup, pull, repo, directory).await,
        None => commands::pull_request_of_branch(setup, repo, directory).await,
    };
    match found {
        Ok(key) => commands::rounds(setup, &key).await,
        Err(sentence) => refused(&[sentence]),
    }
}

/// Returns the exit code of a command, or that of a result that could not be written.
fn unless_lost(actions: &Actions, code: u8) -> u8 {
    match actions.lost_answer() {
        Some(why) => refused(&[format!("The result could not be written: {why}.")]),
        None => code,
    }
}

/// Says what kept the program from its work. Returns the exit code.
fn refused(sentences: &[String]) -> u8 {
    for sentence in sentences {
        Errors::default().complain(sentence);
    }
    2
}

/// The pull request of a command, or the exit code after it was said why there is none.
async fn key(setup: &Setup, target: &Target, directory: &Path) -> Result<PrKey, u8> {
    let found = commands::pull_request(setup, &target.pr, target.repo.as_ref(), directory).await;
    found.map_err(|sentence| refused(&[sentence]))
}

fn setup(
    launcher: PathBuf,
    environment: Environment,
    vars: &[(String, String)],
    work: &Work,
    telling: Telling,
) -> Result<Setup, Vec<String>> {
    let session = session(vars, work)?;
    let ordered = session.as_ref().map(|session| &session.order);
    let inputs = match ordered {
        Some(order) => inputs_of_order(order, work),
        None => inputs(&environment, vars, work)?,
    };
    let workspace = ordered.map(|order| PathBuf::from(&order.folder));
    let environment = Environment {
        workspace: workspace.or(environment.workspace),
        ..environment
    };
    let named = work.reviewer().map(Persona::named);
    Ok(Setup {
        persona: ordered.map_or(named, |order| order.reviewer.clone()),
        session,
        inputs,
        actions: actions(&environment, vars, work, telling),
        clock: Clock::scaled(environment.time_scale).limited(environment.limit_scale),
        roots: roots(&launcher, vars),
        launcher,
        environment,
    })
}

/// The session that a service ordered.
fn session(vars: &[(String, String)], work: &Work) -> Result<Option<OrderedSession>, Vec<String>> {
    if !work.is_session() {
        return Ok(None);
    }
    let order = variable(vars, process_env::STANDARD_INPUT).unwrap_or_default();
    let session = SessionOrder::parse(order.as_bytes()).and_then(OrderedSession::new);
    session.map(Some).map_err(|sentence| vec![sentence])
}

/// The inputs of an order. Nothing of the environment is one.
fn inputs_of_order(order: &SessionOrder, work: &Work) -> RawInputs {
    let mut inputs = RawInputs::default().of_shell();
    for (name, value) in &order.inputs {
        inputs.set(name, value);
    }
    set_event(&mut inputs, work);
    inputs
}

fn set_event(inputs: &mut RawInputs, work: &Work) {
    if let Work::Review {
        review_event: Some(event),
        ..
    } = work
    {
        inputs.set("review_event", event);
    }
}

/// The inputs of a workflow, or those of a shell: arguments before variables.
fn inputs(
    environment: &Environment,
    vars: &[(String, String)],
    work: &Work,
) -> Result<RawInputs, Vec<String>> {
    let inputs = RawInputs::from_vars(vars.iter().cloned());
    let mut inputs = inputs.map_err(|error| vec![error.to_string()])?;
    if !environment.in_actions {
        inputs = inputs.of_shell();
    }
    if let Some(given) = work.given() {
        for (name, value) in &given.inputs {
            inputs.set(name, value);
        }
        for (name, value) in work.flags().into_iter().flat_map(cli::Flags::inputs) {
            inputs.set(name, value);
        }
        shell::take_secrets(&mut inputs, |name| variable(vars, name));
    }
    set_event(&mut inputs, work);
    match work {
        Work::Review { dry_run: true, .. }
        | Work::Fix { dry_run: true, .. }
        | Work::Fix {
            patch_out: Some(_), ..
        } => inputs.set("dry_run", "true"),
        Work::Loop { .. } => inputs.set("fix", "auto"),
        _ => {}
    }
    Ok(inputs)
}

/// Opens the outputs of a command. A runner reads the log of a review on standard output; everywhere else standard
/// output has the result and nothing else.
fn actions(
    environment: &Environment,
    vars: &[(String, String)],
    work: &Work,
    telling: Telling,
) -> Actions {
    let verbosity = match telling.verbosity() {
        Verbosity::Normal if environment.debug => Verbosity::Verbose,
        verbosity => verbosity,
    };
    let (output, summary) = (environment.output.clone(), environment.step_summary.clone());
    let stderr = std::io::stderr();
    let in_actions = environment.in_actions;
    let live = !in_actions && verbosity > Verbosity::Quiet && is_shown(&stderr, vars);
    let actions = match work {
        Work::Action => Actions::new(in_actions, output, summary),
        Work::Review { .. } | Work::Fix { .. } | Work::Loop { .. } if in_actions => {
            Actions::new(true, output, summary)
        }
        Work::Local { .. } => Actions::writing_to(Box::new(stderr), false, None, None)
            .answering_to(Box::new(std::io::stdout()))
            .live(live),
        Work::Review { .. }
        | Work::Fix { .. }
        | Work::Loop { .. }
        | Work::Config { .. }
        | Work::Doctor { .. }
        | Work::State { .. } => Actions::writing_to(Box::new(stderr), in_actions, output, summary)
            .answering_to(Box::new(std::io::stdout()))
            .live(live),
    };
    actions.telling(verbosity).looking(look(telling, vars))
}

/// Folders whose `node_modules` may hold the sidecar: where the image puts it, above the executable, where a checkout and an npm
/// package have it, and where the npm package's command found it.
fn roots(launcher: &Path, vars: &[(String, String)]) -> Vec<PathBuf> {
    let image = PathBuf::from("/opt/opencode-reviewer");
    let above = launcher.ancestors().skip(1).take(5).map(PathBuf::from);
    let told = variable(vars, "OPENCODE_REVIEWER_ROOTS").unwrap_or_default();
    let told = std::env::split_paths(told).filter(|folder| folder.is_absolute());
    std::iter::once(image).chain(above).chain(told).collect()
}

/// The crates whose messages a debug run shows.
const OUR_CRATES: [&str; 8] = [
    "opencode_reviewer",
    "reviewer_agent",
    "reviewer_core",
    "reviewer_engine",
    "reviewer_github",
    "reviewer_repo",
    "reviewer_system",
    "reviewer_web",
];

/// Whatever is told besides the run's own lines may quote foreign text, the words of a panic included. Libraries tell
/// everything that passes through them when they are asked to debug, so only this program's are.
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

//! Runs the commands that need no inputs. Separate from `main`, because no review is set up for them.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: asks the system where it was started"
)]

use crate::cli::{Aside, Cli};
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use opencode_reviewer::actions::Actions;
use opencode_reviewer::commands;
use reviewer_core::config::environment::Environment;
use std::io::{ErrorKind, Write as _};

/// Runs a command and returns its exit code. `actions` takes its result, `vars` are the variables of the process.
pub fn run(aside: Aside, actions: &Actions, vars: &[(String, String)]) -> Result<u8, String> {
    match aside {
        Aside::Inputs => Ok(commands::inputs(actions)),
        Aside::Completions { shell } => completions(shell),
        Aside::Init(init) => {
            let runtime = tokio::runtime::Runtime::new();
            let runtime =
                runtime.map_err(|error| format!("the runtime could not be started: {error}"))?;
            let directory = std::env::current_dir();
            let directory = directory
                .map_err(|error| format!("The current directory cannot be read: {error}"))?;
            let environment = Environment::from_vars(vars.iter().cloned());
            let order = init.order(&directory);
            Ok(runtime.block_on(commands::init(actions, &environment, &order)))
        }
    }
}

/// The script of a shell. For bash it is made for a name without a hyphen, and completes the real one, because options of
/// subcommands are not completed otherwise (https://github.com/clap-rs/clap/issues/6421).
fn script(shell: Shell, cli: &mut Command) -> String {
    let name = cli.get_name().to_owned();
    let plain = name.replace('-', "_");
    let made_for = if shell == Shell::Bash { &plain } else { &name };
    let mut script = Vec::new();
    clap_complete::generate(shell, cli, made_for, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    script.replace(&format!(" {plain}\n"), &format!(" {name}\n"))
}

/// The command as its help shows it, without what only this program calls.
fn shown(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|one| !one.is_hide_set());
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut made = Command::new(command.get_name().to_owned())
        .args(arguments.cloned())
        .subcommands(below.map(shown));
    if let Some(about) = command.get_about() {
        made = made.about(about.clone());
    }
    made
}

/// Prints the script that a shell reads to complete this program's commands and flags.
fn completions(shell: Shell) -> Result<u8, String> {
    let script = script(shell, &mut shown(&Cli::command()));
    match std::io::stdout().write_all(script.as_bytes()) {
        // The reader has read enough, as `head` does.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("The result could not be written: {error}."))
        }
        _ => Ok(0),
    }
}

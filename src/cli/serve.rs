//! The command `serve` and its own commands, as clap reads them.

use clap::{Args, Subcommand, ValueEnum};
use opencode_reviewer::commands::{AgentsOrder, Role, ServeOrder, TokensOrder};
use reviewer_engine::tokens;
use std::path::{Path, PathBuf};

pub const OF_SERVE: &str = "\
Exit codes:
  0  ended by a signal, or the command is done
  2  the service could not start, or the command failed; `check`: something is to be done";

#[derive(Args)]
pub struct Serve {
    /// The configuration
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "service.yml"
    )]
    config: PathBuf,
    /// The store, in place of the one that the configuration names
    #[arg(long, global = true, value_name = "FILE or ADDRESS")]
    store: Option<String>,
    /// The part of the service that this process is; one alone has all of it
    #[arg(long, value_enum, default_value = "all")]
    role: ProcessRole,
    /// Read the lives of all open pull requests from GitHub, because the store was lost
    #[arg(long)]
    rebuild: bool,
    #[command(subcommand)]
    command: Option<ServeCommand>,
}

#[derive(Subcommand)]
enum ServeCommand {
    /// Accounts and personas that review and fix
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Tokens of the HTTP API
    #[command(subcommand)]
    Tokens(TokensCommand),
    /// Try everything that the service needs, and start nothing
    Check,
    /// Write all of the store to a new file, while the service is stopped
    Export { file: PathBuf },
    /// Fill an empty store with an exported one, before the service is started on it
    Import { file: PathBuf },
}

#[derive(Subcommand)]
enum AgentsCommand {
    /// Add an agent; its token is asked for, or read from standard input
    Add {
        name: String,
        /// Its account on GitHub [default: the login of the configuration]
        #[arg(long)]
        login: Option<String>,
        /// A file with the text of its persona
        #[arg(long, value_name = "FILE")]
        persona_file: Option<PathBuf>,
        /// Read the token from standard input
        #[arg(long)]
        token_stdin: bool,
    },
    /// Show names and logins, never tokens
    List,
    /// Remove an agent and its token
    Remove { name: String },
    /// Replace the token of an agent
    Rotate {
        name: String,
        /// Read the token from standard input
        #[arg(long)]
        token_stdin: bool,
    },
}

#[derive(Subcommand)]
enum TokensCommand {
    /// Add a token, and print it once
    Add {
        name: String,
        /// `operate` may wake and retry pull requests, and reads, too
        #[arg(long, value_enum)]
        role: RoleName,
    },
    /// Show names and roles, never tokens
    List,
    /// Remove a token
    Remove { name: String },
    /// Replace a token, and print the new one once
    Rotate { name: String },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProcessRole {
    /// Takes webhooks and answers the HTTP API
    Front,
    /// Acts on GitHub and runs sessions
    Worker,
    /// Both
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    Read,
    Operate,
}

impl Serve {
    pub fn config(&self) -> &Path {
        &self.config
    }

    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    /// True if the command reads standard input.
    pub fn takes_input(&self) -> bool {
        matches!(
            &self.command,
            Some(ServeCommand::Agents(
                AgentsCommand::Add {
                    token_stdin: true,
                    ..
                } | AgentsCommand::Rotate {
                    token_stdin: true,
                    ..
                }
            ))
        )
    }

    /// The order, with paths below the directory.
    pub fn order(self, directory: &Path) -> ServeOrder {
        match self.command {
            None => ServeOrder::Run {
                rebuild: self.rebuild,
                role: match self.role {
                    ProcessRole::Front => Role::Front,
                    ProcessRole::Worker => Role::Worker,
                    ProcessRole::All => Role::All,
                },
            },
            Some(ServeCommand::Check) => ServeOrder::Check,
            Some(ServeCommand::Export { file }) => ServeOrder::Export(directory.join(file)),
            Some(ServeCommand::Import { file }) => ServeOrder::Import(directory.join(file)),
            Some(ServeCommand::Agents(command)) => ServeOrder::Agents(match command {
                AgentsCommand::Add {
                    name,
                    login,
                    persona_file,
                    ..
                } => AgentsOrder::Add {
                    name,
                    login,
                    persona_file: persona_file.map(|file| directory.join(file)),
                },
                AgentsCommand::List => AgentsOrder::List,
                AgentsCommand::Remove { name } => AgentsOrder::Remove { name },
                AgentsCommand::Rotate { name, .. } => AgentsOrder::Rotate { name },
            }),
            Some(ServeCommand::Tokens(command)) => ServeOrder::Tokens(match command {
                TokensCommand::Add { name, role } => TokensOrder::Add {
                    name,
                    role: match role {
                        RoleName::Read => tokens::Role::Read,
                        RoleName::Operate => tokens::Role::Operate,
                    },
                },
                TokensCommand::List => TokensOrder::List,
                TokensCommand::Remove { name } => TokensOrder::Remove { name },
                TokensCommand::Rotate { name } => TokensOrder::Rotate { name },
            }),
        }
    }
}

//! The command line as clap reads it, with the help that people get.

mod aside;
mod serve;
mod version;

pub use aside::Aside;
pub use serve::Serve;

use clap::{Parser, Subcommand, ValueEnum};
use opencode_reviewer::actions::Verbosity;
use opencode_reviewer::commands::Format;
use reviewer_agent::opencode::sandbox::SandboxSpec;
use reviewer_core::domain::{PullRef, RepoRef};
use std::ffi::OsString;
use std::path::PathBuf;

/// Reviews pull requests as a senior engineer would.
#[derive(Parser)]
#[command(version, long_version = version::long(), about)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub telling: Telling,
}

/// The flags for the amount and the look of the output.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Telling {
    /// Tell more: the sandbox, and every file that the model does not see
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Tell the result, warnings and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// When the result has colours; NO_COLOR turns them off, too
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

impl Telling {
    pub fn verbosity(self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    Work(Work),
    #[command(flatten)]
    Aside(Aside),
    /// Keep the life of pull requests: review, fix and merge as webhooks tell
    #[command(after_help = serve::OF_SERVE)]
    Serve(Serve),
    /// Restrict this process and become another program
    #[command(hide = true)]
    Confine {
        /// The resources that the program may reach, as JSON
        #[arg(value_parser = sandbox_spec)]
        spec: SandboxSpec,
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

const OF_ACTION: &str = "\
Exit codes:
  0  reviewed, or skipped; a finding that blocks fails the check, not the job
  1  a finding blocks, and fail_job is true or the check cannot be written
  2  the review is incomplete, or could not begin
  143  the run was cancelled";

const OF_REVIEW: &str = "\
Exit codes:
  0  reviewed, or skipped; a finding that blocks fails the check on the pull request, not this command
  1  a finding blocks, and fail_job is true or the check cannot be written
  2  the review is incomplete, or could not begin
  130, 143  interrupted
There is no check for `local`, so there 1 always means that a finding blocks.";

const OF_LOCAL: &str = "\
Exit codes:
  0  no finding blocks, or there is nothing to review
  1  a finding blocks: its score is at or above blocking_score_threshold
  2  the review is incomplete, or could not begin
  130, 143  interrupted
For `review` the check on the pull request is the gate, so there blocking findings give 0 unless fail_job is true.";

const OF_FIX: &str = "\
Exit codes:
  0  the fix is delivered, now or before, or its bundle is written
  1  nothing was fixed; the last sentence says why
  2  something is incomplete or failed
  130, 143  interrupted";

const OF_LOOP: &str = "\
Exit codes:
  0  converged: nothing is left to fix, and the consensus is approve
  1  people are needed: every cycle is used, or manual intervention is required
  2  incomplete or failed
  130, 143  interrupted";

const OF_DOCTOR: &str = "\
Exit codes:
  0  a review would begin
  2  something is broken
  130, 143  interrupted";

const OF_CONFIG: &str = "\
Exit codes:
  0  the settings are printed, and a review could begin with them
  2  something is wrong with them, or they cannot be read";

const OF_STATE: &str = "\
Exit codes:
  0  the threads, or what is remembered, are printed
  2  they cannot be read";

/// The commands that need inputs.
#[derive(Subcommand)]
pub enum Work {
    /// Review the pull request of the workflow event (what the container runs)
    #[command(after_help = OF_ACTION)]
    Action,
    /// Review a pull request from a shell
    #[command(after_help = OF_REVIEW)]
    Review {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        flags: Flags,
        /// Print what would be posted, and post nothing
        #[arg(long)]
        dry_run: bool,
        /// Review as this one reviewer: product, quality, security or general
        #[arg(long, value_name = "NAME")]
        reviewer: Option<String>,
        /// comment, or decide: approve and request changes (input review_event)
        #[arg(long, value_name = "EVENT")]
        review_event: Option<String>,
        /// Take a service's order from standard input
        #[arg(long, hide = true, conflicts_with = "dry_run")]
        session: bool,
    },
    /// Fix open findings of a pull request, as the comment `fix` does
    #[command(after_help = OF_FIX)]
    Fix {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        flags: Flags,
        /// Fix, verify, and write a bundle signed with state_key; nothing is written to GitHub
        #[arg(long, value_name = "FILE", conflicts_with = "publish")]
        patch_out: Option<PathBuf>,
        /// Make a commit of such a bundle, and post the report; nothing is run, and no model is asked
        #[arg(long, value_name = "FILE")]
        publish: Option<PathBuf>,
        /// Print what would be posted and committed, and write nothing to GitHub
        #[arg(long)]
        dry_run: bool,
        /// Take a service's order from standard input
        #[arg(long, hide = true, conflicts_with_all = ["dry_run", "patch_out", "publish"])]
        session: bool,
    },
    /// Review and fix a pull request in turns, until nothing is left or people are needed
    #[command(after_help = OF_LOOP)]
    Loop {
        /// Repository as owner/name or by its address [default: git's remote origin]
        #[arg(long)]
        repo: Option<RepoRef>,
        /// Pull request: 12, #12 or its address [default: the one of the current branch]
        #[arg(long)]
        pr: Option<PullRef>,
        #[command(flatten)]
        flags: Flags,
        #[command(flatten)]
        given: Given,
    },
    /// Review the working tree of a repository; GitHub is not asked
    #[command(after_help = OF_LOCAL)]
    Local {
        /// Branch, tag or commit to compare with [default: the default branch of origin, else main, else master]
        #[arg(long)]
        base: Option<String>,
        /// A directory of the repository [default: the current directory]
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
        /// The format of the findings
        #[arg(long, value_enum, default_value_t = Print::Text)]
        format: Print,
        /// Write the result to a file
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        flags: Flags,
        #[command(flatten)]
        given: Given,
    },
    /// Try everything that a review of a pull request needs, and review nothing
    #[command(after_help = OF_DOCTOR)]
    Doctor {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        flags: Flags,
        /// Do not ask the model, which costs a few tokens
        #[arg(long)]
        no_model: bool,
    },
    /// Print the settings that a review here would have, each with its origin
    #[command(after_help = OF_CONFIG)]
    Config {
        /// Branch, tag or commit whose settings file counts [default: the default branch of origin, else main, else master]
        #[arg(long)]
        base: Option<String>,
        /// A directory of the repository [default: the current directory]
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
        /// Read this settings file in place of the base branch's
        #[arg(long, value_name = "FILE", conflicts_with = "base")]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        flags: Flags,
        #[command(flatten)]
        given: Given,
    },
    /// Show the reviewer's threads on a pull request, or what it remembers of closed ones
    #[command(after_help = OF_STATE)]
    State {
        #[command(flatten)]
        target: StateTarget,
        /// Closed pull requests to read, without --pr [default: input memory, else 10]
        #[arg(long, value_name = "N", conflicts_with = "pr", value_parser = closed_pulls)]
        memory: Option<u8>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Say which comment decided each status, and why
        #[arg(long, conflicts_with = "json", requires = "pr")]
        explain: bool,
    },
}

#[derive(clap::Args)]
pub struct StateTarget {
    /// Repository as owner/name or by its address [default: git's remote origin]
    #[arg(long)]
    pub repo: Option<RepoRef>,
    /// Pull request: 12, #12 or its address; without it, what people decided in the last closed pull requests is listed
    #[arg(long)]
    pub pr: Option<PullRef>,
    #[command(flatten)]
    pub given: Given,
}

#[derive(clap::Args)]
pub struct Target {
    /// Repository as owner/name or by its address [default: git's remote origin]
    #[arg(long)]
    pub repo: Option<RepoRef>,
    /// Pull request: 12, #12 or its address
    #[arg(long)]
    pub pr: PullRef,
    #[command(flatten)]
    pub given: Given,
}

/// Flags for the inputs that people set most.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// The model that reviews, such as anthropic/claude-sonnet-4-5 (input model)
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// An OpenAI-compatible endpoint in the provider's place (input model_base_url)
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Findings scored below it, 1 to 10, are not shown (input problem_score_threshold)
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    threshold: Option<String>,
    /// Findings scored at or above it, 1 to 10, block; off: none does (input blocking_score_threshold)
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    blocking_threshold: Option<String>,
}

impl Flags {
    /// The inputs that are set by flags.
    pub fn inputs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("model", &self.model),
            ("model_base_url", &self.base_url),
            ("problem_score_threshold", &self.threshold),
            ("blocking_score_threshold", &self.blocking_threshold),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

#[derive(clap::Args)]
pub struct Given {
    /// An input of the action, such as --input max_cost_usd=1 (repeatable); `opencode-reviewer inputs` lists them.
    /// Secrets are read from OPENCODE_API_KEY or the provider's own variable, such as ANTHROPIC_API_KEY, and, for a
    /// pull request, from GITHUB_TOKEN or GH_TOKEN
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Print {
    Text,
    Json,
    Sarif,
    Markdown,
    Html,
}

impl From<Print> for Format {
    fn from(print: Print) -> Self {
        match print {
            Print::Text => Self::Text,
            Print::Json => Self::Json,
            Print::Sarif => Self::Sarif,
            Print::Markdown => Self::Markdown,
            Print::Html => Self::Html,
        }
    }
}

impl Work {
    /// Inputs by arguments; none where a workflow gives them.
    pub fn given(&self) -> Option<&Given> {
        match self {
            Self::Action => None,
            Self::Local { given, .. } | Self::Loop { given, .. } | Self::Config { given, .. } => {
                Some(given)
            }
            Self::Review { target, .. }
            | Self::Fix { target, .. }
            | Self::Doctor { target, .. } => Some(&target.given),
            Self::State { target, .. } => Some(&target.given),
        }
    }

    /// True if standard input holds the order of a service.
    pub fn is_session(&self) -> bool {
        match self {
            Self::Review { session, .. } | Self::Fix { session, .. } => *session,
            _ => false,
        }
    }

    /// The reviewer that reviews alone.
    pub fn reviewer(&self) -> Option<&str> {
        match self {
            Self::Review { reviewer, .. } => reviewer.as_deref(),
            _ => None,
        }
    }

    pub fn flags(&self) -> Option<&Flags> {
        match self {
            Self::Action | Self::State { .. } => None,
            Self::Local { flags, .. }
            | Self::Review { flags, .. }
            | Self::Fix { flags, .. }
            | Self::Loop { flags, .. }
            | Self::Config { flags, .. }
            | Self::Doctor { flags, .. } => Some(flags),
        }
    }
}

/// A number of closed pull requests.
fn closed_pulls(text: &str) -> Result<u8, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=20).contains(number))
        .ok_or_else(|| "expected a whole number from 1 to 20".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE, such as max_cost_usd=1".into())
}

fn sandbox_spec(json: &str) -> Result<SandboxSpec, serde_json::Error> {
    serde_json::from_str(json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn every_command_tells_its_exit_codes() {
        let cli = Cli::command();
        cli.clone().debug_assert();
        for command in cli.get_subcommands().filter(|one| !one.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_default();
            assert!(
                help.starts_with("Exit codes:\n  0  "),
                "{}",
                command.get_name()
            );
        }
        for (name, other) in [("local", "`review`"), ("review", "`local`")] {
            let command = cli.find_subcommand(name).expect("a command");
            let help = command.get_after_help().expect("help").to_string();
            assert!(help.contains(other), "{name} does not tell the difference");
        }
    }

    #[test]
    fn a_number_of_pull_requests_that_cannot_be_read_is_told_with_the_range() {
        for wrong in ["many", "0", "21", "-1"] {
            let memory = format!("--memory={wrong}");
            let Err(told) = Cli::try_parse_from(["x", "state", &memory]) else {
                panic!("{wrong} is taken");
            };
            let told = told.to_string();
            assert!(
                told.contains("expected a whole number from 1 to 20"),
                "{told}"
            );
        }
    }

    #[test]
    fn flags_set_the_inputs_that_they_name() {
        let arguments = ["x", "local", "--model", "a/b", "--threshold=7", "-v"];
        let cli = Cli::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(cli.telling.verbosity(), Verbosity::Verbose);
        let Command::Work(work) = cli.command else {
            panic!("another command");
        };
        let flags: Vec<_> = work.flags().expect("flags").inputs().collect();
        let expected = [("model", "a/b"), ("problem_score_threshold", "7")];
        assert_eq!(flags, expected);
        for (name, _) in flags {
            let known = reviewer_core::config::inputs::INPUTS.iter();
            assert!(known.into_iter().any(|input| input.name == name), "{name}");
        }
    }
}

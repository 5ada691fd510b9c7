//! The commands that need no inputs, as clap reads them.

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use opencode_reviewer::commands::InitOrder;
use reviewer_core::init::Kind;
use std::path::{Path, PathBuf};

const OF_INIT: &str = "\
Exit codes:
  0  the files are written, or are there already and the same
  2  another file is there, a flag is wrong, or a file cannot be written; nothing that was there is changed";

/// The commands that need no inputs.
#[derive(Subcommand)]
pub enum Aside {
    /// Write the workflow into this repository, and print the steps after it
    #[command(after_help = OF_INIT)]
    Init(Init),
    /// Print the table of inputs: name, default, meaning
    #[command(after_help = "Exit codes:\n  0  the table is printed\n  2  it cannot be written")]
    Inputs,
    /// Print the completions of a shell
    #[command(after_help = "Exit codes:\n  0  the script is printed\n  2  it cannot be written")]
    Completions {
        /// The shell that reads them
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// The flags of `init`.
#[derive(Args)]
pub struct Init {
    /// The workflow to write
    #[arg(long, value_enum, default_value_t = Workflow::Basic)]
    kind: Workflow,
    /// Write .github/opencode-reviewer.yml, too, with every setting as a comment
    #[arg(long)]
    settings: bool,
    /// The model's provider, such as anthropic [default: anthropic]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model that reviews, such as anthropic/claude-sonnet-4-5
    #[arg(long, value_name = "PROVIDER/NAME")]
    model: Option<String>,
    /// The commit of the release that the workflow names; for fix the digest of its image
    #[arg(long, value_name = "COMMIT")]
    pin: Option<String>,
    /// A directory of the repository [default: the current directory]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Workflow {
    /// Review each pull request
    Basic,
    /// Review when somebody mentions the reviewer
    Mentions,
    /// Review, for a check that holds merges back
    Gate,
    /// Review pull requests from forks, too, when somebody asks
    Forks,
    /// Fix findings when somebody asks, verified by your own steps
    Fix,
}

impl Init {
    pub fn order(self, directory: &Path) -> InitOrder {
        let kind = match self.kind {
            Workflow::Basic => Kind::Basic,
            Workflow::Mentions => Kind::Mentions,
            Workflow::Gate => Kind::Gate,
            Workflow::Forks => Kind::Forks,
            Workflow::Fix => Kind::Fix,
        };
        InitOrder {
            directory: self
                .path
                .map_or_else(|| directory.to_owned(), |path| directory.join(path)),
            kind,
            settings: self.settings,
            provider: self.provider,
            model: self.model,
            pin: self.pin,
        }
    }
}

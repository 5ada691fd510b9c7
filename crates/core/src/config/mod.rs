//! The configuration of a run. Raw strings become meaning here, once; nothing later reads the environment.

pub mod environment;
pub mod file;
mod fix;
mod globs;
pub mod inputs;
pub mod lifecycle;
mod persona;
pub mod reviewers;
pub mod service;
mod shape;
pub mod shell;
mod values;

pub use fix::{FixChoice, FixDelivery, FixMode, FixSettings};
pub use globs::Globs;
pub use persona::{Persona, is_reviewer_name};
pub use reviewers::{Focus, ReviewerChoice};
pub use shape::Shape;

use crate::domain::{Login, Score, Sensitivity};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The model that reviews, and how it is reached.
#[derive(Debug, Clone, Default)]
pub struct ModelChoice {
    pub provider: String,
    pub name: String,
    /// An OpenAI-compatible endpoint that takes the provider's place.
    pub base_url: Option<String>,
    pub key: Option<SecretString>,
    /// The number of tokens that the model takes at once, where somebody said so.
    pub context: Option<u64>,
}

impl ModelChoice {
    /// Returns true if the other one is this model at the same place.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.provider, &self.name, &self.base_url)
            == (&other.provider, &other.name, &other.base_url)
    }
}

/// As the input `model` names it.
impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// The pull requests from forks that are reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForkReviews {
    /// When somebody with write access asks, for each head anew.
    OnMention,
    /// Like any other.
    Always,
    #[default]
    Never,
}

/// The events that reviews may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReviewMode {
    /// Comments only; the check is the gate.
    #[default]
    Comment,
    /// Approves, requests changes, or comments.
    Decide,
}

/// The rules that decide which findings are posted and which of them block.
#[derive(Debug, Clone)]
pub struct Policy {
    pub threshold: Score,
    /// The maximum number of suppressed findings that may be combined into one.
    pub elevation: usize,
    /// `None`: nothing blocks.
    pub blocking: Option<Score>,
    /// `None`: read from the repository.
    pub sensitivity: Option<Sensitivity>,
}

/// Nothing is said and nothing blocks, until the inputs say so.
impl Default for Policy {
    fn default() -> Self {
        Self {
            threshold: Score::MAX,
            elevation: 0,
            blocking: None,
            sensitivity: None,
        }
    }
}

/// Access to the web, where it is enabled.
#[derive(Debug, Clone, Default)]
pub struct WebChoice {
    /// The search endpoint, if not the default one.
    pub search_url: Option<String>,
    pub search_key: Option<SecretString>,
}

/// A request of the repository for reviews in which certain files change.
#[derive(Debug, Clone)]
pub struct Instruction {
    pub globs: Globs,
    /// The globs as they were written.
    pub shown: String,
    pub text: String,
}

/// Pull requests that the repository does not want to be reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    pub labels: Vec<String>,
    pub authors: Vec<Login>,
    pub drafts: bool,
    pub max_files: Option<u64>,
    pub max_lines: Option<u64>,
}

impl Default for Skip {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            authors: Vec::new(),
            drafts: true,
            max_files: None,
            max_lines: None,
        }
    }
}

/// The meaning of the inputs and of the repository's settings. `Default` is the empty form that the table of inputs fills
/// in (`inputs::config`), nothing to run with.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub model: ModelChoice,
    /// At least one, each with its model.
    pub reviewers: Vec<ReviewerChoice>,
    /// Keys of further providers, by their ids.
    pub api_keys: BTreeMap<String, SecretString>,
    pub policy: Policy,
    pub fail_job: bool,
    /// `None`: the web is not asked.
    pub web: Option<WebChoice>,
    /// People and teams as they are mentioned, without the `@`.
    pub human_reviewers: Vec<String>,
    pub trusted_bots: Vec<Login>,
    /// Closed pull requests that are read for what people decided there.
    pub memory: u8,
    /// With its `@`.
    pub mention: String,
    pub skip_label: String,
    pub skip: Skip,
    /// Changed files that are not reviewed, beside what programs write.
    pub ignore: Globs,
    pub instructions: Vec<Instruction>,
    /// SARIF files below the workspace.
    pub static_analysis: Vec<String>,
    pub fork_reviews: ForkReviews,
    pub review_mode: ReviewMode,
    pub fix: FixChoice,
    pub timeout: Duration,
    pub max_cost_usd: f64,
    /// For one pull request; `None`: no such limit.
    pub max_cost_usd_per_day: Option<f64>,
    pub max_tokens: Option<u64>,
    /// For one pull request; `None`: no such limit.
    pub max_tokens_per_day: Option<u64>,
    /// True if nothing is posted, and all of it is printed instead.
    pub dry_run: bool,
    /// Ends the run if the sandbox has a gap.
    pub require_sandbox: bool,
    /// The first signs, all verify.
    pub state_keys: Vec<SecretString>,
}

impl Config {
    /// A hash of the settings that a review depends on: a record made under another fingerprint is not continued. The
    /// model's address is left out, as a runner's own endpoint may move; secrets are no part.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let blocking = self
            .policy
            .blocking
            .map_or_else(|| "off".to_owned(), |score| score.to_string());
        let sensitivity = inputs::sensitivity_name(self.policy.sensitivity);
        let parts = format!(
            "model={}\nthreshold={}\nelevation={}\nblocking={blocking}\nsensitivity={sensitivity}",
            self.model, self.policy.threshold, self.policy.elevation,
        );
        // Off, it leaves the fingerprint as it was before there was a choice.
        let web = if self.web.is_some() { "\nweb=on" } else { "" };
        // What is remembered may be left unsaid.
        let memory = if self.memory > 0 { "\nmemory=on" } else { "" };
        // More of a change may be seen with another one.
        let context = self
            .model
            .context
            .map(|context| format!("\ncontext={context}"));
        let context = context.unwrap_or_default();
        // What counts as seen is a rule, too: a review under another one has shown less.
        let seen = "\nseen=lines";
        let (asked, panel) = (self.asked(), self.panel());
        let files = self.static_analysis.iter();
        let files: Vec<String> = files.map(|file| format!("\nanalysis={file}")).collect();
        let files = files.concat();
        let digest = Sha256::digest(
            format!("{parts}{web}{memory}{context}{seen}{asked}{panel}{files}").as_bytes(),
        );
        data_encoding::HEXLOWER.encode(&digest[..8])
    }

    /// True if the trusted bots are those of the default.
    #[must_use]
    pub fn has_usual_bots(&self) -> bool {
        inputs::usual_bots().is_some_and(|usual| self.trusted_bots == usual)
    }

    /// The reviewers as text; empty where one reviews with the run's own model, as before there was a choice.
    fn panel(&self) -> String {
        let is_usual = match self.reviewers.as_slice() {
            [] => true,
            [one] => {
                let is_general = one.focus == Focus::General && one.persona.is_none();
                is_general && one.model.to_string() == self.model.to_string()
            }
            _ => false,
        };
        if is_usual {
            return String::new();
        }
        let each = self.reviewers.iter();
        let lines = each.map(|one| {
            let persona = one.persona.as_ref().map(Persona::fingerprint);
            let persona = persona.unwrap_or_default();
            format!("\nreviewer={} {}{persona}", one.name, one.model)
        });
        lines.collect::<Vec<_>>().concat()
    }

    /// The repository's instructions as text; empty where there are none.
    fn asked(&self) -> String {
        let ignore = self.ignore.patterns().iter();
        let ignore = ignore.map(|pattern| format!("\nignore={pattern}"));
        let instructions = self.instructions.iter();
        let instructions =
            instructions.map(|one| format!("\ninstruction={}\n{}", one.shown, one.text));
        ignore.chain(instructions).collect()
    }
}

/// The known name that is closest to what was typed, if one is close.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|name| (strsim::damerau_levenshtein(typed, name), name))
        .filter(|(distance, _)| *distance <= 3 && distance * 3 <= typed.len())
        .min()
        .map(|(_, name)| name)
}

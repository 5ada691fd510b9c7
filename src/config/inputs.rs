//! The table of inputs, and the step from the strings of `INPUT_*` to a `Config`. Every wrong value is
//! reported, all at once, because a person fixes a workflow one run at a time.

use super::values::{self, Refusal};
use super::{Config, ModelChoice, Policy, Skip, WebChoice};
use crate::domain::{Login, Score, Sensitivity};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// One input of the action.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub name: &'static str,
    /// The empty string: none. An expression (`${{ … }}`) is filled in by the runner, never by us.
    pub default: &'static str,
    pub required: bool,
    pub secret: bool,
    pub help: &'static str,
}

const fn input(name: &'static str, default: &'static str, help: &'static str) -> Input {
    Input {
        name,
        default,
        required: false,
        secret: false,
        help,
    }
}

/// All inputs, in the order in which `action.yml` and the documentation list them.
pub const INPUTS: &[Input] = &[
    Input {
        required: true,
        ..input(
            "model",
            "",
            "The model that reviews, as provider/name, for example anthropic/claude-sonnet-4-5.",
        )
    },
    Input {
        secret: true,
        ..input(
            "opencode_api_key",
            "",
            "The provider's API key. Not needed where model_base_url takes none.",
        )
    },
    input(
        "model_base_url",
        "",
        "An OpenAI-compatible endpoint to use instead of the provider's own, for example https://llm.example/v1.",
    ),
    input(
        "model_context",
        "",
        "How many tokens the model takes at once, for a model that no catalogue knows; 200000 unless set. A larger context shows more of a large change.",
    ),
    input(
        "problem_score_threshold",
        "5",
        "Findings scored below it (1 to 10) are not posted.",
    ),
    input(
        "score_elevation_threshold",
        "5",
        "How many small findings the reviewer may combine into one that is posted (1 to 100).",
    ),
    input(
        "blocking_score_threshold",
        "9",
        "Open findings scored at or above it (1 to 10) fail the check; off: nothing does. Below problem_score_threshold it acts as if equal to it.",
    ),
    input(
        "fail_job",
        "false",
        "Whether blocking findings fail the job too, and not only the check.",
    ),
    input(
        "enable_web",
        "false",
        "Whether the reviewer may search the web and fetch public pages; see Security before you turn it on for a private repository.",
    ),
    input(
        "web_search_url",
        "",
        "The search endpoint to use instead of https://mcp.exa.ai/mcp; it speaks MCP and has the same tool, web_search_exa.",
    ),
    Input {
        secret: true,
        ..input(
            "web_search_api_key",
            "",
            "The search endpoint's API key, sent as a bearer token. Without one, Exa answers a limited number of questions.",
        )
    },
    Input {
        secret: true,
        ..input(
            "github_token",
            "${{ github.token }}",
            "The token that reads the pull request and posts the review.",
        )
    },
    input(
        "human_reviewers",
        "",
        "People or teams (org/team) who decide where the reviewer and the developer do not agree, beside those who review the pull request; by comma or newline.",
    ),
    input(
        "trusted_bots",
        "opencode-reviewer[bot], github-actions[bot]",
        "Bots whose unsigned finding blocks are read, by comma or newline.",
    ),
    input(
        "mention",
        "@review-my-code-bot",
        "The name to which the reviewer answers in comments.",
    ),
    input(
        "ignore",
        "",
        "Changed files that are not reviewed, as globs by comma or newline, beside those that are excused anyway; a glob after ! is reviewed all the same.",
    ),
    input(
        "skip_label",
        "skip-review",
        "A pull request with this label is not reviewed.",
    ),
    input(
        "sensitivity",
        "auto",
        "How much harm a defect here can do: auto (read from the repository), high, moderate or low.",
    ),
    input(
        "fork_reviews",
        "on_mention",
        "Which heads of pull requests from forks are reviewed: on_mention (those for which somebody with write access mentions the reviewer), always or never.",
    ),
    input(
        "review_timeout_minutes",
        "40",
        "The review ends after so many minutes (1 to 360), with what it has.",
    ),
    input(
        "max_cost_usd",
        "5",
        "The review ends once the model has cost this much, in US dollars.",
    ),
    input(
        "max_cost_usd_per_day",
        "20",
        "Once a pull request has cost this much on a day (UTC), in US dollars, the model is not asked again that day; off: no such limit.",
    ),
    input(
        "max_tokens",
        "",
        "The review ends once the model has used this many tokens; no limit unless set.",
    ),
    input(
        "max_tokens_per_day",
        "off",
        "Once a pull request has used this many tokens on a day (UTC), the model is not asked again that day; off: no such limit.",
    ),
    input(
        "dry_run",
        "false",
        "Whether to print what would be posted instead of posting it; nothing is written to GitHub, and the model is asked as ever.",
    ),
    input(
        "require_sandbox",
        "false",
        "Whether to refuse to run where the kernel cannot enforce the whole sandbox.",
    ),
    Input {
        secret: true,
        ..input(
            "state_key",
            "",
            "The secret that signs what the reviewer remembers, at least 20 characters; several by comma or newline, of which the first signs. The API key serves unless set.",
        )
    },
];

/// A wrong value, as one line for the person who wrote the workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Input {input} {problem}")]
pub struct InputError {
    pub input: &'static str,
    problem: String,
}

/// The inputs as strings, by name; what is empty is not there.
#[derive(Clone, Default)]
pub struct RawInputs(BTreeMap<String, String>);

impl RawInputs {
    /// From the environment's `INPUT_*`. An empty value is GitHub's way to say "not given".
    pub fn from_vars(
        vars: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, envy::Error> {
        let given = vars
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty());
        envy::prefixed("INPUT_").from_iter(given).map(Self)
    }

    /// Replaces an input, for the doors that have arguments of their own.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Whether the user gave it.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.0
            .get(name)
            .is_some_and(|value| !value.trim().is_empty())
    }

    /// The name that people call us by, needed before the inputs are judged.
    #[must_use]
    pub fn mention(&self) -> String {
        let given = self
            .get("mention")
            .and_then(|text| values::mention(text).ok());
        given.unwrap_or_else(|| "@review-my-code-bot".to_owned())
    }

    /// Whether the run holds what it takes to reach a model.
    #[must_use]
    pub fn can_reach_a_model(&self) -> bool {
        self.is_given("opencode_api_key") || self.is_given("model_base_url")
    }

    /// What was given, or the default of the table.
    fn get(&self, name: &str) -> Option<&str> {
        let default = INPUTS
            .iter()
            .find(|input| input.name == name)
            .map_or("", |input| input.default);
        self.0
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
            .or_else(|| (!default.is_empty() && !default.starts_with("${{")).then_some(default))
    }
}

/// Names only: some of the values are secrets.
impl fmt::Debug for RawInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawInputs")
            .field(&self.0.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Reads inputs one after the other and remembers what was wrong with each.
struct Reader<'a> {
    raw: &'a RawInputs,
    errors: Vec<InputError>,
}

impl<'a> Reader<'a> {
    fn new(raw: &'a RawInputs) -> Self {
        Self {
            raw,
            errors: Vec::new(),
        }
    }

    fn optional<T>(
        &mut self,
        input: &'static str,
        read: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Option<T> {
        let given = self.raw.get(input)?;
        match read(given) {
            Ok(value) => Some(value),
            Err(refusal) => {
                let secret = INPUTS.iter().any(|row| row.name == input && row.secret);
                let problem = refusal.sentence(given, secret);
                self.errors.push(InputError { input, problem });
                None
            }
        }
    }

    /// `None` only after an error was noted.
    fn required<T>(
        &mut self,
        input: &'static str,
        missing: &str,
        read: impl FnOnce(&str) -> Result<T, Refusal>,
    ) -> Option<T> {
        if self.raw.get(input).is_none() {
            let problem = format!("is missing; {missing}");
            self.errors.push(InputError { input, problem });
        }
        self.optional(input, read)
    }

    fn model(&mut self) -> Option<ModelChoice> {
        let missing = "accepted is provider/name, for example anthropic/claude-sonnet-4-5.";
        let model = self.required("model", missing, values::model);
        let key = self.optional("opencode_api_key", values::secret);
        let base_url = self.optional("model_base_url", values::base_url);
        let context = self.optional("model_context", |text| {
            values::whole(text, 8_000, 100_000_000)
        });
        let (provider, name) = model?;
        Some(ModelChoice {
            provider,
            name,
            base_url,
            key,
            context,
        })
    }

    /// Read although the web may be off: what is wrong is told either way.
    fn web(&mut self) -> WebChoice {
        WebChoice {
            search_url: self.optional("web_search_url", values::endpoint),
            search_key: self.optional("web_search_api_key", values::secret),
        }
    }

    fn github_token(&mut self) -> Option<SecretString> {
        let missing = "pass ${{ github.token }} or a token of your app.";
        self.required("github_token", missing, values::secret)
    }

    fn policy(&mut self) -> Option<Policy> {
        let threshold = self.optional("problem_score_threshold", values::score);
        let elevation = self.optional("score_elevation_threshold", |text| {
            values::whole(text, 1, 100)
        });
        let blocking = self.optional("blocking_score_threshold", values::score_or_off);
        let sensitivity = self.optional("sensitivity", values::sensitivity);
        let threshold = threshold?;
        Some(Policy {
            threshold,
            elevation: usize::try_from(elevation?).ok()?,
            // What is not posted cannot block, so a lower bar is the threshold itself: raising only the
            // threshold above the default of this one must not turn into an error.
            blocking: blocking?.map(|score: Score| score.max(threshold)),
            sensitivity: sensitivity?,
        })
    }
}

/// What an input is for.
#[must_use]
pub fn help(name: &str) -> &'static str {
    let input = INPUTS.iter().find(|input| input.name == name);
    input.map_or("", |input| input.help)
}

/// Whether `off` is one of its values.
#[must_use]
pub fn takes_off(name: &str) -> bool {
    [
        "blocking_score_threshold",
        "max_cost_usd_per_day",
        "max_tokens_per_day",
    ]
    .contains(&name)
}

/// What is wrong with a value, as what follows the input's name.
#[must_use]
pub fn problem_of(name: &str, value: &str) -> Option<String> {
    let mut raw = RawInputs::default();
    raw.set(name, value);
    let mut reader = Reader::new(&raw);
    read_config(&mut reader);
    let mut errors = reader.errors.into_iter();
    errors
        .find(|error| error.input == name)
        .map(|error| error.problem)
}

/// The model alone, so that it can be tried although other inputs are wrong.
pub fn model_choice(raw: &RawInputs) -> Result<ModelChoice, Vec<InputError>> {
    let mut reader = Reader::new(raw);
    let model = reader.model();
    model
        .filter(|_| reader.errors.is_empty())
        .ok_or(reader.errors)
}

/// The token alone: a review that is not about a pull request needs none.
pub fn github_token(raw: &RawInputs) -> Result<SecretString, Vec<InputError>> {
    let mut reader = Reader::new(raw);
    let token = reader.github_token();
    token
        .filter(|_| reader.errors.is_empty())
        .ok_or(reader.errors)
}

/// The meaning of all inputs but the token, or everything that is wrong with them.
pub fn config(raw: &RawInputs) -> Result<Config, Vec<InputError>> {
    let mut reader = Reader::new(raw);
    let config = read_config(&mut reader);
    config
        .filter(|_| reader.errors.is_empty())
        .ok_or(reader.errors)
}

/// What the threads of a pull request can be rebuilt with; no model is needed for that.
#[derive(Debug)]
pub struct MemoryInputs {
    pub github_token: SecretString,
    pub trusted_bots: Vec<Login>,
    pub human_reviewers: Vec<String>,
    pub blocking: Option<Score>,
    pub state_keys: Vec<SecretString>,
    pub model_key: Option<SecretString>,
    pub dry_run: bool,
    pub fail_job: bool,
}

pub fn memory(raw: &RawInputs) -> Result<MemoryInputs, Vec<InputError>> {
    let mut reader = Reader::new(raw);
    let read = read_memory(&mut reader);
    read.filter(|_| reader.errors.is_empty())
        .ok_or(reader.errors)
}

fn read_memory(reader: &mut Reader<'_>) -> Option<MemoryInputs> {
    let policy = reader.policy();
    let github_token = reader.github_token();
    let trusted_bots = reader.optional("trusted_bots", values::logins);
    let human_reviewers = reader.optional("human_reviewers", values::people);
    let model_key = reader.optional("opencode_api_key", values::secret);
    let state_keys = reader.optional("state_key", values::state_keys);
    let dry_run = reader.optional("dry_run", values::boolean);
    let fail_job = reader.optional("fail_job", values::boolean);
    Some(MemoryInputs {
        github_token: github_token?,
        trusted_bots: trusted_bots?,
        human_reviewers: human_reviewers.unwrap_or_default(),
        blocking: policy?.blocking,
        state_keys: state_keys.unwrap_or_default(),
        model_key,
        dry_run: dry_run.unwrap_or_default(),
        fail_job: fail_job.unwrap_or_default(),
    })
}

/// Every input is read before any missing one ends it: that is what reports them together.
fn read_config(reader: &mut Reader<'_>) -> Option<Config> {
    let model = reader.model();
    let policy = reader.policy();
    let fail_job = reader.optional("fail_job", values::boolean);
    let enable_web = reader.optional("enable_web", values::boolean);
    let web = reader.web();
    let human_reviewers = reader.optional("human_reviewers", values::people);
    let trusted_bots = reader.optional("trusted_bots", values::logins);
    let mention = reader.optional("mention", values::mention);
    let ignore = reader.optional("ignore", values::globs);
    let skip_label = reader.optional("skip_label", values::label);
    let fork_reviews = reader.optional("fork_reviews", values::fork_reviews);
    let minutes = reader.optional("review_timeout_minutes", |text| values::whole(text, 1, 360));
    let max_cost_usd = reader.optional("max_cost_usd", values::dollars);
    let max_cost_usd_per_day = reader.optional("max_cost_usd_per_day", values::dollars_or_off);
    let max_tokens = reader.optional("max_tokens", values::tokens);
    let max_tokens_per_day = reader.optional("max_tokens_per_day", values::tokens_or_off);
    let dry_run = reader.optional("dry_run", values::boolean);
    let require_sandbox = reader.optional("require_sandbox", values::boolean);
    let state_keys: Option<Vec<SecretString>> = reader.optional("state_key", values::state_keys);
    Some(Config {
        model: model?,
        policy: policy?,
        fail_job: fail_job?,
        web: enable_web?.then_some(web),
        human_reviewers: human_reviewers.unwrap_or_default(),
        trusted_bots: trusted_bots?,
        mention: mention?,
        skip_label: skip_label?,
        skip: Skip::default(),
        ignore: ignore.unwrap_or_default(),
        instructions: Vec::new(),
        fork_reviews: fork_reviews?,
        timeout: Duration::from_secs(minutes? * 60),
        max_cost_usd: max_cost_usd?,
        max_cost_usd_per_day: max_cost_usd_per_day?,
        max_tokens,
        max_tokens_per_day: max_tokens_per_day?,
        dry_run: dry_run?,
        require_sandbox: require_sandbox?,
        state_keys: state_keys.unwrap_or_default(),
    })
}

/// As the input spells it.
#[must_use]
pub fn sensitivity_name(sensitivity: Option<Sensitivity>) -> String {
    sensitivity.map_or_else(|| "auto".to_owned(), |level| level.to_string())
}

#[cfg(test)]
#[path = "inputs_tests.rs"]
mod tests;

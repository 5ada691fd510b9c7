//! The step from the strings of `INPUT_*` to a `Config`, row by row of the table. Every wrong value is reported, all at
//! once, because a person fixes a workflow one run at a time.

mod effective;
mod table;

pub use effective::{Origin, Setting};
pub use table::INPUTS;

use super::reviewers;
use super::shape::Shape;
use super::shell;
use super::values::{self, InvalidValue};
use super::{Config, ReviewerChoice, WebChoice, nearest};
use crate::domain::{Login, Score, Sensitivity};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::fmt;

/// One input of the action: a row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    pub name: &'static str,
    /// The empty string: none. An expression (`${{ … }}`) is filled in by the runner, never by the reviewer.
    pub default: &'static str,
    /// The advice where it is missing; `None`: it may be.
    missing: Option<&'static str>,
    pub secret: bool,
    /// Its shape in the repository's own settings; `None`: only the workflow has it.
    pub in_file: Option<Shape>,
    /// The line of the documentation.
    pub help: &'static str,
    /// The parser: writes the meaning of a value, or says what is expected instead.
    read: fn(&mut ConfigDraft, &str) -> Result<(), InvalidValue>,
}

impl Input {
    #[must_use]
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        INPUTS.iter().find(|input| input.name == name)
    }

    /// True where every workflow has to give it.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.missing.is_some() && self.default.is_empty()
    }

    /// The problem with a value, as what follows the input's name.
    pub(super) fn problem(&self, value: &str) -> Option<String> {
        let given = Some(value.trim()).filter(|value| !value.is_empty())?;
        self.write(&mut ConfigDraft::default(), given).err()
    }

    fn write(&self, draft: &mut ConfigDraft, given: &str) -> Result<(), String> {
        (self.read)(draft, given).map_err(|refusal| refusal.sentence(given, self.secret))
    }
}

/// The inputs as far as they are read: each row writes its part.
#[derive(Debug, Default)]
struct ConfigDraft {
    config: Config,
    github_token: SecretString,
    reviewers: Vec<reviewers::Named>,
    /// Provider and name.
    fallback_model: Option<(String, String)>,
    enable_web: bool,
    /// Read although the web may be off: what is wrong is told either way.
    web: WebChoice,
}

impl ConfigDraft {
    /// Reads some of the inputs, or all that is wrong with them.
    fn read(raw: &RawInputs, wanted: impl Fn(&Input) -> bool) -> Result<Self, Vec<InputError>> {
        Self::read_after(Vec::new(), raw, wanted)
    }

    /// The same together with the names that are not known.
    fn read_strictly(
        raw: &RawInputs,
        wanted: impl Fn(&Input) -> bool,
    ) -> Result<Self, Vec<InputError>> {
        Self::read_after(raw.unknown(), raw, wanted)
    }

    fn read_after(
        mut errors: Vec<InputError>,
        raw: &RawInputs,
        wanted: impl Fn(&Input) -> bool,
    ) -> Result<Self, Vec<InputError>> {
        let mut draft = Self::default();
        for input in INPUTS.iter().filter(|input| wanted(input)) {
            let written = match (raw.get(input), input.missing) {
                (Some(given), _) => input.write(&mut draft, given),
                (None, Some(missing)) => {
                    let advice = if raw.in_shell {
                        shell::missing(input.name).unwrap_or(missing)
                    } else {
                        missing
                    };
                    Err(format!("is missing; {advice}"))
                }
                (None, None) => Ok(()),
            };
            if let Err(problem) = written {
                let input = input.name.to_owned();
                errors.push(InputError { input, problem });
            }
        }
        if errors.is_empty() {
            draft.join_inputs();
            errors.extend(draft.useless_fallback());
        }
        if errors.is_empty() {
            Ok(draft)
        } else {
            Err(errors)
        }
    }

    /// Joins what more than one input decides.
    fn join_inputs(&mut self) {
        let policy = &mut self.config.policy;
        // What is not posted cannot block, so a lower bar is the threshold itself: raising only the
        // threshold above the default of this one must not turn into an error.
        policy.blocking = policy.blocking.map(|score| score.max(policy.threshold));
        self.config.web = self.enable_web.then(|| self.web.clone());
        let Config {
            model, api_keys, ..
        } = &self.config;
        let fallback = self.fallback_model.as_ref();
        self.config.reviewers = reviewers::resolve(&self.reviewers, fallback, model, api_keys);
    }

    /// A model to fall back to that is every reviewer's own model already.
    fn useless_fallback(&self) -> Option<InputError> {
        let (provider, name) = self.fallback_model.as_ref()?;
        let reviewers = &self.config.reviewers;
        let is_useless = reviewers.iter().all(|one| one.fallback.is_none());
        (is_useless && !reviewers.is_empty()).then(|| InputError {
            input: "fallback_model".into(),
            problem: format!(
                "is {provider}/{name}, the model that reviews already; expected another one."
            ),
        })
    }
}

/// A wrong value, as one line for the person who wrote the workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Input {input} {problem}")]
pub struct InputError {
    pub input: String,
    problem: String,
}

/// Names that inputs once had, with the input that took their place and a value of it.
const RENAMED: [(&str, &str, &str); 2] = [
    ("max_cost_usd_per_day", "max_per_day", "20 USD"),
    ("max_tokens_per_day", "max_per_day", "5000000 tokens"),
];

/// The input that took the place of another one.
pub(super) fn renamed(name: &str) -> Option<&'static str> {
    let mut all = RENAMED.iter();
    all.find(|(old, _, _)| *old == name).map(|(_, new, _)| *new)
}

/// Names that the runner itself takes from `with:` of a container action.
const OF_THE_RUNNER: [&str; 2] = ["args", "entrypoint"];

/// The inputs as strings, by name; what is empty is not there.
#[derive(Clone, Default)]
pub struct RawInputs {
    given: BTreeMap<String, String>,
    /// The origins of those that no variable of their own gave.
    origins: BTreeMap<String, Origin>,
    /// They come from a shell and not from a workflow, which decides how a missing one is asked for.
    in_shell: bool,
}

impl RawInputs {
    /// From the environment's `INPUT_*`. An empty value is GitHub's way to say "not given".
    pub fn from_vars(
        vars: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, envy::Error> {
        let given = vars
            .into_iter()
            .filter(|(_, value)| !value.trim().is_empty());
        let mut given: BTreeMap<String, String> = envy::prefixed("INPUT_").from_iter(given)?;
        given.retain(|name, _| !OF_THE_RUNNER.contains(&name.as_str()));
        Ok(Self {
            given,
            ..Self::default()
        })
    }

    /// The inputs of a shell. Names that the table does not have are dropped, because there `INPUT_*` may belong to
    /// another program.
    #[must_use]
    pub fn of_shell(mut self) -> Self {
        self.given.retain(|name, _| Input::named(name).is_some());
        self.in_shell = true;
        self
    }

    /// True where a shell gave them.
    #[must_use]
    pub fn is_of_shell(&self) -> bool {
        self.in_shell
    }

    /// A mistake for each name that the table does not have, with the nearest name that it has.
    fn unknown(&self) -> Vec<InputError> {
        let unknown = self
            .given
            .keys()
            .filter(|name| Input::named(name).is_none());
        let mistake = |name: &String| InputError {
            input: name.escape_debug().take(60).collect(),
            problem: not_known(name),
        };
        unknown.map(mistake).collect()
    }

    /// Replaces an input, for the doors that have arguments of their own.
    pub fn set(&mut self, name: &str, value: &str) {
        self.set_from(name, value, Origin::Flag);
    }

    /// The same with a value from elsewhere.
    pub(super) fn set_from(&mut self, name: &str, value: &str, origin: Origin) {
        self.given.insert(name.to_owned(), value.to_owned());
        self.origins.insert(name.to_owned(), origin);
    }

    /// True if the user gave it.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The name that people call the reviewer by, needed before the inputs are judged.
    #[must_use]
    pub fn mention(&self) -> String {
        let default = Input::named("mention").map_or("", |input| input.default);
        let given = self.given("mention").unwrap_or(default);
        values::mention(given).unwrap_or_else(|_| default.to_owned())
    }

    /// True if the run holds the key or endpoint that it needs to reach a model.
    #[must_use]
    pub fn can_reach_a_model(&self) -> bool {
        self.is_given("opencode_api_key") || self.is_given("model_base_url")
    }

    pub(super) fn given(&self, name: &str) -> Option<&str> {
        let given = self.given.get(name).map(|value| value.trim());
        given.filter(|value| !value.is_empty())
    }

    /// The given value, or the default of the table.
    fn get(&self, input: &Input) -> Option<&str> {
        let default = Some(input.default)
            .filter(|default| !default.is_empty() && !default.starts_with("${{"));
        self.given(input.name).or(default)
    }
}

/// The sentence about a name that the table does not have.
fn not_known(name: &str) -> String {
    if let Some((_, new, value)) = RENAMED.iter().find(|(old, _, _)| *old == name) {
        return format!("is part of {new} now; give {new}, for example {value}.");
    }
    match nearest(name, INPUTS.iter().map(|input| input.name)) {
        Some(near) => format!("is not known; did you mean {near}?"),
        None => {
            "is not known; action.yml and `opencode-reviewer inputs` list the inputs.".to_owned()
        }
    }
}

/// Names only: some of the values are secrets.
impl fmt::Debug for RawInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawInputs")
            .field(&self.given.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The inputs that say which model reviews.
const OF_MODEL: &[&str] = &[
    "model",
    "opencode_api_key",
    "model_base_url",
    "model_context",
    "reviewers",
    "fallback_model",
    "api_keys",
];

/// The inputs that threads are rebuilt with.
const OF_MEMORY: &[&str] = &[
    "opencode_api_key",
    "problem_score_threshold",
    "score_elevation_threshold",
    "blocking_score_threshold",
    "fail_job",
    GITHUB_TOKEN,
    "human_reviewers",
    "trusted_bots",
    "memory",
    "sensitivity",
    "dry_run",
    "state_key",
];

const GITHUB_TOKEN: &str = "github_token";

/// The reviewers with their models alone, so that these can be tried although other inputs are wrong.
pub fn reviewer_choices(raw: &RawInputs) -> Result<Vec<ReviewerChoice>, Vec<InputError>> {
    ConfigDraft::read(raw, |input| OF_MODEL.contains(&input.name))
        .map(|draft| draft.config.reviewers)
}

/// The token alone: a review that is not about a pull request needs none.
pub fn github_token(raw: &RawInputs) -> Result<SecretString, Vec<InputError>> {
    ConfigDraft::read(raw, |input| input.name == GITHUB_TOKEN).map(|draft| draft.github_token)
}

/// The meaning of all inputs but the token, or everything that is wrong with them.
pub fn config(raw: &RawInputs) -> Result<Config, Vec<InputError>> {
    ConfigDraft::read_strictly(raw, |input| input.name != GITHUB_TOKEN).map(|draft| draft.config)
}

/// The trusted bots where no input names others.
pub(super) fn usual_bots() -> Option<Vec<Login>> {
    let input = Input::named("trusted_bots")?;
    values::logins(input.default).ok()
}

/// The inputs for rebuilding the threads of a pull request; no model is needed for that.
#[derive(Debug)]
pub struct MemoryInputs {
    pub github_token: SecretString,
    pub trusted_bots: Vec<Login>,
    pub human_reviewers: Vec<String>,
    /// Closed pull requests that a review reads.
    pub memory: u8,
    pub blocking: Option<Score>,
    pub state_keys: Vec<SecretString>,
    pub model_key: Option<SecretString>,
    pub dry_run: bool,
    pub fail_job: bool,
}

pub fn memory(raw: &RawInputs) -> Result<MemoryInputs, Vec<InputError>> {
    let draft = ConfigDraft::read_strictly(raw, |input| OF_MEMORY.contains(&input.name))?;
    let config = draft.config;
    Ok(MemoryInputs {
        github_token: draft.github_token,
        trusted_bots: config.trusted_bots,
        human_reviewers: config.human_reviewers,
        memory: config.memory,
        blocking: config.policy.blocking,
        state_keys: config.state_keys,
        model_key: config.model.key,
        dry_run: config.dry_run,
        fail_job: config.fail_job,
    })
}

/// As the input spells it.
#[must_use]
pub(crate) fn sensitivity_name(sensitivity: Option<Sensitivity>) -> String {
    sensitivity.map_or_else(|| "auto".to_owned(), |level| level.to_string())
}

#[cfg(test)]
#[path = "inputs_tests.rs"]
mod tests;

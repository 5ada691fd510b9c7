//! The settings that a run would have, each with its origin. The values of secrets are left out.

use super::{INPUTS, Input, RawInputs};
use crate::config::file::PATH;
use crate::config::values::has_room_for_a_password;
use crate::domain::Score;
use serde_json::{Value, json};
use std::fmt;

/// The origin of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The settings file of the base branch.
    File,
    /// A variable of the environment, which a workflow sets by `with:`.
    Variable(String),
    /// An argument of the command.
    Flag,
}

impl Origin {
    /// The kind of origin, for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Variable(_) => "environment",
            Self::Flag => "flag",
        }
    }
}

/// The origin in words.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File => f.write_str(PATH),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// A setting of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    /// Null where nothing is set, and for a secret.
    pub value: Value,
    /// Its value is not shown.
    pub secret: bool,
    /// False where nothing is set.
    pub set: bool,
    pub origin: Origin,
    /// The reason why another value counts than the one that was given.
    pub note: Option<&'static str>,
}

impl RawInputs {
    /// Every input of the table, as a run would have it.
    #[must_use]
    pub fn effective(&self) -> Vec<Setting> {
        let mut settings: Vec<Setting> = INPUTS.iter().map(|input| self.setting(input)).collect();
        self.raise_blocking(&mut settings);
        settings
    }

    fn setting(&self, input: &Input) -> Setting {
        let value = self.get(input);
        let is_address_with_more =
            |value: &str| value.contains("://") && has_room_for_a_password(value);
        let secret = input.secret || value.is_some_and(is_address_with_more);
        Setting {
            name: input.name.to_owned(),
            value: value
                .filter(|_| !secret)
                .map_or(Value::Null, |value| json!(value)),
            secret,
            set: value.is_some(),
            origin: self.origin(input.name),
            note: None,
        }
    }

    fn origin(&self, name: &str) -> Origin {
        if !self.is_given(name) {
            return Origin::Default;
        }
        let usual = || Origin::Variable(format!("INPUT_{}", name.to_uppercase()));
        self.origins.get(name).cloned().unwrap_or_else(usual)
    }

    /// Raises a threshold of what blocks to that of what is posted: what is not posted cannot block.
    fn raise_blocking(&self, settings: &mut [Setting]) {
        let score = |name: &str| {
            let given = Input::named(name).and_then(|input| self.get(input))?;
            Score::new(given.parse().ok()?)
        };
        let scores = score("problem_score_threshold").zip(score("blocking_score_threshold"));
        let Some((threshold, _)) = scores.filter(|(one, other)| other < one) else {
            return;
        };
        let mut settings = settings.iter_mut();
        if let Some(setting) = settings.find(|one| one.name == "blocking_score_threshold") {
            setting.value = json!(threshold.to_string());
            setting.note = Some("raised to problem_score_threshold");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::RepositoryFile;
    use crate::config::shell;

    fn setting(raw: &RawInputs, name: &str) -> Setting {
        let settings = raw.effective();
        let found = settings.into_iter().find(|setting| setting.name == name);
        found.expect("an input of the table")
    }

    fn told(raw: &RawInputs, name: &str) -> (Value, String) {
        let setting = setting(raw, name);
        (setting.value, setting.origin.to_string())
    }

    #[test]
    fn each_input_has_its_value_and_its_origin() {
        let vars = [
            ("INPUT_SENSITIVITY", "high"),
            ("INPUT_MAX_COST_USD", ""),
            ("INPUT_FAIL_JOB", "true"),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut raw = RawInputs::from_vars(vars).expect("inputs").of_shell();
        raw.set("model", "anthropic/claude-sonnet-4-5");
        shell::take_secrets(&mut raw, |name| {
            (name == "ANTHROPIC_API_KEY").then_some("key")
        });
        let file = "fail_job: false\nskip_label: later\n";
        let raw = RepositoryFile::parse(file).under(&raw);
        assert_eq!(raw.effective().len(), INPUTS.len());
        for (name, value, origin) in [
            ("model", json!("anthropic/claude-sonnet-4-5"), "flag"),
            ("sensitivity", json!("high"), "variable INPUT_SENSITIVITY"),
            ("fail_job", json!("true"), "variable INPUT_FAIL_JOB"),
            (
                "skip_label",
                json!("later"),
                ".github/opencode-reviewer.yml",
            ),
            ("max_cost_usd", json!("5"), "default"),
            ("max_tokens", Value::Null, "default"),
            (
                "opencode_api_key",
                Value::Null,
                "variable ANTHROPIC_API_KEY",
            ),
            ("github_token", Value::Null, "default"),
        ] {
            assert_eq!(told(&raw, name), (value, origin.to_owned()), "{name}");
        }
        let key = setting(&raw, "opencode_api_key");
        assert!(key.set && key.secret);
        assert!(!setting(&raw, "github_token").set);
        assert!(!format!("{raw:?}{:?}", raw.effective()).contains("\"key\""));
    }

    #[test]
    fn an_address_with_a_password_in_it_is_not_shown() {
        let mut raw = RawInputs::default();
        for (address, hidden) in [
            ("https://user:hunter2@llm.example/v1", true),
            ("https://llm.example/v1?key=hunter2", true),
            ("https://llm.example/v1", false),
        ] {
            raw.set("model_base_url", address);
            let setting = setting(&raw, "model_base_url");
            assert_eq!(
                (setting.secret, setting.value.is_null(), setting.set),
                (hidden, hidden, true),
                "{address}"
            );
        }
        assert!(!setting(&raw, "mention").secret);
    }

    #[test]
    fn a_threshold_of_what_blocks_is_shown_as_it_counts() {
        let with = |threshold: &str, blocking: &str| {
            let mut raw = RawInputs::default();
            raw.set("problem_score_threshold", threshold);
            raw.set("blocking_score_threshold", blocking);
            let setting = setting(&raw, "blocking_score_threshold");
            (setting.value, setting.note.is_some())
        };
        assert_eq!(with("10", "9"), (json!("10"), true));
        assert_eq!(with("5", "9"), (json!("9"), false));
        assert_eq!(with("10", "off"), (json!("off"), false));
        assert_eq!(with("many", "9"), (json!("9"), false));
    }
}

//! A persona: one reviewer with a name and a part of its own, who may call others to a pull request. The operator of a service
//! writes it, so its text is trusted; its length is bounded, because every request to the model carries it.

use super::reviewers::Focus;
use super::{Config, ReviewerChoice};
use serde::{Deserialize, Serialize};

/// The longest text of a persona, in bytes, and the longest list of names.
const MAX_TEXT: usize = 4_000;
const MOST_NAMES: usize = 10;
/// The longest name: a login of GitHub may be one.
const MAX_NAME: usize = 39;

/// A reviewer by name. Without a text, the name stands for a built-in one: product, quality, security or general.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Persona {
    pub name: String,
    /// The part of the reviewer, in sentences to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The names of reviewers that it may call to the pull request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can_escalate: Vec<String>,
}

/// True for a name of a reviewer: what a login may be, and underscores.
#[must_use]
pub fn is_reviewer_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

impl Persona {
    /// A built-in one, or one whose text is given elsewhere.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// The problem with it, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if !is_reviewer_name(name) {
            return Err(format!(
                "The reviewer's name is {name:?}; expected at most {MAX_NAME} letters, digits, hyphens and underscores."
            ));
        }
        match &self.text {
            None if Focus::named(name).is_none() => {
                return Err(format!(
                    "The reviewer {name} is not known; expected product, quality, security or general, or a persona of its own."
                ));
            }
            Some(text) if text.trim().is_empty() || text.len() > MAX_TEXT => {
                return Err(format!(
                    "The persona of {name} has {} bytes; expected a text of at most {MAX_TEXT}.",
                    text.len()
                ));
            }
            _ => {}
        }
        let mut names = self.can_escalate.iter();
        if let Some(wrong) = names.find(|one| !is_reviewer_name(one)) {
            return Err(format!(
                "{name} may escalate to {wrong:?}, which is no name of a reviewer."
            ));
        }
        if self.can_escalate.len() > MOST_NAMES {
            return Err(format!(
                "{name} may escalate to {} reviewers; at most {MOST_NAMES} are allowed.",
                self.can_escalate.len()
            ));
        }
        Ok(())
    }

    /// The words about its part: its own, or those of the built-in one.
    pub(crate) fn part(&self) -> Option<&str> {
        let built_in = || Focus::named(&self.name).and_then(Focus::subject);
        self.text.as_deref().or_else(built_in).map(str::trim)
    }

    /// The lines of the configuration's fingerprint: another part makes another review.
    pub(super) fn fingerprint(&self) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        format!("\npersona={text}\nescalate={}", self.can_escalate.join(","))
    }
}

impl Config {
    /// The same configuration with one reviewer, under this persona. It has the model that `reviewers` gives to its name, else
    /// the run's own.
    pub fn seat(&mut self, persona: &Persona) -> Result<(), String> {
        persona.check()?;
        let listed = self.reviewers.iter().find(|one| one.name == persona.name);
        let model = listed.map_or(&self.model, |one| &one.model).clone();
        let like = listed.or(self.reviewers.first());
        let fallback = like.and_then(|one| one.fallback.clone());
        let fallback = fallback.filter(|fallback| !fallback.is_same(&model));
        self.reviewers = vec![ReviewerChoice {
            name: persona.name.clone(),
            focus: Focus::named(&persona.name).unwrap_or_default(),
            model,
            fallback,
            persona: Some(persona.clone()),
        }];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelChoice;

    fn own(text: &str) -> Persona {
        Persona {
            text: Some(text.to_owned()),
            ..Persona::named("anna-b")
        }
    }

    #[test]
    fn a_reviewer_is_a_built_in_role_or_has_a_text_of_its_own() {
        for name in ["product", "quality", "security", "general"] {
            assert_eq!(Persona::named(name).check(), Ok(()), "{name}");
        }
        let unknown = Persona::named("speed").check().unwrap_err();
        assert!(
            unknown.starts_with("The reviewer speed is not known; "),
            "{unknown}"
        );
        assert_eq!(own("You look at the database.").check(), Ok(()));
        assert_eq!(own("You look.\n").part(), Some("You look."));
        let built_in = Persona::named("security").part().map(str::to_owned);
        assert!(built_in.unwrap().starts_with("Look hardest at security: "));
        assert_eq!(Persona::named("general").part(), None);
    }

    #[test]
    fn names_and_texts_of_a_persona_are_bounded() {
        let long = "x".repeat(MAX_TEXT + 1);
        for text in ["", " \n", &long] {
            assert!(own(text).check().is_err(), "{text:.10}");
        }
        for name in ["", "a b", "a>b", &"a".repeat(40)] {
            assert!(!is_reviewer_name(name), "{name}");
            let calls = Persona {
                can_escalate: vec![name.to_owned()],
                ..Persona::named("quality")
            };
            assert!(calls.check().is_err(), "{name}");
        }
        let calls = Persona {
            can_escalate: vec!["security".into(); MOST_NAMES + 1],
            ..Persona::named("quality")
        };
        assert!(
            calls
                .check()
                .unwrap_err()
                .contains("escalate to 11 reviewers")
        );
    }

    #[test]
    fn a_persona_reviews_alone_with_the_model_of_its_name_and_its_review_is_one_of_its_own() {
        let named = |name: &str| ModelChoice {
            provider: "p".into(),
            name: name.into(),
            ..ModelChoice::default()
        };
        let listed = ReviewerChoice {
            name: "security".into(),
            model: named("large"),
            ..ReviewerChoice::default()
        };
        let config = Config {
            model: named("small"),
            reviewers: vec![ReviewerChoice::default(), listed],
            ..Config::default()
        };
        let seated = |persona: &Persona| {
            let mut config = config.clone();
            config.seat(persona).map(|()| config)
        };
        let security = seated(&Persona::named("security")).unwrap();
        assert_eq!(security.reviewers.len(), 1);
        assert_eq!(security.reviewers[0].model.name, "large");
        let quality = seated(&Persona::named("quality")).unwrap();
        assert_eq!(quality.reviewers[0].model.name, "small");
        let prints = [
            &config,
            &security,
            &quality,
            &seated(&own("One.")).unwrap(),
            &seated(&own("Two.")).unwrap(),
        ]
        .map(Config::fingerprint);
        for (at, print) in prints.iter().enumerate() {
            assert!(!prints[..at].contains(print), "{at}");
        }
        assert!(seated(&Persona::named("speed")).is_err());
    }
}

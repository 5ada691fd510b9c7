//! The reviewers of a run, as the inputs `reviewers` and `api_keys` name them. One reviewer is the default.

use super::values::{self, InvalidValue, items};
use super::{ModelChoice, Persona};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::fmt;

/// The maximum number of reviewers.
pub const MOST: usize = 5;

/// The subject that a reviewer looks at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    General,
    Quality,
    Security,
    Product,
}

impl Focus {
    pub const ALL: [Self; 4] = [Self::General, Self::Quality, Self::Security, Self::Product];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Quality => "quality",
            Self::Security => "security",
            Self::Product => "product",
        }
    }

    /// The words about it for the model; a general one has none.
    #[must_use]
    pub(crate) fn subject(self) -> Option<&'static str> {
        match self {
            Self::General => None,
            Self::Quality => Some(include_str!("../prompts/persona-quality.md")),
            Self::Security => Some(include_str!("../prompts/persona-security.md")),
            Self::Product => Some(include_str!("../prompts/persona-product.md")),
        }
    }

    /// The focus that a name stands for: the word itself, or with a number behind it (`general-2`).
    pub(super) fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|focus| match name.strip_prefix(focus.as_str()) {
            Some("") => true,
            Some(rest) => matches!(rest, "-2" | "-3" | "-4" | "-5"),
            None => false,
        })
    }
}

impl fmt::Display for Focus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A reviewer, with the model that it is asked as.
#[derive(Debug, Clone, Default)]
pub struct ReviewerChoice {
    /// Different for each reviewer of a run.
    pub name: String,
    pub focus: Focus,
    pub model: ModelChoice,
    /// Takes the model's place for the rest of a run where that one cannot be used.
    pub fallback: Option<ModelChoice>,
    /// Its part, where it reviews alone under a name of its own.
    pub persona: Option<Persona>,
}

impl ReviewerChoice {
    /// The names of reviewers that it may call to the pull request.
    #[must_use]
    pub fn can_escalate(&self) -> &[String] {
        let persona = self.persona.as_ref();
        persona.map_or(&[], |persona| &persona.can_escalate)
    }
}

/// A reviewer as the input names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    name: String,
    focus: Focus,
    /// Provider and name of its model; `None`: the run's model.
    model: Option<(String, String)>,
}

const EXPECTED: &str = "a number from 1 to 5, or different names by comma or newline, each of them general, quality, security or \
                        product, alone or with its model (security=openai/gpt-5)";

/// Reads the input `reviewers`.
pub(super) fn reviewers(text: &str) -> Result<Vec<Named>, InvalidValue> {
    if let Ok(count) = text.trim().parse::<usize>() {
        if !(1..=MOST).contains(&count) {
            return Err(InvalidValue::new(EXPECTED));
        }
        return Ok(numbered(count));
    }
    let (mut read, mut problems) = (Vec::<Named>::new(), Vec::new());
    for item in items(text) {
        match named(item) {
            Err(problem) => problems.push(problem),
            Ok(one) if read.iter().any(|other| other.name == one.name) => {
                problems.push(format!("{} stands there twice", one.name));
            }
            Ok(one) => read.push(one),
        }
    }
    let count = items(text).count();
    if count > MOST {
        problems.push(format!("{count} are too many"));
    }
    match problems.is_empty() {
        true if !read.is_empty() => Ok(read),
        true => Err(InvalidValue::new(EXPECTED)),
        false => Err(InvalidValue::told(format!(
            "{EXPECTED}: {}",
            problems.join(", ")
        ))),
    }
}

/// So many reviewers of the run's model: one of each focus, then general ones.
fn numbered(count: usize) -> Vec<Named> {
    let general = (2..).map(|number| (format!("general-{number}"), Focus::General));
    let of_focus = Focus::ALL.map(|focus| (focus.to_string(), focus));
    let all = of_focus.into_iter().chain(general);
    all.take(count)
        .map(|(name, focus)| Named {
            name,
            focus,
            model: None,
        })
        .collect()
}

fn named(item: &str) -> Result<Named, String> {
    let (name, model) = match item.split_once('=') {
        Some((name, model)) => (name.trim(), Some(model.trim())),
        None => (item, None),
    };
    let known = |focus| Ok((name.to_owned(), focus));
    let unknown = || format!("{} is no reviewer", values::shown(name));
    let (name, focus) = Focus::named(name).map_or_else(|| Err(unknown()), known)?;
    let model = model.map(values::model).transpose();
    let model = model.map_err(|_| format!("the model of {name} is not provider/name"))?;
    Ok(Named { name, focus, model })
}

/// Reads the input `api_keys`: lines `provider=key`.
pub(super) fn api_keys(text: &str) -> Result<BTreeMap<String, SecretString>, InvalidValue> {
    const LINES: &str =
        "lines provider=key, one for each provider, such as openai=${{ secrets.OPENAI_API_KEY }}";
    let mut keys = BTreeMap::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines {
        let (provider, key) = line.split_once('=').ok_or(InvalidValue::new(LINES))?;
        let key = values::secret(key.trim()).map_err(|_| InvalidValue::new(LINES))?;
        let provider = provider.trim();
        let is_name = !provider.is_empty() && !provider.contains(char::is_whitespace);
        if !is_name || keys.insert(provider.to_owned(), key).is_some() {
            return Err(InvalidValue::new(LINES));
        }
    }
    Ok(keys)
}

/// Gives each reviewer its model, and the one that it falls back to, unless that is the same. A model of a provider that `keys`
/// names is asked at this provider, with this key. Any other one is asked as the run's own model is: at `model_base_url` if it is
/// set; with the run's key only where the provider is the same.
pub(super) fn resolve(
    named: &[Named],
    fallback: Option<&(String, String)>,
    own: &ModelChoice,
    keys: &BTreeMap<String, SecretString>,
) -> Vec<ReviewerChoice> {
    let chosen = |(provider, name): &(String, String)| {
        let is_own = *provider == own.provider;
        let given = keys.get(provider).filter(|_| !is_own);
        let base_url = own.base_url.clone().filter(|_| given.is_none());
        let key = match given {
            Some(key) => Some(key.clone()),
            None if is_own || base_url.is_some() => own.key.clone(),
            None => None,
        };
        ModelChoice {
            context: own.context.filter(|_| is_own && *name == own.name),
            provider: provider.clone(),
            name: name.clone(),
            base_url,
            key,
        }
    };
    let choice = |one: &Named| {
        let model = one.model.as_ref().map_or_else(|| own.clone(), chosen);
        let fallback = fallback.map(chosen);
        ReviewerChoice {
            name: one.name.clone(),
            focus: one.focus,
            fallback: fallback.filter(|fallback| !fallback.is_same(&model)),
            model,
            persona: None,
        }
    };
    named.iter().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    fn names(text: &str) -> Vec<String> {
        let read = reviewers(text).expect("reviewers").into_iter();
        read.map(|one| one.name).collect()
    }

    fn problem(text: &str) -> String {
        let refusal = reviewers(text).expect_err("a refusal");
        let sentence = refusal.sentence(text, false);
        let expected = format!("is {text:?}; expected {EXPECTED}");
        let rest = sentence.strip_prefix(&expected);
        rest.unwrap_or(&sentence).to_owned()
    }

    #[test]
    fn a_number_gives_one_reviewer_of_each_focus_and_then_general_ones() {
        assert_eq!(names("1"), ["general"]);
        assert_eq!(names("3"), ["general", "quality", "security"]);
        assert_eq!(names("5")[3..], ["product", "general-2"]);
    }

    #[test]
    fn reviewers_are_listed_by_comma_or_newline_with_a_model_of_their_own() {
        assert_eq!(names("security, product"), ["security", "product"]);
        let listed = reviewers("general\nsecurity = openai/gpt-5\n").expect("reviewers");
        assert_eq!(listed[0].model, None);
        let model = Some(("openai".to_owned(), "gpt-5".to_owned()));
        assert_eq!(listed[1].model, model);
        assert_eq!(names("general,general-2=openai/gpt-5").len(), 2);
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        assert_eq!(problem("0"), ".");
        assert_eq!(problem("6"), ".");
        assert_eq!(problem("speed"), ": speed is no reviewer.");
        assert_eq!(
            problem("speed, general, general, security=gpt"),
            ": speed is no reviewer, general stands there twice, the model of security is not provider/name."
        );
        let six = "general,general-2,general-3,general-4,general-5,quality";
        assert!(problem(six).ends_with(": 6 are too many."));
    }

    #[test]
    fn a_key_goes_to_its_own_provider_and_nowhere_else() {
        let own = ModelChoice {
            provider: "anthropic".into(),
            name: "claude".into(),
            key: Some("own-key".into()),
            ..ModelChoice::default()
        };
        let listed =
            "general, quality=anthropic/other, security=openai/gpt-5, product=mistral/large";
        let listed = reviewers(listed).expect("reviewers");
        let keys = api_keys("openai=other-key\n").expect("keys");
        let key = |model: &ModelChoice| {
            let key = model.key.as_ref();
            key.map(|key| key.expose_secret().to_owned())
        };
        let with = |own: &ModelChoice| -> Vec<_> {
            let resolved = resolve(&listed, None, own, &keys).into_iter();
            resolved
                .map(|one| (key(&one.model).unwrap_or_default(), one.model.base_url))
                .collect()
        };
        let expected = ["own-key", "own-key", "other-key", ""];
        assert_eq!(with(&own), expected.map(|key| (key.to_owned(), None)));

        let endpoint = Some("https://llm.example/v1".to_owned());
        let proxied = ModelChoice {
            base_url: endpoint.clone(),
            ..own
        };
        let at_endpoint = ("own-key".to_owned(), endpoint);
        let expected = [
            at_endpoint.clone(),
            at_endpoint.clone(),
            ("other-key".to_owned(), None),
            at_endpoint,
        ];
        assert_eq!(with(&proxied), expected);
    }

    #[test]
    fn a_reviewer_falls_back_to_another_model_than_its_own() {
        let own = ModelChoice {
            provider: "anthropic".into(),
            name: "claude".into(),
            key: Some("own-key".into()),
            ..ModelChoice::default()
        };
        let listed = reviewers("general, quality=openai/gpt-5").expect("reviewers");
        let keys = api_keys("openai=other-key").expect("keys");
        let fallback = ("openai".to_owned(), "gpt-5".to_owned());
        let resolved = resolve(&listed, Some(&fallback), &own, &keys);
        let of_first = resolved[0].fallback.as_ref().expect("a fallback");
        assert_eq!(of_first.to_string(), "openai/gpt-5");
        let key = of_first.key.as_ref().expect("a key");
        assert_eq!(key.expose_secret(), "other-key");
        assert!(resolved[1].fallback.is_none());
    }

    #[test]
    fn a_line_of_keys_names_its_provider_and_a_refusal_shows_no_key() {
        assert!(api_keys("openai").is_err());
        assert!(api_keys("openai=a\nopenai=b").is_err());
        let refusal = api_keys("sk-secret").expect_err("a refusal");
        assert!(!refusal.sentence("sk-secret", true).contains("sk-secret"));
    }
}

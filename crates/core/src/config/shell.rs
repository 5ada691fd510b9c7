//! The inputs of a person in a shell: variables that stand in for secrets, and advice in the words of a shell. Pure: the
//! caller reads the environment.

use super::inputs::{Origin, RawInputs};

/// The variables that a provider's own tools read its key from.
const KEYS: &[(&str, &[&str])] = &[
    ("anthropic", &["ANTHROPIC_API_KEY"]),
    ("cerebras", &["CEREBRAS_API_KEY"]),
    ("cohere", &["COHERE_API_KEY"]),
    ("deepseek", &["DEEPSEEK_API_KEY"]),
    (
        "google",
        &["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    ),
    ("groq", &["GROQ_API_KEY"]),
    ("mistral", &["MISTRAL_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("openrouter", &["OPENROUTER_API_KEY"]),
    ("togetherai", &["TOGETHER_API_KEY"]),
    ("vercel", &["AI_GATEWAY_API_KEY"]),
    ("xai", &["XAI_API_KEY"]),
];

const OWN_KEY: &str = "OPENCODE_API_KEY";
const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

/// The variable that a provider's own tools read its key from, if it is known here.
#[must_use]
pub(crate) fn known_key_variable(provider: &str) -> Option<&'static str> {
    keys(provider).first().copied()
}

fn keys(provider: &str) -> &'static [&'static str] {
    let row = KEYS.iter().find(|(name, _)| *name == provider);
    row.map_or(&[], |(_, names)| names)
}

/// Takes the secrets that no input gives from the usual variables. The provider's own variable is read only where the
/// provider is asked itself: its key is sent to no other endpoint.
pub fn take_secrets<'a>(inputs: &mut RawInputs, variable: impl Fn(&str) -> Option<&'a str>) {
    let first = |names: &[&'static str]| {
        let mut names = names.iter();
        names.find_map(|name| Some((variable(name)?, Origin::Variable((*name).to_owned()))))
    };
    if !inputs.is_given("github_token")
        && let Some((token, origin)) = first(&TOKENS)
    {
        inputs.set_from("github_token", token, origin);
    }
    if inputs.is_given("opencode_api_key") {
        return;
    }
    let model = inputs.given("model").unwrap_or_default();
    let provider = match model.split_once('/') {
        Some((provider, _)) if !inputs.is_given("model_base_url") => provider,
        _ => "",
    };
    if let Some((key, origin)) = first(&[OWN_KEY]).or_else(|| first(keys(provider))) {
        inputs.set_from("opencode_api_key", key, origin);
    }
}

/// The advice for an input that a shell did not give.
pub(super) fn missing(input: &str) -> Option<&'static str> {
    match input {
        "model" => {
            Some("add --model provider/name, for example --model anthropic/claude-sonnet-4-5.")
        }
        "github_token" => Some("run `export GITHUB_TOKEN=$(gh auth token)`."),
        _ => None,
    }
}

/// The sentence for a provider that needs a key and has none.
#[must_use]
pub fn missing_key(provider: &str) -> String {
    let name = known_key_variable(provider).unwrap_or(OWN_KEY);
    format!(
        "The provider {provider} needs a key, and none is set; run `export {name}=…` with your key."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(inputs: &[(&str, &str)], variables: &[(&str, &'static str)]) -> Option<String> {
        let mut raw = RawInputs::default();
        for (name, value) in inputs {
            raw.set(name, value);
        }
        take_secrets(&mut raw, |name| {
            let found = variables.iter().find(|(one, _)| *one == name);
            found.map(|(_, value)| *value)
        });
        raw.given("opencode_api_key").map(str::to_owned)
    }

    #[test]
    fn a_key_is_taken_from_the_variable_that_the_provider_s_tools_read() {
        let both = [("ANTHROPIC_API_KEY", "own"), ("OPENAI_API_KEY", "other")];
        let model = ("model", "anthropic/claude-sonnet-4-5");
        assert_eq!(key_of(&[model], &both).as_deref(), Some("own"));
        let given = [model, ("opencode_api_key", "given")];
        assert_eq!(key_of(&given, &both).as_deref(), Some("given"));
        let all = [("ANTHROPIC_API_KEY", "own"), (OWN_KEY, "first")];
        assert_eq!(key_of(&[model], &all).as_deref(), Some("first"));
        assert_eq!(key_of(&[("model", "unheard-of/x")], &both), None);
    }

    #[test]
    fn a_provider_s_key_is_sent_to_no_other_endpoint() {
        let elsewhere = [
            ("model", "openai/gpt-5"),
            ("model_base_url", "https://llm.example/v1"),
        ];
        assert_eq!(key_of(&elsewhere, &[("OPENAI_API_KEY", "own")]), None);
        let own = key_of(&elsewhere, &[(OWN_KEY, "meant")]);
        assert_eq!(own.as_deref(), Some("meant"));
    }

    #[test]
    fn the_token_of_gh_is_taken_where_there_is_no_other() {
        let token = |variables: &[(&str, &'static str)]| {
            let mut raw = RawInputs::default();
            take_secrets(&mut raw, |name| {
                let found = variables.iter().find(|(one, _)| *one == name);
                found.map(|(_, value)| *value)
            });
            raw.given("github_token").map(str::to_owned)
        };
        assert_eq!(token(&[("GH_TOKEN", "gh")]).as_deref(), Some("gh"));
        let both = [("GH_TOKEN", "gh"), ("GITHUB_TOKEN", "github")];
        assert_eq!(token(&both).as_deref(), Some("github"));
        assert_eq!(token(&[]), None);
    }

    #[test]
    fn a_missing_key_is_asked_for_by_its_usual_name() {
        assert_eq!(
            missing_key("anthropic"),
            "The provider anthropic needs a key, and none is set; run `export ANTHROPIC_API_KEY=…` with your key."
        );
        assert!(missing_key("abacus").contains("`export OPENCODE_API_KEY=…`"));
    }
}

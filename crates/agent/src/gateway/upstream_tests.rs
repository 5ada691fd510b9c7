use super::*;
use secrecy::ExposeSecret;

fn choice(provider: &str, name: &str, key: Option<&str>) -> ModelChoice {
    ModelChoice {
        provider: provider.into(),
        name: name.into(),
        base_url: None,
        key: key.map(Into::into),
        context: None,
    }
}

fn addresses(provider: &str, name: &str) -> (String, Vec<String>) {
    let upstream = Upstream::from_choice(&choice(provider, name, Some("k"))).unwrap();
    let urls = upstream
        .routes
        .iter()
        .map(|route| route.url.to_string())
        .collect();
    (upstream.model, urls)
}

#[test]
fn each_kind_of_provider_is_asked_where_its_adapter_asks() {
    let cases = [
        (
            ("anthropic", "claude-sonnet-4-5"),
            ["https://api.anthropic.com/v1/messages"].as_slice(),
        ),
        (
            ("openai", "gpt-5"),
            &["https://api.openai.com/v1/responses"],
        ),
        (
            ("google", "gemini-2.5-pro"),
            &[
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent",
                "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent",
            ],
        ),
        (
            ("openrouter", "anthropic/claude-sonnet-4.5"),
            &["https://openrouter.ai/api/v1/chat/completions"],
        ),
        (
            ("deepinfra", "any"),
            &["https://api.deepinfra.com/v1/openai/chat/completions"],
        ),
        (("cohere", "any"), &["https://api.cohere.com/v2/chat"]),
        (
            ("fireworks-ai", "any"),
            &["https://api.fireworks.ai/inference/v1/chat/completions"],
        ),
        (
            ("vercel", "any"),
            &["https://ai-gateway.vercel.sh/v3/ai/language-model"],
        ),
    ];
    for ((provider, name), expected) in cases {
        assert_eq!(
            addresses(provider, name),
            (
                name.to_owned(),
                expected.iter().map(|&url| url.to_owned()).collect()
            ),
        );
    }
}

#[test]
fn a_model_that_differs_from_its_provider_is_asked_its_own_way() {
    let (_, messages) = addresses("opencode", "claude-fable-5");
    assert_eq!(messages, ["https://opencode.ai/zen/v1/messages"]);
    let (_, chat) = addresses("opencode", "a-model-of-tomorrow");
    assert_eq!(chat, ["https://opencode.ai/zen/v1/chat/completions"]);
    let (model, _) = addresses("openai", "gpt-5.4-fast");
    assert_eq!(model, "gpt-5.4", "a mode of a model is no name on the wire");
    let (_, gemini) = addresses("ofox", "google/gemini-3.5-flash");
    assert_eq!(
        gemini[0],
        "https://api.ofox.ai/gemini/v1beta/google/gemini-3.5-flash:streamGenerateContent"
    );
}

#[test]
fn an_endpoint_of_the_users_own_needs_neither_catalogue_nor_key() {
    let mut own = choice("azure", "gpt-5", None);
    own.base_url = Some("https://llm.example/openai/v1".into());
    let upstream = Upstream::from_choice(&own).unwrap();
    assert_eq!(upstream.routes[0].path, "chat/completions");
    assert_eq!(
        upstream.routes[0].url.as_str(),
        "https://llm.example/openai/v1/chat/completions"
    );
    assert!(upstream.credential.is_none());
    assert_eq!(upstream.host(), "llm.example");
}

#[test]
fn free_models_are_asked_with_what_opencode_sends_itself() {
    let upstream = Upstream::from_choice(&choice("opencode", "big-pickle", None)).unwrap();
    let credential = upstream.credential.unwrap();
    assert_eq!(credential.expose_secret(), "public");
}

#[test]
fn every_provider_is_either_reached_or_refused_with_the_way_out() {
    let mut refused = Vec::new();
    for (id, provider) in wire::providers() {
        let models = provider.models.keys().map(String::as_str);
        for name in models.chain(["a-model-of-tomorrow"]) {
            match Upstream::from_choice(&choice(&id, name, Some("k"))) {
                Ok(upstream) => {
                    assert!(!upstream.routes.is_empty(), "{id}");
                    for Route { path, url, .. } in upstream.routes {
                        assert!(!path.is_empty() && !url.as_str().contains('$'), "{url}");
                    }
                }
                Err(sentence) => {
                    assert!(sentence.contains("Set model_base_url to"), "{sentence}");
                    refused.push(id.clone());
                }
            }
        }
    }
    refused.dedup();
    assert_eq!(
        refused,
        [
            "aihubmix",
            "amazon-bedrock",
            "azure",
            "azure-cognitive-services",
            "cloudflare-ai-gateway",
            "cloudflare-workers-ai",
            "databricks",
            "github-copilot",
            "gitlab",
            "google-vertex",
            "google-vertex-anthropic",
            "infomaniak",
            "merge-gateway",
            "neon",
            "qvac",
            "salad-cloud",
            "sap-ai-core",
            "snowflake-cortex",
            "watsonx",
        ]
    );
    assert!(wire::providers().len() > 200);
}

#[test]
fn a_misspelt_provider_is_told_the_nearest_one() {
    let typed = problems(&choice("antropic", "m", Some("k")));
    assert!(typed[0].contains("Did you mean anthropic?"), "{typed:?}");
    let far = problems(&choice("zzzzzzzz", "m", Some("k")));
    assert!(!far[0].contains("Did you mean"), "{far:?}");
}

#[test]
fn a_key_is_asked_for_where_one_is_needed() {
    let missing = problems(&choice("anthropic", "m", None));
    assert!(
        missing[0].starts_with("opencode_api_key is not set"),
        "{missing:?}"
    );
    assert!(problems(&choice("anthropic", "m", Some("k"))).is_empty());
    assert!(problems(&choice("opencode", "m", None)).is_empty());
}

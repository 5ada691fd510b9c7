//! What OpenCode's adapters really ask for, held against what the gateway lets through. The providers themselves
//! cannot be reached from a test, so this has two halves: the real OpenCode asks a stand-in, and what it asked is
//! put to the gateway, which then has to want the provider's own host.

use super::bench::{Bench, Got, Provider, refused};
use super::opencode::{OpenCode, choice, config};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use reviewer_agent::gateway::Limits;
use reviewer_agent::opencode::ToolEndpoint;
use reviewer_agent::tools::review_names;
use reviewer_core::config::ModelChoice;
use serde_json::{Value, json};

/// Provider and model; the host that has to be asked; the model in the body, if it belongs there.
const CASES: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "anthropic",
        "claude-sonnet-4-5",
        "api.anthropic.com",
        Some("claude-sonnet-4-5"),
    ),
    ("openai", "gpt-5.4-fast", "api.openai.com", Some("gpt-5.4")),
    (
        "google",
        "gemini-2.5-pro",
        "generativelanguage.googleapis.com",
        None,
    ),
    (
        "openrouter",
        "anthropic/claude-sonnet-4.5",
        "openrouter.ai",
        Some("anthropic/claude-sonnet-4.5"),
    ),
    (
        "opencode",
        "claude-fable-5",
        "opencode.ai",
        Some("claude-fable-5"),
    ),
    ("opencode", "tomorrow", "opencode.ai", Some("tomorrow")),
    ("ofox", "google/gemini-3.5-flash", "api.ofox.ai", None),
    ("xai", "grok-4", "api.x.ai", Some("grok-4")),
    ("mistral", "tomorrow", "api.mistral.ai", Some("tomorrow")),
    ("groq", "tomorrow", "api.groq.com", Some("tomorrow")),
    (
        "deepinfra",
        "tomorrow",
        "api.deepinfra.com",
        Some("tomorrow"),
    ),
    ("cerebras", "tomorrow", "api.cerebras.ai", Some("tomorrow")),
    ("cohere", "tomorrow", "api.cohere.com", Some("tomorrow")),
    (
        "togetherai",
        "tomorrow",
        "api.together.xyz",
        Some("tomorrow"),
    ),
    (
        "perplexity",
        "tomorrow",
        "api.perplexity.ai",
        Some("tomorrow"),
    ),
    ("v0", "tomorrow", "api.v0.dev", Some("tomorrow")),
    ("venice", "tomorrow", "api.venice.ai", Some("tomorrow")),
    ("vercel", "tomorrow", "ai-gateway.vercel.sh", None),
    ("deepseek", "tomorrow", "api.deepseek.com", Some("tomorrow")),
];

#[tokio::test]
async fn every_adapter_asks_for_what_the_gateway_lets_through() {
    let standin = Provider::answers(|_| {
        let body = json!({ "error": { "message": "not here", "type": "no" } });
        (StatusCode::FORBIDDEN, axum::Json(body)).into_response()
    })
    .await;
    let models: Vec<(ModelChoice, String)> = CASES
        .iter()
        .map(|(provider, name, _, _)| {
            let address = format!("http://{}/{provider}", standin.address);
            (choice(provider, name, None), address)
        })
        .collect();
    let tools = ToolEndpoint {
        base_url: "http://127.0.0.1:9".into(),
        bearer: "none".into(),
        tools: review_names(false, false),
    };
    let mut config = config(&tools, &models);
    config["mcp"] = json!({});
    let scratch = tempfile::tempdir().unwrap();
    let opencode = OpenCode::start(scratch.path(), &config).await;
    let proxy = Provider::answers(|_| StatusCode::FORBIDDEN.into_response()).await;
    for ((choice, _), (_, _, host, model)) in models.iter().zip(CASES) {
        let before = standin.got().len();
        let session = opencode.session().await;
        let turn = opencode.asks(&session, choice, None).await;
        let got = standin.got();
        assert_eq!(got.len(), before + 1, "{choice}: {turn}");
        let asked = &got[before];
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(body["model"].as_str(), *model, "{choice}");
        passes(choice, asked, host, &proxy).await;
    }
}

/// The gateway passes this request on, to this host.
pub async fn passes(choice: &ModelChoice, asked: &Got, host: &str, proxy: &Provider) {
    let (status, message) = put_to_gateway(choice, asked, proxy).await;
    assert_eq!(status, 502, "{choice}: {message}");
    assert!(
        message.starts_with(&format!("The model gateway cannot reach https://{host}: ")),
        "{message}"
    );
    let wanted = proxy.got().pop().unwrap().uri;
    assert_eq!(wanted.to_string(), format!("{host}:443"), "{choice}");
}

/// As OpenCode asked, to a gateway whose only way out is a proxy that lets nothing through.
async fn put_to_gateway(choice: &ModelChoice, asked: &Got, proxy: &Provider) -> (u16, String) {
    let address = format!("http://{}", proxy.address);
    let network = [("HTTPS_PROXY", address.as_str())];
    let bench = Bench::before(choice, &network, Limits::default()).await;
    let path = asked.uri.path_and_query().unwrap().as_str();
    let below = path
        .strip_prefix(&format!("/{}/", choice.provider))
        .unwrap();
    let mut request = bench.plain(reqwest::Method::POST, &format!("/model/r1/{below}"));
    for (name, value) in &asked.headers {
        if name != "host" && name != "content-length" {
            request = request.header(name, value);
        }
    }
    refused(request.body(asked.body.clone())).await
}

//! Whole conversations of the real OpenCode, recorded for each wire format and put to the gateway: thinking, tool calls
//! with their results, pictures, papers, and a further prompt over all that history.

use super::adapters::passes;
use super::bench::{Bench, Provider};
use super::opencode::{OpenCode, choice, config};
use crate::standin::model::Call;
use crate::standin::model::wires::Turn;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use reviewer_agent::gateway::Limits;
use reviewer_agent::opencode::SessionName;
use reviewer_agent::opencode::ToolEndpoint;
use reviewer_agent::tools::server::{Offer, ToolServer};
use reviewer_agent::tools::{review_names, review_tools};
use reviewer_core::config::ModelChoice;
use reviewer_core::review::desk::SharedDesk;
use reviewer_text::redact::Redactor;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Provider, model and variant; the host that has to be asked.
const CASES: &[(&str, &str, Option<&str>, &str)] = &[
    (
        "anthropic",
        "claude-sonnet-4-5",
        Some("high"),
        "api.anthropic.com",
    ),
    (
        "anthropic",
        "claude-opus-4-6",
        Some("max"),
        "api.anthropic.com",
    ),
    ("openai", "gpt-5.4-fast", Some("high"), "api.openai.com"),
    ("openai", "gpt-4o", None, "api.openai.com"),
    (
        "google",
        "gemini-2.5-pro",
        Some("max"),
        "generativelanguage.googleapis.com",
    ),
    (
        "google",
        "gemini-3-pro-preview",
        None,
        "generativelanguage.googleapis.com",
    ),
    (
        "openrouter",
        "anthropic/claude-sonnet-4.5",
        Some("high"),
        "openrouter.ai",
    ),
    ("openrouter", "openai/gpt-5", None, "openrouter.ai"),
    ("opencode", "claude-fable-5", None, "opencode.ai"),
    ("opencode", "gpt-5.4", None, "opencode.ai"),
    ("opencode", "tomorrow", None, "opencode.ai"),
    ("xai", "grok-4", None, "api.x.ai"),
    ("groq", "openai/gpt-oss-120b", Some("high"), "api.groq.com"),
    ("deepseek", "deepseek-reasoner", None, "api.deepseek.com"),
    ("zai", "glm-4.7", None, "api.z.ai"),
];

/// The calls of the first prompt; a text follows, and another one answers the second prompt.
fn calls() -> Vec<Call> {
    let reads = ["note.txt", "picture.png", "paper.pdf"];
    let reads = reads.map(|name| Call::new("read", json!({ "filePath": name })));
    let first = [
        Call::new("glob", json!({ "pattern": "*.txt" })),
        Call::new("no_such_tool", json!({ "a": { "b": [1] } })),
    ];
    first.into_iter().chain(reads).collect()
}

/// A model that speaks every wire format, and counts its turns.
async fn model() -> (Provider, Arc<AtomicUsize>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let provider = Provider::answers(move |got| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let call = calls().into_iter().nth(number);
        Turn { number, call }.answer(got.uri.path())
    });
    (provider.await, turns)
}

#[tokio::test]
async fn whole_conversations_of_opencode_pass_the_gateway() {
    let (model, turns) = model().await;
    let server = tools().await;
    let endpoint = ToolEndpoint {
        base_url: server.tools_url(SESSION),
        bearer: "bearer".into(),
        tools: review_names(false, false),
    };
    let mut models: Vec<(ModelChoice, String)> = CASES
        .iter()
        .map(|(provider, name, _, _)| {
            let address = format!("http://{}/{provider}", model.address);
            (choice(provider, name, None), address)
        })
        .collect();
    // The one that a test can reach: through the gateway, to its endpoint.
    let url = format!("http://{}/own", model.address);
    let own = choice("own", "m-1", Some(&url));
    let bench = Bench::before(&own, &[], Limits::default()).await;
    models.push((own.clone(), format!("{}/model/r1", bench.server.base_url())));
    let scratch = tempfile::tempdir().unwrap();
    files(&scratch.path().join("work"));
    let opencode = OpenCode::start(scratch.path(), &config(&endpoint, &models)).await;
    let proxy = Provider::answers(|_| StatusCode::FORBIDDEN.into_response()).await;
    for (choice, _) in &models {
        let case = CASES
            .iter()
            .find(|(provider, name, _, _)| *provider == choice.provider && *name == choice.name);
        turns.store(0, Ordering::Relaxed);
        let before = model.got().len();
        let session = opencode.session().await;
        for _ in 0..2 {
            let variant = case.and_then(|(_, _, variant, _)| *variant);
            opencode.asks(&session, choice, variant).await;
        }
        let got = model.got();
        let conversation = &got[before..];
        assert_eq!(conversation.len(), calls().len() + 2, "{choice}");
        let Some((_, _, _, host)) = case else {
            continue;
        };
        for asked in conversation {
            passes(choice, asked, host, &proxy).await;
        }
    }
}

/// Each provider goes on with the conversation of another one that has another wire format: what that one thought and called is in it.
#[tokio::test]
async fn a_conversation_that_another_model_began_passes_the_gateway() {
    let (model, turns) = model().await;
    let server = tools().await;
    let endpoint = ToolEndpoint {
        base_url: server.tools_url(SESSION),
        bearer: "bearer".into(),
        tools: review_names(false, false),
    };
    let named = [
        "claude-sonnet-4-5",
        "gpt-5.4-fast",
        "gemini-2.5-pro",
        "gpt-5.4",
        "grok-4",
    ];
    let cases: Vec<_> = named
        .iter()
        .filter_map(|name| CASES.iter().find(|(_, model, _, _)| model == name))
        .collect();
    let address = |provider: &str| format!("http://{}/{provider}", model.address);
    let models: Vec<(ModelChoice, String)> = cases
        .iter()
        .map(|(provider, name, _, _)| (choice(provider, name, None), address(provider)))
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    files(&scratch.path().join("work"));
    let opencode = OpenCode::start(scratch.path(), &config(&endpoint, &models)).await;
    let proxy = Provider::answers(|_| StatusCode::FORBIDDEN.into_response()).await;
    for at in 0..cases.len() {
        let next = (at + 1) % cases.len();
        turns.store(0, Ordering::Relaxed);
        let session = opencode.session().await;
        let (first, variant) = (&models[at].0, cases[at].2);
        opencode.asks(&session, first, variant).await;
        let before = model.got().len();
        // One call of the other model, too.
        turns.store(calls().len() - 1, Ordering::Relaxed);
        let (other, host) = (&models[next].0, cases[next].3);
        opencode.asks(&session, other, cases[next].2).await;
        let got = model.got();
        let conversation = &got[before..];
        assert_eq!(conversation.len(), 2, "{first}, {other}");
        for asked in conversation {
            passes(other, asked, host, &proxy).await;
        }
    }
}

const SESSION: SessionName = SessionName::Review(1);

/// Our tools, so that their schemas are in the requests.
async fn tools() -> ToolServer {
    let offer = Offer {
        session: SESSION,
        bearer: "bearer".into(),
        redactor: Arc::new(Redactor::new(&[])),
        tools: review_tools(&SharedDesk::default(), None, None),
    };
    ToolServer::start(vec![offer], None).await.unwrap()
}

/// What the conversations read.
fn files(work: &Path) {
    const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";
    std::fs::create_dir_all(work).unwrap();
    std::fs::write(work.join("note.txt"), "See https://example.com/.\n").unwrap();
    std::fs::write(work.join("picture.png"), PICTURE).unwrap();
    std::fs::write(work.join("paper.pdf"), "%PDF-1.4\n%%EOF\n").unwrap();
}

//! What OpenCode's adapters really ask for, held against what the gateway lets through. The providers themselves
//! cannot be reached from a test, so this has two halves: the real OpenCode asks a stand-in, and what it asked is
//! put to the gateway, which then has to want the provider's own host.

use super::bench::{Bench, Got, KEY, PLACEHOLDER, Provider, refused};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use opencode_reviewer::config::ModelChoice;
use opencode_reviewer::gateway::Limits;
use opencode_reviewer::opencode::profile::{self, Surroundings};
use opencode_reviewer::opencode::{
    ModelEndpoint, Profile, ToolEndpoint, find_opencode, find_ripgrep,
};
use reqwest::Client;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::{Child, Command};

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
    let scratch = tempfile::tempdir().unwrap();
    let opencode = OpenCode::start(scratch.path(), &standin).await;
    let proxy = Provider::answers(|_| StatusCode::FORBIDDEN.into_response()).await;
    for (provider, name, host, model) in CASES {
        let asked = opencode.asks(provider, name, &standin).await;
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(body["model"].as_str(), *model, "{provider}/{name}");
        let (status, message) = put_to_gateway(provider, name, &asked, &proxy).await;
        assert_eq!(status, 502, "{provider}/{name}: {message}");
        assert!(
            message.starts_with(&format!("The model gateway cannot reach {host}: ")),
            "{message}"
        );
        let wanted = proxy.got().pop().unwrap().uri;
        assert_eq!(
            wanted.to_string(),
            format!("{host}:443"),
            "{provider}/{name}"
        );
    }
}

/// As OpenCode asked, to a gateway whose only way out is a proxy that lets nothing through.
async fn put_to_gateway(
    provider: &str,
    name: &str,
    asked: &Got,
    proxy: &Provider,
) -> (u16, String) {
    let choice = ModelChoice {
        provider: provider.to_owned(),
        name: name.to_owned(),
        base_url: None,
        key: Some(KEY.into()),
        context: None,
    };
    let address = format!("http://{}", proxy.address);
    let network = [("HTTPS_PROXY", address.as_str())];
    let bench = Bench::before(&choice, &network, Limits::default()).await;
    let path = asked.uri.path_and_query().unwrap().as_str();
    let below = path.strip_prefix(&format!("/{provider}/")).unwrap();
    let mut request = bench.plain(reqwest::Method::POST, &format!("/model/{below}"));
    for (name, value) in &asked.headers {
        if name != "host" && name != "content-length" {
            request = request.header(name, value);
        }
    }
    refused(request.body(asked.body.clone())).await
}

/// `opencode serve` with all providers of the cases, each pointed at the stand-in.
struct OpenCode {
    http: Client,
    base: String,
    _process: Child,
}

const PASSWORD: &str = "of-this-test";

impl OpenCode {
    async fn start(scratch: &Path, standin: &Provider) -> Self {
        let roots = [PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
        let path = std::env::var("PATH").unwrap();
        let given = std::env::var("OPENCODE_BIN").ok();
        let executable = find_opencode(given.as_deref(), &roots, &path).expect("OpenCode");
        let (home, work) = (scratch.join("home"), scratch.join("work"));
        std::fs::create_dir_all(home.join("tmp")).unwrap();
        std::fs::create_dir(&work).unwrap();
        let variables = profile::environment(Surroundings {
            home: &home,
            programs: find_ripgrep(&roots, &path).as_slice(),
            password: &PASSWORD.into(),
            config: &config(standin),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let process = Command::new(executable)
            .args(["serve", "--pure", "--hostname", "127.0.0.1", "--port"])
            .arg(port.to_string())
            .current_dir(work)
            .env_clear()
            .envs(variables)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let opencode = Self {
            http: Client::builder().no_proxy().build().unwrap(),
            base: format!("http://127.0.0.1:{port}"),
            _process: process,
        };
        opencode.healthy().await;
        opencode
    }

    async fn healthy(&self) {
        for _ in 0..300 {
            let request = self.http.get(format!("{}/global/health", self.base));
            let request = request.basic_auth("opencode", Some(PASSWORD));
            let answer = request.timeout(Duration::from_millis(250)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("OpenCode did not start");
    }

    /// One prompt for this model: what the stand-in got of it.
    async fn asks(&self, provider: &str, name: &str, standin: &Provider) -> Got {
        let before = standin.got().len();
        let session = self.post("/session", &json!({ "title": "t" })).await;
        let path = format!("/session/{}/message", session["id"].as_str().unwrap());
        let prompt = json!({
            "agent": Profile::Reviewer.agent(),
            "model": { "providerID": provider, "modelID": name },
            "parts": [{ "type": "text", "text": "Review." }],
        });
        let turn = self.post(&path, &prompt).await;
        let got = standin.got();
        assert_eq!(got.len(), before + 1, "{provider}/{name}: {turn}");
        got[before].clone()
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.base));
        let request = request.basic_auth("opencode", Some(PASSWORD)).json(body);
        request.send().await.unwrap().json().await.unwrap()
    }
}

/// Our own profile of each case, merged.
fn config(standin: &Provider) -> Value {
    let tools = ToolEndpoint {
        base_url: "http://127.0.0.1:9".into(),
        bearer: "none".into(),
    };
    let mut merged = Value::Null;
    for (provider, name, _, _) in CASES {
        let choice = ModelChoice {
            provider: (*provider).into(),
            name: (*name).into(),
            base_url: None,
            key: Some(KEY.into()),
            context: None,
        };
        let endpoint = ModelEndpoint {
            base_url: format!("http://{}/{provider}", standin.address),
            placeholder: PLACEHOLDER.into(),
        };
        let mut one = profile::config(Profile::Reviewer, &choice, "", &tools, &endpoint);
        one["mcp"] = json!({});
        if merged.is_null() {
            merged = one;
            continue;
        }
        let models = one["provider"][provider]["models"].take();
        let known = &mut merged["provider"][provider];
        if known.is_null() {
            *known = one["provider"][provider].take();
            known["models"] = json!({});
        }
        known["models"][name] = models[name].clone();
    }
    merged
}

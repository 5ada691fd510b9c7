//! The real OpenCode with several providers at once, each pointed where a test says, to see what it asks for.

use super::bench::{KEY, PLACEHOLDER};
use reqwest::Client;
use reviewer_agent::opencode::profile::{self, Surroundings};
use reviewer_agent::opencode::{
    ModelEndpoint, Profile, SessionConfig, SessionName, ToolEndpoint, find_opencode, find_ripgrep,
};
use reviewer_core::config::ModelChoice;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::{Child, Command};

/// `opencode serve`, in a folder `work` below the scratch folder.
pub struct OpenCode {
    http: Client,
    base: String,
    _process: Child,
}

const PASSWORD: &str = "of-this-test";

impl OpenCode {
    pub async fn start(scratch: &Path, config: &Value) -> Self {
        let roots = [PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
        let path = std::env::var("PATH").unwrap();
        let given = std::env::var("OPENCODE_BIN").ok();
        let executable = find_opencode(given.as_deref(), &roots, &path).expect("OpenCode");
        let (home, work) = (scratch.join("home"), scratch.join("work"));
        std::fs::create_dir_all(home.join("tmp")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        let variables = profile::environment(Surroundings {
            home: &home,
            programs: find_ripgrep(&roots, &path).as_slice(),
            password: &PASSWORD.into(),
            config,
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

    /// The path of a new session's prompts.
    pub async fn session(&self) -> String {
        let session = self.post("/session", &json!({ "title": "t" })).await;
        format!("/session/{}/message", session["id"].as_str().unwrap())
    }

    /// One prompt for this model, to its end.
    pub async fn asks(&self, session: &str, choice: &ModelChoice, variant: Option<&str>) -> Value {
        let mut prompt = json!({
            "agent": Profile::Reviewer.agent(),
            "model": { "providerID": choice.provider, "modelID": choice.name },
            "parts": [{ "type": "text", "text": "Review." }],
        });
        if let Some(variant) = variant {
            prompt["variant"] = json!(variant);
        }
        self.post(session, &prompt).await
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(format!("{}{path}", self.base));
        let request = request.basic_auth("opencode", Some(PASSWORD)).json(body);
        request.send().await.unwrap().json().await.unwrap()
    }
}

/// A model of the catalogue, or of an endpoint.
pub fn choice(provider: &str, name: &str, base_url: Option<&str>) -> ModelChoice {
    ModelChoice {
        provider: provider.to_owned(),
        name: name.to_owned(),
        base_url: base_url.map(str::to_owned),
        key: Some(KEY.into()),
        context: None,
    }
}

/// Our own profile of each choice, merged. Each comes with the address that OpenCode reaches it by.
pub fn config(tools: &ToolEndpoint, choices: &[(ModelChoice, String)]) -> Value {
    let mut merged = Value::Null;
    for (choice, address) in choices {
        let (provider, name) = (choice.provider.as_str(), choice.name.as_str());
        let endpoint = ModelEndpoint {
            base_url: address.clone(),
            placeholder: PLACEHOLDER.into(),
            credential: "Authorization",
        };
        let session = SessionConfig {
            name: SessionName::Review(1),
            profile: Profile::Reviewer,
            model: choice,
            system_prompt: String::new(),
            tools: tools.clone(),
            endpoint,
            fallback: None,
        };
        let mut one = profile::config(&session, &[]);
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

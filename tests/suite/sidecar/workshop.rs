//! What every test of the sidecar sets up: a directory with a few files, our tools (a hand-made endpoint, as
//! the real ones are tested elsewhere), and a sidecar that talks to a scripted model.

use crate::standin::model::Model;
use crate::standin::world::open_folder;
use crate::walls::program;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use reviewer_agent::opencode::{
    ModelEndpoint, Profile, Quota, SessionConfig, SessionName, Sidecar, Spec, ToolEndpoint,
    find_opencode, find_ripgrep, profile,
};
use reviewer_agent::tools::review_names;
use reviewer_core::config::ModelChoice;
use reviewer_system::clock::Clock;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub const BEARER: &str = "bearer-of-the-run";
pub const PASSWORD: &str = "password-of-the-run";
pub const KEY: &str = "model-key-1";

pub struct Workshop {
    pub dir: TempDir,
    pub tools: Tools,
}

impl Workshop {
    pub async fn open() -> Self {
        let dir = open_folder();
        let workshop = Self {
            dir,
            tools: Tools::serve().await,
        };
        std::fs::create_dir_all(workshop.snapshot()).unwrap();
        std::fs::write(workshop.snapshot().join("a.rs"), "fn alpha() {}\n").unwrap();
        std::fs::write(workshop.snapshot().join("b.rs"), "fn beta() {}\n").unwrap();
        workshop
    }

    /// Where the sidecar starts.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn snapshot(&self) -> PathBuf {
        self.dir.path().join("snapshot")
    }

    pub fn spec(&self, choice: &ModelChoice) -> Spec {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let path = std::env::var("PATH").unwrap();
        let given = std::env::var("OPENCODE_BIN").ok();
        Spec {
            executable: find_opencode(given.as_deref(), std::slice::from_ref(&root), &path)
                .expect("OpenCode is installed: run `npm ci --ignore-scripts`"),
            launcher: env!("CARGO_BIN_EXE_opencode-reviewer").into(),
            programs: vec![find_ripgrep(&[root], &path).expect("ripgrep is installed")],
            home: self.home(),
            directory: self.snapshot(),
            config: profile::config(
                &SessionConfig {
                    name: SessionName::Review(1),
                    profile: Profile::Reviewer,
                    model: choice,
                    system_prompt: "You review pull requests.".into(),
                    tools: self.tools.endpoint.clone(),
                    endpoint: direct(choice),
                    fallback: None,
                },
                &[],
            ),
            profile: Profile::Reviewer,
            password: PASSWORD.into(),
            server: port(&self.tools.endpoint.base_url),
            require_sandbox: false,
            quota: Quota::USUAL,
        }
    }

    /// With an executable that is a shell script.
    pub fn spec_of_script(&self, script: &str) -> Spec {
        let executable = self.dir.path().join("opencode");
        std::fs::write(&executable, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let on_path = |name: &str| {
            let mut places = path.split(':').map(|folder| Path::new(folder).join(name));
            places
                .find(|place| place.is_file())
                .expect("it is installed")
        };
        Spec {
            executable,
            programs: ["sh", "node"].map(on_path).to_vec(),
            ..self.spec(&endpoint("http://127.0.0.1:9/v1"))
        }
    }

    /// The launcher on a kernel that lacks things; see `tests/walls/lacking.rs`.
    pub fn lacking(&self, features: &str, launcher: &Path) -> PathBuf {
        let script = self.dir.path().join("launcher");
        let lacking = program("lacking");
        let (lacking, launcher) = (lacking.display(), launcher.display());
        let text = format!("#!/bin/sh\nexec '{lacking}' {features} '{launcher}' \"$@\"\n");
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        script
    }

    pub async fn sidecar(&self, model: &Model) -> Sidecar {
        Sidecar::start(&self.spec(&endpoint(model.url())), &Clock::scaled(1.0))
            .await
            .expect("the sidecar starts")
    }
}

fn port(url: &str) -> u16 {
    let authority = url.split('/').nth(2).expect("a URL");
    authority.rsplit(':').next().unwrap().parse().unwrap()
}

pub fn endpoint(base_url: &str) -> ModelChoice {
    ModelChoice {
        provider: "scripted".into(),
        name: "m".into(),
        base_url: Some(base_url.to_owned()),
        key: Some(KEY.into()),
        context: None,
    }
}

/// The model without a gateway in front of it, which is tested elsewhere.
fn direct(choice: &ModelChoice) -> ModelEndpoint {
    let nowhere = "http://127.0.0.1:9/v1";
    ModelEndpoint {
        base_url: choice.base_url.as_deref().unwrap_or(nowhere).to_owned(),
        placeholder: KEY.into(),
        credential: "Authorization",
    }
}

/// The processes that run in this snapshot or in the home beside it: what the sidecar is, and whatever it started.
pub fn processes_in(snapshot: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let home = snapshot.with_file_name("home");
    entries
        .filter(|entry| {
            let at = std::fs::read_link(entry.path().join("cwd"));
            at.is_ok_and(|at| at == snapshot || at == home)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Our two tool servers, as small as MCP allows.
pub struct Tools {
    pub endpoint: ToolEndpoint,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Tools {
    async fn serve() -> Self {
        let calls: Arc<Mutex<Vec<Value>>> = Arc::default();
        let server = |tool: &'static str| {
            let calls = Arc::clone(&calls);
            post(
                move |headers: HeaderMap, Json(message): Json<Value>| async move {
                    answer(tool, &headers, &message, &calls)
                },
            )
        };
        let router = Router::new()
            .route("/mcp/r1/github", server("post_review_comment"))
            .route("/mcp/r1/submit", server("pass_results"))
            .fallback(pass_on);
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap();
        let base_url = format!("http://{}/mcp/r1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            endpoint: ToolEndpoint {
                base_url,
                bearer: BEARER.into(),
                tools: review_names(false, false),
            },
            calls,
        }
    }

    /// What was called, with its arguments.
    pub fn calls(&self) -> Vec<Value> {
        self.calls.lock().unwrap().clone()
    }
}

/// Every connection of the sidecar ends here, whatever its address: hands on what is meant for the model.
async fn pass_on(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let host = head.headers["host"].to_str().unwrap().to_owned();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let answer = reqwest::Client::new()
        .request(head.method, format!("http://{host}{}", head.uri))
        .headers(head.headers)
        .body(body)
        .send()
        .await;
    let Ok(answer) = answer else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let (status, kind) = (answer.status(), answer.headers()["content-type"].clone());
    let stream = Body::from_stream(answer.bytes_stream());
    (status, [("content-type", kind)], stream).into_response()
}

fn answer(tool: &str, headers: &HeaderMap, message: &Value, calls: &Mutex<Vec<Value>>) -> Response {
    let authorized = headers
        .get("authorization")
        .is_some_and(|value| value == &format!("Bearer {BEARER}"));
    if !authorized {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": tool, "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [
            { "name": tool, "description": tool, "inputSchema": { "type": "object" } },
        ] }),
        Some("tools/call") => {
            calls.lock().unwrap().push(message["params"].clone());
            json!({ "content": [{ "type": "text", "text": "noted" }] })
        }
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).into_response()
}

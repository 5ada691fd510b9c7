//! What goes wrong, and the sentences about it.

use super::workshop::{KEY, PASSWORD, Workshop, endpoint, processes_in};
use crate::standin::model::{Answer, Call, Model};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use reviewer_agent::opencode::{Client, ClientError, Quota, Sidecar, Spec, StartError, TurnError};
use reviewer_system::clock::Clock;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

#[tokio::test]
async fn a_refused_key_is_reported_at_once_with_its_status() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| {
        Answer::status(
            401,
            json!({ "error": { "message": "Incorrect API key provided" } }),
        )
    });
    let sidecar = workshop.sidecar(&model).await;
    let session = sidecar.client().create_session("Review").await.unwrap();
    let turn = sidecar.client().prompt(&session, "Go.").await.unwrap();
    let error = turn.error.unwrap();
    assert_eq!(error.to_string(), "Incorrect API key provided (HTTP 401)");
    assert_eq!(model.requests().len(), 1);
    sidecar.stop().await;
}

#[tokio::test]
async fn an_endpoint_that_is_no_model_ends_the_turn_instead_of_being_asked_for_ever() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| Answer::Raw("<html>It works!</html>"));
    let sidecar = workshop.sidecar(&model).await;
    let session = sidecar.client().create_session("Review").await.unwrap();
    let turn = sidecar.client().prompt(&session, "Go.").await.unwrap();
    let error = turn.error.unwrap();
    assert_eq!(error.name, TurnError::EMPTY_ANSWERS);
    assert!(
        error.to_string().contains("check model_base_url"),
        "{error}"
    );
    sidecar.stop().await;
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_an_error_without_a_status() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| Answer::Raw("data: {not json\n\n"));
    let sidecar = workshop.sidecar(&model).await;
    let session = sidecar.client().create_session("Review").await.unwrap();
    let turn = sidecar.client().prompt(&session, "Go.").await.unwrap();
    let error = turn.error.unwrap();
    assert_eq!((error.name.as_str(), error.status), ("UnknownError", None));
    assert!(error.message.contains("JSON parsing failed"), "{error}");
    sidecar.stop().await;
}

#[tokio::test]
async fn a_turn_that_stalls_can_be_aborted() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| Answer::Stall);
    let sidecar = workshop.sidecar(&model).await;
    let client = sidecar.client().clone();
    let session = client.create_session("Review").await.unwrap();
    let (waiting, of) = (client.clone(), session.clone());
    let turn = tokio::spawn(async move { waiting.prompt(&of, "Go.").await });
    while model.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client.abort(&session).await.unwrap();
    let turn = turn.await.unwrap().unwrap();
    assert!(
        turn.error.as_ref().is_some_and(TurnError::is_aborted),
        "{turn:?}"
    );
    sidecar.stop().await;
}

#[tokio::test]
async fn a_permission_that_is_asked_for_is_rejected_and_the_turn_goes_on() {
    let workshop = Workshop::open().await;
    let file = workshop.snapshot().join("a.rs");
    let model = Model::start(move |request| match request.step() {
        0 => Answer::calls(vec![Call::new("read", json!({ "filePath": file }))]),
        _ => Answer::text("Went on."),
    });
    // As if a later version of OpenCode had turned a rule of ours into a question.
    let mut spec = workshop.spec(&endpoint(model.url()));
    spec.config["agent"]["reviewer"]["permission"]["read"] = json!("ask");
    let sidecar = start(&spec).await.unwrap();
    let client = sidecar.client();
    let session = client.create_session("Review").await.unwrap();
    let turn = tokio::time::timeout(Duration::from_mins(1), client.prompt(&session, "Go."));
    let turn = turn.await.expect("nothing waits for a person").unwrap();
    assert_eq!((turn.text.as_str(), turn.tool_calls), ("Went on.", 1));
    assert_eq!(
        client.pending_permissions().await.unwrap(),
        Vec::<String>::new()
    );
    sidecar.stop().await;
}

#[tokio::test]
async fn o8_it_is_rejected_although_the_events_cannot_be_heard() {
    let workshop = Workshop::open().await;
    let file = workshop.snapshot().join("a.rs");
    let model = Model::start(move |request| match request.step() {
        0 => Answer::calls(vec![Call::new("read", json!({ "filePath": file }))]),
        _ => Answer::text("Went on."),
    });
    let mut spec = workshop.spec(&endpoint(model.url()));
    spec.config["agent"]["reviewer"]["permission"]["read"] = json!("ask");
    let sidecar = start(&spec).await.unwrap();
    let deaf = without_events(listening_address(&workshop)).await;
    let client = Client::new(deaf, PASSWORD.into(), "reviewer", &workshop.snapshot()).unwrap();
    let session = client.create_session("Review").await.unwrap();
    let turn = tokio::time::timeout(Duration::from_mins(1), client.prompt(&session, "Go."));
    let turn = turn.await.expect("nothing waits for a person").unwrap();
    assert_eq!((turn.text.as_str(), turn.tool_calls), ("Went on.", 1));
    sidecar.stop().await;
}

/// The same sidecar at another address, where `/event` is not to be had.
async fn without_events(base: String) -> String {
    let pass = move |request: axum::extract::Request| {
        let base = base.clone();
        async move {
            let (head, body) = request.into_parts();
            if head.uri.path() == "/event" {
                return StatusCode::SERVICE_UNAVAILABLE.into_response();
            }
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let asked = reqwest::Client::new()
                .request(head.method, format!("{base}{}", head.uri))
                .headers(head.headers)
                .body(body);
            let answer = asked.send().await.unwrap();
            let status = answer.status();
            (status, answer.bytes().await.unwrap()).into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().fallback(pass);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

#[tokio::test]
async fn the_password_is_needed_and_stopping_leaves_nothing_behind() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| Answer::text("Hello."));
    let sidecar = workshop.sidecar(&model).await;
    let base = listening_address(&workshop);
    let stranger = Client::new(base, "guess".into(), "reviewer", &workshop.snapshot()).unwrap();
    match stranger.create_session("Mine").await {
        Err(ClientError::Status { status, .. }) => assert_eq!(status, 401),
        other => panic!("{other:?}"),
    }
    assert_ne!(processes_in(&workshop.snapshot()), Vec::<String>::new());
    sidecar.stop().await;
    assert_eq!(processes_in(&workshop.snapshot()), Vec::<String>::new());
}

#[tokio::test]
async fn the_snapshot_configures_nothing_of_the_runtime_even_where_it_is_there_first() {
    let workshop = Workshop::open().await;
    let folder = workshop.snapshot();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    // What the runtime takes from the folder that it starts in: modules of its own, replaced.
    let paths = r#"{"compilerOptions":{"baseUrl":".","paths":{"*":["./planted.js"]}}}"#;
    write("tsconfig.json", paths);
    write("jsconfig.json", paths);
    write("bunfig.toml", "preload = [\"./planted.js\"]\n");
    write(".env", "OPENCODE_CONFIG=planted.json\n");
    write("package.json", r##"{"imports":{"#*":"./planted.js"}}"##);
    let place = workshop.snapshot().with_file_name("home").join("ran");
    write(
        "planted.js",
        &format!("require('fs').writeFileSync({place:?}, 'x');\n"),
    );
    let model = Model::start(|_| Answer::text("Hello."));
    let mut spec = workshop.spec(&endpoint(model.url()));
    // Landlock hides the folders above from the runtime, which then looks for none of these. Not every kernel has it.
    spec.launcher = workshop.lacking("landlock", &spec.launcher);
    let sidecar = start(&spec).await.unwrap();
    let session = sidecar.client().create_session("One").await.unwrap();
    let turn = sidecar.client().prompt(&session, "Hello?").await.unwrap();
    assert_eq!(turn.text, "Hello.");
    assert!(!place.exists(), "a file of the snapshot was executed");
    sidecar.stop().await;
}

#[tokio::test]
async fn a_sidecar_that_is_dropped_takes_its_children_along() {
    let workshop = Workshop::open().await;
    let spec = workshop.spec_of_script(&served("1.99.0"));
    let sidecar = start(&spec).await.unwrap();
    assert!(
        processes_in(&workshop.snapshot()).len() >= 2,
        "the script and its child"
    );
    drop(sidecar);
    for _ in 0..100 {
        if processes_in(&workshop.snapshot()).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("left behind: {:?}", processes_in(&workshop.snapshot()));
}

#[tokio::test]
async fn a_sidecar_that_dies_is_noticed() {
    let workshop = Workshop::open().await;
    let model = Model::start(|_| Answer::Stall);
    let sidecar = workshop.sidecar(&model).await;
    for id in processes_in(&workshop.snapshot()) {
        let id = nix::unistd::Pid::from_raw(id.parse().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    let words = tokio::time::timeout(Duration::from_secs(10), sidecar.exited())
        .await
        .unwrap();
    assert!(words.contains("signal: 9"), "{words}");
    assert!(words.contains("opencode server listening"), "{words}");
}

#[tokio::test]
async fn one_that_holds_too_much_memory_is_ended_and_told() {
    let workshop = Workshop::open().await;
    let spec = Spec {
        quota: Quota {
            memory: 150 << 20,
            ..Quota::USUAL
        },
        ..workshop.spec(&endpoint("http://127.0.0.1:9/v1"))
    };
    // It may be noticed while it starts, or after.
    let words = match start(&spec).await {
        Ok(sidecar) => sidecar.exited().await,
        Err(error) => error.to_string(),
    };
    assert!(
        words.contains("ended by the reviewer, because it held"),
        "{words}"
    );
    assert!(words.contains("more than the 150 MiB it may"), "{words}");
    assert_eq!(processes_in(&workshop.snapshot()), Vec::<String>::new());
}

#[tokio::test]
async fn an_error_without_end_is_read_to_its_beginning() {
    let workshop = Workshop::open().await;
    let endless = r#"for port; do :; done
OPENSSL_CONF=/dev/null exec node -e '
require("http").createServer((asked, answer) => {
  answer.setHeader("content-type", "application/json");
  if (asked.url.startsWith("/global/health"))
    return answer.end(JSON.stringify({ healthy: true, version: "1.0.0" }));
  answer.statusCode = 500;
  const more = () => { while (answer.write("a".repeat(65536))); };
  answer.on("drain", more);
  more();
}).listen(process.argv[1], "127.0.0.1")' "$port""#;
    let sidecar = start(&workshop.spec_of_script(endless)).await.unwrap();
    let error = sidecar.client().create_session("Review").await.unwrap_err();
    assert!(error.to_string().contains(&"a".repeat(400)), "{error}");
    sidecar.stop().await;
}

#[tokio::test]
async fn one_that_fills_its_scratch_home_is_ended_and_told() {
    let workshop = Workshop::open().await;
    let spec = Spec {
        quota: Quota {
            scratch: 8 << 20,
            ..Quota::USUAL
        },
        ..workshop.spec_of_script(
            "OPENSSL_CONF=/dev/null exec node -e \"const fs = require('fs'); const more = Buffer.alloc(1 << 20, 1); \
             for (let i = 0; i < 20; i++) fs.appendFileSync('filled', more); setInterval(() => {}, 1000)\"",
        )
    };
    let words = start(&spec).await.unwrap_err().to_string();
    // It may be looked at before all 20 are written.
    let (_, held) = words
        .split_once("ended by the reviewer, because its scratch home held ")
        .unwrap_or_else(|| panic!("{words}"));
    let (held, allowed) = held.split_once(" MiB, more than ").unwrap();
    assert!((8..=20).contains(&held.parse().unwrap()), "{words}");
    assert!(allowed.starts_with("the 8 MiB it may"), "{words}");
    assert_eq!(processes_in(&workshop.snapshot()), Vec::<String>::new());
}

#[tokio::test]
async fn a_missing_executable_names_the_way_out() {
    let workshop = Workshop::open().await;
    let spec = Spec {
        executable: PathBuf::from("/no/such/opencode"),
        ..workshop.spec(&endpoint("http://127.0.0.1:9/v1"))
    };
    let error = start(&spec).await.unwrap_err();
    assert!(matches!(error, StartError::Missing { .. }));
    let sentence = error.to_string();
    assert!(
        sentence.starts_with("OpenCode cannot be started from /no/such/opencode"),
        "{sentence}"
    );
    assert!(sentence.contains("OPENCODE_BIN"), "{sentence}");
}

#[tokio::test]
async fn another_major_version_is_refused() {
    let workshop = Workshop::open().await;
    let spec = workshop.spec_of_script(&served("2.0.0"));
    let sentence = start(&spec).await.unwrap_err().to_string();
    let expected = format!("OpenCode 2.0.0 was found at {}", spec.executable.display());
    assert!(sentence.starts_with(&expected), "{sentence}");
    assert!(sentence.contains("major version 1"), "{sentence}");
}

#[tokio::test]
async fn one_that_ends_at_once_is_quoted_without_its_secrets() {
    let workshop = Workshop::open().await;
    let spec =
        workshop.spec_of_script("echo \"no luck with $OPENCODE_CONFIG_CONTENT\" >&2; exit 1");
    let error = start(&spec).await.unwrap_err();
    let sentence = error.to_string();
    assert!(matches!(error, StartError::Exited { .. }), "{sentence}");
    assert!(sentence.contains("exit status: 1"), "{sentence}");
    assert!(sentence.contains("no luck with"), "{sentence}");
    assert!(!sentence.contains(KEY), "{sentence}");
}

#[tokio::test]
async fn a_taken_port_is_tried_again_with_another() {
    let workshop = Workshop::open().await;
    let script = "echo x >> \"$HOME/tries\"; echo 'Unexpected error ServeError' >&2; exit 1";
    let spec = workshop.spec_of_script(script);
    assert!(matches!(start(&spec).await, Err(StartError::Exited { .. })));
    let tries = std::fs::read_to_string(workshop.dir.path().join("home/tries")).unwrap();
    assert_eq!(tries.lines().count(), 3);
}

async fn start(spec: &Spec) -> Result<Sidecar, StartError> {
    Sidecar::start(spec, &Clock::scaled(1.0)).await
}

/// A program that answers every request as a healthy OpenCode of this version would. Its port is its last
/// argument; the server is a child, as `rg` is of the real one.
fn served(version: &str) -> String {
    format!(
        r#"for port; do :; done
OPENSSL_CONF=/dev/null node -e '
require("http").createServer((_, answer) => {{
  answer.setHeader("content-type", "application/json");
  answer.end(JSON.stringify({{ healthy: true, version: "{version}" }}));
}}).listen(process.argv[1], "127.0.0.1")' "$port" &
wait"#
    )
}

/// Where the workshop's sidecar listens, as any process of the machine can find out.
fn listening_address(workshop: &Workshop) -> String {
    let id = processes_in(&workshop.snapshot()).pop().expect("it runs");
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap();
    let line = String::from_utf8(line).unwrap();
    let port = line.trim_end_matches('\0').rsplit('\0').next().unwrap();
    format!("http://127.0.0.1:{port}")
}

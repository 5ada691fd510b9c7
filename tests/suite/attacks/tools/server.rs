//! T8 and T9 at the tool server itself: whoever reaches its port without the bearer secret of the run, or with it and a
//! request that no sidecar makes, changes nothing on the desk.

use reqwest::{Method, RequestBuilder};
use reviewer_agent::opencode::SessionName;
use reviewer_agent::tools::review_tools;
use reviewer_agent::tools::server::{Offer, ToolServer};
use reviewer_core::domain::{FileDiff, FileStatus, PassNumber, Score};
use reviewer_core::review::desk::SharedDesk;
use reviewer_core::review::desk::{Desk, Subject};
use reviewer_core::review::policy::Weights;
use reviewer_text::redact::Redactor;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

const BEARER: &str = "4f1d6b0c9a8e7d5c3b2a190807f6e5d4";
/// Of another session.
const OTHER: &str = "9a8e7d5c3b2a190807f6e5d44f1d6b0c";

/// The server with a desk in its first pass.
struct Open {
    server: ToolServer,
    desk: SharedDesk,
    http: reqwest::Client,
}

fn desk() -> Desk {
    let diff = FileDiff {
        path: "src/a.rs".into(),
        status: FileStatus::Added,
        hunks: FileDiff::parse_hunks("@@ -0,0 +1,2 @@\n+let a = 1;\n+let b = 2;\n").unwrap(),
        ..FileDiff::default()
    };
    let sha = |c: &str| c.repeat(40).parse().unwrap();
    let subject = Subject {
        head: sha("b"),
        base: sha("c"),
        diffs: vec![diff],
        threads: Vec::new(),
        root: "/snapshot".into(),
        shown_paths: HashMap::new(),
        changed_since: HashMap::new(),
        removed_lines: HashMap::new(),
        others: Vec::new(),
        decided: Vec::new(),
        human_reviewers: Vec::new(),
    };
    let score = |n| Score::new(n).unwrap();
    let weights = Weights {
        threshold: score(5),
        elevation: 5,
        blocking: Some(score(9)),
        sensitive: None,
    };
    let mut desk = Desk::new(subject, weights, "senior", "nonce".into());
    desk.ledger.begin(PassNumber::new(1).unwrap());
    desk
}

/// A session of its own: its desk, and what the server is told of it.
fn offer(number: u8, bearer: &str) -> (SharedDesk, Offer) {
    let shared = SharedDesk::default();
    shared.open(desk());
    let offer = Offer {
        session: SessionName::Review(number),
        bearer: bearer.into(),
        redactor: Arc::new(Redactor::new(&[])),
        tools: review_tools(&shared, None, None),
    };
    (shared, offer)
}

impl Open {
    async fn new() -> Self {
        let (desk, offer) = offer(1, BEARER);
        Self {
            server: ToolServer::start(vec![offer], None).await.unwrap(),
            desk,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    fn at(&self, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.base_url());
        let accepted = "application/json, text/event-stream";
        self.http.post(url).header("accept", accepted)
    }

    /// Without the secret.
    fn stranger(&self, method: Method) -> RequestBuilder {
        self.stranger_at(method, "/mcp/r1/github")
    }

    fn stranger_at(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.base_url());
        self.http
            .request(method, url)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2025-06-18")
    }

    /// As the sidecar calls.
    fn sidecar(&self) -> RequestBuilder {
        self.stranger(Method::POST).bearer_auth(BEARER)
    }

    fn recorded(&self) -> usize {
        self.desk.with(|desk| desk.entries().len()).unwrap()
    }

    #[track_caller]
    fn nothing_is_recorded(&self) {
        assert_eq!(self.recorded(), 0);
    }
}

fn finding() -> Value {
    json!({
        "file": "src/a.rs", "line": 1, "body": "It is wrong.",
        "assessment": { "finding": "It is wrong.", "assessment": "Level 7.", "score": 7 },
    })
}

fn call(arguments: &Value) -> String {
    let params = json!({ "name": "post_review_comment", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn t9_the_sidecar_with_its_secret_is_served() {
    let open = Open::new().await;
    assert_eq!(status(open.sidecar().body(call(&finding()))).await, 200);
    assert_eq!(open.recorded(), 1);
}

/// A request that must not get through, and its status.
macro_rules! turned_away {
    ($($name:ident: $status:literal, |$open:ident| $request:expr;)*) => {
        $(#[tokio::test]
        async fn $name() {
            let $open = Open::new().await;
            assert_eq!(status($request.body(call(&finding()))).await, $status);
            $open.nothing_is_recorded();
        })*
    };
}

turned_away! {
    t9_without_the_secret_nothing_is_recorded: 401, |open| open.stranger(Method::POST);
    t9_another_secret_is_none: 401, |open| open.stranger(Method::POST).bearer_auth("guess");
    t9_the_beginning_of_the_secret_is_not_the_secret: 401, |open| open.stranger(Method::POST).bearer_auth(&BEARER[..31]);
    t9_the_secret_and_more_is_not_the_secret: 401, |open| open.stranger(Method::POST).bearer_auth(format!("{BEARER}0"));
    t9_the_secret_without_its_scheme_is_none: 401, |open| open.stranger(Method::POST).header("authorization", BEARER);
    t9_the_secret_as_a_password_is_none: 401, |open| open.stranger(Method::POST).basic_auth("opencode", Some(BEARER));
    t9_the_secret_in_the_address_is_none: 401, |open| open.at("/mcp/r1/github?authorization=Bearer%204f1d6b0c9a8e7d5c3b2a190807f6e5d4");
    t9_a_name_that_leads_here_is_not_our_host: 403, |open| open.sidecar().header("host", "rebound.example");
    t9_localhost_is_not_our_host: 403, |open| open.sidecar().header("host", format!("localhost:{}", open.server.port()));
    t9_a_page_of_another_origin_is_refused: 403, |open| open.sidecar().header("origin", "http://evil.example");
    t9_a_page_without_an_origin_is_refused: 403, |open| open.sidecar().header("origin", "null");
    t9_reading_is_no_call: 405, |open| open.stranger(Method::GET).bearer_auth(BEARER);
    t9_putting_is_no_call: 405, |open| open.stranger(Method::PUT).bearer_auth(BEARER);
    t9_a_form_is_no_call: 415, |open| open.at("/mcp/r1/github").bearer_auth(BEARER).header("content-type", "text/plain");
    t9_a_server_that_is_not_there_is_not_found: 404, |open| open.stranger_at(Method::POST, "/mcp/r1/web").bearer_auth(BEARER);
    t9_the_secret_needs_its_session: 401, |open| open.stranger_at(Method::POST, "/mcp/github").bearer_auth(BEARER);
    t9_a_session_is_not_named_in_another_spelling: 401, |open| open.stranger_at(Method::POST, "/mcp/r%31/github").bearer_auth(BEARER);
    t9_a_second_client_with_a_session_of_its_own_needs_the_secret_too: 401, |open| open.stranger(Method::POST).header("mcp-session-id", "1");
}

#[tokio::test]
async fn t9_the_secret_of_a_session_opens_no_other() {
    let open = Open::new().await;
    let (second, offer) = offer(2, OTHER);
    open.server.add(offer).unwrap();
    for (path, bearer) in [("/mcp/r2/github", BEARER), ("/mcp/r1/github", OTHER)] {
        let request = open.stranger_at(Method::POST, path).bearer_auth(bearer);
        assert_eq!(status(request.body(call(&finding()))).await, 401, "{path}");
    }
    open.nothing_is_recorded();
    assert_eq!(second.with(|desk| desk.entries().len()), Some(0));
    let own = open.stranger_at(Method::POST, "/mcp/r2/github");
    let own = own.bearer_auth(OTHER).body(call(&finding()));
    assert_eq!(status(own).await, 200);
    assert_eq!(second.with(|desk| desk.entries().len()), Some(1));
    open.nothing_is_recorded();
}

#[tokio::test]
async fn t9_nobody_learns_which_sessions_there_are() {
    let open = Open::new().await;
    open.server.add(offer(2, OTHER).1).unwrap();
    let mut answers = Vec::new();
    for path in ["/mcp/r2/github", "/mcp/r2/none", "/mcp/r3/github", "/mcp/r"] {
        // Of a session that is there, but not of this one; and of none.
        for bearer in [BEARER, &"0".repeat(64)] {
            let request = open.stranger_at(Method::POST, path).bearer_auth(bearer);
            let answer = request.body(call(&finding())).send().await.unwrap();
            let mut headers = answer.headers().clone();
            headers.remove("date");
            let status = answer.status();
            answers.push((status, headers, answer.bytes().await.unwrap()));
        }
    }
    assert_eq!(answers[0].0, 401);
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
}

#[tokio::test]
async fn t9_no_session_takes_the_place_of_another() {
    let open = Open::new().await;
    let error = open.server.add(offer(1, OTHER).1).unwrap_err();
    assert_eq!(error.to_string(), "the session r1 is served already");
    assert_eq!(status(open.sidecar().body(call(&finding()))).await, 200);
    assert_eq!(open.recorded(), 1);
}

#[tokio::test]
async fn t9_a_body_that_says_it_is_too_large_is_not_read() {
    let open = Open::new().await;
    let mut large = finding();
    large["body"] = json!("x".repeat(2 << 20));
    assert_eq!(status(open.sidecar().body(call(&large))).await, 413);
    open.nothing_is_recorded();
}

#[tokio::test]
async fn t9_a_body_without_end_is_cut_off() {
    let open = Open::new().await;
    let piece = || Ok::<_, std::io::Error>(vec![b' '; 64 << 10]);
    let endless = futures_util::stream::repeat_with(piece);
    let answer = open
        .sidecar()
        .body(reqwest::Body::wrap_stream(endless))
        .send();
    // Cut off with an answer, or without one; but it ends.
    if let Ok(answer) = answer.await {
        assert_eq!(answer.status(), 413);
    }
    open.nothing_is_recorded();
    assert_eq!(
        status(open.sidecar().body(call(&finding()))).await,
        200,
        "and others are served"
    );
}

/// What is no call at all, from one who has the secret.
macro_rules! no_call {
    ($($name:ident: $body:expr;)*) => {
        $(#[tokio::test]
        async fn $name() {
            let open = Open::new().await;
            let answer = open.sidecar().body($body).send().await.unwrap();
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert!(status.is_client_error() || text.contains("error"), "{status} {text}");
            assert!(!text.contains("Recorded"), "{text}");
            open.nothing_is_recorded();
        })*
    };
}

no_call! {
    t6_half_a_request_is_no_call: call(&finding())[..100].to_owned();
    t6_arguments_that_are_a_list_are_no_call: call(&json!([finding()]));
    t6_arguments_that_are_a_text_are_no_call: call(&json!(finding().to_string()));
    t6_half_a_character_is_no_text: call(&finding()).replace("It is wrong.", "\\ud800");
    t6_bytes_that_are_no_text_are_no_call: { let mut bytes = call(&finding()).into_bytes(); bytes[120] = 0xff; bytes };
    t6_a_number_beyond_all_numbers_is_no_call: call(&finding()).replace("\"score\":7", "\"score\":1e999");
    t6_a_key_that_is_there_twice_is_no_finding: call(&finding()).replace("\"name\":", "\"name\":\"get_run_state\",\"name\":");
    t6_a_nest_without_end_is_no_call: format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    t6_another_method_is_no_call: call(&finding()).replace("tools/call", "tools/execute");
}

#[tokio::test]
async fn t8_calls_at_the_same_time_record_a_finding_once() {
    let open = Open::new().await;
    let calls = (0..32).map(|_| open.sidecar().body(call(&finding())).send());
    let answers = futures_util::future::join_all(calls).await;
    let mut recorded = 0;
    for answer in answers {
        let text = answer.unwrap().text().await.unwrap();
        recorded += usize::from(text.contains("Recorded as new-1"));
    }
    assert_eq!((recorded, open.recorded()), (1, 1));
}

#[tokio::test]
async fn t5_before_the_first_prompt_nothing_is_recorded() {
    let open = Open::new().await;
    open.desk.with(|desk| desk.ledger.close());
    let answer = open.sidecar().body(call(&finding())).send().await.unwrap();
    let text = answer.text().await.unwrap();
    assert!(text.contains("nothing more can be recorded"), "{text}");
    open.nothing_is_recorded();
}

#[test]
fn t8_ten_thousand_calls_leave_two_hundred_findings_and_no_more() {
    let shared = SharedDesk::default();
    shared.open(desk());
    for n in 0..10_000 {
        let text = super::strange_words(n);
        let draft = reviewer_core::review::desk::Draft {
            file: "src/a.rs".into(),
            line: Some(1),
            body: text.clone(),
            assessment: reviewer_core::domain::Assessment {
                finding: text.clone(),
                assessment: text,
                score: Score::new(7).unwrap(),
            },
            category: None,
            quote: None,
            distinct_from: None,
            combines: Vec::new(),
        };
        // Recorded or refused: the model is answered, whatever it is.
        let _answer = shared.with(|desk| desk.post(draft));
    }
    assert_eq!(shared.with(|desk| desk.entries().len()), Some(200));
}

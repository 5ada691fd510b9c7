//! The door: HTTP in, HTTP out, with the faults, the log of requests and the checks that every request passes.
//! Separate from the routes, which know no headers and no sockets.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::{Query, Request as HttpRequest, State as Shared};
use axum::response::Response;
use data_encoding::BASE64;
use http::{HeaderMap, Method, Uri};
use serde_json::Value;
use tokio::sync::oneshot;

use super::faults::{self, Fault};
use super::git::Cgi;
use super::moving::Found;
use super::openapi::{self, Checked};
use super::reply::{FORBIDDEN, Reply, Request};
use super::state::{Identity, State};
use super::{app, graphql, lock, rest};
use std::time::Duration;

const BODY_LIMIT: usize = 64 << 20;

type SharedState = Arc<Mutex<State>>;

/// Serves until told to stop. On a thread and a runtime of its own, so that plain `#[test]` functions can use it.
pub fn run(listener: std::net::TcpListener, state: SharedState, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async move {
        listener
            .set_nonblocking(true)
            .expect("a socket that does not block");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        let app = axum::Router::new().fallback(handle).with_state(state);
        tokio::select! {
            served = axum::serve(listener, app) => served.expect("the server runs"),
            _ = stopped => {}
        }
    });
    runtime.shutdown_background();
}

async fn handle(Shared(state): Shared<SharedState>, request: HttpRequest) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_LIMIT).await.unwrap_or_default();
    let incoming = Incoming {
        method: head.method,
        uri: head.uri,
        headers: head.headers,
        body: body.to_vec(),
    };
    let answered = tokio::task::spawn_blocking(move || answer(&mut lock(&state), &incoming)).await;
    match answered.expect("the stand-in does not panic") {
        Outcome::Reply(reply) => respond(reply),
        // Ends the task that owns the connection, and so the connection; unlike a panic it prints nothing.
        Outcome::Drop => std::panic::resume_unwind(Box::new("connection dropped on purpose")),
        Outcome::Hang => std::future::pending().await,
        Outcome::Late(reply, wait) => {
            tokio::time::sleep(wait).await;
            respond(reply)
        }
    }
}

/// What becomes of a request's connection.
enum Outcome {
    Reply(Reply),
    Late(Reply, Duration),
    Drop,
    Hang,
}

fn respond(reply: Reply) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response
        .body(Body::from(reply.body))
        .expect("headers of our own making")
}

struct Incoming {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Incoming {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The path and query as GitHub's documentation writes them.
    fn documented(&self) -> String {
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        match path.strip_prefix("/api/v3") {
            Some(rest) => rest.into(),
            None => path.replacen("/api/graphql", "/graphql", 1),
        }
    }
}

fn answer(state: &mut State, incoming: &Incoming) -> Outcome {
    let path = incoming.documented();
    let fault = faults::due(&mut state.faults, &incoming.method, &path, &incoming.body);
    if fault.as_ref().is_some_and(Fault::is_in_the_answer) {
        let body = String::from_utf8_lossy(&incoming.body).into_owned();
        state.struck.push((path.clone(), body));
    }
    let outcome = match fault {
        Some(Fault::Status(status, body)) => Outcome::Reply(Reply::json(status, &body)),
        Some(Fault::StatusWith(status, headers, body)) => {
            let reply = Reply::json(status, &body);
            let headers = headers.into_iter();
            let add = |reply: Reply, (name, value)| reply.with_header(name, value);
            Outcome::Reply(headers.fold(reply, add))
        }
        Some(Fault::Raw(body)) => Outcome::Reply(Reply {
            body: body.into_bytes(),
            ..Reply::json(200, &serde_json::Value::Null)
        }),
        Some(Fault::Drop) => Outcome::Drop,
        Some(Fault::ApplyThenDrop) => {
            route(state, incoming);
            Outcome::Drop
        }
        Some(Fault::ApplyThenStatus(status, body)) => {
            route(state, incoming);
            Outcome::Reply(Reply::json(status, &body))
        }
        Some(Fault::Hang) => Outcome::Hang,
        Some(Fault::ApplyThenHang) => {
            route(state, incoming);
            Outcome::Hang
        }
        Some(Fault::Halved) => {
            let mut reply = route(state, incoming);
            reply.body.truncate(reply.body.len() / 2);
            Outcome::Reply(reply)
        }
        Some(Fault::Late(wait)) => Outcome::Late(route(state, incoming), wait),
        Some(Fault::Meanwhile(act)) => {
            let reply = route(state, incoming);
            act.happen(state);
            Outcome::Reply(reply)
        }
        None => Outcome::Reply(route(state, incoming)),
    };
    let status = match &outcome {
        Outcome::Reply(reply) | Outcome::Late(reply, _) => reply.status,
        Outcome::Drop | Outcome::Hang => 0,
    };
    let outcome = match outcome {
        Outcome::Reply(reply) => Outcome::Reply(with_common_headers(reply, state, &path)),
        Outcome::Late(reply, wait) => Outcome::Late(with_common_headers(reply, state, &path), wait),
        other => other,
    };
    state.requests.push((incoming.method.clone(), path, status));
    outcome
}

fn with_common_headers(reply: Reply, state: &State, path: &str) -> Reply {
    let rate = state.rate;
    let resource = if path.starts_with("/graphql") {
        "graphql"
    } else {
        "core"
    };
    let limits = [
        ("limit", rate.limit.to_string()),
        ("remaining", rate.left.to_string()),
        ("used", (rate.limit - rate.left).to_string()),
        ("reset", rate.reset.to_string()),
        ("resource", resource.to_owned()),
    ];
    let reply = reply.with_header("x-github-request-id", "0000:0000".into());
    limits.into_iter().fold(reply, |reply, (name, value)| {
        let header = format!("x-ratelimit-{name}");
        if reply.headers.iter().any(|(one, _)| *one == header) {
            return reply;
        }
        reply.with_header(&header, value)
    })
}

fn route(state: &mut State, incoming: &Incoming) -> Reply {
    let path = incoming.uri.path();
    let git_prefix = format!("/{}.git/", state.repository.full_name);
    if let Some(rest) = path.strip_prefix(&git_prefix) {
        return git_over_http(state, incoming, rest);
    }
    if incoming.header("user-agent").is_none() {
        state
            .violations
            .push(format!("{} {path}: no User-Agent header", incoming.method));
        return Reply::error(403, "Request forbidden by administrative rules.");
    }
    let identity = match identify(state, incoming) {
        Ok(identity) => identity,
        Err(reply) => return reply,
    };
    if path == "/api/graphql" && incoming.method == Method::POST {
        return graphql::answer(state, &identity, &incoming.body);
    }
    match path.strip_prefix("/api/v3/") {
        Some(rest) => conditional(rest_route(state, &identity, incoming, rest), incoming),
        None => unknown(state, incoming),
    }
}

/// What the client knows already is not given again.
fn conditional(reply: Reply, incoming: &Incoming) -> Reply {
    if incoming.method != Method::GET || reply.status != 200 {
        return reply;
    }
    let mut hasher = DefaultHasher::new();
    (&reply.headers, &reply.body).hash(&mut hasher);
    let mark = format!("W/\"{:016x}\"", hasher.finish());
    if incoming.header("if-none-match") == Some(&mark) {
        let (status, headers, body) = (304, Vec::new(), Vec::new());
        return Reply {
            status,
            headers,
            body,
        };
    }
    reply.with_header("etag", mark)
}

fn unknown(state: &mut State, incoming: &Incoming) -> Reply {
    let violation = format!("unknown route: {} {}", incoming.method, incoming.uri);
    state.violations.push(violation);
    Reply::not_found()
}

fn identify(state: &State, incoming: &Incoming) -> Result<Identity, Reply> {
    let Some(header) = incoming.header("authorization") else {
        return Err(Reply::error(401, "Requires authentication"));
    };
    let (scheme, token) = header.split_once(' ').unwrap_or_default();
    let known = matches!(scheme.to_ascii_lowercase().as_str(), "bearer" | "token");
    let identity = state.identities.get(token).filter(|_| known);
    let identity = identity.cloned();
    identity
        .or_else(|| app::signed(state, token))
        .ok_or_else(|| Reply::error(401, "Bad credentials"))
}

fn rest_route(state: &mut State, identity: &Identity, incoming: &Incoming, path: &str) -> Reply {
    let mut segments: Vec<String> = path.split('/').map(percent_decoded).collect();
    let numbered = state.repository.id.to_string();
    let by_number = segments.len() > 1 && segments[0] == "repositories";
    if by_number && (segments[1] != numbered || state.repository.deleted) {
        return Reply::not_found();
    }
    if by_number {
        let repository = ["repos", state.repository.owner(), state.repository.name()];
        segments.splice(..2, repository.map(str::to_owned));
    }
    let body = if incoming.body.is_empty() {
        Value::Null
    } else {
        parse(&incoming.body)
    };
    let request = Request {
        method: incoming.method.clone(),
        segments,
        query: Query::try_from_uri(&incoming.uri)
            .map(|Query(pairs)| pairs)
            .unwrap_or_default(),
        body,
    };
    let shown = format!("{} {}", incoming.method, incoming.documented());
    match openapi::check(&request) {
        Checked::Unknown => return unknown(state, incoming),
        Checked::Known { query, body } => {
            let problems = query
                .iter()
                .chain(&body)
                .map(|problem| format!("{shown}: {problem}"));
            state.violations.extend(problems);
            if !body.is_empty() {
                return Reply::error(422, &format!("Invalid request.\n\n{}", body.join("\n")));
            }
        }
    }
    if let Some(elsewhere) = elsewhere(state, identity, &request) {
        return elsewhere;
    }
    if app::is_for_app(&request) || identity.typename == app::APP {
        return app::answer(state, identity, &request);
    }
    if let Some(missing) = rest::missing_permission(state, identity, &request) {
        return Reply::error(403, FORBIDDEN).with_header(
            "x-accepted-github-permissions",
            missing.replace('-', "_").replace(':', "="),
        );
    }
    rest::answer(state, identity, &request)
}

/// The answer where the repository has another name now, is another one, or is none that the token is for.
fn elsewhere(state: &State, identity: &Identity, request: &Request) -> Option<Reply> {
    let [kind, owner, name, rest @ ..] = request.segments.as_slice() else {
        return None;
    };
    if kind != "repos" {
        return None;
    }
    let id = state.repository.id;
    let granted = identity.repositories.as_ref();
    match state.find(&format!("{owner}/{name}")) {
        Found::Own => granted
            .is_some_and(|granted| !granted.contains(&id))
            .then(Reply::not_found),
        Found::Former => {
            let number = id.to_string();
            let path = [&["repositories".to_owned(), number], rest].concat();
            let url = format!("{}/api/v3/{}", state.base_url, path.join("/"));
            let status = if request.method == Method::GET {
                301
            } else {
                307
            };
            let moved = serde_json::json!({ "message": "Moved Permanently", "url": url });
            Some(Reply::json(status, &moved).with_header("location", url))
        }
        Found::Stranger(_) | Found::Nothing => Some(Reply::not_found()),
    }
}

/// What is not JSON becomes a string, which no schema of a request body allows.
fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| String::from_utf8_lossy(body).into())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        if let Some(byte) = escape
            .and_then(|two| u8::from_str_radix(two, 16).ok())
            .filter(|_| *first == b'%')
        {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn git_over_http(state: &mut State, incoming: &Incoming, rest: &str) -> Reply {
    let Some(identity) = basic_identity(state, incoming) else {
        let mut reply = Reply::error(401, "Invalid username or token.");
        reply.headers = vec![("www-authenticate".into(), "Basic realm=\"GitHub\"".into())];
        return reply;
    };
    let query = incoming.uri.query().unwrap_or_default();
    if rest.contains("git-receive-pack") || query.contains("git-receive-pack") {
        state
            .violations
            .push("a push: the reviewer only reads".into());
        return Reply::error(403, "Write access to repository not granted.");
    }
    if state.repository.private && !identity.may("contents:read") {
        return Reply::error(403, "Write access to repository not granted.");
    }
    let wanted = [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ];
    let headers: Vec<_> = wanted
        .into_iter()
        .filter_map(|(header, variable)| Some((variable, incoming.header(header)?.to_owned())))
        .collect();
    let (status, headers, body) = state.git.http_backend(&Cgi {
        method: incoming.method.as_str(),
        path: &format!("/{rest}"),
        query,
        headers: &headers,
        body: &incoming.body,
    });
    Reply {
        status,
        headers,
        body,
    }
}

/// As `actions/checkout` authenticates: user `x-access-token`, the token for a password.
fn basic_identity(state: &State, incoming: &Incoming) -> Option<Identity> {
    let (scheme, encoded) = incoming.header("authorization")?.split_once(' ')?;
    let decoded = BASE64.decode(encoded.as_bytes()).ok()?;
    let credentials = String::from_utf8(decoded).ok()?;
    let token = credentials.strip_prefix("x-access-token:")?;
    state
        .identities
        .get(token)
        .filter(|_| scheme.eq_ignore_ascii_case("basic"))
        .cloned()
}

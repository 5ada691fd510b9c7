//! GitHub for tests and the demo: one repository in memory behind REST, GraphQL and git over HTTP, on a port of its
//! own and laid out as on GitHub Enterprise Server, so that the three base addresses differ. Every request is
//! validated against GitHub's own descriptions, and everything written must be consumed by the test.
#![expect(
    clippy::disallowed_methods,
    reason = "edge, and test code: a failure here is a failure of the test"
)]
#![allow(
    clippy::expect_used,
    reason = "test code; inside unit tests clippy allows it by itself"
)]

pub mod app;
mod checks;
mod contents;
mod conversation;
mod diff;
pub mod events;
mod faults;
mod git;
mod graphql;
pub mod graphql_cost;
mod history_nodes;
mod http_server;
mod life_nodes;
mod merge_mutations;
mod merging;
mod moving;
mod mutations;
mod nodes;
mod openapi;
mod people;
mod planting;
pub mod pushing;
mod queue;
mod reply;
mod requests;
mod rest;
mod reviews;
mod shapes;
mod stacked;
pub mod state;
pub mod webhooks;
mod writes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use http::Method;
use tempfile::TempDir;
use tokio::sync::oneshot;

pub use faults::{Act, Fault, Rule};
pub use git::Change;
pub use openapi::response_errors;
pub use state::{CheckRun, Identity, Protection, State};

pub use writes::Write;

/// One GitHub with one repository. Dropping it stops the server; `finish` also judges the scenario.
#[derive(Debug)]
pub struct GitHub {
    state: Arc<Mutex<State>>,
    base_url: String,
    stop: Option<oneshot::Sender<()>>,
    server: Option<JoinHandle<()>>,
    _git: TempDir,
}

impl GitHub {
    /// The token that a workflow with all the permissions of our README gets.
    pub const TOKEN: &'static str = "ghs_5tAnd1nQw8ZrT2mXk9LcVb4NhJy7PdGs3FeA";

    /// Starts an empty repository `owner/name`.
    pub fn start(full_name: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let base_url = format!("http://{address}");
        let git = TempDir::new().expect("a temporary directory");
        let mut state = State::new(
            base_url.clone(),
            full_name,
            git.path().join("repository.git"),
        );
        state.git.init();
        state.identities.insert(
            Self::TOKEN.into(),
            Identity::github_actions(&[
                "contents:write",
                "pull-requests:write",
                "issues:write",
                "checks:write",
            ]),
        );
        let state = Arc::new(Mutex::new(state));
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let server = std::thread::spawn(move || http_server::run(listener, shared, stopped));
        Self {
            state,
            base_url,
            stop: Some(stop),
            server: Some(server),
            _git: git,
        }
    }

    /// `GITHUB_SERVER_URL`.
    pub fn url(&self) -> &str {
        &self.base_url
    }

    /// What the runner says about where GitHub is and which repository this is.
    pub fn environment(&self) -> Vec<(String, String)> {
        let repository = self.with(|state| state.repository.clone());
        [
            ("GITHUB_SERVER_URL", self.base_url.clone()),
            ("GITHUB_API_URL", format!("{}/api/v3", self.base_url)),
            (
                "GITHUB_GRAPHQL_URL",
                format!("{}/api/graphql", self.base_url),
            ),
            ("GITHUB_REPOSITORY", repository.full_name.clone()),
            ("GITHUB_REPOSITORY_ID", repository.id.to_string()),
            ("GITHUB_REPOSITORY_OWNER", repository.owner().to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// For whoever acts while a run is on, such as the model's script.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.state))
    }

    /// Looks at or changes anything.
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut lock(&self.state))
    }

    /// Makes a further token known, or changes what a known one may do.
    pub fn token(&self, token: &str, identity: Identity) {
        self.with(|state| state.identities.insert(token.into(), identity));
    }

    /// `admin`, `write`, `read` or `none`.
    pub fn permit(&self, login: &str, permission: &str) {
        self.with(|state| {
            state
                .repository
                .permissions
                .insert(login.into(), permission.into())
        });
    }

    /// Requests so far, as GitHub's documentation writes them (`/repos/…`, `/graphql`), with their status; a dropped
    /// connection has status 0.
    pub fn requests(&self) -> Vec<(Method, String, u16)> {
        self.with(|state| state.requests.clone())
    }

    /// From now on, `requests` begins anew.
    pub fn forget_requests(&self) {
        self.with(|state| state.requests.clear());
    }

    pub fn count(&self, method: &Method, path_prefix: &str) -> usize {
        self.requests()
            .iter()
            .filter(|(one, path, _)| one == method && path.starts_with(path_prefix))
            .count()
    }

    /// Makes the next `times` requests of this kind fail.
    pub fn on(&self, method: Method, path_prefix: &str, times: usize, fault: Fault) {
        self.add_rule(method, path_prefix, "", times, fault);
    }

    /// The same for GraphQL requests whose text contains `word`, such as a mutation's name.
    pub fn on_graphql(&self, word: &str, times: usize, fault: Fault) {
        self.add_rule(Method::POST, "/graphql", word, times, fault);
    }

    fn add_rule(&self, method: Method, path_prefix: &str, word: &str, times: usize, fault: Fault) {
        let rule = Rule {
            method,
            path_prefix: path_prefix.into(),
            body_contains: word.into(),
            after: 0,
            times,
            struck: 0,
            fault,
        };
        self.with(|state| state.faults.push(rule));
    }

    /// Takes all faults away, and says how often each has struck.
    pub fn struck(&self) -> Vec<usize> {
        let rules = self.with(|state| std::mem::take(&mut state.faults));
        rules.iter().map(|rule| rule.struck).collect()
    }

    /// The number of requests that rules have struck so far. They stay.
    pub fn struck_so_far(&self) -> usize {
        self.with(|state| state.faults.iter().map(|rule| rule.struck).sum())
    }

    /// What a client did wrong so far: unknown routes, requests that GitHub's descriptions do not allow.
    pub fn take_violations(&self) -> Vec<String> {
        self.with(|state| std::mem::take(&mut state.violations))
    }

    /// Ends the scenario: fails on what the test did not expect.
    pub fn finish(self) {
        let violations = self.take_violations();
        assert!(
            violations.is_empty(),
            "requests that GitHub does not know: {violations:#?}"
        );
        let left = |state: &mut State| {
            let ours = |review: &&state::Review| review.body.contains("rmcoc:draft");
            state.reviews.iter().filter(ours).count()
        };
        assert_eq!(self.with(left), 0, "drafts that were not deleted");
        let writes = self.take_writes();
        assert!(
            writes.is_empty(),
            "writes that the test did not expect: {writes:#?}"
        );
    }
}

/// GitHub, seen from a thread that does not own it.
#[derive(Debug, Clone)]
pub struct Handle(Arc<Mutex<State>>);

impl Handle {
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut lock(&self.0))
    }

    /// Moves the head. Comments follow their lines, or become outdated.
    pub fn push(&self, number: u64, head: &str) {
        self.with(|state| state.push(number, head));
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _already_stopped = stop.send(());
        }
        if let Some(server) = self.server.take() {
            let _panicked = server.join();
        }
    }
}

/// A test that panicked while it held the state has failed already; the others' view of it is still good.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

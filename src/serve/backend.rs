//! The service as the HTTP server sees it. Separate, so that routes are tested without GitHub, sessions and a store.

use super::claims::SessionAccount;
use reviewer_core::dashboard::{Row, Spent};
use reviewer_core::domain::RepoName;
use reviewer_core::lifecycle::{Policy, PullKey, State};
use reviewer_engine::tokens::{ApiToken, TokenHash};
use reviewer_engine::{Backlog, Counts, Entry, Listed, Recent, Waiting};
use secrecy::SecretString;
use std::future::Future;
use std::sync::Arc;

/// A pull request as an address names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullAt {
    pub repo: RepoName,
    pub number: u64,
}

/// The reason why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Unknown, or out of scope; nobody is told which.
    NotFound,
    /// The same request may succeed later.
    Unavailable(String),
    Invalid(String),
}

/// The reason why a session's report is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReportRefused {
    /// The token is of no session of this pull request.
    Unauthorized,
    NotFound,
    Unavailable(String),
    Invalid(String),
}

impl From<Refused> for ReportRefused {
    fn from(refusal: Refused) -> Self {
        match refusal {
            Refused::NotFound => Self::NotFound,
            Refused::Unavailable(why) => Self::Unavailable(why),
            Refused::Invalid(why) => Self::Invalid(why),
        }
    }
}

/// The answer to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// A delivery with this id was here before.
    pub duplicate: bool,
    /// The number of pull requests that it wakes.
    pub woken: usize,
}

/// Figures of a running service.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Metrics {
    pub backlog: Backlog,
    /// Sessions that run or wait, of all processes.
    pub sessions: usize,
    pub max_sessions: usize,
    /// Webhooks since the start that concern no pull request in scope.
    pub ignored: u64,
    /// Sessions since the start that the quota of a day kept from beginning.
    pub over_quota: u64,
    /// Effects that were given up since the start.
    pub dropped: u64,
    /// Requests that GitHub still takes in this hour, by account.
    pub rate_left: Vec<(String, u64)>,
    /// The seconds for which reconciliation and probes without hurry wait, so that requests are left for the rest; by account.
    pub rate_waits: Vec<(String, u64)>,
    /// The cost of all sessions since the start.
    pub cost_usd: f64,
    /// Pull requests by state.
    pub pulls: Vec<(String, u64)>,
    /// Statements and commits since the start.
    pub store: Counts,
}

/// Pull requests for a list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub rows: Vec<Row>,
    /// The end of this page, where another one may follow.
    pub more: Option<(i64, String)>,
}

/// A pull request for its page.
#[derive(Debug, Clone)]
pub(crate) struct PullParts {
    pub state: State,
    /// The last inputs, the oldest first.
    pub entries: Vec<Entry>,
    /// The last sessions, the oldest first.
    pub sessions: Vec<SessionAccount>,
    /// The first effects and timers that are not done.
    pub waiting: Vec<Waiting>,
    pub spent: Option<Spent>,
}

/// The service behind the HTTP server.
pub(crate) trait Backend: Send + Sync + 'static {
    /// Stores a verified webhook. It is durable when this returns.
    fn webhook(
        &self,
        delivery: &str,
        event: &str,
        body: &[u8],
    ) -> impl Future<Output = Result<Accepted, Refused>> + Send;

    /// Wakes a pull request.
    fn event(
        &self,
        at: &PullAt,
        delivery: &str,
        cause: &str,
    ) -> impl Future<Output = Result<State, Refused>> + Send;

    /// Delivers the command `retry`.
    fn retry(
        &self,
        at: &PullAt,
        delivery: &str,
        by: &str,
    ) -> impl Future<Output = Result<State, Refused>> + Send;

    /// Takes the report of a session that has this token.
    fn report(
        &self,
        at: &PullAt,
        token: &SecretString,
        body: &[u8],
    ) -> impl Future<Output = Result<(), ReportRefused>> + Send;

    fn state(&self, at: &PullAt) -> impl Future<Output = Result<(PullKey, State), Refused>> + Send;

    /// The last inputs, the oldest first.
    fn history(
        &self,
        at: &PullAt,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Entry>, Refused>> + Send;

    /// The last sessions, the oldest first.
    fn sessions(
        &self,
        at: &PullAt,
    ) -> impl Future<Output = Result<Vec<SessionAccount>, Refused>> + Send;

    /// Pull requests, those of one state where one is given.
    fn list(
        &self,
        phase: Option<&str>,
        most: u32,
    ) -> impl Future<Output = Result<Vec<Listed>, Refused>> + Send;

    /// Pull requests by these choices, with their states. The number of questions to the store does not depend on theirs.
    fn rows(&self, wanted: &[Recent]) -> impl Future<Output = Result<Vec<Rows>, Refused>> + Send;

    /// The pull requests that changed last.
    fn recent(&self, wanted: &Recent) -> impl Future<Output = Result<Vec<Listed>, Refused>> + Send;

    /// The number of pull requests in each state.
    fn phases(&self) -> impl Future<Output = Result<Vec<(String, u64)>, Refused>> + Send;

    /// Everything about a pull request, with at most so many inputs.
    fn pull(
        &self,
        at: &PullAt,
        most: u32,
    ) -> impl Future<Output = Result<PullParts, Refused>> + Send;

    /// The key of a pull request that the service knows.
    fn key(&self, at: &PullAt) -> impl Future<Output = Result<PullKey, Refused>> + Send;

    /// Milliseconds since 1970.
    fn now(&self) -> i64;

    /// The policy by which states are explained.
    fn policy(&self) -> Arc<Policy>;

    fn is_ready(&self) -> bool;

    fn metrics(&self) -> impl Future<Output = Metrics> + Send;

    fn token(
        &self,
        hash: &TokenHash,
    ) -> impl Future<Output = Result<Option<ApiToken>, Refused>> + Send;
}

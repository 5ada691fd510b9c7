//! The one way to GitHub. Every call goes through `answer`, which gives it a time limit, repeats what may be repeated,
//! waits for rate limits as long as a run has patience, and spaces writes. octocrab's own retries are off: they send a
//! comment again after a 502, and comments double. What must happen once is sent by `once`, in a file of its own.

use super::dry_run::DryRun;
use super::error::{self, ApiError, SetupError};
use super::etag_cache::EtagCache;
use super::exchange::{Answer, Call, Class, Endpoint, bearer, http_client, not_understood};
use super::pace::{BETWEEN_WRITES, Pace};
use super::paging;
use super::rate::Rates;
use super::wire::GraphQlAnswer;
use http::StatusCode;
use reviewer_system::clock::Clock;
use reviewer_text::redact::Redactor;
use secrecy::SecretString;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::Mutex;

/// The whole of one try. GitHub itself gives up after ten seconds; the rest is for large answers.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// However short a test makes its limits: a server needs some time to answer.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
const TRIES: u32 = 3;
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
const LONGEST_RATE_WAIT: Duration = Duration::from_mins(2);
/// The total time that a run waits for rate limits: a limit that outlasts it is not lifted in time.
const PATIENCE: Duration = Duration::from_mins(10);
const MOST_PAGES: usize = 400;

/// GitHub's two interfaces, with the token and the clock.
#[derive(Debug)]
pub struct GitHub {
    rest: Endpoint,
    graphql: Endpoint,
    /// GraphQL with the token of input `push_token`, for the calls that ask for it.
    pub(super) push: Option<Endpoint>,
    pub(super) clock: Clock,
    /// When the last write ended; held during a write, so that there is one at a time.
    pace: Mutex<Pace>,
    /// The rest of that time.
    patience: Mutex<Duration>,
    /// The wait of the last rate limit that outlasted the patience.
    asked_to_wait: Mutex<Option<Duration>>,
    rates: Mutex<Rates>,
    etag_cache: EtagCache,
    /// `None`: what is written is sent.
    dry_run: Option<DryRun>,
}

impl GitHub {
    /// Inside a tokio runtime, as octocrab starts a task. The two addresses are given separately: on GitHub Enterprise Server they are `…/api/v3` and
    /// `…/api/graphql`. `network` are the proxy variables.
    pub fn new(
        api_url: &str,
        graphql_url: &str,
        token: &SecretString,
        clock: Clock,
        network: &[(String, String)],
    ) -> Result<Self, SetupError> {
        let bearer = bearer(token).ok_or(SetupError::Token)?;
        let http = http_client(network)?;
        Ok(Self {
            rest: Endpoint::new("GITHUB_API_URL", api_url, &bearer, http.clone())?,
            graphql: Endpoint::new("GITHUB_GRAPHQL_URL", graphql_url, &bearer, http)?,
            push: None,
            clock,
            pace: Mutex::new(Pace::new(clock.shortened(BETWEEN_WRITES))),
            patience: Mutex::new(PATIENCE),
            asked_to_wait: Mutex::default(),
            rates: Mutex::default(),
            etag_cache: EtagCache::default(),
            dry_run: None,
        })
    }

    /// The same GitHub for another account: with the same connections, and with a pace, a patience and a memory of
    /// answers of its own.
    pub fn with_token(&self, token: &SecretString) -> Result<Self, SetupError> {
        let bearer = bearer(token).ok_or(SetupError::Token)?;
        Ok(Self {
            rest: self.rest.with_bearer(&bearer),
            graphql: self.graphql.with_bearer(&bearer),
            push: None,
            clock: self.clock,
            pace: Mutex::new(Pace::new(self.clock.shortened(BETWEEN_WRITES))),
            patience: Mutex::new(PATIENCE),
            asked_to_wait: Mutex::default(),
            rates: Mutex::default(),
            etag_cache: EtagCache::default(),
            dry_run: self.dry_run.clone(),
        })
    }

    /// From now on no secret of the run is written.
    #[must_use]
    pub fn guarded(mut self, redactor: &Arc<Redactor>) -> Self {
        let endpoints = [&mut self.rest, &mut self.graphql].into_iter();
        for endpoint in endpoints.chain(&mut self.push) {
            endpoint.redactor = Arc::clone(redactor);
        }
        self
    }

    /// From now on commits are pushed with this token, and nothing else is done with it.
    pub fn with_push_token(mut self, token: &SecretString) -> Result<Self, SetupError> {
        let bearer = bearer(token).ok_or(SetupError::PushToken)?;
        self.push = Some(self.graphql.with_bearer(&bearer));
        Ok(self)
    }

    /// From now on nothing is written at all, and what would be is kept there.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: &DryRun) -> Self {
        self.dry_run = Some(dry_run.clone());
        self
    }

    /// Requests that GitHub still takes in this hour, by its answers so far.
    pub async fn rate_left(&self) -> Option<u64> {
        self.rates.lock().await.left(self.seconds())
    }

    /// The time for which work without hurry waits, so that what hurries does not meet GitHub's limit; `None`: it may go on.
    pub async fn rate_wait(&self) -> Option<Duration> {
        let wait = self.rates.lock().await.wait(self.seconds());
        wait.map(Duration::from_secs)
    }

    /// GitHub's limits, as this client knows them.
    pub(super) async fn rates(&self) -> Rates {
        self.rates.lock().await.clone()
    }

    /// The time that GitHub asked to wait when a call was given up because of its rate limit.
    pub async fn asked_to_wait(&self) -> Option<Duration> {
        *self.asked_to_wait.lock().await
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run.is_some()
    }

    /// The last look at what is written.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.rest.redactor
    }

    /// A call whose answer says nothing.
    pub(super) async fn done(&self, call: Call) -> Result<(), ApiError> {
        self.answer(&call).await.map(drop)
    }

    pub(super) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, ApiError> {
        let answer = self.answer(&call).await?;
        decode(call.name, &answer.body)
    }

    /// The data of a GraphQL answer; any error in it is an error, as partial data would look complete.
    pub(super) async fn graphql<T: DeserializeOwned>(&self, call: Call) -> Result<T, ApiError> {
        let answer = self.answer(&call).await?;
        let data = decode::<GraphQlAnswer>(call.name, &answer.body)?.data;
        serde_json::from_value(data).map_err(|problem| not_understood(call.name, &problem))
    }

    /// All items of a list that grows at its end, and out of which anything may be deleted, each once. Read forwards,
    /// what stands behind a deleted item would move to a page that was read already; so the list is read from its end,
    /// where it moves to one that is still to be read. What was added since the first page was read may be missing.
    /// `route` has a query.
    pub(super) async fn growing<T, K>(
        &self,
        name: &'static str,
        route: String,
        key: impl Fn(&T) -> K,
    ) -> Result<Vec<T>, ApiError>
    where
        T: DeserializeOwned,
        K: Eq + Hash,
    {
        let first = self.answer(&Call::get(name, route.clone())).await?;
        let Some(last) = paging::last_page(&first.headers) else {
            return match paging::next_page(&first.headers) {
                None => decode(name, &first.body),
                // Nobody says where it ends.
                Some(_) => self.pages(name, route, |page: Vec<T>| page, key).await,
            };
        };
        if last > MOST_PAGES {
            return Err(too_many(name));
        }
        let mut pages: Vec<Vec<T>> = Vec::with_capacity(last);
        for number in (2..=last).rev() {
            let page = Call::get(name, format!("{route}&page={number}"));
            pages.push(decode(name, &self.answer(&page).await?.body)?);
        }
        let first = self.answer(&Call::get(name, route)).await?;
        pages.push(decode(name, &first.body)?);
        let mut seen = HashSet::new();
        let mut all: Vec<T> = pages.into_iter().rev().flatten().collect();
        all.retain(|item| seen.insert(key(item)));
        Ok(all)
    }

    /// All items of all pages of a list that stays as it is or grows at its beginning, each once.
    pub(super) async fn pages<W, T, K>(
        &self,
        name: &'static str,
        route: String,
        items: impl Fn(W) -> Vec<T>,
        key: impl Fn(&T) -> K,
    ) -> Result<Vec<T>, ApiError>
    where
        W: DeserializeOwned,
        K: Eq + Hash,
    {
        let (mut seen, mut visited, mut all) = (HashSet::new(), HashSet::new(), Vec::new());
        let mut next = Some(format!("{}{route}", self.rest.prefix));
        while let Some(route) = next {
            if !visited.insert(route.clone()) {
                let problem = "a page names an earlier one as the next".to_owned();
                return Err(ApiError::Paging {
                    call: name,
                    problem,
                });
            }
            if visited.len() > MOST_PAGES {
                return Err(too_many(name));
            }
            // A page's address comes with the prefix.
            let relative = route
                .strip_prefix(&self.rest.prefix)
                .unwrap_or(&route)
                .to_owned();
            let answer = self.answer(&Call::get(name, relative)).await?;
            let page = items(decode(name, &answer.body)?);
            all.extend(page.into_iter().filter(|item| seen.insert(key(item))));
            next = paging::next_page(&answer.headers);
        }
        Ok(all)
    }

    /// The wrapper around every call.
    async fn answer(&self, call: &Call) -> Result<Arc<Answer>, ApiError> {
        if let (Some(dry_run), false) = (&self.dry_run, call.only_reads()) {
            return dry_run.answer(call, &self.rest.redactor);
        }
        let mut tries = 0;
        loop {
            let sent = match call.class {
                Class::Read => self.attempt(call).await,
                Class::Repeatable | Class::Once => self.write(call).await,
            };
            let error = match sent {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tries += 1;
            let Some(pause) = self.pause(call, &error, tries).await else {
                if let ApiError::RateLimited { wait, .. } = &error {
                    *self.asked_to_wait.lock().await = Some(*wait);
                }
                return Err(error);
            };
            tracing::debug!(call = call.name, %error, ?pause, "sending again");
            self.clock.sleep(pause).await;
        }
    }

    /// Returns the pause before the same request is sent again; `None`: it is not.
    async fn pause(&self, call: &Call, error: &ApiError, tries: u32) -> Option<Duration> {
        if tries >= TRIES {
            return None;
        }
        // Nothing was done then, whatever it was.
        if let ApiError::RateLimited { wait, .. } = error {
            let mut patience = self.patience.lock().await;
            *patience = patience
                .checked_sub(*wait)
                .filter(|_| *wait <= LONGEST_RATE_WAIT)?;
            return Some(*wait);
        }
        let may_repeat = call.class != Class::Once && error.is_passing();
        may_repeat.then(|| FIRST_BACK_OFF * 2_u32.pow(tries - 1))
    }

    /// Sends one write at a time, at the pace that GitHub asks for.
    async fn write(&self, call: &Call) -> Result<Arc<Answer>, ApiError> {
        let mut pace = self.pace.lock().await;
        tokio::time::sleep(pace.next(self.clock.instant())).await;
        self.attempt(call).await
    }

    /// Since the epoch, as GitHub counts them.
    pub(super) fn seconds(&self) -> u64 {
        let now = self.clock.now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_secs()
    }

    async fn attempt(&self, call: &Call) -> Result<Arc<Answer>, ApiError> {
        let endpoint = match &self.push {
            Some(push) if call.pushes => push,
            _ if call.graphql => &self.graphql,
            _ => &self.rest,
        };
        let known = call
            .is_get()
            .then(|| self.etag_cache.get(&call.route))
            .flatten();
        let mark = known.as_ref().map(|(mark, _)| mark);
        let limit = self.clock.limit(CALL_TIMEOUT).max(SHORTEST_TIMEOUT);
        // Boxed, because octocrab's future is large and would be part of every caller's.
        let exchange = Box::pin(endpoint.exchange(call, mark));
        let exchange = tokio::time::timeout(limit, exchange);
        let (status, answer) = exchange.await.map_err(|_| ApiError::Network {
            call: call.name,
            problem: format!("no answer within {} seconds", limit.as_secs()),
        })??;
        // Refusals tell it, too. A push is of another account.
        if !call.pushes {
            self.rates.lock().await.hear(&answer.headers);
        }
        if let (StatusCode::NOT_MODIFIED, Some((_, known))) = (status, known) {
            return Ok(known);
        }
        if !status.is_success() {
            let (headers, body) = (&answer.headers, &answer.body);
            return Err(error::classify(
                call.name,
                call.hint,
                status,
                headers,
                body,
                self.seconds(),
            ));
        }
        // A proxy's page or half an answer is none, whatever its status says.
        if !answer.body.is_empty() {
            decode::<IgnoredAny>(call.name, &answer.body)?;
        }
        if call.graphql {
            let told = decode::<GraphQlAnswer>(call.name, &answer.body)?;
            let is_partial = call.partial && told.data.is_object();
            let errors = told.errors();
            if !errors.is_empty() {
                let (headers, now) = (&answer.headers, self.seconds());
                let error = error::graphql_error(call.name, errors, headers, now);
                if !(is_partial && error.is_permission()) {
                    return Err(error);
                }
            }
        }
        let answer = Arc::new(answer);
        if call.is_get() {
            self.etag_cache.keep(&call.route, &answer);
        }
        Ok(answer)
    }
}

fn too_many(call: &'static str) -> ApiError {
    let problem = format!("there are more than {MOST_PAGES}");
    ApiError::Paging { call, problem }
}

fn decode<T: DeserializeOwned>(call: &'static str, body: &str) -> Result<T, ApiError> {
    serde_json::from_str(body).map_err(|problem| not_understood(call, &problem))
}

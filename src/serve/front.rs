//! The service as its HTTP server sees it.

mod pages;

use super::backend::{Accepted, Backend, Metrics, PullAt, PullParts, Refused, ReportRefused, Rows};
use super::claims::SessionAccount;
use super::service::Service;
use super::sessions::SessionId;
use reviewer_core::lifecycle::{Policy, PullKey, State};
use reviewer_core::session_order::SessionMessage;
use reviewer_engine::tokens::{ApiToken, TokenHash};
use reviewer_engine::{EngineError, Entry, Filter, Listed, Recent};
use secrecy::SecretString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The running service and what its answers need besides.
pub(crate) struct Front {
    pub service: Arc<Service>,
    pub policy: Arc<Policy>,
    pub max_sessions: usize,
    pub ready: AtomicBool,
}

fn unavailable(error: &EngineError) -> Refused {
    tracing::error!("the store did not answer: {error}");
    Refused::Unavailable("The store does not answer; try again.".into())
}

impl Front {
    async fn key_of(&self, at: &PullAt) -> Result<PullKey, Refused> {
        let found = self.service.find(&at.repo).await.map_err(|error| {
            tracing::warn!("{} could not be looked up: {error}", at.repo);
            Refused::Unavailable("GitHub does not answer; try again.".into())
        });
        let place = found?.ok_or(Refused::NotFound)?;
        Ok(PullKey {
            repository: place.id,
            number: at.number,
        })
    }

    /// The key of a life that there is.
    async fn known(&self, at: &PullAt) -> Result<(PullKey, State), Refused> {
        let key = self.key_of(at).await?;
        let state = self.service.state(key).await;
        let state = state.map_err(|error| unavailable(&error))?;
        Ok((key, state.ok_or(Refused::NotFound)?))
    }
}

impl Backend for Front {
    async fn webhook(&self, delivery: &str, event: &str, body: &[u8]) -> Result<Accepted, Refused> {
        let taken = self.service.take_webhook(delivery, event, body).await;
        taken.map_err(|error| unavailable(&error))
    }

    async fn event(&self, at: &PullAt, delivery: &str, cause: &str) -> Result<State, Refused> {
        let key = self.key_of(at).await?;
        let woken = self.service.wake(key, delivery, cause).await;
        woken.map_err(|error| unavailable(&error))?;
        let state = self.service.state(key).await;
        Ok(state
            .map_err(|error| unavailable(&error))?
            .unwrap_or_default())
    }

    async fn retry(&self, at: &PullAt, delivery: &str, by: &str) -> Result<State, Refused> {
        let (key, _) = self.known(at).await?;
        let state = self.service.command_retry(key, delivery, by).await;
        state.map_err(|error| unavailable(&error))
    }

    async fn report(
        &self,
        at: &PullAt,
        token: &SecretString,
        body: &[u8],
    ) -> Result<(), ReportRefused> {
        // Only repositories that are known already: nobody without a token makes the service ask GitHub.
        let place = self.service.directory.named(&at.repo);
        let place = place.ok_or(ReportRefused::Unauthorized)?;
        let key = PullKey {
            repository: place.id,
            number: at.number,
        };
        let message: SessionMessage = serde_json::from_slice(body)
            .map_err(|_| ReportRefused::Invalid("The message is not one of a session.".into()))?;
        let id = SessionId {
            key,
            dispatch: message.dispatch,
        };
        let known = self.service.world.claims.knows(&id, token).await;
        if !known.map_err(|error| unavailable(&error))? {
            return Err(ReportRefused::Unauthorized);
        }
        let told = self.service.take_message(key, message).await;
        told.map_err(|error| unavailable(&error).into())
    }

    async fn state(&self, at: &PullAt) -> Result<(PullKey, State), Refused> {
        self.known(at).await
    }

    async fn history(&self, at: &PullAt, most: u32) -> Result<Vec<Entry>, Refused> {
        let (key, _) = self.known(at).await?;
        let history = self.service.engine.history(&key.to_string(), most).await;
        history.map_err(|error| unavailable(&error))
    }

    async fn sessions(&self, at: &PullAt) -> Result<Vec<SessionAccount>, Refused> {
        let (key, _) = self.known(at).await?;
        let accounts = self.service.world.claims.accounts(key).await;
        accounts.map_err(|error| unavailable(&error))
    }

    async fn list(&self, phase: Option<&str>, most: u32) -> Result<Vec<Listed>, Refused> {
        let filter = Filter {
            phase: phase.map(str::to_owned),
            after: String::new(),
            most,
        };
        let listed = self.service.engine.list(&filter).await;
        listed.map_err(|error| unavailable(&error))
    }

    async fn rows(&self, wanted: &[Recent]) -> Result<Vec<Rows>, Refused> {
        let rows = self.rows_of(wanted).await;
        rows.map_err(|error| unavailable(&error))
    }

    async fn recent(&self, wanted: &Recent) -> Result<Vec<Listed>, Refused> {
        let listed = self.service.engine.recent(wanted).await;
        listed.map_err(|error| unavailable(&error))
    }

    async fn phases(&self) -> Result<Vec<(String, u64)>, Refused> {
        let phases = self.service.engine.phases().await;
        phases.map_err(|error| unavailable(&error))
    }

    async fn pull(&self, at: &PullAt, most: u32) -> Result<PullParts, Refused> {
        let key = self.key_of(at).await?;
        let parts = self.parts_of(key, most).await;
        parts
            .map_err(|error| unavailable(&error))?
            .ok_or(Refused::NotFound)
    }

    async fn key(&self, at: &PullAt) -> Result<PullKey, Refused> {
        Ok(self.known(at).await?.0)
    }

    fn now(&self) -> i64 {
        self.service.clock.now_ms()
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy)
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    async fn metrics(&self) -> Metrics {
        let counters = &self.service.counters;
        let rates = self.service.world.accounts.rates().await;
        let waits = rates
            .iter()
            .map(|rate| (rate.name(), rate.wait.map_or(0, |wait| wait.as_secs())));
        let engine = &self.service.engine;
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let cost_usd = counters.cost.load(Ordering::Relaxed) as f64 / 1e6;
        Metrics {
            backlog: engine.backlog().await.unwrap_or_default(),
            sessions: self.service.world.claims.count().await.unwrap_or_default(),
            max_sessions: self.max_sessions,
            ignored: counters.ignored.load(Ordering::Relaxed),
            over_quota: counters.over_quota.load(Ordering::Relaxed),
            dropped: counters.given_up.load(Ordering::Relaxed),
            rate_left: rates.iter().map(|rate| (rate.name(), rate.left)).collect(),
            rate_waits: waits.collect(),
            cost_usd,
            pulls: engine.phases().await.unwrap_or_default(),
            store: engine.counts(),
        }
    }

    async fn token(&self, hash: &TokenHash) -> Result<Option<ApiToken>, Refused> {
        let found = self.service.engine.store().token(hash).await;
        found.map_err(|error| unavailable(&error))
    }
}

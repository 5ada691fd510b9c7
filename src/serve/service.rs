//! The service behind its HTTP interface: wakes, commands and messages of sessions become inputs of the engine.

use super::backend::Accepted;
use super::directory::{Directory, Place};
use super::machine::{FLOOD, Lifecycle};
use super::reports;
use super::world::{ServiceWorld, pull_key};
use reviewer_core::domain::RepoName;
use reviewer_core::event::webhook::{self, HookRepository, Wakes, Webhook};
use reviewer_core::lifecycle::{Command, ENDS, Input, PullKey, State};
use reviewer_core::session_order::SessionMessage;
use reviewer_engine::clock::Clock;
use reviewer_engine::{Engine, EngineError, Filter, Listed};
use reviewer_github::ApiError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Lives that are listed with one question to the store: a Restate server looks through all states for each.
const PAGE: u32 = 5_000;
/// States that are read with one question.
const STATES: usize = 500;

/// The running service.
pub(crate) struct Service {
    pub engine: Arc<Engine<Lifecycle>>,
    pub world: Arc<ServiceWorld>,
    pub directory: Arc<Directory>,
    /// Repositories in scope; empty with an App, whose installations are.
    pub repositories: Vec<RepoName>,
    pub clock: Arc<dyn Clock>,
    pub counters: Arc<Counters>,
    /// Asks for a reconciliation before its time.
    pub reconciles: Notify,
    /// The versions of the states that the directory has learnt from.
    pub remembered: Mutex<HashMap<String, i64>>,
}

/// Figures for the metrics.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub webhooks: AtomicU64,
    pub duplicates: AtomicU64,
    /// Webhooks that concern no pull request in scope.
    pub ignored: AtomicU64,
    /// Sessions that the quota of a day kept from beginning.
    pub over_quota: AtomicU64,
    /// Effects that were given up.
    pub given_up: Arc<AtomicU64>,
    /// In millionths of a dollar.
    pub cost: AtomicU64,
}

impl Counters {
    pub(crate) fn add_cost(&self, usd: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cost is a small positive number"
        )]
        let millionths = (usd.max(0.0) * 1e6) as u64;
        self.cost.fetch_add(millionths, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl Service {
    /// Takes a webhook whose signature is right. It is in the store when this returns.
    pub(crate) async fn take_webhook(
        self: &Arc<Self>,
        delivery: &str,
        event: &str,
        body: &[u8],
    ) -> Result<Accepted, EngineError> {
        self.counters.webhooks.fetch_add(1, Ordering::Relaxed);
        let Webhook {
            installation,
            wakes,
        } = webhook::read(event, body);
        let keys = match wakes {
            Wakes::Pull { repository, number } => {
                if !self.note(&repository, installation) {
                    return Ok(self.ignored());
                }
                let key = PullKey {
                    repository: repository.id,
                    number,
                };
                let cause = format!("webhook {event}");
                return self.wake(key, delivery, &cause).await;
            }
            Wakes::Head { repository, sha } => {
                if !self.note(&repository, installation) {
                    return Ok(self.ignored());
                }
                self.directory.with_head(repository.id, &sha)
            }
            Wakes::Base { repository, branch } => {
                if !self.note(&repository, installation) {
                    return Ok(self.ignored());
                }
                let keys = self.directory.onto(repository.id, &branch);
                let woken = keys.len();
                self.flood(keys, delivery.to_owned(), branch);
                return Ok(Accepted {
                    duplicate: false,
                    woken,
                });
            }
            Wakes::Renamed { repository } => {
                if !self.note(&repository, installation) {
                    return Ok(self.ignored());
                }
                Vec::new()
            }
            Wakes::Installation { active } => {
                self.reinstalled(installation, active).await;
                Vec::new()
            }
            Wakes::Nothing(_) => return Ok(self.ignored()),
        };
        let mut woken = 0;
        for key in keys {
            let delivery = format!("{delivery}/{key}");
            let cause = format!("webhook {event}");
            woken += self.wake(key, &delivery, &cause).await?.woken;
        }
        Ok(Accepted {
            duplicate: false,
            woken,
        })
    }

    /// An installation has other rights or repositories now: its tokens are made anew, and what is new there is looked for at once.
    async fn reinstalled(&self, installation: Option<u64>, active: bool) {
        if let Some(installation) = installation {
            self.world.accounts.forget(installation).await;
        }
        if active {
            self.reconciles.notify_one();
        }
    }

    fn ignored(&self) -> Accepted {
        self.counters.ignored.fetch_add(1, Ordering::Relaxed);
        Accepted {
            duplicate: false,
            woken: 0,
        }
    }

    /// Notes the name of a repository. Returns false for one that is not in scope.
    fn note(&self, repository: &HookRepository, installation: Option<u64>) -> bool {
        self.directory.hear_place(Place {
            id: repository.id,
            name: repository.name.clone(),
            installation,
        })
    }

    /// Wakes a pull request.
    pub(crate) async fn wake(
        &self,
        key: PullKey,
        delivery: &str,
        cause: &str,
    ) -> Result<Accepted, EngineError> {
        let input = Input::Woken {
            cause: cause.to_owned(),
        };
        let answer = self
            .engine
            .deliver(&key.to_string(), delivery, &input)
            .await?;
        if answer.duplicate {
            self.counters.duplicates.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Accepted {
            duplicate: answer.duplicate,
            woken: usize::from(!answer.duplicate),
        })
    }

    /// Wakes many, after the answer. What is lost in a crash, the next reconciliation finds: the base has another end then.
    fn flood(self: &Arc<Self>, keys: Vec<PullKey>, delivery: String, branch: String) {
        let service = Arc::clone(self);
        tokio::spawn(async move {
            let cause = format!("{FLOOD}{branch}");
            for key in keys {
                let delivery = format!("{delivery}/{key}");
                if let Err(error) = service.wake(key, &delivery, &cause).await {
                    tracing::warn!("a pull request was not woken: {error}");
                }
            }
        });
    }

    pub(crate) async fn command_retry(
        &self,
        key: PullKey,
        delivery: &str,
        by: &str,
    ) -> Result<State, EngineError> {
        let input = Input::Command {
            command: Command::Retry,
            by: by.to_owned(),
        };
        let answer = self
            .engine
            .deliver(&key.to_string(), delivery, &input)
            .await?;
        Ok(answer.state)
    }

    /// Takes a message of a session. A message that came before changes nothing.
    pub(crate) async fn take_message(
        &self,
        key: PullKey,
        message: SessionMessage,
    ) -> Result<(), EngineError> {
        let cost = reports::deliver(&self.engine, key, message).await?;
        self.counters.add_cost(cost);
        Ok(())
    }

    /// The repository of this name, asked of GitHub where nobody knows it yet.
    pub(crate) async fn find(&self, name: &RepoName) -> Result<Option<Place>, ApiError> {
        if let Some(place) = self.directory.named(name) {
            return Ok(Some(place));
        }
        if !self.directory.is_in_scope(name) {
            return Ok(None);
        }
        let accounts = &self.world.accounts;
        accounts.look_up(name, &self.directory).await?;
        Ok(self.directory.named(name))
    }

    /// Fills the directory from the store, so that checks and pushes wake whom they concern. Only what has changed is read.
    pub(crate) async fn remember(&self) -> Result<(), EngineError> {
        let mut remembered = std::mem::take(&mut *self.remembered());
        let (mut now, mut changed) = (HashMap::new(), Vec::new());
        for Listed { key, version, .. } in self.alive().await? {
            if remembered.remove(&key) != Some(version) {
                changed.push(key.clone());
            }
            now.insert(key, version);
        }
        for keys in changed.chunks(STATES) {
            for (key, status) in self.engine.states(keys).await? {
                self.learn(&key, status.state);
            }
        }
        *self.remembered() = now;
        Ok(())
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, key: &str, state: State) {
        let (Some(key), Some(facts)) = (pull_key(key), state.facts) else {
            return;
        };
        // The life is there because the repository was in scope.
        self.directory.follow(key.repository);
        self.directory.note_pull(key, &facts);
        if self.directory.place(key.repository).is_none() {
            self.directory.hear_place(Place {
                id: key.repository,
                name: facts.repo,
                installation: None,
            });
        }
    }

    /// All lives that go on.
    pub(crate) async fn alive(&self) -> Result<Vec<Listed>, EngineError> {
        let (mut lives, mut after) = (Vec::new(), String::new());
        loop {
            let filter = Filter {
                phase: None,
                after: after.clone(),
                most: PAGE,
            };
            let page = self.engine.list(&filter).await?;
            let is_last = page.len() < PAGE as usize;
            if let Some(last) = page.last() {
                after.clone_from(&last.key);
            }
            let alive = page.into_iter();
            let alive = alive.filter(|one| !ENDS.contains(&one.phase.as_str()));
            lives.extend(alive);
            if is_last {
                return Ok(lives);
            }
        }
    }

    /// True if the pull request was read from GitHub.
    pub(crate) async fn has_facts(&self, key: PullKey) -> bool {
        let state = self.state(key).await.ok().flatten();
        state.is_some_and(|state| state.facts.is_some())
    }

    pub(crate) async fn state(&self, key: PullKey) -> Result<Option<State>, EngineError> {
        let status = self.engine.status(&key.to_string()).await?;
        Ok(status.map(|status| status.state))
    }
}

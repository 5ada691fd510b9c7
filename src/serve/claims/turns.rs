//! The looks of a process at the sessions of the store: it starts what is wanted and free, ends what is not its own any more, and
//! gives back what it has at its end.

use super::cells::{self, Claim, Found, Session, SessionAccount, json};
use super::{Claims, failed, fairness};
use crate::serve::machine::Lifecycle;
use crate::serve::orders::Wanted;
use crate::serve::sessions::{Launch, SessionId};
use crate::serve::world::is_running;
use reviewer_core::lifecycle::Effect;
use reviewer_engine::tokens::TokenHash;
use reviewer_engine::{CellChange, Engine, EngineError};
use reviewer_system::random;
use secrecy::SecretString;
use std::collections::HashSet;
use std::sync::PoisonError;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// A session is started so often, whatever ends the processes that run it.
const MOST_STARTS: u32 = 2;
/// The time between two looks at the cells, which other processes change, too.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two looks where no other process is: only an error of the store leaves something to look for.
const LOOK_ALONE: Duration = Duration::from_secs(10);
/// The account of a session whose process died at its end.
const LOST: &str = "The process that ran it has died; its log is in that process's folder.";

impl Claims {
    /// Looks at the cells again and again, until the end.
    pub(crate) async fn work(&self, mut end: watch::Receiver<bool>) {
        let pause = if self.is_shared() { LOOK } else { LOOK_ALONE };
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = end.wait_for(|end| *end) => return,
            }
            self.look().await;
        }
    }

    fn is_shared(&self) -> bool {
        self.engine()
            .is_some_and(|engine| engine.store().is_shared())
    }

    /// Ends the sessions of this process before the others take it for gone: whoever cannot reach the store does not know whether
    /// somebody else runs them. Beside the looks, because these wait for the store.
    pub(crate) async fn guard(&self) {
        loop {
            tokio::time::sleep(self.patience / 20).await;
            let reached = *self.reached.lock().unwrap_or_else(PoisonError::into_inner);
            let is_late = reached.is_some_and(|reached| reached.elapsed() > self.patience);
            let running = if is_late {
                self.starter.running()
            } else {
                Vec::new()
            };
            if !running.is_empty() {
                tracing::warn!(
                    "The store was not reached for {} seconds; the sessions of this process end, and begin again.",
                    self.patience.as_secs()
                );
            }
            for id in running {
                self.starter.end(&id);
            }
        }
    }

    fn has_reached(&self, at: Option<Instant>) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Starts what is wanted and ends what is not. What fails now, the next look repeats.
    pub(crate) async fn look(&self) {
        if let Err(error) = self.turn().await {
            tracing::warn!("sessions could not be looked for: {error}");
        }
    }

    async fn turn(&self) -> Result<(), EngineError> {
        let Some(engine) = self.engine() else {
            return Ok(());
        };
        let store = engine.store();
        let mut workers = self.workers.lock().await;
        let me = workers.beat(store).await?;
        self.has_reached(workers.reached());
        // A front runs no session, and says that it is there.
        if self.most == 0 {
            return Ok(());
        }
        // In this order: whoever has a session was there before.
        let found = cells::sessions(store).await?;
        let alive = workers.alive(store).await?;
        let mut running: HashSet<SessionId> = self.starter.running().into_iter().collect();
        for id in &running {
            let is_own = |one: &Found| one.id == *id && one.session.is_of(&me);
            if !found.iter().any(is_own) {
                self.starter.end(id);
            }
        }
        let is_free = |one: &Found| match &one.session.claim {
            _ if running.contains(&one.id) || self.is_held(&one.id) => false,
            None => true,
            // One of this process that it does not have was never started: the answer to its claim was lost.
            Some(claim) => claim.worker == me || !alive.contains(&claim.worker),
        };
        let (waiting, at_work) = found.into_iter().partition(is_free);
        for one in fairness::in_turn(waiting, &at_work) {
            if running.len() >= self.most {
                break;
            }
            let id = one.id.clone();
            if self.claim(&engine, one, &me).await? {
                running.insert(id);
            }
        }
        Ok(())
    }

    /// Takes a session and starts it. False: it is not wanted any more, or somebody else was faster.
    async fn claim(
        &self,
        engine: &Engine<Lifecycle>,
        found: Found,
        me: &str,
    ) -> Result<bool, EngineError> {
        let Found {
            id,
            version: seen,
            session,
        } = found;
        let (store, name) = (engine.store(), cells::name(&id));
        let status = engine.status(&id.key.to_string()).await?;
        let state = status.map(|status| status.state).unwrap_or_default();
        if !is_running(&state, id.dispatch) {
            // It has told its life itself, and its process died before it could keep the rest.
            let account = session
                .claim
                .is_some()
                .then(|| SessionAccount::of(&session));
            if let Some(account) = account.flatten() {
                let account = SessionAccount {
                    ended: Some(self.clock.now_ms()),
                    error: Some(LOST.to_owned()),
                    ..account
                };
                cells::keep(store, id.key, &account).await?;
            }
            store
                .change_cell(&name, CellChange::Remove { seen })
                .await?;
            return Ok(false);
        }
        // A claim of this process is of a start that did not happen.
        let is_repeated = session.is_of(me);
        if session.starts >= MOST_STARTS && !is_repeated {
            let why = "The service ended twice during the session.".to_owned();
            self.tell(engine, &id, failed(&id, why)).await?;
            return Ok(false);
        }
        let secret = random::hex(32);
        let secret = secret.map_err(|error| EngineError::NoRandomness(error.to_string()))?;
        let secret = SecretString::from(secret);
        let token = TokenHash::new(&secret);
        let claimed = Session {
            starts: session.starts + u32::from(!is_repeated),
            claim: Some(Claim {
                worker: me.to_owned(),
                token: token.clone(),
                since: self.clock.now_ms(),
            }),
            ..session
        };
        let text = json(&claimed);
        let replace = CellChange::Replace { seen, text: &text };
        if !store.change_cell(&name, replace).await? {
            return Ok(false);
        }
        self.held().insert(id.clone(), token);
        self.start(id, claimed.effect, secret);
        Ok(true)
    }

    fn start(&self, id: SessionId, effect: Effect, secret: SecretString) {
        let Effect::Dispatch {
            task, head, agent, ..
        } = &effect
        else {
            return;
        };
        let wanted = Wanted {
            id: id.clone(),
            task: task.clone(),
            agent: agent.clone(),
            head: head.clone(),
            folder: self.starter.folder(&id),
            secret,
        };
        self.starter.start(Launch {
            order: Box::pin(self.orders.clone().order(wanted)),
            effect,
            id,
        });
    }

    /// Gives back what this process still has, for the others and for its own next start. Such a start does not count.
    pub(crate) async fn release(&self) -> Result<(), EngineError> {
        let Some(engine) = self.engine() else {
            return Ok(());
        };
        let store = engine.store();
        let mut workers = self.workers.lock().await;
        let Some(me) = workers.name() else {
            return Ok(());
        };
        for found in cells::sessions(store).await? {
            if !found.session.is_of(&me) {
                continue;
            }
            let session = Session {
                starts: found.session.starts.saturating_sub(1),
                claim: None,
                ..found.session
            };
            let replace = CellChange::Replace {
                seen: found.version,
                text: &json(&session),
            };
            store.change_cell(&cells::name(&found.id), replace).await?;
        }
        workers.leave(store).await
    }
}

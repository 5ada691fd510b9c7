//! Executes the effects of lives: the only place of the service that acts on GitHub and starts sessions. Each effect recognises
//! that it was done already; docs/service.md has the table.

use super::accounts::{Accounts, effect_error};
use super::claims::Claims;
use super::directory::{Directory, Place};
use super::facts::{self, SETTINGS};
use super::machine::Lifecycle;
use super::merging;
use super::quotas::{self, Asked, OverQuota};
use super::reserve::Reserve;
use super::sessions::SessionId;
use reviewer_core::domain::{CommitSha, Conclusion, Login, PrKey};
use reviewer_core::lifecycle::{
    Effect, Facts, Input, MergeAnswer, Progress, PullKey, Quotas, Session, State,
};
use reviewer_core::publish::comment::service;
use reviewer_core::state::check_mark::CHECK_NAME;
use reviewer_core::state::signature::Keys;
use reviewer_engine::{EffectError, EffectId, Engine, EngineError, World};
use reviewer_github::{CheckOutput, GitHub, MergeRefusal, NewCheckRun, ProbedState};
use secrecy::SecretString;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

mod people;

/// The part of a session's order that is the same for all.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    /// The address of the service.
    pub url: String,
    /// The inputs of the model and its limits, keys among them.
    pub inputs: BTreeMap<String, SecretString>,
    /// Sessions sign with the first one; all of them are accepted.
    pub state_keys: Vec<SecretString>,
    /// The texts of personas by the agents' names; `None`: a built-in one.
    pub personas: HashMap<String, Option<String>>,
    pub mention: String,
}

/// The outside of the lifecycle.
pub(crate) struct ServiceWorld {
    pub accounts: Arc<Accounts>,
    /// The account that comments, requests reviewers and merges.
    pub login: Login,
    pub directory: Arc<Directory>,
    /// The sessions that lives want.
    pub claims: Arc<Claims>,
    pub settings: Arc<SessionSettings>,
    pub reserve: Reserve,
    pub quotas: Quotas,
    /// The name of the store: numbers of effects are unique within one.
    pub store: String,
    pub engine: Weak<Engine<Lifecycle>>,
}

impl std::fmt::Debug for ServiceWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServiceWorld")
            .field("accounts", &self.accounts)
            .finish_non_exhaustive()
    }
}

type Answered = Result<Option<Input>, EffectError>;

/// The key of a pull request, from the engine's.
pub(crate) fn pull_key(key: &str) -> Option<PullKey> {
    let (repository, number) = key.split_once('/')?;
    Some(PullKey {
        repository: repository.parse().ok()?,
        number: number.parse().ok()?,
    })
}

/// True if the life waits for the session of this dispatch, and has not heard of its end.
pub(crate) fn is_running(state: &State, dispatch: u64) -> bool {
    let is_meant = |session: &Session| {
        session.dispatch == dispatch && matches!(session.progress, Progress::Running { .. })
    };
    state.session.as_ref().is_some_and(is_meant)
}

impl World<Lifecycle> for ServiceWorld {
    async fn execute(&self, id: &EffectId, effect: Effect) -> Answered {
        let key = pull_key(&id.key)
            .ok_or_else(|| EffectError::permanent(format!("{} is no pull request.", id.key)))?;
        match effect {
            Effect::Probe => self.probe(key, id.seq).await.map(Some),
            Effect::Compare { from, to } => self.compare(key, from, to).await.map(Some),
            Effect::Dispatch { dispatch, .. } => self.dispatch(key, dispatch, &effect).await,
            Effect::EndSession { dispatch } => {
                let ended = self.claims.end(&SessionId { key, dispatch }).await;
                ended.map_err(|error| EffectError::temporary(error.to_string()))?;
                Ok(None)
            }
            Effect::RequestReviewers { logins } => self.request(key, &logins).await,
            Effect::Merge { attempt, head } => self.merge(key, attempt, &head).await.map(Some),
            Effect::Disarm { attempt } => self.disarm(key, attempt).await.map(Some),
            Effect::CarryCheck { from, head } => self.carry_check(key, id, &from, &head).await,
            Effect::Call { reason, logins } => self.call(key, id, &reason, &logins).await,
            // The engine keeps timers itself.
            Effect::Wake { .. } => Ok(None),
        }
    }

    /// Probes after pushes to base branches and reconciliations leave GitHub's last requests of the hour to everything else.
    async fn holds_back(&self, key: &str) -> Option<u64> {
        let place = self.directory.place(pull_key(key)?.repository)?;
        let wait = self
            .reserve
            .wait(&self.accounts, place.installation)
            .await?;
        u64::try_from(wait.as_millis()).ok()
    }
}

impl ServiceWorld {
    async fn place(&self, key: PullKey) -> Result<Place, EffectError> {
        self.accounts.place(key, &self.directory).await
    }

    async fn github(&self, place: &Place) -> Result<Arc<GitHub>, EffectError> {
        let github = self.accounts.github(place, &self.directory).await;
        github.map_err(|error| effect_error(&error))
    }

    /// The keys by which sessions sign what they post in a repository.
    pub(crate) fn keys(&self, place: &Place) -> Keys {
        Keys::derive(&self.settings.state_keys, None, &place.name.to_string())
    }

    async fn state(&self, key: PullKey) -> Result<State, EffectError> {
        let engine = self.engine.upgrade();
        let engine = engine.ok_or_else(|| EffectError::temporary("The service ends."))?;
        let status = engine.status(&key.to_string()).await;
        let status = status.map_err(|error| EffectError::temporary(error.to_string()))?;
        Ok(status.map(|status| status.state).unwrap_or_default())
    }

    /// The last facts; an effect that needs them follows from a probe.
    async fn facts(&self, key: PullKey) -> Result<Facts, EffectError> {
        let state = self.state(key).await?;
        state
            .facts
            .ok_or_else(|| EffectError::permanent("The pull request was never read."))
    }

    async fn read(
        &self,
        key: PullKey,
    ) -> Result<(Arc<GitHub>, reviewer_github::Probe), EffectError> {
        let place = self.place(key).await?;
        let github = self.github(&place).await?;
        let pr = PrKey {
            repo: place.name.clone(),
            number: key.number,
        };
        let probe = github.probe(key.repository, &pr, SETTINGS).await;
        let probe = probe.map_err(|error| effect_error(&error))?;
        if probe.repo != place.name {
            let moved = Place {
                name: probe.repo.clone(),
                ..place
            };
            if !self.directory.note_place(moved) {
                let name = &probe.repo;
                let why = format!("The repository is {name} now, which service.yml does not name.");
                return Err(EffectError::permanent(why));
            }
        }
        Ok((github, probe))
    }

    async fn probe(&self, key: PullKey, seq: u64) -> Result<Input, EffectError> {
        let (github, probe) = self.read(key).await?;
        let place = self.place(key).await?;
        let facts = facts::facts(&github, &probe, &self.keys(&place), &self.settings.mention).await;
        let facts = facts.map_err(|error| effect_error(&error))?;
        self.directory.note_pull(key, &facts);
        Ok(Input::Probed {
            probe: seq,
            facts: Box::new(facts),
        })
    }

    async fn compare(
        &self,
        key: PullKey,
        from: CommitSha,
        to: CommitSha,
    ) -> Result<Input, EffectError> {
        let (place, facts) = (self.place(key).await?, self.facts(key).await?);
        let github = self.github(&place).await?;
        let same = github
            .is_same_change(&place.name, &facts.base, &from, &to)
            .await;
        Ok(Input::Compared {
            identical: same.map_err(|error| effect_error(&error))?,
            from,
            to,
        })
    }

    async fn dispatch(&self, key: PullKey, dispatch: u64, effect: &Effect) -> Answered {
        let state = self.state(key).await?;
        if !is_running(&state, dispatch) {
            return Ok(None);
        }
        let id = SessionId { key, dispatch };
        let over = self.over_quota(&id, &state, effect).await;
        let over = over.map_err(|error| EffectError::temporary(error.to_string()))?;
        if let Some(OverQuota { quota, until }) = over {
            return Ok(Some(Input::OverQuota {
                dispatch,
                quota,
                until,
            }));
        }
        let wanted = self.claims.want(&id, effect).await;
        wanted.map_err(|error| EffectError::temporary(error.to_string()))?;
        Ok(None)
    }

    /// The quota that keeps a session from beginning today. One that is in the store has begun already.
    async fn over_quota(
        &self,
        id: &SessionId,
        state: &State,
        effect: &Effect,
    ) -> Result<Option<OverQuota>, EngineError> {
        let (Some(engine), Some(facts)) = (self.engine.upgrade(), &state.facts) else {
            return Ok(None);
        };
        if self.claims.is_wanted(id).await? {
            return Ok(None);
        }
        let asked = Asked {
            id,
            facts,
            beyond: matches!(
                effect,
                Effect::Dispatch {
                    beyond_quota: true,
                    ..
                }
            ),
        };
        let now = self.claims.clock.now_ms();
        let over = quotas::take(engine.store(), self.quotas, &asked, now).await?;
        if let Some(OverQuota { quota, .. }) = &over {
            self.claims
                .counters
                .over_quota
                .fetch_add(1, Ordering::Relaxed);
            let (repo, number) = (&facts.repo, facts.number);
            tracing::info!("{repo}#{number} waits for the next day: {quota} is used up.");
        }
        Ok(over)
    }

    async fn merge(
        &self,
        key: PullKey,
        attempt: u64,
        head: &CommitSha,
    ) -> Result<Input, EffectError> {
        // The engine would try again later without a look at what has changed meanwhile; the life looks first.
        let once = |error: EffectError| EffectError::permanent(error.message);
        let (github, probe) = self.read(key).await.map_err(once)?;
        let facts = self.facts(key).await.map_err(once)?;
        let place = self.place(key).await.map_err(once)?;
        let pr = PrKey {
            repo: probe.repo.clone(),
            number: key.number,
        };
        let is_same = facts::are_as_read(&facts, &probe, &pr, &self.keys(&place));
        let answer = if !is_same && probe.state == ProbedState::Open {
            // Somebody has spoken, pushed, retargeted or changed the settings since the approval was read.
            MergeAnswer::Moved
        } else {
            merging::merge(&github, &probe, head).await.map_err(once)?
        };
        Ok(Input::Merge { attempt, answer })
    }

    async fn disarm(&self, key: PullKey, attempt: u64) -> Result<Input, EffectError> {
        let (github, probe) = self.read(key).await?;
        let pr = PrKey {
            repo: probe.repo.clone(),
            number: key.number,
        };
        let answer = match github.disable_auto_merge(&pr, &probe.node_id).await {
            Ok(()) => MergeAnswer::Disarmed,
            Err(MergeRefusal::Api(error)) => return Err(effect_error(&error)),
            Err(refusal) => MergeAnswer::Refused {
                why: refusal.to_string(),
            },
        };
        Ok(Input::Merge { attempt, answer })
    }

    /// Puts the check on the head, unless it has one.
    async fn carry_check(
        &self,
        key: PullKey,
        id: &EffectId,
        from: &CommitSha,
        head: &CommitSha,
    ) -> Answered {
        let place = self.place(key).await?;
        let github = self.github(&place).await?;
        let runs = github.check_runs(&place.name, head, CHECK_NAME).await;
        if !runs.map_err(|error| effect_error(&error))?.is_empty() {
            return Ok(None);
        }
        let (title, summary) = service::carried_check(from, head);
        let check = NewCheckRun {
            name: CHECK_NAME.to_owned(),
            head_sha: head.clone(),
            external_id: format!("{}/{id}", self.store),
            details_url: None,
            output: CheckOutput {
                title,
                summary,
                text: None,
            },
            conclusion: Some(Conclusion::Success),
        };
        let created = github.create_check_run(&place.name, &check).await;
        created.map(|_| None).map_err(|error| effect_error(&error))
    }
}

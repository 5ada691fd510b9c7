//! Executes the effects of lives: the only place of the service that acts on GitHub and starts sessions. Each effect recognises
//! that it was done already; docs/service.md has the table.

use super::accounts::{Accounts, effect_error};
use super::directory::{Directory, Place};
use super::facts::{self, SETTINGS};
use super::machine::Lifecycle;
use super::merging;
use super::sessions::{Launch, SessionId, Starter};
use reviewer_core::config::Persona;
use reviewer_core::domain::{CommitSha, Login, PrKey};
use reviewer_core::lifecycle::{
    CallReason, Effect, Facts, Input, MergeAnswer, PullKey, Session, State, Task,
};
use reviewer_core::publish::comment::service;
use reviewer_core::session_order::SessionOrder;
use reviewer_core::state::signature::Keys;
use reviewer_engine::tokens::TokenHash;
use reviewer_engine::{EffectError, EffectId, Engine, World};
use reviewer_github::{GitHub, MergeRefusal, ProbedState, ReviewRequest};
use reviewer_system::random;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// The part of a session's order that is the same for all.
#[derive(Debug)]
pub(crate) struct SessionSettings {
    /// The address of the service.
    pub url: String,
    /// The inputs of the model and its limits, keys among them.
    pub inputs: BTreeMap<String, SecretString>,
    pub state_key: SecretString,
    /// The texts of personas by the agents' names; `None`: a built-in one.
    pub personas: HashMap<String, Option<String>>,
    pub mention: String,
}

/// The outside of the lifecycle.
pub(crate) struct ServiceWorld {
    pub accounts: Accounts,
    /// The account that comments, requests reviewers and merges.
    pub login: Login,
    pub directory: Arc<Directory>,
    pub starter: Arc<dyn Starter>,
    pub settings: SessionSettings,
    /// Set once the engine is open.
    pub engine: OnceLock<Weak<Engine<Lifecycle>>>,
    /// The tokens of sessions, by which their messages are believed.
    pub tokens: Mutex<HashMap<SessionId, TokenHash>>,
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

impl World<Lifecycle> for ServiceWorld {
    async fn execute(&self, id: &EffectId, effect: Effect) -> Answered {
        let key = pull_key(&id.key)
            .ok_or_else(|| EffectError::permanent(format!("{} is no pull request.", id.key)))?;
        match effect {
            Effect::Probe => self.probe(key, id.seq).await.map(Some),
            Effect::Compare { from, to } => self.compare(key, from, to).await.map(Some),
            dispatch @ Effect::Dispatch { .. } => self.dispatch(key, dispatch).await,
            Effect::EndSession { dispatch } => {
                let id = SessionId { key, dispatch };
                self.starter.end(&id);
                self.forget(&id);
                Ok(None)
            }
            Effect::RequestReviewers { logins } => self.request(key, &logins).await,
            Effect::Merge { attempt, head } => self.merge(key, attempt, &head).await.map(Some),
            Effect::Disarm { attempt } => self.disarm(key, attempt).await.map(Some),
            Effect::Call { reason, logins } => self.call(key, id, &reason, &logins).await,
            // The engine keeps timers itself.
            Effect::Wake { .. } => Ok(None),
        }
    }
}

impl ServiceWorld {
    async fn place(&self, key: PullKey) -> Result<Place, EffectError> {
        let found = self.accounts.find(key.repository, &self.directory).await;
        found.map_err(|error| effect_error(&error))
    }

    async fn github(&self, place: &Place) -> Result<Arc<GitHub>, EffectError> {
        let github = self.accounts.github(place, &self.directory).await;
        github.map_err(|error| effect_error(&error))
    }

    /// The keys by which sessions sign what they post in a repository.
    pub(crate) fn keys(&self, place: &Place) -> Keys {
        let own = std::slice::from_ref(&self.settings.state_key);
        Keys::derive(own, None, &place.name.to_string())
    }

    async fn state(&self, key: PullKey) -> Result<State, EffectError> {
        let engine = self.engine.get().and_then(Weak::upgrade);
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
            self.directory.note_place(Place {
                name: probe.repo.clone(),
                ..place
            });
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

    async fn dispatch(&self, key: PullKey, effect: Effect) -> Answered {
        let Effect::Dispatch {
            dispatch,
            task,
            head,
            agent,
            deadline_ms,
        } = &effect
        else {
            return Ok(None);
        };
        let id = SessionId {
            key,
            dispatch: *dispatch,
        };
        let state = self.state(key).await?;
        let is_current = |session: &Session| session.dispatch == *dispatch;
        if !state.session.as_ref().is_some_and(is_current) || self.is_at_work(&id) {
            return Ok(None);
        }
        let place = self.place(key).await?;
        let secret = random::hex(32).map_err(|error| EffectError::temporary(error.to_string()))?;
        let secret = SecretString::from(secret);
        let order = self
            .order(&id, &place, (task, agent, head), &secret)
            .await?;
        let arguments = arguments(task, &place, key.number);
        let hash = TokenHash::new(&secret);
        self.tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), hash);
        let launch = Launch {
            id: id.clone(),
            deadline: Duration::from_millis(*deadline_ms),
            arguments,
            order,
            effect: effect.clone(),
        };
        self.starter.start(launch).map_err(|error| {
            self.forget(&id);
            EffectError::temporary(format!("The session could not be started: {error}."))
        })?;
        Ok(None)
    }

    /// The order of a session, with the token by which its messages are believed.
    async fn order(
        &self,
        id: &SessionId,
        place: &Place,
        (task, agent, head): (&Task, &str, &CommitSha),
        secret: &SecretString,
    ) -> Result<SessionOrder, EffectError> {
        let fixes = matches!(task, Task::Fix { .. });
        let token = self
            .accounts
            .session_token(agent, place, &self.directory, fixes)
            .await?;
        let folder = self.starter.folder(id).map_err(|error| {
            EffectError::temporary(format!("The session's folder cannot be made: {error}."))
        })?;
        let (url, name, number) = (&self.settings.url, &place.name, id.key.number);
        Ok(SessionOrder {
            dispatch: id.dispatch,
            callback_url: format!("{url}/pr/{name}/{number}/session"),
            callback_token: secret.expose_secret().to_owned(),
            head: head.to_string(),
            folder: folder.display().to_string(),
            reviewer: self.persona(task, agent),
            check_runs: self.accounts.is_app(),
            shared_account: self.accounts.is_app(),
            is_last: matches!(task, Task::Review { is_last: true, .. }),
            inputs: self.inputs(&token),
        })
    }

    /// True if this process has started the session, and it has not ended.
    fn is_at_work(&self, id: &SessionId) -> bool {
        let tokens = self.tokens.lock();
        let tokens = tokens.unwrap_or_else(PoisonError::into_inner);
        tokens.contains_key(id)
    }

    /// The token of a session that has ended is worth nothing.
    pub(crate) fn forget(&self, id: &SessionId) {
        let tokens = self.tokens.lock();
        tokens.unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn persona(&self, task: &Task, agent: &str) -> Option<Persona> {
        let Task::Review { can_escalate, .. } = task else {
            return None;
        };
        Some(Persona {
            name: agent.to_owned(),
            text: self.settings.personas.get(agent).cloned().flatten(),
            can_escalate: can_escalate.clone(),
        })
    }

    fn inputs(&self, token: &SecretString) -> BTreeMap<String, String> {
        let settings = &self.settings;
        let given = settings.inputs.iter();
        let given = given.map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        let own = [
            ("github_token", token.expose_secret()),
            ("state_key", settings.state_key.expose_secret()),
            ("review_event", "decide"),
            ("mention", settings.mention.as_str()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        given.chain(own).collect()
    }

    async fn request(&self, key: PullKey, logins: &[Login]) -> Answered {
        let (place, facts) = (self.place(key).await?, self.facts(key).await?);
        let github = self.github(&place).await?;
        let pr = PrKey {
            repo: place.name.clone(),
            number: key.number,
        };
        let asked = github.request_reviewers(&pr, &facts.head, logins).await;
        let asked = asked.map_err(|error| effect_error(&error))?;
        let refused: Vec<String> = asked
            .iter()
            .filter_map(|(login, outcome)| match outcome {
                ReviewRequest::NoAccess => Some(format!("{login} has no access")),
                ReviewRequest::Refused { message } => Some(format!("{login}: {message}")),
                _ => None,
            })
            .collect();
        if refused.is_empty() {
            Ok(None)
        } else {
            let why = refused.join("; ");
            Err(EffectError::permanent(format!(
                "GitHub did not take the request for a review: {why}."
            )))
        }
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
        let is_other = facts.base != probe.base || facts.updated_at != probe.updated_at;
        let answer = if is_other && probe.state == ProbedState::Open {
            // Somebody has spoken, pushed or retargeted since the approval was read.
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

    /// Posts the call, unless it is there.
    async fn call(
        &self,
        key: PullKey,
        id: &EffectId,
        reason: &CallReason,
        logins: &[Login],
    ) -> Answered {
        let place = self.place(key).await?;
        let github = self.github(&place).await?;
        let pr = PrKey {
            repo: place.name.clone(),
            number: key.number,
        };
        let marker = service::call_marker(&id.to_string());
        let comments = github.issue_comments(&pr).await;
        let comments = comments.map_err(|error| effect_error(&error))?;
        let is_own = |author: Option<&Login>| author == Some(&self.login);
        let mut own = comments.iter().filter(|one| is_own(one.author.as_ref()));
        if own.any(|one| one.body.contains(&marker)) {
            return Ok(None);
        }
        let body = service::call(&marker, reason, logins, &self.settings.mention);
        let posted = github.comment(&pr, &body).await;
        posted.map(|_| None).map_err(|error| effect_error(&error))
    }
}

fn arguments(task: &Task, place: &Place, number: u64) -> Vec<String> {
    let number = number.to_string();
    let repo = place.name.to_string();
    let command = match task {
        Task::Review { .. } => "review",
        Task::Fix { .. } => "fix",
    };
    [command, "--repo", &repo, "--pr", &number, "--session"]
        .map(str::to_owned)
        .to_vec()
}

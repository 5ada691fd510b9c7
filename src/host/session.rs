//! A session of a run: one model at work in the sidecar, with everything that is its own. Separate from the process, which
//! all sessions of a run share.

use super::{Budget, Failure};
use reviewer_agent::gateway::{Gateway, Models, SessionRoute};
use reviewer_agent::opencode::{
    Conversation, ModelName, Profile, SessionName, Supervisor, ToolName,
};
use reviewer_agent::tools::{candidate_names, hidden_in_review, hidden_without_candidates};
use reviewer_core::config::{ModelChoice, ReviewerChoice};
use reviewer_core::publish::comment;
use reviewer_core::review::desk::{Desk, SharedDesk};
use reviewer_core::review::fallback::{Cause, Fallback, Fallbacks, Portion};
use reviewer_core::review::usage::SessionUsage;
use secrecy::SecretString;
use std::sync::{Arc, OnceLock};

/// The secrets that one session has for itself: those of another open nothing to it.
#[derive(Debug, Clone)]
pub(crate) struct SessionSecrets {
    /// Admits to the session's tools.
    pub bearer: SecretString,
    /// Stands in the sidecar for the model key, and admits to the session's route of the gateway.
    pub placeholder: SecretString,
}

impl SessionSecrets {
    fn random() -> anyhow::Result<Self> {
        let made = || reviewer_system::random::hex(32).map(SecretString::from);
        Ok(Self {
            bearer: made()?,
            placeholder: made()?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    /// In the paths of the tool server.
    pub name: SessionName,
    pub reviewer: ReviewerChoice,
    /// Its permissions.
    pub profile: Profile,
    /// The reviewer's tools that it may call.
    pub tools: Vec<ToolName>,
    pub secrets: SessionSecrets,
    /// The desk that its model talks to.
    pub desk: SharedDesk,
    /// Its way to the model, or why there is none.
    pub route: Result<SessionRoute, String>,
    /// Its usage of the model.
    pub usage: Arc<SessionUsage>,
    /// The models that the run could not use.
    fallbacks: Fallbacks,
    /// Its part of the run's work, where that is not the whole.
    portion: OnceLock<Portion>,
    /// Its own fallback.
    fell_back: OnceLock<Fallback>,
}

impl Session {
    pub fn new(
        name: SessionName,
        reviewer: ReviewerChoice,
        (profile, tools): (Profile, Vec<ToolName>),
        budget: &Budget,
        gateway: &Result<Gateway, String>,
    ) -> anyhow::Result<Self> {
        let secrets = SessionSecrets::random()?;
        let placeholder = secrets.placeholder.clone();
        let allowed = profile.tools(name, &tools);
        let models = Models {
            model: &reviewer.model,
            fallback: reviewer.fallback.as_ref(),
        };
        let open =
            |gateway: &Gateway| gateway.open(&name.to_string(), models, &placeholder, &allowed);
        let route = gateway.as_ref().map_err(Clone::clone).and_then(open);
        Ok(Self {
            name,
            route,
            reviewer,
            profile,
            tools,
            secrets,
            desk: SharedDesk::default(),
            usage: budget.usage.open(),
            fallbacks: budget.fallbacks.clone(),
            portion: OnceLock::new(),
            fell_back: OnceLock::new(),
        })
    }

    /// Gives it a part of the run's work, once.
    fn take(&self, portion: Portion) {
        self.portion.get_or_init(|| portion);
    }

    /// Its way to the model.
    pub(crate) fn route(&self) -> Result<&SessionRoute, Failure> {
        self.route.as_ref().map_err(Failure::new)
    }

    /// Returns true if it may be given results of static analysis to judge.
    pub(crate) fn judges_candidates(&self) -> bool {
        candidate_names()
            .iter()
            .any(|tool| self.tools.contains(tool))
    }

    /// Opens its conversation in the sidecar. The model is shown the tools that the desk has a use for.
    pub(crate) async fn converse(
        &self,
        sidecar: &Arc<Supervisor>,
        title: &str,
    ) -> Result<Conversation, String> {
        let has_threads = |desk: &mut Desk| !desk.subject().threads.is_empty();
        let has_threads = self.desk.with(has_threads).unwrap_or(true);
        let mut hidden = hidden_in_review(self.name, has_threads);
        let has_candidates = |desk: &mut Desk| !desk.candidates().is_empty();
        if self.judges_candidates() && !self.desk.with(has_candidates).unwrap_or(true) {
            hidden.extend(hidden_without_candidates(self.name));
        }
        self.converse_without(sidecar, title, hidden).await
    }

    /// The same without some tools.
    pub(crate) async fn converse_without(
        &self,
        sidecar: &Arc<Supervisor>,
        title: &str,
        hidden: Vec<String>,
    ) -> Result<Conversation, String> {
        let (session, reviewer) = (self.name, &self.reviewer.name);
        tracing::debug!("the conversation of {session} ({reviewer}) is opened");
        if let Some(failed) = self.fallbacks.first_of(&self.reviewer.model) {
            let why = comment::fallback::failed_before(&failed.why);
            self.fall_back(self.name.stage(), failed.cause, &why);
        }
        Conversation::open(sidecar, &self.name.agent(self.profile), title, hidden).await
    }

    /// From here on the session uses its other model. Returns `None` where there is none, or where it does so already.
    pub(crate) fn fall_back(&self, since: &str, cause: Cause, why: &str) -> Option<&Fallback> {
        let route = self.route.as_ref().ok()?;
        let instead = self.reviewer.fallback.as_ref()?;
        if !route.fall_back() {
            return None;
        }
        self.usage.pass(route.taken());
        let fallback = Fallback {
            reviewer: self.reviewer.name.clone(),
            portion: self.portion.get().copied().unwrap_or(Portion::Whole),
            model: self.reviewer.model.clone(),
            instead: instead.clone(),
            since: since.to_owned(),
            cause,
            why: why.to_owned(),
            before: self.usage.used(),
            usage: Arc::clone(&self.usage),
        };
        self.fallbacks.note(fallback.clone());
        Some(self.fell_back.get_or_init(|| fallback))
    }

    fn has_fallen_back(&self) -> bool {
        let route = self.route.as_ref();
        route.is_ok_and(SessionRoute::has_fallen_back)
    }

    /// The name of its other model in the sidecar, once that one is in use.
    pub(crate) fn fallback_in_use(&self) -> Option<ModelName> {
        let model = self.reviewer.fallback.as_ref();
        let model = model.filter(|_| self.has_fallen_back())?;
        Some(ModelName::fallback(self.name, model))
    }

    /// The model in use.
    pub(crate) fn model(&self) -> &ModelChoice {
        let fallback = self.reviewer.fallback.as_ref();
        let fallback = fallback.filter(|_| self.has_fallen_back());
        fallback.unwrap_or(&self.reviewer.model)
    }

    /// The model that its conversation begins with.
    pub(crate) fn next_model(&self) -> &ModelChoice {
        let has_failed = self.fallbacks.first_of(&self.reviewer.model).is_some();
        let fallback = self.reviewer.fallback.as_ref().filter(|_| has_failed);
        fallback.unwrap_or_else(|| self.model())
    }

    /// The fallback from its own model, if it uses the other one.
    pub(crate) fn fell_back(&self) -> Option<&Fallback> {
        self.fell_back.get()
    }
}

/// The sessions of a run: one, and any number beside it.
#[derive(Debug)]
pub(crate) struct Sessions {
    first: Session,
    others: Vec<Session>,
    /// Works on the first one's desk, with the model of the second reviewer; `None`: one reviewer reviews alone.
    fix_check: Option<Session>,
}

impl Sessions {
    #[must_use]
    pub fn new(first: Session, others: Vec<Session>, fix_check: Option<Session>) -> Self {
        let fix_check = fix_check.map(|session| {
            // It takes no share of the budget from the reviewers.
            session.usage.end();
            Session {
                desk: first.desk.clone(),
                ..session
            }
        });
        Self {
            first,
            others,
            fix_check,
        }
    }

    /// The one that handles what concerns the run and not a reviewer: open threads, disputes, questions.
    #[must_use]
    pub(crate) fn first(&self) -> &Session {
        &self.first
    }

    /// The sessions of the reviewers, in their order.
    pub fn reviewers(&self) -> impl Iterator<Item = &Session> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Those beside the first one.
    pub fn beside(&self) -> impl Iterator<Item = &Session> {
        self.others.iter().chain(&self.fix_check)
    }

    /// Gives all of them a part of the run's work.
    pub(crate) fn take(&self, portion: Portion) {
        for session in std::iter::once(&self.first).chain(self.beside()) {
            session.take(portion);
        }
    }

    /// Returns true if several reviewers review.
    #[must_use]
    pub(crate) fn is_panel(&self) -> bool {
        !self.others.is_empty()
    }

    #[must_use]
    pub(crate) fn fix_check(&self) -> Option<&Session> {
        self.fix_check.as_ref()
    }
}

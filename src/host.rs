//! The host of sessions: the setup that came from outside, secrets, the scratch folder, the sidecar, the web. It knows
//! of no pull request but by its `Job`.

mod job;
mod ordered;
pub(crate) mod scratch;
pub(crate) mod secrets;
pub mod session;
pub(crate) mod sidecar;
pub(crate) mod web_access;

pub(crate) use job::{Aim, Job, run_id, run_url};
pub use ordered::OrderedSession;

use crate::actions::Actions;
use reviewer_agent::gateway::{self, Gateway};
use reviewer_core::config::environment::Environment;
use reviewer_core::config::inputs::{self, InputError, RawInputs};
use reviewer_core::config::{
    Config, FixMode, ModelChoice, Persona, ReviewMode, ReviewerChoice, shell,
};
use reviewer_core::review::fallback::Fallbacks;
use reviewer_core::review::usage::RunUsage;
use reviewer_system::clock::Clock;
use reviewer_system::random;
use reviewer_text::fence::Fence;
use reviewer_web::Web;
use scratch::Scratch;
use secrecy::{ExposeSecret, SecretString};
use secrets::Secrets;
use session::{Session, Sessions};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The values that `main` hands over: the only ones that came from outside.
#[derive(Debug)]
pub struct Setup {
    pub environment: Environment,
    pub inputs: RawInputs,
    pub actions: Actions,
    pub clock: Clock,
    /// Folders in which this program is installed, to find its sidecar beside it.
    pub roots: Vec<PathBuf>,
    /// This program itself, as which the sidecar begins.
    pub launcher: PathBuf,
    /// The reviewer that reviews alone.
    pub persona: Option<Persona>,
    /// `None`: no service started this process.
    pub session: Option<OrderedSession>,
}

/// The reason why nothing could be done. Each line is a sentence for the person who can change that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub Vec<String>);

impl Failure {
    pub fn new(sentence: impl Display) -> Self {
        Self(vec![format!("{sentence}")])
    }

    pub fn all(sentences: &[impl Display]) -> Self {
        Self(sentences.iter().map(ToString::to_string).collect())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(vec![format!("{error:#}")])
    }
}

/// Two results that were awaited together; their failures are told together, too.
pub(crate) fn both<A, B>(a: Result<A, Failure>, b: Result<B, Failure>) -> Result<(A, B), Failure> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(Failure(mut a)), Err(Failure(b))) => {
            a.extend(b);
            Err(Failure(a))
        }
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    }
}

/// The work of a host's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Review,
    /// The reviewers review a section of a large change, in a sidecar of its own.
    Section,
    /// One session consolidates the findings of all sections, in a sidecar of its own.
    Consolidation,
    /// One session fixes, in a sidecar of its own.
    Fix,
}

/// The time and the money of a run, and what it has learned of its models; all its hosts share them.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub started: Instant,
    pub usage: Arc<RunUsage>,
    /// The models that could not be used.
    pub fallbacks: Fallbacks,
    /// The names under which the run's cost is entered in the pull request's account, one for each host.
    pub receipts: Arc<Mutex<Vec<String>>>,
}

impl Budget {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            started: clock.instant(),
            usage: Arc::default(),
            fallbacks: Fallbacks::default(),
            receipts: Arc::default(),
        }
    }
}

/// Everything that a review works with, besides GitHub.
pub(crate) struct Host<'a> {
    pub setup: &'a Setup,
    pub config: Config,
    pub fence: Fence,
    pub secrets: Secrets,
    sessions: Sessions,
    /// The way to all models, or why there is none.
    gateway: Result<Gateway, String>,
    /// `None`: the web is not asked.
    pub web: Option<Arc<Web>>,
    /// Private to the run, gone with it.
    pub scratch: Arc<Scratch>,
    /// GitHub's, where there is one.
    token: Option<SecretString>,
    pub started: Instant,
    pub usage: Arc<RunUsage>,
    pub fallbacks: Fallbacks,
    receipts: Arc<Mutex<Vec<String>>>,
}

impl<'a> Host<'a> {
    pub fn new(
        setup: &'a Setup,
        config: Config,
        token: Option<&SecretString>,
        (work, budget): (Work, Budget),
    ) -> Result<Self, Failure> {
        mask(&setup.actions, &config, token);
        let fence = Fence::new(random::hex(8)?);
        let gateway = sidecar::gateway(setup);
        let sessions = sidecar::sessions(work, &config, &gateway, &budget)?;
        let callback = setup.session.as_ref().map(OrderedSession::token);
        let further = [Some(SecretString::from(fence.nonce())), callback];
        let secrets = Secrets::new(&config, token, further.into_iter().flatten(), &sessions)?;
        setup.actions.hide(&secrets.redactor);
        Ok(Self {
            setup,
            web: web_access::access(setup, &config, &fence)?,
            scratch: Arc::new(Scratch::new(&setup.environment)?),
            token: token.cloned(),
            config,
            fence,
            secrets,
            sessions,
            gateway,
            started: budget.started,
            usage: budget.usage,
            fallbacks: budget.fallbacks,
            receipts: budget.receipts,
        })
    }

    /// The same run with sessions, secrets and a gateway of their own, for a sidecar beside its first one. Time and money, the
    /// web and the scratch folder are the run's.
    pub(crate) fn beside(&self, work: Work) -> Result<Self, Failure> {
        let gateway = self.gateway.as_ref().map(Gateway::beside);
        let gateway = gateway.map_err(Clone::clone);
        let sessions = sidecar::sessions(work, &self.config, &gateway, &self.budget())?;
        let callback = self.setup.session.as_ref().map(OrderedSession::token);
        let further = [Some(SecretString::from(self.fence.nonce())), callback];
        let token = self.token.clone();
        let further = further.into_iter().flatten();
        let secrets = Secrets::new(&self.config, token.as_ref(), further, &sessions)?;
        self.setup.actions.hide(&secrets.redactor);
        Ok(Self {
            setup: self.setup,
            config: self.config.clone(),
            fence: self.fence.clone(),
            secrets,
            sessions,
            gateway,
            web: self.web.clone(),
            scratch: Arc::clone(&self.scratch),
            token,
            started: self.started,
            usage: Arc::clone(&self.usage),
            fallbacks: self.fallbacks.clone(),
            receipts: Arc::clone(&self.receipts),
        })
    }

    /// The session of a run that has one.
    pub fn session(&self) -> &Session {
        self.sessions.first()
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns true if several reviewers review.
    pub(crate) fn is_panel(&self) -> bool {
        self.sessions.is_panel()
    }

    /// Returns true if the run comes to a consensus, in which the open conversations of people count.
    pub(crate) fn weighs_conversations(&self) -> bool {
        self.is_panel() || self.config.review_mode == ReviewMode::Decide || self.in_rounds()
    }

    /// Returns true if a review is followed by a fix of its own.
    pub(crate) fn in_rounds(&self) -> bool {
        self.config.fix.mode == FixMode::Auto
    }

    /// Returns what its sessions have left of the run's budget to the hosts that follow.
    pub(crate) fn end_sessions(&self) {
        let all = std::iter::once(self.session()).chain(self.sessions.beside());
        all.for_each(|session| session.usage.end());
    }

    /// The time and the money that other hosts of the run share with it.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            started: self.started,
            usage: Arc::clone(&self.usage),
            fallbacks: self.fallbacks.clone(),
            receipts: Arc::clone(&self.receipts),
        }
    }

    /// A new name under which cost is entered in the pull request's account.
    pub(crate) fn receipt(&self) -> Result<String, Failure> {
        let receipt = random::hex(8)?;
        let mut receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
        receipts.push(receipt.clone());
        Ok(receipt)
    }

    /// The names under which the run's cost has been entered so far.
    pub(crate) fn receipts(&self) -> Vec<String> {
        let receipts = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
        receipts.clone()
    }

    pub fn gateway(&self) -> Result<&Gateway, Failure> {
        self.gateway.as_ref().map_err(Failure::new)
    }

    /// The models of the reviewers, each once.
    pub(crate) fn models(&self) -> String {
        let mut models: Vec<String> = Vec::new();
        for session in self.sessions.reviewers() {
            let model = session.reviewer.model.to_string();
            if !models.contains(&model) {
                models.push(model);
            }
        }
        models.join(", ")
    }
}

/// The runner hides the secrets in everything that is printed from here on.
fn mask(actions: &Actions, config: &Config, token: Option<&SecretString>) {
    for secret in secrets::given(config, token) {
        actions.mask(secret.expose_secret());
    }
}

/// The configuration, or every wrong input at once, those included that only OpenCode's catalogue can tell.
pub(crate) fn configured(setup: &Setup, asks_model: bool) -> Result<Config, Failure> {
    let config = inputs::config(&setup.inputs);
    let config = config.map_err(|errors| errors.iter().map(ToString::to_string).collect());
    let config = config.and_then(|config| seated(setup, config).map_err(|why| vec![why]));
    let mut sentences: Vec<String> = config.as_ref().err().cloned().unwrap_or_default();
    if asks_model && let Ok(reviewers) = inputs::reviewer_choices(&setup.inputs) {
        sentences.extend(problems(&setup.inputs, &reviewers));
    }
    match config {
        Ok(config) if sentences.is_empty() => Ok(config),
        _ => Err(Failure(sentences)),
    }
}

/// The configuration with the one reviewer that the run was started as. A review that a service ordered decides, and a fix that it
/// ordered judges nothing.
pub(crate) fn seated(setup: &Setup, mut config: Config) -> Result<Config, String> {
    if let Some(persona) = &setup.persona {
        config.seat(persona)?;
    }
    if let Some(session) = &setup.session {
        config.review_mode = match session.order.reviewer {
            Some(_) => ReviewMode::Decide,
            None => ReviewMode::Comment,
        };
    }
    Ok(config)
}

/// The problems with the models of the reviewers, each told once. A missing key is asked for in the words of whoever has
/// to give it.
fn problems(inputs: &RawInputs, reviewers: &[ReviewerChoice]) -> Vec<String> {
    let mut told = Vec::<String>::new();
    for reviewer in reviewers {
        let model = &reviewer.model;
        let fallback = reviewer.fallback.as_ref();
        let of_fallback = fallback.map_or_else(Vec::new, fallback_problems);
        let mut problems = gateway::problems(model);
        if !problems.is_empty() && lacks_only_key(model) {
            let is_further = reviewers[0].model.provider != model.provider;
            if is_further {
                problems = vec![missing_key(&reviewer.name, &model.provider)];
            } else if inputs.is_of_shell() {
                problems = vec![shell::missing_key(&model.provider)];
            }
        }
        problems.extend(of_fallback);
        problems.retain(|problem| !told.contains(problem));
        told.extend(problems);
    }
    told
}

/// The problems with the model to fall back to, where all else is right.
pub(crate) fn problems_of_fallback(inputs: &RawInputs) -> Vec<String> {
    let reviewers = inputs::reviewer_choices(inputs).unwrap_or_default();
    let mut fallbacks = reviewers.iter().filter_map(|one| one.fallback.as_ref());
    fallbacks.next().map_or_else(Vec::new, fallback_problems)
}

/// The same of the model to fall back to.
fn fallback_problems(model: &ModelChoice) -> Vec<String> {
    if !gateway::problems(model).is_empty() && lacks_only_key(model) {
        let provider = &model.provider;
        return vec![format!(
            "The input fallback_model names the provider {provider}, which needs a key; add a line {provider}=… with it to \
             api_keys."
        )];
    }
    let problems = gateway::problems(model).into_iter();
    let named = |problem: String| match problem.strip_prefix("model ") {
        Some(rest) => format!("fallback_model {rest}"),
        None => problem,
    };
    problems.map(named).collect()
}

fn lacks_only_key(model: &ModelChoice) -> bool {
    let with_key = ModelChoice {
        key: Some("any".into()),
        ..model.clone()
    };
    model.key.is_none() && gateway::problems(&with_key).is_empty()
}

fn missing_key(reviewer: &str, provider: &str) -> String {
    format!(
        "The reviewer {reviewer} uses the provider {provider}, which needs a key; add a line {provider}=… with it to \
         api_keys."
    )
}

/// The same for a run that speaks with GitHub, and needs a token for it.
pub(crate) fn admitted(setup: &Setup, asks_model: bool) -> Result<(Config, SecretString), Failure> {
    let told = |errors: Vec<InputError>| errors.iter().map(ToString::to_string).collect();
    let token = inputs::github_token(&setup.inputs).map_err(|errors| Failure(told(errors)));
    both(configured(setup, asks_model), token)
}

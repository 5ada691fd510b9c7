//! The pipeline, readable top to bottom: event, configuration, pull request, plan, passes, outbox, report.

mod accepting;
mod aside;
mod asking;
mod carried;
mod change;
mod check;
mod concluding;
mod coverage;
mod dismissing;
mod doctor;
mod draft;
mod earlier;
mod finish;
mod local;
mod meanwhile;
mod memory;
mod neighbours;
mod past;
mod people;
mod reactions;
mod reading;
mod reviewing;
mod scratch;
mod secrets;
mod session;
mod settings;
mod sidecar;
mod staged;
mod state;
mod web;
mod words;

pub use doctor::doctor;
pub use local::{Format, Order, local};
pub use state::{Form, state};

use crate::actions::{self, Actions};
use crate::clock::Clock;
use crate::config::environment::Environment;
use crate::config::inputs::{self, InputError, RawInputs};
use crate::config::{Config, ModelChoice};
use crate::context::fence::Fence;
use crate::domain::PrKey;
use crate::event::{self, Command, Event, SkipReason, Trigger, TriggerRules};
use crate::gateway::{self, Gateway, SessionRoute, Taken};
use crate::git::Remote;
use crate::github::{GitHub, PullRequest, ReactTo, Rehearsal};
use crate::host::session::{Session, Sessions};
use crate::opencode::Supervisor;
use crate::plan::{self, Plan};
use crate::publish::comment::Voice;
use crate::random;
use crate::report::rehearsal;
use crate::review::usage::RunUsage;
use crate::state::signature::Keys;
use crate::state::spending::{Day, Spent};
use crate::web::Web;
use asking::Agenda;
use check::CheckRun;
use draft::Draft;
use finish::Finished;
use memory::Memory;
use reading::Reading;
use scratch::Scratch;
use secrecy::{ExposeSecret, SecretString};
use secrets::Secrets;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// What `main` hands over: the only things that came from outside.
#[derive(Debug)]
pub struct Setup {
    pub environment: Environment,
    pub inputs: RawInputs,
    pub actions: Actions,
    pub clock: Clock,
    /// Where this program is installed, to find its sidecar beside it.
    pub roots: Vec<PathBuf>,
    /// This program itself, as which the sidecar begins.
    pub launcher: PathBuf,
}

/// Why a run ends before a verdict.
#[derive(Debug)]
enum Stop {
    /// Nothing is to be done, and that is right.
    Skip(String),
    /// Nothing could be done. Each line is a sentence for the person who can change that.
    Fail(Vec<String>),
}

impl Stop {
    fn fail(sentence: impl Display) -> Self {
        Self::Fail(vec![format!("{sentence}")])
    }

    fn fail_all(sentences: &[impl Display]) -> Self {
        Self::Fail(sentences.iter().map(ToString::to_string).collect())
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Fail(vec![format!("{error:#}")])
    }
}

/// Everything that a review works with, besides GitHub.
struct Engine<'a> {
    setup: &'a Setup,
    config: Config,
    fence: Fence,
    secrets: Secrets,
    sessions: Sessions,
    /// The way to all models, or why there is none.
    gateway: Result<Gateway, String>,
    /// `None`: the web is not asked.
    web: Option<Arc<Web>>,
    /// Private to the run, gone with it.
    scratch: Scratch,
    started: Instant,
    usage: Arc<RunUsage>,
}

/// A run for a pull request.
struct Run<'a> {
    engine: Engine<'a>,
    event: &'a Event,
    pr: PrKey,
    github: Arc<GitHub>,
    token: SecretString,
    keys: Keys,
    /// What it has so far.
    draft: Draft,
    /// The comment that asked, once its author is known to be heard.
    heard: OnceLock<ReactTo>,
    id: String,
    /// What it costs is entered under this name and on this day.
    receipt: String,
    today: Day,
}

/// What the container runs: the event that the runner names. Returns the exit code.
pub async fn action(setup: &Setup) -> u8 {
    match trigger(setup) {
        Ok(Trigger::Run(event)) => review(setup, &event).await,
        Ok(Trigger::WithoutKey(event, reason)) => run(setup, &event, Some(&reason)).await,
        Ok(Trigger::Closed(pr)) => aside::closed(setup, &pr).await,
        Ok(Trigger::Merge(group)) => aside::merge_group(setup, &group).await,
        Ok(Trigger::Skip(reason)) => finish::skipped(setup, &reason.to_string()),
        Err(sentence) => finish::failed(setup, &[sentence]),
    }
}

fn trigger(setup: &Setup) -> Result<Trigger, String> {
    let environment = &setup.environment;
    let name = environment.event_name.as_deref().ok_or(
        "GITHUB_EVENT_NAME is not set; this command runs inside a workflow. From a shell, use `review --repo owner/name --pr N`.",
    )?;
    let payload = actions::read_event(environment.event_path.as_deref())?;
    let mention = setup.inputs.mention();
    let rules = TriggerRules {
        mention: &mention,
        has_model_key: setup.inputs.can_reach_a_model(),
    };
    event::parse(name, &payload, &rules).map_err(|error| error.to_string())
}

/// Reviews the pull request of an event. Returns the exit code.
pub async fn review(setup: &Setup, event: &Event) -> u8 {
    run(setup, event, None).await
}

/// Does what an event asks for; `without_key`: as far as no model is needed for it.
async fn run(setup: &Setup, event: &Event, without_key: Option<&SkipReason>) -> u8 {
    let (check, draft) = (CheckRun::default(), Draft::default());
    let rehearsal = Rehearsal::default();
    tokio::select! {
        code = Box::pin(reviewed(setup, (event, without_key), &check, &draft, &rehearsal)) => {
            finish::rehearsed(setup, &rehearsal);
            code
        }
        signal = finish::stop_signal() => finish::cancelled(setup, &check, &draft, signal).await,
    }
}

/// The whole run, up to its exit code.
async fn reviewed(
    setup: &Setup,
    event: (&Event, Option<&SkipReason>),
    check: &CheckRun,
    draft: &Draft,
    rehearsal: &Rehearsal,
) -> u8 {
    match pipeline(setup, event, check, draft, rehearsal).await {
        Ok(finished) => finish::finished(setup, check, finished).await,
        Err(Stop::Skip(reason)) => finish::skipped(setup, &reason),
        Err(Stop::Fail(sentences)) => {
            check.fail(&sentences).await;
            finish::broken(setup, draft, &sentences)
        }
    }
}

async fn pipeline(
    setup: &Setup,
    (event, without_key): (&Event, Option<&SkipReason>),
    check: &CheckRun,
    draft: &Draft,
    rehearsal: &Rehearsal,
) -> Result<Finished, Stop> {
    let (config, token) = admitted(setup, without_key.is_none())?;
    let dry = config.dry_run;
    let rehearsal = dry.then_some(rehearsal);
    let mut run = Run::new(setup, event, (config, token), draft.clone(), rehearsal)?;
    let pull = reading::to_review(&run.github, &run.pr).await?;
    let unread = settings::take(&mut run, &pull).await?;
    let mut ended = match (unread, without_key) {
        (Some(unread), _) => Err(Box::pin(unjudged(&run, pull, check, &unread)).await),
        (None, None) => Box::pin(started(&run, pull, check)).await,
        (None, Some(reason)) => Box::pin(without_model(&run, pull, check, reason)).await,
    };
    reactions::ended(&run, &ended).await;
    if let (true, Ok(finished)) = (dry, &mut ended) {
        finished.report.notes.push(rehearsal::NOTE.into());
    }
    ended
}

/// Concludes a pull request of which nothing has to be shown to a model, and leaves any other alone.
async fn without_model(
    run: &Run<'_>,
    pull: PullRequest,
    check: &CheckRun,
    reason: &SkipReason,
) -> Result<Finished, Stop> {
    let (reading, plan) = read_alone(run, pull).await?;
    match plan {
        Plan::Recompute(record) if reading.change.owed().next().is_none() => {
            check.open(run, &reading).await;
            Ok(finish::recomputed(run, &reading, *record))
        }
        _ => Err(Stop::Skip(reason.to_string())),
    }
}

/// Fails the check of a pull request that cannot be judged, unless there is nothing to judge. Returns how the run ends.
async fn unjudged(run: &Run<'_>, pull: PullRequest, check: &CheckRun, why: &str) -> Stop {
    match read_alone(run, pull).await {
        Err(stop) => stop,
        Ok((_, Plan::Skip(reason))) => Stop::Skip(reason.to_string()),
        Ok((reading, _)) => {
            check.open(run, &reading).await;
            Stop::fail(why)
        }
    }
}

/// Reads the pull request for a run that asks no model, and says what is to be done.
async fn read_alone(run: &Run<'_>, pull: PullRequest) -> Result<(Reading, Plan), Stop> {
    let means = reading::means(run, &pull).await?;
    let snapshot = run.engine.scratch.directory("snapshot")?;
    let reading = Reading::of(run, pull, means, &snapshot).await?;
    let plan = reading
        .means
        .limit(reading.plan.clone(), reading.pull.from_fork);
    Ok((reading, plan))
}

async fn started(run: &Run<'_>, pull: PullRequest, check: &CheckRun) -> Result<Finished, Stop> {
    let means = reading::means(run, &pull).await?;
    let (tools, model) = sidecar::serve(&run.engine).await?;
    let snapshot = run.engine.scratch.directory("snapshot")?;
    let (sidecar, reading) = tokio::join!(
        sidecar::start(&run.engine, &tools, &model, &snapshot),
        Reading::of(run, pull, means, &snapshot),
    );
    let (sidecar, reading) = both(sidecar, reading)?;
    tell_confinement(&run.engine, &sidecar);
    let no_web = web::open(&run.engine, &reading.change).await?;
    let mut finished = Box::pin(work(run, &sidecar, reading, check)).await;
    if let Ok(finished) = &mut finished {
        finished.report.sandbox = Some(sidecar.process().confinement().into());
        finished.report.notes.extend(no_web);
    }
    sidecar.stop().await;
    finished
}

/// Before anything is asked of the model: who wants the whole sandbox or nothing learns it in time.
fn tell_confinement(engine: &Engine<'_>, sidecar: &Supervisor) {
    let actions = &engine.setup.actions;
    let process = sidecar.process();
    let confinement = process.confinement();
    match confinement.missing() {
        Some(missing) => actions.warning(&missing),
        None => actions.progress(&confinement.to_string()),
    }
}

async fn work(
    run: &Run<'_>,
    sidecar: &Arc<Supervisor>,
    mut reading: Reading,
    check: &CheckRun,
) -> Result<Finished, Stop> {
    let request = asking::request(run);
    let plan_by = |reading: &Reading| {
        let config = &run.engine.config;
        let draft = reading.pull.draft && config.skip.drafts;
        let plan = reading.plan.clone();
        let plan = plan::on_request(plan, request.as_ref(), draft, &config.mention);
        reading.means.limit(plan, reading.pull.from_fork)
    };
    let plan = plan_by(&reading);
    let command = request.as_ref().map(|request| request.command.clone());
    if let Some(Command::Dismiss(named)) = &command {
        may_comment(run, &reading).await?;
        dismissing::dismiss(run, &mut reading, *named).await?;
    }
    let judges = !matches!(plan, Plan::Skip(_));
    let mut agenda = Agenda::of(run, &reading, judges).await?;
    match command {
        Some(Command::Help) => return Err(agenda.help(run, &reading).await),
        Some(Command::Accept) => {
            return accepting::accept(run, reading, &agenda, check).await;
        }
        _ => {}
    }
    match plan {
        Plan::Skip(reason) => {
            if !agenda.questions.is_empty() {
                may_comment(run, &reading).await?;
                agenda.answer_alone(run, sidecar, &reading).await?;
            }
            Err(Stop::Skip(reason.to_string()))
        }
        Plan::Recompute(record) if agenda.questions.is_empty() && !reading.owes_words() => {
            let head = reading.pull.head_sha.clone();
            check.open(run, &reading).await;
            let mut finished = finish::recomputed(run, &reading, *record);
            if command == Some(Command::Review) {
                agenda.tell_state(run, &head, &mut finished).await;
            }
            Ok(finished)
        }
        // Whatever is posted is posted in turn: two runs at once would both find it.
        Plan::Recompute(_) | Plan::Known(_) | Plan::Review => {
            may_comment(run, &reading).await?;
            check.open(run, &reading).await;
            let head = reading.pull.head_sha.clone();
            if check.wait_for_turn(run, &head).await? {
                reading.again(run).await?;
                agenda = Agenda::of(run, &reading, judges).await?;
            }
            // What the run before us has reviewed needs no second look.
            let covered = match plan_by(&reading) {
                Plan::Recompute(record) => Some(*record),
                Plan::Known(_) | Plan::Review | Plan::Skip(_) => None,
            };
            if command == Some(Command::ReviewFull) {
                reading.since = None;
            }
            let known = covered.is_some();
            let mut finished = match covered {
                Some(record) if agenda.questions.is_empty() && !reading.owes_words() => {
                    finish::recomputed(run, &reading, record)
                }
                covered => {
                    let questions = &agenda.questions;
                    reviewing::review(run, sidecar, reading, check, covered, questions).await?
                }
            };
            if known && command == Some(Command::Review) {
                agenda.tell_state(run, &head, &mut finished).await;
            }
            Ok(finished)
        }
    }
}

/// A review that cannot be posted is not begun: nobody pays for words that nobody reads. Of a fork's own events this is
/// no mistake: GitHub gives them a token that only reads.
async fn may_comment(run: &Run<'_>, reading: &Reading) -> Result<(), Stop> {
    if run.github.may_comment(&run.pr).await.map_err(Stop::fail)? {
        return Ok(());
    }
    let restricted = [
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
    ];
    let event = run.engine.setup.environment.event_name.as_deref();
    if reading.pull.from_fork && event.is_some_and(|name| restricted.contains(&name)) {
        let mention = run.engine.config.mention.clone();
        return Err(Stop::Skip(SkipReason::Fork { mention }.to_string()));
    }
    Err(Stop::fail(
        "Input github_token may not comment on the pull request; add `pull-requests: write` to the job's \
         permissions.",
    ))
}

/// The configuration, or every wrong input at once, those included that only OpenCode's catalogue can tell.
fn configured(setup: &Setup, asks_model: bool) -> Result<Config, Stop> {
    let config = inputs::config(&setup.inputs);
    let errors = config.as_ref().err().into_iter().flatten();
    let mut sentences: Vec<String> = errors.map(ToString::to_string).collect();
    if asks_model && let Ok(model) = inputs::model_choice(&setup.inputs) {
        sentences.extend(gateway::problems(&model));
    }
    match config {
        Ok(config) if sentences.is_empty() => Ok(config),
        _ => Err(Stop::Fail(sentences)),
    }
}

/// The same for a run that speaks with GitHub, and needs a token for it.
fn admitted(setup: &Setup, asks_model: bool) -> Result<(Config, SecretString), Stop> {
    let told = |errors: Vec<InputError>| errors.iter().map(ToString::to_string).collect();
    let token = inputs::github_token(&setup.inputs).map_err(|errors| Stop::Fail(told(errors)));
    both(configured(setup, asks_model), token)
}

/// Two results that were awaited together; their failures are told together, too.
fn both<A, B>(a: Result<A, Stop>, b: Result<B, Stop>) -> Result<(A, B), Stop> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (_, Err(Stop::Skip(reason))) => Err(Stop::Skip(reason)),
        (Err(Stop::Fail(mut a)), Err(Stop::Fail(b))) => {
            a.extend(b);
            Err(Stop::Fail(a))
        }
        (Err(stop), _) | (_, Err(stop)) => Err(stop),
    }
}

impl<'a> Engine<'a> {
    fn new(setup: &'a Setup, config: Config, token: Option<&SecretString>) -> Result<Self, Stop> {
        mask(&setup.actions, &config, token);
        let fence = Fence::new(random::hex(8)?);
        let usage = Arc::<RunUsage>::default();
        let gateway = sidecar::gateway(setup);
        let sessions = sidecar::sessions(&config, &gateway, &usage)?;
        let secrets = Secrets::of(&config, token, fence.nonce(), &sessions)?;
        setup.actions.hide(&secrets.redactor);
        Ok(Self {
            setup,
            web: web::access(setup, &config, &fence)?,
            scratch: Scratch::new(&setup.environment)?,
            config,
            fence,
            secrets,
            sessions,
            gateway,
            started: setup.clock.instant(),
            usage,
        })
    }

    /// The session of a run that has one.
    fn session(&self) -> &Session {
        self.sessions.first()
    }

    fn gateway(&self) -> Result<&Gateway, Stop> {
        self.gateway.as_ref().map_err(Stop::fail)
    }

    /// The session's way to its model.
    fn route(&self) -> Result<&SessionRoute, Stop> {
        self.session().route.as_ref().map_err(Stop::fail)
    }

    /// What the run has asked of its model so far.
    fn taken(&self) -> Taken {
        let gateway = self.gateway.as_ref();
        gateway.map(Gateway::taken).unwrap_or_default()
    }

    fn model(&self) -> &ModelChoice {
        &self.config.model
    }
}

impl<'a> Run<'a> {
    /// With a rehearsal, nothing is written to GitHub.
    fn new(
        setup: &'a Setup,
        event: &'a Event,
        (config, token): (Config, SecretString),
        draft: Draft,
        rehearsal: Option<&Rehearsal>,
    ) -> Result<Self, Stop> {
        let environment = &setup.environment;
        let engine = Engine::new(setup, config, Some(&token))?;
        let config = &engine.config;
        let github = GitHub::new(
            &environment.api_url,
            &environment.graphql_url,
            &token,
            setup.clock,
            &environment.network,
        )
        .map_err(Stop::fail)?;
        let github = github.guarded(&engine.secrets.redactor);
        let keys = Keys::derive(
            &config.state_keys,
            config.model.key.as_ref(),
            &event.repo.to_string(),
        );
        Ok(Self {
            event,
            pr: PrKey {
                repo: event.repo.clone(),
                number: event.number,
            },
            github: Arc::new(match rehearsal {
                Some(rehearsal) => github.rehearsing(rehearsal),
                None => github,
            }),
            token,
            keys,
            draft,
            heard: OnceLock::new(),
            id: run_id(environment)?,
            receipt: random::hex(8)?,
            today: Day::of(setup.clock.now()),
            engine,
        })
    }

    /// The workflow run's page, where there is one.
    fn url(&self) -> Option<String> {
        run_url(&self.engine.setup.environment, &self.pr.repo.to_string())
    }

    /// How the run speaks about a head of the pull request.
    fn voice<'r>(&'r self, pull: &'r PullRequest) -> Voice<'r> {
        Voice {
            pr: &self.pr,
            keys: &self.keys,
            head: &pull.head_sha,
            run: &self.id,
            fork: pull.from_fork,
            mention: &self.engine.config.mention,
        }
    }

    fn memory(&self) -> Memory<'_> {
        Memory {
            github: &self.github,
            pr: &self.pr,
            keys: &self.keys,
            trusted_bots: &self.engine.config.trusted_bots,
            human_reviewers: &self.engine.config.human_reviewers,
            mention: &self.engine.config.mention,
            blocking: self.engine.config.policy.blocking,
        }
    }

    /// Where the commits can be fetched.
    fn remote(&self) -> Remote {
        Remote {
            url: format!(
                "{}/{}.git",
                self.engine.setup.environment.server_url, self.pr.repo
            ),
            token: Some(self.token.clone()),
        }
    }

    /// The run's line in the pull request's account.
    fn spent(&self, cost_usd: f64, tokens: u64) -> Spent {
        Spent {
            run: self.receipt.clone(),
            day: self.today,
            cost_usd,
            tokens,
        }
    }
}

/// The runner hides the secrets in everything that is printed from here on.
fn mask(actions: &Actions, config: &Config, token: Option<&SecretString>) {
    for secret in secrets::given(config, token) {
        actions.mask(secret.expose_secret());
    }
}

fn run_url(environment: &Environment, repo: &str) -> Option<String> {
    let id = environment.run_id.as_deref()?;
    let server = &environment.server_url;
    Some(format!("{server}/{repo}/actions/runs/{id}"))
}

/// The workflow run that this is, or a random name from a shell.
fn run_id(environment: &Environment) -> Result<String, Stop> {
    match (&environment.run_id, &environment.run_attempt) {
        (Some(id), Some(attempt)) => Ok(format!("{id}.{attempt}")),
        (Some(id), None) => Ok(id.clone()),
        (None, _) => Ok(random::hex(8)?),
    }
}

//! `doctor`: everything that a review needs, tried one by one without a review. Each row is printed as soon as it is known.
//! Nothing is written to the pull request, and the model is asked last, for a single word.

use crate::actions::Actions;
use crate::gather::{head_records, pull_request};
use crate::host::session::Session;
use crate::host::sidecar::Running;
use crate::host::{Budget, Failure, Job, Setup, admitted};
use crate::run::exits;
use reviewer_agent::gateway::SessionRoute;
use reviewer_agent::opencode::Supervisor;
use reviewer_core::config::{FixDelivery, FixMode, ReviewMode};
use reviewer_core::context::brief;
use reviewer_core::domain::PrKey;
use reviewer_core::event::Event;
use reviewer_core::plan::permissions::{self, Right};
use reviewer_core::review::fallback::Cause;
use reviewer_core::review::limits::Used;
use reviewer_core::review::sidecar_events::Turn;
use reviewer_github::{ApiError, DryRun, PullRequest};
use reviewer_repo::git::Repository;
use reviewer_text::count::{cost, plural};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// The time that the model has for its answer; enough for a slow one that has to be loaded first.
const PATIENCE: Duration = Duration::from_mins(2);
const HEALTH_LIMIT: Duration = Duration::from_secs(10);

/// The note about the right to approve, which no request reads.
const APPROVING: &str = "GitHub tells nobody; the workflow's own token needs the setting \"Allow GitHub Actions to create and approve \
                         pull requests\"";

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fine,
    /// A review goes on without it.
    Lacking,
    /// There is no review without it.
    Broken,
    /// It could not be found out.
    Unknown,
    /// It was not tried.
    Skipped,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Lacking => "lacking",
            Self::Broken => "broken",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        }
    }
}

/// A row of the table.
#[derive(Debug)]
struct Row {
    about: &'static str,
    state: State,
    note: String,
    /// The permission that would mend it.
    right: Option<Right>,
}

impl Row {
    fn new(about: &'static str, state: State, note: impl Into<String>) -> Self {
        Self {
            about,
            state,
            note: note.into(),
            right: None,
        }
    }

    fn fine(about: &'static str, note: impl Into<String>) -> Self {
        Self::new(about, State::Fine, note)
    }

    fn broken(about: &'static str, note: &impl ToString) -> Self {
        Self::new(about, State::Broken, note.to_string())
    }

    /// The row of a permission that the token has or lacks.
    fn from_right(about: &'static str, right: Right, held: Result<bool, ApiError>) -> Self {
        let goes_on = matches!(right, Right::Check | Right::Resolve);
        match held {
            Ok(true) => Self::fine(about, right.line()),
            Ok(false) => Self {
                right: Some(right),
                ..Self::new(
                    about,
                    if goes_on {
                        State::Lacking
                    } else {
                        State::Broken
                    },
                    format!("without `{}` {}", right.line(), right.without()),
                )
            },
            Err(error) => Self::new(about, State::Unknown, error.to_string()),
        }
    }
}

/// The rows so far, each printed as soon as it is known.
struct Rows<'a> {
    actions: &'a Actions,
    found: RefCell<Vec<Row>>,
}

impl Rows<'_> {
    fn tell(&self, row: Row) {
        self.actions.answer(&line(&row));
        self.found.borrow_mut().push(row);
    }

    /// The first thing without which there is no review.
    fn broken(&self) -> Option<&'static str> {
        let found = self.found.borrow();
        let mut broken = found.iter().filter(|one| one.state == State::Broken);
        broken.next().map(|one| one.about)
    }
}

/// Tries everything and prints a table; the model only with `asks_model`. Returns the exit code: 0 if a review would be
/// begun.
pub async fn doctor(setup: &Setup, pr: &PrKey, asks_model: bool) -> u8 {
    tokio::select! {
        code = Box::pin(examined(setup, pr, asks_model)) => code,
        signal = exits::stop_signal() => 128 + signal,
    }
}

async fn examined(setup: &Setup, pr: &PrKey, asks_model: bool) -> u8 {
    let event = Event::manual(pr);
    let dry_run = DryRun::default();
    let job = admitted(setup, true)
        .and_then(|admitted| Job::new(setup, &event, admitted, &dry_run, Budget::new(setup.clock)));
    let job = match job {
        Ok(job) => job,
        Err(Failure(sentences)) => {
            for sentence in sentences {
                setup.actions.error(&sentence);
            }
            return 2;
        }
    };
    let rows = Rows {
        actions: &setup.actions,
        found: RefCell::default(),
    };
    let ((), running) = tokio::join!(at_github(&job, &rows), at_home(&job, &rows));
    let broken = rows.broken();
    let mut asked = Vec::<String>::new();
    for session in job.host.sessions().reviewers() {
        let models = at_provider(&job, session, running.as_ref(), broken, asks_model).await;
        // A fallback that several reviewers share is told once.
        for (name, row) in models {
            if row.about == MODEL || !asked.contains(&name) {
                rows.tell(row);
                asked.push(name);
            }
        }
    }
    if let Some(running) = running {
        running.stop().await;
    }
    if let Some(advice) = advice(&rows.found.borrow()) {
        setup.actions.answer(&advice);
    }
    if rows.broken().is_some() {
        setup
            .actions
            .error("A review would not be begun; what is broken is in the table.");
        return 2;
    }
    0
}

/// GitHub, and what the token may do there.
async fn at_github(job: &Job<'_>, rows: &Rows<'_>) {
    rows.tell(match job.github.viewer().await {
        Ok(login) => Row::fine("GitHub", format!("reached as {login}")),
        Err(error) => Row::broken("GitHub", &error),
    });
    let pull = match pull_request::found(&job.github, &job.pr).await {
        Ok(pull) => pull,
        Err(Failure(sentences)) => {
            return rows.tell(Row::broken("pull request", &sentences.join(" ")));
        }
    };
    rows.tell(Row::fine("pull request", standing(&pull)));
    if job.host.config.review_mode == ReviewMode::Decide {
        rows.tell(Row::new("approving", State::Unknown, APPROVING));
    }
    let (repo, key, pull) = (&job.pr.repo, &job.pr, &pull);
    tokio::join!(
        async { rows.tell(commits(job, pull).await) },
        async {
            let held = job.github.may_comment(key).await;
            rows.tell(Row::from_right("comments", Right::Comment, held));
        },
        async {
            let held = job.github.may_check(repo).await;
            rows.tell(Row::from_right("check run", Right::Check, held));
        },
        async { rows.tell(memory(job, pull).await) },
        async { rows.tell(conversations(job).await) },
        async { rows.tell(issues(job, pull).await) },
        async {
            if let Some(row) = fixes(job, pull).await {
                rows.tell(row);
            }
        },
    );
}

fn standing(pull: &PullRequest) -> String {
    let draft = if pull.draft { ", a draft" } else { "" };
    let fork = if pull.from_fork { ", from a fork" } else { "" };
    format!("head {}{draft}{fork}", pull.head_sha.short())
}

async fn commits(job: &Job<'_>, pull: &PullRequest) -> Row {
    const ABOUT: &str = "commits";
    match fetched(job, pull).await {
        Ok(()) => Row::fine(ABOUT, Right::Fetch.line()),
        Err(Failure(sentences)) => Row {
            right: Some(Right::Fetch),
            ..Row::broken(ABOUT, &sentences.join(" "))
        },
    }
}

async fn fetched(job: &Job<'_>, pull: &PullRequest) -> Result<(), Failure> {
    let base = job
        .github
        .merge_base(&job.pr.repo, &pull.base_sha, &pull.head_sha)
        .await
        .map_err(Failure::new)?;
    let directory = job.host.scratch.directory("objects")?;
    let environment = &job.host.setup.environment;
    let workspace = environment.workspace.as_deref();
    let repository = Repository::open(&directory, workspace, &environment.for_git())?;
    let commits = [&base, &pull.head_sha];
    repository.ensure(&commits, &job.remote()).await?;
    Ok(())
}

async fn memory(job: &Job<'_>, pull: &PullRequest) -> Row {
    const ABOUT: &str = "memory";
    match head_records(job, &pull.head_sha).await {
        Ok(texts) => Row::fine(
            ABOUT,
            format!(
                "{} of the reviewer on the head",
                plural(texts.len(), "check run")
            ),
        ),
        Err(error) => Row::new(ABOUT, State::Unknown, error.to_string()),
    }
}

/// Checks if the token may resolve conversations. Only a conversation tells it.
async fn conversations(job: &Job<'_>) -> Row {
    const ABOUT: &str = "conversations";
    match job.github.review_threads(&job.pr).await {
        Ok((_, threads)) => match threads.iter().find(|thread| !thread.is_resolved) {
            Some(open) => Row::from_right(ABOUT, Right::Resolve, Ok(open.viewer_can_resolve)),
            None => Row::new(
                ABOUT,
                State::Unknown,
                "none is open to ask about; resolving them takes `contents: write`",
            ),
        },
        Err(error) => Row::new(ABOUT, State::Unknown, error.to_string()),
    }
}

/// Checks if the token may read the issues that the pull request closes.
async fn issues(job: &Job<'_>, pull: &PullRequest) -> Row {
    const ABOUT: &str = "issues";
    let commits = (&pull.head_sha, &pull.base_sha);
    let told = job.github.surroundings(&job.pr, commits).await;
    match told.map(|told| told.issues) {
        Ok(Some(linked)) => Row::fine(ABOUT, format!("{} linked", plural(linked.len(), "issue"))),
        Ok(None) => Row::from_right(ABOUT, Right::Issues, Ok(false)),
        Err(error) => Row::new(ABOUT, State::Unknown, error.to_string()),
    }
}

/// Checks if the token may push a fix; `None` where none is pushed.
async fn fixes(job: &Job<'_>, pull: &PullRequest) -> Option<Row> {
    const ABOUT: &str = "fixes";
    let fix = &job.host.config.fix;
    let pushes = fix.mode != FixMode::Off && fix.delivery != FixDelivery::Patch;
    if !pushes || pull.from_fork {
        return None;
    }
    Some(
        match job.github.may_commit(&job.pr.repo, &pull.head_ref).await {
            Ok(true) => Row::fine(ABOUT, "contents: write"),
            Ok(false) => Row::new(
                ABOUT,
                State::Lacking,
                "without `contents: write` no fix is pushed; fix_delivery: patch needs none",
            ),
            Err(error) => Row::new(ABOUT, State::Unknown, error.to_string()),
        },
    )
}

/// The sandbox and OpenCode, which is left running.
async fn at_home(job: &Job<'_>, rows: &Rows<'_>) -> Option<Running> {
    let started = match job.host.scratch.directory("head") {
        Ok(snapshot) => Running::start(&job.host, &snapshot).await,
        Err(failure) => Err(failure),
    };
    let running = match started {
        Ok(running) => running,
        Err(Failure(sentences)) => {
            rows.tell(Row::broken("OpenCode", &sentences.join(" ")));
            return None;
        }
    };
    let process = running.sidecar.process();
    let walls = process.confinement();
    let state = match walls.missing() {
        Some(_) => State::Lacking,
        None => State::Fine,
    };
    rows.tell(Row::new("sandbox", state, walls.to_string()));
    rows.tell(match process.client().health(HEALTH_LIMIT).await {
        Ok(version) => Row::fine("OpenCode", format!("version {version}")),
        Err(error) => Row::broken("OpenCode", &error),
    });
    Some(running)
}

const MODEL: &str = "model";
const FALLBACK: &str = "fallback model";

/// The models of a reviewer, which cost money: they are asked only where a review could ask them, too. Each by its name.
async fn at_provider(
    job: &Job<'_>,
    session: &Session,
    running: Option<&Running>,
    broken: Option<&str>,
    asks_model: bool,
) -> Vec<(String, Row)> {
    let why = match (running, broken) {
        _ if !asks_model => "--no-model was given".to_owned(),
        (_, Some(broken)) => format!("{broken} is broken"),
        (None, None) => "OpenCode does not run".to_owned(),
        (Some(running), None) => return models(job, session, &running.sidecar).await,
    };
    let row = |about| Row::new(about, State::Skipped, format!("not asked, because {why}"));
    let own = (session.reviewer.model.to_string(), row(MODEL));
    let fallback = session.reviewer.fallback.as_ref();
    let fallback = fallback.map(|model| (model.to_string(), row(FALLBACK)));
    std::iter::once(own).chain(fallback).collect()
}

/// Asks the model, and then the one that it may fall back to. A review goes on if only one of them cannot be used, unless a
/// person has to correct something first.
async fn models(job: &Job<'_>, session: &Session, sidecar: &Arc<Supervisor>) -> Vec<(String, Row)> {
    let own = model(job, session, sidecar).await;
    let own_name = session.model().to_string();
    let Some(cause) = session.reviewer.fallback.as_ref().map(|_| match &own {
        Asked::Failed(_, cause) => *cause,
        Asked::Answered(_) => None,
    }) else {
        return vec![(own_name, own.row(MODEL, State::Broken))];
    };
    // Not noted: another reviewer of the same model is asked as if nothing had happened.
    let _changed = session.route().is_ok_and(SessionRoute::fall_back);
    let other = model(job, session, sidecar).await;
    let helps = cause.is_some() && matches!(other, Asked::Answered(_));
    let state = if helps { State::Lacking } else { State::Broken };
    vec![
        (own_name, own.row(MODEL, state)),
        (
            session.model().to_string(),
            other.row(FALLBACK, State::Lacking),
        ),
    ]
}

/// The outcome of the question to a model.
enum Asked {
    /// With its name and what it took.
    Answered(String),
    /// With the cause, if another model may help.
    Failed(String, Option<Cause>),
}

impl Asked {
    /// `failed`: the state of a model that did not answer.
    fn row(self, about: &'static str, failed: State) -> Row {
        match self {
            Self::Answered(note) => Row::fine(about, note),
            Self::Failed(why, _) => Row::new(about, failed, why),
        }
    }
}

async fn model(job: &Job<'_>, session: &Session, sidecar: &Arc<Supervisor>) -> Asked {
    let name = session.model();
    let taken = || session.route().map(SessionRoute::taken).unwrap_or_default();
    let before = taken();
    let asked = answer(session, sidecar);
    match tokio::time::timeout(job.host.setup.clock.limit(PATIENCE), asked).await {
        Ok(Ok(turn)) => {
            let used = Used {
                told: turn.usage,
                passed: taken().minus(before),
            };
            let cost = cost(used.told.cost, used.tokens().number);
            Asked::Answered(format!("{name} answered ({}, {cost})", used.tokens()))
        }
        Ok(Err(failed)) => failed,
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            let why = format!("{name} did not answer within {seconds} seconds");
            Asked::Failed(why, Some(Cause::Silent))
        }
    }
}

async fn answer(session: &Session, sidecar: &Arc<Supervisor>) -> Result<Turn, Asked> {
    let name = session.model();
    let other = |why: String| Asked::Failed(why, None);
    let conversation = session.converse(sidecar, "A word").await;
    let mut conversation = conversation.map_err(other)?;
    if let Some(fallback) = session.fallback_in_use() {
        conversation.go_on_with(fallback);
    }
    let Some(opened) = conversation.session() else {
        return Err(other("OpenCode opened no session".into()));
    };
    let route = session.route();
    let route = route.map_err(|Failure(why)| other(why.join(" ")))?;
    let turn = tokio::select! {
        turn = conversation.client().prompt(opened, brief::READY) => turn,
        // OpenCode would ask the model again.
        why = route.failed() => return Err(Asked::Failed(why, route.cause())),
    };
    if let Some(why) = route.failure() {
        return Err(Asked::Failed(why, route.cause()));
    }
    let turn = turn.map_err(|error| other(error.to_string()))?;
    match &turn.error {
        Some(error) => Err(Asked::Failed(
            format!("{name} failed: {error}"),
            Cause::of(error),
        )),
        None if turn.text.trim().is_empty() => Err(other(format!("{name} said nothing"))),
        None => Ok(turn),
    }
}

fn line(row: &Row) -> String {
    let (about, state) = (row.about, row.state.word());
    format!("{about:<14} {state:<8} {}", row.note)
}

/// The lines to write into the job, where the token lacks something.
fn advice(found: &[Row]) -> Option<String> {
    let missing: Vec<Right> = found.iter().filter_map(|one| one.right).collect();
    if missing.is_empty() {
        return None;
    }
    let heading = if missing.iter().all(|right| right.is_choice()) {
        "Optional; with it the job's token may push. To have it, write into the job:"
    } else {
        "To mend it, write into the job:"
    };
    Some(format!("\n{heading}\n{}", permissions::block(&missing)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_the_lines_to_write() {
        let found = [
            Row::fine("GitHub", "reached as github-actions[bot]"),
            Row::from_right("comments", Right::Comment, Ok(false)),
            Row::from_right("check run", Right::Check, Ok(true)),
            Row::from_right("conversations", Right::Resolve, Ok(false)),
        ];
        let expected = "\
GitHub         ok       reached as github-actions[bot]
comments       broken   without `pull-requests: write` no review is begun
check run      ok       checks: write
conversations  lacking  without `contents: write` conversations stay open on GitHub; the reviewer says in a reply that they are \
resolved, which counts the same

To mend it, write into the job:
permissions:
  pull-requests: write
  contents: write";
        let rows: Vec<String> = found.iter().map(line).collect();
        let advice = advice(&found).unwrap();
        assert_eq!(format!("{}\n{advice}", rows.join("\n")), expected);
        assert_eq!(super::advice(&found[..1]), None);
    }
}

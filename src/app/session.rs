//! A session with the model about a change, wherever the change comes from: what it is given, and how it is led.

use super::change::Change;
use super::{Engine, Stop, words};
use crate::config::ModelChoice;
use crate::context::brief::{Brief, Excerpt};
use crate::context::parts::{self, Parts};
use crate::context::since::Since;
use crate::context::suspicion::Suspicions;
use crate::domain::diff::visible;
use crate::domain::{CommitSha, FileDiff, Sensitivity};
use crate::opencode::{Client, Conversation, Supervisor, profile};
use crate::plan::Question;
use crate::review::desk::Subject;
use crate::review::limits::Limits;
use crate::review::policy::Weights;
use crate::review::run::{Outcome, Run as Passes, State};
use crate::snapshot::Snapshot;
use crate::state::spending::Allowances;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The session, and what it is for.
pub struct Talk<'a> {
    pub conversation: &'a mut Conversation,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    pub reviews: bool,
}

/// Opens the session in the sidecar.
pub async fn open(
    engine: &Engine<'_>,
    sidecar: &Arc<Supervisor>,
    title: &str,
) -> Result<Conversation, Stop> {
    let opened = engine.session().converse(sidecar, title).await;
    opened.map_err(Stop::fail)
}

/// Leads it to its end.
pub async fn hold(
    engine: &Engine<'_>,
    talk: Talk<'_>,
    brief: &Brief<'_>,
    allowances: Allowances,
) -> Result<(Outcome, Suspicions), Stop> {
    let suspicions = words::suspicions(engine, brief, talk.questions);
    let (setup, config) = (engine.setup, &engine.config);
    let session = engine.session();
    let passes = Passes {
        conversation: talk.conversation,
        brief,
        to_judge: talk.to_judge,
        questions: talk.questions,
        reviews: talk.reviews,
        desk: &session.desk,
        limits: Limits {
            deadline: engine.started + setup.clock.limit(config.timeout),
            allowances,
        },
        route: engine.route()?,
        usage: &session.usage,
        run_usage: &engine.usage,
        actions: &setup.actions,
        clock: setup.clock,
        state: State::default(),
    };
    Ok((Box::pin(passes.all()).await?, suspicions))
}

/// The diffs as the prompts show them: what is new of them, in parts that fit the model's context.
pub async fn parts(
    engine: &Engine<'_>,
    client: &Client,
    change: &Change,
    (diffs, since): (&[(FileDiff, String)], Option<&Since>),
) -> Parts {
    let is_new = |diff: &FileDiff| !since.is_some_and(|since| since.is_known(diff));
    let new = diffs
        .iter()
        .map(|(diff, _)| diff)
        .filter(|diff| is_new(diff));
    let new: Vec<Cow<'_, FileDiff>> = new
        .map(|diff| since.map_or(Cow::Borrowed(diff), |since| since.new_in(diff)))
        .collect();
    let new: Vec<&FileDiff> = new.iter().map(AsRef::as_ref).collect();
    let room = match engine.model().context {
        Some(declared) => parts::room(declared),
        None if parts::is_large(&new) => parts::room(context(engine.model(), client).await),
        None => usize::MAX,
    };
    let mut parts = parts::cut(&new, room);
    parts
        .beyond
        .retain(|path| change.owed().any(|diff| diff.path == *path));
    parts
}

/// How many tokens the model takes at once, as far as OpenCode knows.
async fn context(model: &ModelChoice, client: &Client) -> u64 {
    let providers = match &model.base_url {
        None => client.providers().await.unwrap_or_default(),
        Some(_) => Vec::new(),
    };
    let provider = providers.into_iter().find(|one| one.id == model.provider);
    let models = provider.into_iter().flat_map(|one| one.models);
    let mut contexts = models.filter(|(name, _)| *name == model.name);
    contexts
        .find_map(|(_, context)| context)
        .unwrap_or(profile::DEFAULT_CONTEXT)
}

/// Writes the numbered diffs that are shown into the snapshot. Returns each diff with its file below our folder.
pub async fn diff_files(change: &Change) -> Result<Vec<(FileDiff, String)>, Stop> {
    let snapshot = &change.snapshot;
    let diffs: Vec<&FileDiff> = change.shown().collect();
    let files = diffs.iter().map(|diff| {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        (name, diff.numbered())
    });
    let shown = snapshot.write_own(files.collect()).await?;
    Ok(diffs.into_iter().cloned().zip(shown).collect())
}

/// What the desk is about, before anything was said on it.
pub fn subject(change: &Change, [base, head]: [&CommitSha; 2]) -> Subject {
    let snapshot = &change.snapshot;
    // The snapshot's name, and the one that the brief spells out.
    let names = change.diffs.iter().flat_map(|diff| {
        let shown = [snapshot.shown_path(&diff.path), visible(&diff.path).into()];
        shown.map(|shown| (shown, diff.path.clone()))
    });
    Subject {
        head: head.clone(),
        base: base.clone(),
        diffs: change.diffs.clone(),
        threads: Vec::new(),
        root: snapshot.root().display().to_string(),
        shown_paths: names.filter(|(shown, path)| shown != path).collect(),
        changed_since: HashMap::new(),
        removed_lines: HashMap::new(),
        human_reviewers: Vec::new(),
        others: Vec::new(),
    }
}

/// Why files are not in the snapshot, and how many.
pub fn left_out(snapshot: &Snapshot) -> Vec<(String, usize)> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    reasons
        .map(|(reason, files)| (reason.to_string(), files.len()))
        .collect()
}

pub fn weights(engine: &Engine<'_>, sensitivity: Sensitivity) -> Weights {
    let policy = &engine.config.policy;
    Weights {
        threshold: policy.threshold,
        elevation: policy.elevation,
        blocking: policy.blocking,
        sensitive: sensitivity == Sensitivity::High,
    }
}

/// What a 401 means to the person who configured the run.
pub fn refusal(engine: &Engine<'_>, why: &str) -> String {
    let model = engine.model();
    match &model.base_url {
        Some(url) => format!(
            "The model endpoint {url} (model_base_url) refused the request: {why}. Check opencode_api_key."
        ),
        None => format!(
            "The provider {} refused the request: {why}. Check opencode_api_key.",
            model.provider
        ),
    }
}

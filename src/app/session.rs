//! A session with the model about a change, wherever the change comes from: what it is given, and how it is led.

use super::change::Change;
use super::{Engine, Stop, words};
use crate::context::brief::{Brief, Excerpt};
use crate::context::suspicion::Suspicions;
use crate::domain::diff::visible;
use crate::domain::{CommitSha, FileDiff, Sensitivity};
use crate::opencode::Keeper;
use crate::plan::Question;
use crate::review::desk::Subject;
use crate::review::limits::Limits;
use crate::review::policy::Weights;
use crate::review::run::{Outcome, Run as Passes, State};
use crate::snapshot::Snapshot;
use crate::state::spending::Allowance;
use std::collections::HashMap;

/// The session, and what it is for.
pub struct Talk<'a> {
    /// With the session open.
    pub sidecar: &'a mut Keeper,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    pub reviews: bool,
}

/// Leads it to its end.
pub async fn hold(
    engine: &Engine<'_>,
    talk: Talk<'_>,
    brief: &Brief<'_>,
    allowance: Allowance,
) -> Result<(Outcome, Suspicions), Stop> {
    let suspicions = words::suspicions(engine, brief, talk.questions);
    let (setup, config) = (engine.setup, &engine.config);
    let passes = Passes {
        sidecar: talk.sidecar,
        brief,
        to_judge: talk.to_judge,
        questions: talk.questions,
        reviews: talk.reviews,
        desk: &engine.desk,
        limits: Limits {
            deadline: engine.started + setup.clock.limit(config.timeout),
            allowance,
            max_tokens: config.max_tokens,
        },
        gateway: &engine.gateway,
        meter: &engine.meter,
        actions: &setup.actions,
        clock: setup.clock,
        state: State::default(),
    };
    Ok((Box::pin(passes.all()).await?, suspicions))
}

/// Writes the numbered diffs that are shown into the snapshot. Returns each diff with its file below our folder.
pub async fn diff_files(change: &Change) -> Result<Vec<(FileDiff, String)>, Stop> {
    let snapshot = &change.snapshot;
    let unshown = &change.unshown;
    let diffs = change.diffs.iter();
    let diffs: Vec<&FileDiff> = diffs
        .filter(|diff| !unshown.contains(&diff.path) && !change.ignored.contains(&diff.path))
        .collect();
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

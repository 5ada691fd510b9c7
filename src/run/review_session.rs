//! A session with the model about a change, wherever the change comes from: what it is given, and how it is led.

use crate::gather::change::Change;
use crate::gather::discussion;
use crate::host::{Failure, Host};
use crate::run::outcome;
use crate::turns::{State, Tasks};
use reviewer_agent::opencode::{Client, Conversation, Supervisor, profile};
use reviewer_core::config::ModelChoice;
use reviewer_core::context::brief::{Brief, Excerpt, Words};
use reviewer_core::context::parts::{self, Parts};
use reviewer_core::context::sensitivity;
use reviewer_core::context::since::Since;
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::{CommitSha, FileDiff, Sensitivity, Thread};
use reviewer_core::plan::Question;
use reviewer_core::review::desk::Subject;
use reviewer_core::review::limits::RunLimits;
use reviewer_core::review::policy::Weights;
use reviewer_core::review::session_outcome::Outcome;
use reviewer_core::state::spending::Allowances;
use reviewer_repo::snapshot::Snapshot;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The session, and what it is for.
pub(crate) struct Talk<'a> {
    pub conversation: &'a mut Conversation,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    pub reviews: bool,
}

/// Opens the session in the sidecar.
pub async fn open(
    host: &Host<'_>,
    sidecar: &Arc<Supervisor>,
    title: &str,
) -> Result<Conversation, Failure> {
    let opened = host.session().converse(sidecar, title).await;
    opened.map_err(Failure::new)
}

/// The change under review and what is said about it, wherever it comes from.
pub(crate) struct Matter<'a> {
    pub title: &'a str,
    pub body: &'a str,
    pub author: &'a str,
    pub base_ref: &'a str,
    pub head: &'a CommitSha,
    /// Abbreviated id and first line of each commit.
    pub commits: &'a [(String, String)],
    pub change: &'a Change,
    /// Each changed file that is shown, with the path of its diff in the snapshot.
    pub diffs: &'a [(FileDiff, String)],
    pub since: Option<&'a Since>,
    pub threads: &'a [Thread],
    pub conversation: &'a [Words<'a>],
}

/// Leads it to its end.
pub(crate) async fn hold(
    host: &Host<'_>,
    talk: Talk<'_>,
    matter: &Matter<'_>,
    allowances: Allowances,
) -> Result<(Outcome, Suspicions), Failure> {
    let change = matter.change;
    let left_out = left_out(&change.snapshot);
    let parts = parts(host, talk.conversation.client(), matter).await;
    if talk.reviews {
        tell_unshown(host, change, &parts.beyond);
    }
    let brief = Brief {
        fence: &host.fence,
        folder: change.snapshot.own_folder(),
        left_out: &left_out,
        title: matter.title,
        body: matter.body,
        author: matter.author,
        base_ref: matter.base_ref,
        head: matter.head,
        commits: matter.commits,
        diffs: matter.diffs,
        parts: &parts,
        excused: change.hidden(),
        unreadable: change.unreadable().count(),
        since: matter.since,
        rules: &change.rules,
        threads: matter.threads,
        conversation: matter.conversation,
        sensitivity: change.sensitivity,
    };
    let suspicions = discussion::suspicions(host, &brief, talk.questions);
    let (setup, config) = (host.setup, &host.config);
    let session = host.session();
    let root = change.snapshot.root().display().to_string();
    let tasks = Tasks {
        root: &root,
        conversation: talk.conversation,
        brief: &brief,
        to_judge: talk.to_judge,
        questions: talk.questions,
        reviews: talk.reviews,
        desk: &session.desk,
        limits: RunLimits {
            deadline: host.started + setup.clock.limit(config.timeout),
            allowances,
        },
        route: host.route()?,
        usage: &session.usage,
        run_usage: &host.usage,
        actions: &setup.actions,
        clock: setup.clock,
        state: State::default(),
    };
    Ok((Box::pin(tasks.all()).await?, suspicions))
}

/// Tells what is reviewed, before anything is asked. `place` is a pull request, or empty for a working tree.
pub(crate) fn announce(host: &Host<'_>, place: &str, change: &Change, base: &str) {
    let shown: Vec<&FileDiff> = change.shown().collect();
    let added: usize = shown.iter().map(|diff| diff.additions()).sum();
    let removed: usize = shown.iter().map(|diff| diff.deletions()).sum();
    let of = match place {
        "" => String::new(),
        place => format!(" of {place}"),
    };
    host.setup.actions.line(&format!(
        "Reviewing {}{of} (+{added} −{removed}) against {base}@{} with {}",
        plural(shown.len(), "file"),
        change.commits[0].short(),
        host.model()
    ));
}

/// Tells what the model will not see, before it is asked and paid.
fn tell_unshown(host: &Host<'_>, change: &Change, beyond: &[String]) {
    let files = outcome::left_out(change, beyond);
    if files.is_empty() {
        return;
    }
    let actions = &host.setup.actions;
    let list = if actions.is_runner() {
        "the report lists them"
    } else if actions.is_verbose() {
        "they are"
    } else {
        "-v lists them"
    };
    actions.line(&unshown(
        beyond.len(),
        files.len() - beyond.len(),
        change.diffs.len(),
        list,
    ));
    if actions.is_verbose() {
        for file in &files {
            actions.line(&format!("  {file}"));
        }
    }
}

fn unshown(beyond: usize, unreadable: usize, all: usize, list: &str) -> String {
    let too_large = (beyond > 0).then(|| {
        let verb = if beyond == 1 { "does" } else { "do" };
        format!("{beyond} {verb} not fit the model's context")
    });
    let unreadable_words = (unreadable > 0).then(|| format!("{unreadable} cannot be shown"));
    let why: Vec<String> = too_large.into_iter().chain(unreadable_words).collect();
    format!(
        "{} of {} ({}) will not be shown to the model; {list}",
        beyond + unreadable,
        plural(all, "changed file"),
        why.join(", ")
    )
}

/// The diffs as the prompts show them: what is new of them, in parts that fit the model's context.
async fn parts(host: &Host<'_>, client: &Client, matter: &Matter<'_>) -> Parts {
    let (diffs, since) = (matter.diffs, matter.since);
    let is_new = |diff: &FileDiff| !since.is_some_and(|since| since.is_known(diff));
    let new = diffs
        .iter()
        .map(|(diff, _)| diff)
        .filter(|diff| is_new(diff));
    let new: Vec<Cow<'_, FileDiff>> = new
        .map(|diff| since.map_or(Cow::Borrowed(diff), |since| since.new_in(diff)))
        .collect();
    let new: Vec<&FileDiff> = new.iter().map(AsRef::as_ref).collect();
    let room = match host.model().context {
        Some(declared) => parts::room(declared),
        None if parts::is_large(&new) => parts::room(context(host.model(), client).await),
        None => usize::MAX,
    };
    let mut parts = parts::cut(&new, room);
    parts
        .beyond
        .retain(|path| matter.change.required().any(|diff| diff.path == *path));
    parts
}

/// The number of tokens that the model takes at once, as far as OpenCode knows.
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

/// Writes the numbered diffs that are shown into the snapshot. Returns each diff with its file below the reviewer's
/// folder.
pub(crate) async fn diff_files(change: &Change) -> Result<Vec<(FileDiff, String)>, Failure> {
    let snapshot = &change.snapshot;
    let diffs: Vec<&FileDiff> = change.shown().collect();
    let files = diffs.iter().map(|diff| {
        let name = format!("diffs/{}.diff", snapshot.shown_path(&diff.path));
        (name, diff.numbered())
    });
    let shown = snapshot.write_own(files.collect()).await?;
    Ok(diffs.into_iter().cloned().zip(shown).collect())
}

/// The subject of the desk, before anything was said on it.
pub(crate) fn subject(change: &Change, [base, head]: [&CommitSha; 2]) -> Subject {
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

/// The reasons why files are not in the snapshot, with the number of files for each.
fn left_out(snapshot: &Snapshot) -> Vec<(String, usize)> {
    let reasons = snapshot.left_out_by_reason().into_iter();
    reasons
        .map(|(reason, files)| (reason.to_string(), files.len()))
        .collect()
}

pub(crate) fn weights(host: &Host<'_>, change: &Change) -> Weights {
    let policy = &host.config.policy;
    Weights {
        threshold: policy.threshold,
        elevation: policy.elevation,
        blocking: policy.blocking,
        sensitive: (change.sensitivity == Sensitivity::High)
            .then(|| sensitivity::reason(&change.evidence)),
    }
}

#[cfg(test)]
mod tests {
    use super::unshown;

    #[test]
    fn what_will_not_be_shown_is_one_line() {
        assert_eq!(
            unshown(10, 2, 300, "-v lists them"),
            "12 of 300 changed files (10 do not fit the model's context, 2 cannot be shown) will not be shown to the \
             model; -v lists them"
        );
        assert!(unshown(1, 0, 1, "").starts_with("1 of 1 changed file (1 does not fit"));
    }
}

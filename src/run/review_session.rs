//! A session with the model about a change, wherever the change comes from: what it is given, and how it is led.

use super::lead::{led, new_diffs, room};
use crate::gather::change::Change;
use crate::host::{Failure, Host};
use crate::run::collected::Collected;
use crate::run::draft::Draft;
use crate::run::large_change;
use crate::run::outcome::unfinished;
use reviewer_agent::opencode::Supervisor;
use reviewer_core::context::brief::{Excerpt, OwnSection, Words};
use reviewer_core::context::division::{self, Division};
use reviewer_core::context::failed_checks::FailedCheck;
use reviewer_core::context::intent::Intent;
use reviewer_core::context::parts;
use reviewer_core::context::sensitivity;
use reviewer_core::context::since::Since;
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::{CommitSha, FileDiff, Finding, Sensitivity, Thread};
use reviewer_core::panel::open_conversations::OpenConversation;
use reviewer_core::plan::Question;
use reviewer_core::review::desk::{Desk, Subject};
use reviewer_core::review::policy::Weights;
use reviewer_core::review::session_outcome::Outcome;
use reviewer_core::state::decided::DecidedHere;
use reviewer_core::state::spending::Allowances;
use reviewer_core::static_analysis::Candidate;
use reviewer_system::random;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The sessions of a run, and what they are for.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub sidecar: &'a Arc<Supervisor>,
    pub title: &'a str,
    pub to_judge: &'a [Excerpt],
    pub questions: &'a [Question],
    /// The open conversations of people to weigh.
    pub conversations: &'a [OpenConversation],
    /// The results of static analysis to judge.
    pub candidates: &'a [Candidate],
    pub reviews: bool,
}

/// Opens the desk of every session, with the findings that a review before this one could not post, and the results of static
/// analysis to judge.
pub(crate) fn open_desks(
    host: &Host<'_>,
    change: &Change,
    ground: &Ground<'_>,
) -> Result<(), Failure> {
    for session in host.sessions().reviewers() {
        let mut desk = Desk::new(
            Arc::clone(ground.subject),
            weights(host, change),
            &session.reviewer.name,
            random::hex(16)?,
        )
        .escalating_to(session.reviewer.can_escalate())
        .with_candidates(ground.candidates);
        for finding in ground.carried {
            desk.carry(finding.clone());
        }
        session.desk.open(desk);
    }
    Ok(())
}

/// The change under review and what is said about it, wherever it comes from.
#[derive(Clone, Copy)]
pub(crate) struct Matter<'a> {
    pub title: &'a str,
    pub body: &'a str,
    pub intent: &'a Intent,
    pub checks: &'a [FailedCheck],
    /// The questions about code of the change that people decided in other pull requests.
    pub decided: &'a [DecidedHere],
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
    /// The section that is reviewed; `None`: the whole change is.
    pub section: Option<SectionMatter<'a>>,
}

/// The share of a session in a change that is reviewed in sections.
#[derive(Clone, Copy)]
pub(crate) struct SectionMatter<'a> {
    pub own: OwnSection<'a>,
    /// The files that no section shows.
    pub beyond: &'a [String],
    /// The results of static analysis that this section judges.
    pub candidates: &'a [Candidate],
}

/// The desks before anything is said, and the draft that follows them.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub subject: &'a Arc<Subject>,
    /// The findings that a review before this one could not post.
    pub carried: &'a [Finding],
    /// The results of static analysis to judge.
    pub candidates: &'a Arc<[Candidate]>,
    pub draft: &'a Draft,
}

/// The end of all sessions: what they came to, and what they have said.
pub(crate) struct Concluded {
    pub outcome: Outcome,
    pub suspicions: Suspicions,
    pub collected: Collected,
}

/// Leads the sessions to their end: one, or, where several reviewers review, all at the same time; of a change that is too
/// large for one session, those of each section. `ground`: of the open desks; `None` where nothing is reviewed.
pub(crate) async fn hold(
    host: &Host<'_>,
    talk: Talk<'_>,
    matter: &Matter<'_>,
    allowances: Allowances,
    ground: Option<Ground<'_>>,
) -> Result<Concluded, Failure> {
    let new = new_diffs(matter);
    let (division, room) = if talk.reviews {
        divided(host, talk.sidecar, &new).await
    } else {
        (Division::default(), usize::MAX)
    };
    let sectioned = ground.filter(|_| division.sections.len() > 1);
    let mut concluded = if let Some(ground) = sectioned {
        let large = large_change::Large {
            diffs: &new,
            division: &division,
            room,
        };
        large_change::hold(host, talk, matter, allowances, ground, &large).await?
    } else {
        let last = host.started + host.setup.clock.limit(host.config.timeout);
        let time = (host.started, last);
        let (outcome, suspicions) = led(host, talk, matter, allowances, time).await?;
        Concluded {
            outcome,
            suspicions,
            collected: Collected::new(host),
        }
    };
    if let Some(check) = host.sessions().fix_check() {
        concluded.outcome.used += check.usage.used();
    }
    Ok(concluded)
}

/// The change in sections that each reviewer can be shown whole, and the room of such a section.
async fn divided(
    host: &Host<'_>,
    sidecar: &Supervisor,
    new: &[Cow<'_, FileDiff>],
) -> (Division, usize) {
    let is_large = parts::is_large(new);
    let process = sidecar.process();
    let mut least = usize::MAX;
    for session in host.sessions().reviewers() {
        least = least.min(room(session.next_model(), is_large, process.client()).await);
    }
    if least == usize::MAX {
        return (Division::default(), least);
    }
    (division::divide(new, least), least)
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
    let reviewers: Vec<&str> = host
        .sessions()
        .reviewers()
        .map(|session| session.reviewer.name.as_str())
        .collect();
    let by = if host.is_panel() {
        format!("{} of ", reviewers.join(", "))
    } else {
        String::new()
    };
    host.setup.actions.line(&format!(
        "Reviewing {}{of} (+{added} −{removed}) against {base}@{} with {by}{}",
        plural(shown.len(), "file"),
        change.commits[0].short(),
        host.models()
    ));
}

/// Tells what the model will not see, before it is asked and paid.
pub(super) fn tell_unshown(host: &Host<'_>, change: &Change, beyond: &[String]) {
    let files: Vec<String> = unfinished::unshown(change, beyond).collect();
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
        decided: Vec::new(),
    }
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

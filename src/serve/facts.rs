//! From a probe to the facts of the lifecycle: nothing is decided here but whose signature and whose access counts.

use reviewer_core::config::file::RepositoryFile;
use reviewer_core::domain::{Login, PrKey, ReviewDecision};
use reviewer_core::event::{Command, command};
use reviewer_core::lifecycle::{
    Decision, Facts, MergeState, Mergeable, OrderFact, PersonaDecision, PullState, ReviewFact,
    ReviewState, Settings,
};
use reviewer_core::state::signature::Keys;
use reviewer_core::state::statement::{Statement, tagged_names};
use reviewer_github::{ApiError, FileAt, GitHub, Probe, ProbedReview, ProbedState};
use std::collections::HashMap;

/// The settings file in the base branch.
pub(crate) const SETTINGS: &str = ".github/opencode-reviewer.yml";

/// Reads the facts out of a probe. Asks GitHub only for the access of people who gave an order.
pub(crate) async fn facts(
    github: &GitHub,
    probe: &Probe,
    keys: &Keys,
    mention: &str,
) -> Result<Facts, ApiError> {
    let pr = PrKey {
        repo: probe.repo.clone(),
        number: probe.number,
    };
    let orders = orders(github, probe, mention).await?;
    Ok(Facts {
        repo: probe.repo.clone(),
        number: probe.number,
        state: match &probe.state {
            ProbedState::Open => PullState::Open,
            ProbedState::Closed => PullState::Closed,
            ProbedState::Merged { by, sha } => PullState::Merged {
                by: by.clone(),
                sha: sha.clone(),
            },
        },
        draft: probe.draft,
        locked: probe.locked,
        head: probe.head.clone(),
        head_branch: probe.head_branch.clone(),
        from_fork: probe.from_fork,
        author_may_write: orders.author_may_write,
        invitations: orders.invitations,
        base: probe.base.clone(),
        base_head: probe.base_head.clone(),
        author: probe.author.clone(),
        labels: probe.labels.clone(),
        requested: probe.requested.clone(),
        reviews: probe
            .reviews
            .iter()
            .map(|one| review(one, &pr, keys))
            .collect(),
        last_push_by: probe.last_push_by().cloned(),
        resumes: orders.resumes,
        mergeable: mergeable(probe.mergeable),
        merge_state: merge_state(probe.merge_state),
        auto_merge_armed: probe.auto_merge_armed,
        in_merge_queue: probe.in_merge_queue,
        settings: settings(&probe.settings),
        updated_at: probe.updated_at.clone(),
    })
}

/// The section `lifecycle` of the settings file.
fn settings(file: &FileAt) -> Settings {
    match file {
        FileAt::Missing => Settings::default(),
        FileAt::Text(text) => RepositoryFile::parse(text).lifecycle_settings(),
        FileAt::Unreadable => Settings {
            error: Some(format!(
                "The file {SETTINGS} of the base branch cannot be read as text."
            )),
            ..Settings::default()
        },
    }
}

fn review(review: &ProbedReview, pr: &PrKey, keys: &Keys) -> ReviewFact {
    let author = review.author.as_ref();
    // A block that somebody else has edited says nothing, whatever its signature.
    let untouched = !review.edited || review.edited_by == review.author;
    let statement = untouched
        .then(|| Statement::read(&review.body, pr, keys))
        .flatten()
        .filter(|one| review.commit.as_ref() == Some(&one.head));
    let personas = statement.into_iter().filter_map(|one| {
        Some(PersonaDecision {
            agent: one.reviewer,
            decision: decision(one.decision)?,
            escalations: one.escalations,
        })
    });
    ReviewFact {
        id: review.id,
        author: review.author.clone(),
        author_is_bot: author.is_some_and(|login| login.as_str().ends_with("[bot]")),
        commit: review.commit.clone(),
        state: match review.state {
            reviewer_github::ReviewState::Approved => ReviewState::Approved,
            reviewer_github::ReviewState::ChangesRequested => ReviewState::ChangesRequested,
            reviewer_github::ReviewState::Commented => ReviewState::Commented,
            reviewer_github::ReviewState::Dismissed => ReviewState::Dismissed,
        },
        at: review.at.clone(),
        escalations: tagged_names(&review.body),
        personas: personas.collect(),
        may_write: review.may_write,
    }
}

/// A decision that moves a life. Findings that do not block are for the author to look at, so they ask for changes, too.
pub(crate) fn decision(stated: ReviewDecision) -> Option<Decision> {
    match stated {
        ReviewDecision::Approved => Some(Decision::Approved),
        ReviewDecision::ChangesRequested | ReviewDecision::Commented => {
            Some(Decision::ChangesRequested)
        }
        ReviewDecision::Incomplete => None,
    }
}

/// The orders of people with write access.
#[derive(Default)]
struct Orders {
    resumes: Vec<OrderFact>,
    /// To review: a stranger's fork, or a head again that an agent wants changed.
    invitations: Vec<OrderFact>,
    author_may_write: bool,
}

/// Reads the orders in comments. GitHub is asked once for each person who gave one, and for the author of a fork.
async fn orders(github: &GitHub, probe: &Probe, mention: &str) -> Result<Orders, ApiError> {
    let mut orders = Orders::default();
    let mut known: HashMap<&Login, bool> = HashMap::new();
    for comment in &probe.comments {
        let Some(by) = &comment.author else {
            continue;
        };
        let list = match command(&comment.body, mention) {
            Some(Command::FixResume) => &mut orders.resumes,
            Some(Command::Review | Command::ReviewFull) => &mut orders.invitations,
            _ => continue,
        };
        let may_write = match known.get(by) {
            Some(may_write) => *may_write,
            None => github.permission(&probe.repo, by).await?.may_write(),
        };
        known.insert(by, may_write);
        if may_write {
            list.push(OrderFact {
                id: comment.id.0,
                by: by.clone(),
                at: comment.at.clone(),
            });
        }
    }
    orders.author_may_write = match probe.author.as_ref().filter(|_| probe.from_fork) {
        Some(author) => github.permission(&probe.repo, author).await?.may_write(),
        None => !probe.from_fork,
    };
    Ok(orders)
}

fn mergeable(read: reviewer_github::Mergeable) -> Mergeable {
    match read {
        reviewer_github::Mergeable::Unknown => Mergeable::Unknown,
        reviewer_github::Mergeable::Conflicting => Mergeable::Conflicting,
        reviewer_github::Mergeable::Mergeable => Mergeable::Mergeable,
    }
}

fn merge_state(read: reviewer_github::MergeState) -> MergeState {
    match read {
        reviewer_github::MergeState::Clean => MergeState::Clean,
        reviewer_github::MergeState::Unstable => MergeState::Unstable,
        reviewer_github::MergeState::Blocked => MergeState::Blocked,
        reviewer_github::MergeState::Behind => MergeState::Behind,
        reviewer_github::MergeState::Dirty => MergeState::Dirty,
        reviewer_github::MergeState::HasHooks => MergeState::HasHooks,
        reviewer_github::MergeState::Draft => MergeState::Draft,
        reviewer_github::MergeState::Unknown => MergeState::Unknown,
    }
}

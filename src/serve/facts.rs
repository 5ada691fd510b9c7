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

/// The last decisions, and the last comments, that are kept of somebody without write access.
const MOST_REVIEWS: usize = 20;

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
        reviews: reviews(probe, &pr, keys),
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

/// True if the settings and the reviews are still those of these facts. GitHub's time of the last change has seconds, and does not
/// tell of the base.
pub(crate) fn are_as_read(facts: &Facts, probe: &Probe, pr: &PrKey, keys: &Keys) -> bool {
    facts.base == probe.base
        && facts.updated_at == probe.updated_at
        && facts.settings == settings(&probe.settings)
        && facts.reviews == reviews(probe, pr, keys)
}

fn reviews(probe: &Probe, pr: &PrKey, keys: &Keys) -> Vec<ReviewFact> {
    let all = probe.reviews.iter().map(|one| review(one, pr, keys));
    bounded(all.collect())
}

/// Leaves out old reviews of people without write access who have written many. Everybody may review where everybody may read, and
/// each input in the history holds the facts.
fn bounded(reviews: Vec<ReviewFact>) -> Vec<ReviewFact> {
    // Comments on a line are reviews, too, and must not push a decision out.
    let mut seen: HashMap<(Option<Login>, bool), usize> = HashMap::new();
    let mut kept: Vec<ReviewFact> = Vec::new();
    for review in reviews.into_iter().rev() {
        let kind = (
            review.author.clone(),
            review.state == ReviewState::Commented,
        );
        let seen = seen.entry(kind).or_default();
        *seen += 1;
        if review.may_write || !review.personas.is_empty() || *seen <= MOST_REVIEWS {
            kept.push(review);
        }
    }
    kept.reverse();
    kept
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

#[cfg(test)]
mod tests {
    use super::*;

    fn review(id: u64, author: &str, may_write: bool, agent: Option<&str>) -> ReviewFact {
        let stated = |agent: &str| PersonaDecision {
            agent: agent.to_owned(),
            decision: Decision::Approved,
            escalations: Vec::new(),
        };
        ReviewFact {
            id,
            author: Some(Login::new(author)),
            author_is_bot: false,
            commit: None,
            state: ReviewState::Commented,
            at: String::new(),
            escalations: Vec::new(),
            personas: agent.map(stated).into_iter().collect(),
            may_write,
        }
    }

    #[test]
    fn a_flood_of_a_strangers_reviews_is_not_kept_and_costs_nobody_else_one() {
        let mut reviews = Vec::new();
        for round in 0..1_000 {
            reviews.push(review(4 * round, "eve", false, None));
            if round < 40 {
                reviews.push(review(4 * round + 1, "lead", true, None));
                reviews.push(review(4 * round + 2, "app[bot]", false, Some("quality")));
            }
        }
        let approval = ReviewFact {
            state: ReviewState::Approved,
            ..review(9_000, "ada", false, None)
        };
        reviews.push(approval);
        reviews.extend((9_001..9_100).map(|id| review(id, "ada", false, None)));
        let kept = bounded(reviews);
        let of = |author: &str| {
            let author = Some(Login::new(author));
            let own = kept.iter().filter(|one| one.author == author);
            own.map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!((of("lead").len(), of("app[bot]").len()), (40, 40));
        assert_eq!((of("ada")[0], of("ada").len()), (9_000, 21));
        let last: Vec<u64> = (1_000 - 20..1_000).map(|round| 4 * round).collect();
        assert_eq!(of("eve"), last);
        assert!(kept.is_sorted_by_key(|one| one.id));
    }
}

//! The decisions that GitHub holds: of agents with accounts of their own, of people, and of personas in what the App's account
//! has signed.

use super::github::Write;
use super::github::state::Review;
use super::personas::keys;
use super::repository::{AGENTS, APP, LEAD, REPOSITORY};
use super::stage::{STATE_KEY, Stage};
use reviewer_core::domain::PrKey;
use reviewer_core::lifecycle::{ReviewerKind, State};
use reviewer_core::state::statement::Statement;
use std::collections::BTreeSet;

pub(super) const APPROVED: &str = "approved";

/// A review on GitHub: the decision of an agent, by its name, or of a person.
#[derive(Debug)]
pub(super) struct Said {
    pub review: u64,
    pub by: String,
    pub decision: String,
    pub commit: String,
    pub dismissed: bool,
    pub calls: Vec<String>,
    /// The session that posted it.
    pub session: Option<String>,
}

/// A review of an account that is one reviewer's.
fn said_by(review: &Review) -> Said {
    let agent = AGENTS.iter().find(|one| one.1 == review.user);
    let session = review.body.lines().next().map(str::to_owned);
    Said {
        review: review.id,
        by: agent.map_or(review.user.as_str(), |one| one.0).to_owned(),
        decision: review.state.to_lowercase(),
        commit: review.commit_id.clone(),
        dismissed: review.state == "DISMISSED",
        calls: Vec::new(),
        session: session.filter(|_| agent.is_some()),
    }
}

/// A review of the App's account, by what a persona has signed in it.
fn stated_in(review: &Review, pr: &PrKey) -> Option<Said> {
    let stated = Statement::read(&review.body, pr, &keys(STATE_KEY))?;
    let (_, run) = review.body.split_once("\"run\":\"")?;
    let (run, _) = run.split_once('"')?;
    Some(Said {
        by: stated.reviewer,
        decision: stated.decision.name().to_owned(),
        commit: stated.head.to_string(),
        calls: stated.escalations,
        session: Some(run.to_owned()),
        ..said_by(review)
    })
}

impl Stage {
    /// The decisions on GitHub, the oldest first.
    pub(super) fn said(&self) -> Vec<Said> {
        let pr = PrKey {
            repo: REPOSITORY.parse().expect("a name"),
            number: self.key.number,
        };
        let reviews = self.github.with(|github| github.reviews.clone());
        let said = reviews.iter().filter_map(|one| match one.user.as_str() {
            APP => stated_in(one, &pr),
            _ => Some(said_by(one)),
        });
        said.collect()
    }

    /// The App's account says no more on GitHub than all its personas: it approves with the last one, and nothing that is its own.
    /// Returns what is wrong.
    pub(super) fn formal(&self, state: &State, writes: &[Write]) -> Vec<String> {
        let Some(facts) = &state.facts else {
            return vec!["there are no facts".into()];
        };
        let is_own = facts.author.as_ref().is_some_and(|one| one.as_str() == APP);
        let reviewers = facts.settings.reviewers.iter();
        let agents = reviewers.filter(|one| one.kind == ReviewerKind::Agent);
        let mut required: BTreeSet<String> = agents.map(|one| one.name.clone()).collect();
        let mut seats: BTreeSet<(String, String)> = BTreeSet::new();
        let (said, mut complaints) = (self.said(), Vec::new());
        for write in writes {
            let Write::Review { id, json, .. } = write else {
                continue;
            };
            let Some(one) = said.iter().find(|one| one.review == *id) else {
                complaints.push(format!("the review {id} states nothing"));
                continue;
            };
            if json["commit_id"].as_str() != Some(&one.commit) {
                complaints.push(format!("the review {id} is of another commit"));
            }
            let called = one.calls.iter().filter(|name| *name != LEAD);
            required.extend(called.cloned());
            let change = self.change(&one.commit).unwrap_or_default();
            let approves = one.decision == APPROVED;
            let seat = (one.by.clone(), change.clone());
            if approves {
                seats.insert(seat);
            } else {
                seats.remove(&seat);
            }
            let mut names = required.iter();
            let by_all = names.all(|name| seats.contains(&(name.clone(), change.clone())));
            let is_right = match json["event"].as_str() {
                Some("COMMENT") => approves || is_own,
                Some("APPROVE") => approves && by_all && !is_own,
                Some("REQUEST_CHANGES") => !approves && !is_own,
                _ => false,
            };
            if !is_right {
                let event = &json["event"];
                complaints.push(format!("{event} with {one:?}, approved: {seats:?}"));
            }
        }
        complaints
    }

    /// The change of a commit against the base, by its objects.
    pub(super) fn change(&self, commit: &str) -> Option<String> {
        self.github.with(|state| {
            let first = state.git.ask(&["rev-list", "--max-parents=0", commit])?;
            let main = self.memory().mains.iter().rev().find_map(|main| {
                let base = state.git.merge_base(main, commit)?;
                (base == *main).then_some(base)
            });
            let base = main.unwrap_or_else(|| first.trim().to_owned());
            state.git.ask(&["diff-tree", "-r", &base, commit])
        })
    }
}

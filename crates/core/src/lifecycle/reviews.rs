//! Reviews on GitHub as decisions: of agents whose callback is lost or whose life is rebuilt, of configured people, and the
//! escalations in all of them.

use super::goal::can_be_added;
use super::life::Life;
use super::{Decision, Escalation, Outcome, Progress, ReviewFact, ReviewState, ReviewerKind};
use crate::domain::{CommitSha, Login};

/// A decision that a review holds.
struct Read {
    reviewer: String,
    by_person: bool,
    decision: Decision,
    escalations: Vec<String>,
}

impl Life<'_> {
    /// Records decisions and escalations that the facts hold and the state does not.
    pub(super) fn read_reviews(&mut self) {
        let reviews = self.facts().map(|facts| facts.reviews.clone());
        let mut reviews = reviews.unwrap_or_default();
        reviews.sort_by_key(|review| review.id);
        let horizon = self.state.horizon;
        for review in reviews.iter().filter(|review| review.id > horizon) {
            let Some(commit) = &review.commit else {
                continue;
            };
            for read in self.decisions(review) {
                self.read(review, commit, &read);
            }
        }
    }

    fn read(&mut self, review: &ReviewFact, commit: &CommitSha, read: &Read) {
        // The callback of a session at work says more than its review.
        if self.is_at_work(read, commit) {
            return;
        }
        let known = |one: &Outcome| {
            let same = one.reviewer == read.reviewer && one.commit == *commit;
            same && one.by_person == read.by_person && one.review.is_none_or(|id| id >= review.id)
        };
        if !self.state.outcomes.iter().any(known) {
            self.record(Outcome {
                reviewer: read.reviewer.clone(),
                decision: read.decision,
                comment: String::new(),
                escalations: read.escalations.clone(),
                timestamp: review.at.clone(),
                commit: commit.clone(),
                review: Some(review.id),
                by_person: read.by_person,
            });
        }
        self.escalate(&read.reviewer, &read.escalations);
    }

    fn is_at_work(&self, read: &Read, commit: &CommitSha) -> bool {
        let session = self.state.session.as_ref();
        session.is_some_and(|session| {
            let runs = matches!(session.progress, Progress::Running { .. });
            runs && !read.by_person && session.agent == read.reviewer && session.head == *commit
        })
    }

    /// The decisions in a review. Comments are none, but for what an agent has signed: findings that do not block are posted as a
    /// comment, and ask for changes as in the session's own message.
    fn decisions(&self, review: &ReviewFact) -> Vec<Read> {
        let Some(author) = &review.author else {
            return Vec::new();
        };
        let is_comment = review.state == ReviewState::Commented;
        let is_app = self.policy.has_personas() && author == self.policy.account();
        if is_app || is_comment {
            let known = review.personas.iter();
            let known = known.filter(|one| {
                let is_agent = self.policy.agent(&one.agent).is_some();
                is_agent && self.policy.login_of(&one.agent) == Some(author)
            });
            let read = known.map(|one| Read {
                reviewer: one.agent.clone(),
                by_person: false,
                decision: one.decision,
                escalations: one.escalations.clone(),
            });
            return read.collect();
        }
        let decision = match review.state {
            ReviewState::Approved => Decision::Approved,
            ReviewState::ChangesRequested => Decision::ChangesRequested,
            ReviewState::Commented | ReviewState::Dismissed => return Vec::new(),
        };
        let Some((reviewer, by_person)) = self.reviewer(author) else {
            return Vec::new();
        };
        vec![Read {
            reviewer,
            by_person,
            decision,
            escalations: review.escalations.clone(),
        }]
    }

    /// The reviewer that an account stands for: an agent, or a configured person. Nobody else advances the state.
    fn reviewer(&self, author: &Login) -> Option<(String, bool)> {
        let mut agents = self.policy.agents.iter();
        let agent = agents.find(|agent| agent.login.as_ref() == Some(author));
        if let Some(agent) = agent {
            return Some((agent.name.clone(), false));
        }
        let mut configured = self.facts()?.settings.reviewers.iter();
        let is_author =
            |name: &str, kind| kind == ReviewerKind::Human && Login::new(name) == *author;
        let person = configured.find(|one| is_author(&one.name, one.kind))?;
        Some((person.name.clone(), true))
    }

    /// Adds the reviewers that another one asks for: names in its `can_escalate` only, each once.
    pub(super) fn escalate(&mut self, by: &str, names: &[String]) {
        let allowed = self.can_escalate(by);
        for name in names {
            let configured = self.facts().is_some_and(|facts| {
                let mut reviewers = facts.settings.reviewers.iter();
                reviewers.any(|one| one.name == *name)
            });
            let known = configured || self.state.escalated.iter().any(|one| one.to == *name);
            if !allowed.contains(name) {
                self.log(format!("{by} may not escalate to {name:?}"));
            } else if !known {
                self.log(format!("{by} escalates to {name}"));
                self.state.escalated.push(Escalation {
                    to: name.clone(),
                    by: by.to_owned(),
                });
            }
        }
    }

    /// The names that a configured reviewer may add: agents that the service has, and people.
    pub(super) fn can_escalate(&self, name: &str) -> Vec<String> {
        let Some(settings) = self.facts().map(|facts| &facts.settings) else {
            return Vec::new();
        };
        let found = settings.reviewers.iter().find(|one| one.name == name);
        let mut names = found.map_or_else(Vec::new, |one| one.can_escalate.clone());
        names.retain(|name| can_be_added(settings, self.policy, name));
        names
    }
}

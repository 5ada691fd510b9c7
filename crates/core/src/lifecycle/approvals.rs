//! Approvals: the seats that have to approve a head, and how each stands. An approval is bound to its commit; it counts for another
//! head only if both make an identical change.

use super::{
    Decision, Escalation, Facts, OrderFact, Outcome, Policy, ReviewFact, ReviewState, Reviewer,
    ReviewerKind, State,
};
use crate::domain::{CommitSha, Login};

/// The kind of a required approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SeatKind {
    Agent,
    /// A configured person.
    Person(Login),
    /// A person whom a reviewer asked for; `None` where the settings do not name that person any more. Another person may stand in.
    Escalated {
        login: Option<Login>,
        by: String,
    },
    /// Nobody else can review, so it is up to any person with write access.
    Anybody,
}

/// A required approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) kind: SeatKind,
}

/// The standing of a seat towards the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Undecided,
    Approved,
    ChangesRequested,
    /// Somebody has dismissed the agent's review of this head.
    Dismissed,
}

/// All that approvals are judged by.
#[derive(Clone, Copy)]
pub(super) struct Approvals<'a> {
    state: &'a State,
    facts: &'a Facts,
    policy: &'a Policy,
}

impl<'a> Approvals<'a> {
    pub(super) fn new(state: &'a State, policy: &'a Policy) -> Option<Self> {
        let facts = state.facts.as_ref()?;
        Some(Self {
            state,
            facts,
            policy,
        })
    }

    /// The seats in the order in which they look: whoever asked for a change first.
    pub(super) fn seats(&self) -> Vec<Seat> {
        let mut seats = self.configured();
        let later = |seat: &Seat| Some(&seat.name) != self.state.first.as_ref();
        seats.sort_by_key(later);
        seats
    }

    /// The seats as configured, then those of escalations. The author has none; where nobody else is configured, any person has one.
    pub(super) fn configured(&self) -> Vec<Seat> {
        let configured = self.facts.settings.reviewers.iter();
        let configured = configured.filter(|one| !self.is_author(one));
        let mut seats: Vec<Seat> = configured.map(seat).collect();
        if seats.is_empty() {
            seats.push(Seat {
                name: "a person with write access".into(),
                kind: SeatKind::Anybody,
            });
        }
        let escalated = self.state.escalated.iter();
        seats.extend(escalated.filter_map(|one| self.escalated(one)));
        seats
    }

    fn escalated(&self, escalation: &Escalation) -> Option<Seat> {
        let name = escalation.to.clone();
        let is_agent = self.policy.agent(&name).is_some();
        if is_agent && self.has_author(&name) {
            return None;
        }
        let kind = if is_agent {
            SeatKind::Agent
        } else {
            SeatKind::Escalated {
                login: self
                    .is_configured(&Login::new(&name))
                    .then(|| Login::new(&name)),
                by: escalation.by.clone(),
            }
        };
        Some(Seat { name, kind })
    }

    fn is_author(&self, reviewer: &Reviewer) -> bool {
        match reviewer.kind {
            ReviewerKind::Agent => self.has_author(&reviewer.name),
            ReviewerKind::Human => self.facts.author == Some(Login::new(&reviewer.name)),
        }
    }

    /// True if the pull request is of this agent's own account. Personas review the App's pull requests, too.
    fn has_author(&self, agent: &str) -> bool {
        let login = self.policy.login_of(agent);
        !self.policy.has_personas() && login.is_some() && login == self.facts.author.as_ref()
    }

    pub(super) fn standing(&self, seat: &Seat) -> Standing {
        match &seat.kind {
            SeatKind::Agent => self.of_agent(&seat.name),
            SeatKind::Person(login) => self.of_person(login),
            SeatKind::Escalated { login, .. } => {
                let own = login.as_ref().map(|login| self.of_person(login));
                match own.unwrap_or(Standing::Undecided) {
                    Standing::Undecided => self.of_anybody(),
                    decided => decided,
                }
            }
            SeatKind::Anybody => self.of_anybody(),
        }
    }

    fn of_agent(&self, name: &str) -> Standing {
        if self.is_dismissed(name, &self.facts.head) {
            return Standing::Dismissed;
        }
        let outcomes = || self.outcomes(name);
        if let Some(at_head) = outcomes().rfind(|one| one.commit == self.facts.head) {
            return at_head.decision.into();
        }
        // A late review of another change takes nothing back.
        let same = |one: &&Outcome| self.is_identical(&one.commit);
        let last = outcomes().rfind(same);
        let last = last.filter(|one| !self.is_dismissed(name, &one.commit));
        match last.map(|one| one.decision) {
            Some(Decision::Approved) => Standing::Approved,
            _ => Standing::Undecided,
        }
    }

    /// The decisions of an agent, the oldest first.
    fn outcomes(&self, agent: &str) -> impl DoubleEndedIterator<Item = &'a Outcome> {
        let outcomes = self.state.outcomes.iter();
        outcomes.filter(move |one| !one.by_person && one.reviewer == agent)
    }

    /// True if the agent's last decision about a commit was dismissed.
    fn is_dismissed(&self, name: &str, commit: &CommitSha) -> bool {
        let login = self.policy.login_of(name);
        let is_app = self.policy.has_personas();
        let of_agent = |review: &&ReviewFact| {
            // Personas share an account, and a comment can hold a decision.
            let is_stated = review.personas.iter().any(|one| one.agent == name);
            review.id > self.state.horizon
                && review.commit.as_ref() == Some(commit)
                && (is_stated || (!is_app && review.state != ReviewState::Commented))
                && login.is_some()
                && review.author.as_ref() == login
        };
        let reviews = self.facts.reviews.iter().filter(of_agent);
        let last = reviews.max_by_key(|review| review.id);
        last.is_some_and(|review| review.state == ReviewState::Dismissed)
    }

    fn of_person(&self, login: &Login) -> Standing {
        // Agents are never counted as people.
        if login.is_bot() || self.policy.is_own(login) {
            return Standing::Undecided;
        }
        let own = self.facts.reviews.iter();
        let own = own.filter(|review| review.author.as_ref() == Some(login));
        let decisions = || {
            own.clone()
                .filter(|review| review.state != ReviewState::Commented)
        };
        let at_head = |review: &&ReviewFact| review.commit.as_ref() == Some(&self.facts.head);
        if let Some(review) = decisions().filter(at_head).max_by_key(|review| review.id) {
            return match review.state {
                ReviewState::Approved if !self.is_of_base(review) => Standing::Undecided,
                state => state.into(),
            };
        }
        let last = decisions().max_by_key(|review| review.id);
        let carries = |review: &&ReviewFact| {
            let commit = review.commit.as_ref();
            review.state == ReviewState::Approved
                && self.is_of_base(review)
                && commit.is_some_and(|one| self.is_identical(one))
        };
        match last.filter(carries) {
            Some(_) => Standing::Approved,
            None => Standing::Undecided,
        }
    }

    /// True for a review of the change towards the present base.
    fn is_of_base(&self, review: &ReviewFact) -> bool {
        review.id > self.state.base_horizon
    }

    /// The standing of all persons who are configured or may write: one who requests changes outweighs those who approve.
    fn of_anybody(&self) -> Standing {
        let standings: Vec<Standing> = self.persons().map(|one| self.of_person(one)).collect();
        if standings.contains(&Standing::ChangesRequested) {
            Standing::ChangesRequested
        } else if standings.contains(&Standing::Approved) {
            Standing::Approved
        } else {
            Standing::Undecided
        }
    }

    /// True if no other agent's approval of the head is missing.
    pub(super) fn is_last_agent(&self, name: &str) -> bool {
        let seats = self.configured();
        let mut others = seats
            .iter()
            .filter(|one| one.kind == SeatKind::Agent && one.name != name);
        others.all(|seat| self.standing(seat) == Standing::Approved)
    }

    /// True if a person has approved the head.
    pub(super) fn has_human_approval(&self) -> bool {
        let mut persons = self.persons();
        persons.any(|one| self.of_person(one) == Standing::Approved)
    }

    /// True if a person with write access has approved this very head.
    pub(super) fn has_writers_approval(&self) -> bool {
        let mut reviews = self.writers_reviews();
        reviews.any(|review| {
            let author = review.author.as_ref();
            author.is_some_and(|author| self.of_person(author) == Standing::Approved)
        })
    }

    /// True if a person with write access has decided about this head or has ordered its review.
    pub(super) fn is_invited(&self) -> bool {
        self.is_ordered() || self.writers_reviews().next().is_some()
    }

    /// True if a person with write access has ordered a review or a fix of this head.
    pub(super) fn is_ordered(&self) -> bool {
        let facts = self.facts;
        let mut orders = facts.resumes.iter().chain(&facts.invitations);
        orders.any(|order: &OrderFact| {
            order.id > self.state.order_horizon && self.policy.is_person(&order.by)
        })
    }

    /// The decisions of people with write access about this head and base.
    fn writers_reviews(&self) -> impl Iterator<Item = &'a ReviewFact> {
        let this = *self;
        let reviews = self.facts.reviews.iter();
        reviews.filter(move |review| {
            let decides = matches!(
                review.state,
                ReviewState::Approved | ReviewState::ChangesRequested
            );
            let is_of_head = review.commit.as_ref() == Some(&this.facts.head);
            let counts = review.may_write && this.counts(review);
            decides && is_of_head && counts && this.is_of_base(review)
        })
    }

    /// A person who has requested changes of the head.
    pub(super) fn objector(&self) -> Option<Login> {
        let mut persons = self.persons();
        let objects = |one: &&Login| self.of_person(one) == Standing::ChangesRequested;
        persons.find(objects).cloned()
    }

    /// The authors of reviews who are persons and count: configured or with write access, and not the pull request's author.
    fn persons(&self) -> impl Iterator<Item = &'a Login> {
        let this = *self;
        let counting = self
            .facts
            .reviews
            .iter()
            .filter(move |one| this.counts(one));
        counting.filter_map(|review| review.author.as_ref())
    }

    /// True for a review of a person who counts.
    pub(super) fn counts(&self, review: &ReviewFact) -> bool {
        let Some(author) = &review.author else {
            return false;
        };
        let is_person = !review.author_is_bot && !author.is_bot() && !self.policy.is_own(author);
        let is_other = self.facts.author.as_ref() != Some(author);
        is_person && is_other && (review.may_write || self.is_configured(author))
    }

    /// True for a person whom the settings name as a reviewer, or to whom a reviewer has escalated. An agent's name is no login:
    /// whoever has an account of that name is a stranger.
    fn is_configured(&self, login: &Login) -> bool {
        let settings = &self.facts.settings;
        let mut reviewers = settings.reviewers.iter();
        let mut escalated = self.state.escalated.iter();
        reviewers.any(|one| one.kind == ReviewerKind::Human && Login::new(&one.name) == *login)
            || escalated.any(|one| {
                let is_agent = self.policy.agent(&one.to).is_some();
                Login::new(&one.to) == *login && !is_agent && settings.is_person(&one.to)
            })
    }

    fn is_identical(&self, commit: &CommitSha) -> bool {
        let mut compared = self.state.compared.iter();
        *commit == self.facts.head
            || compared.any(|one| one.from == *commit && one.identical == Some(true))
    }

    /// Approved commits that count for the head if their change is the same, and were not compared with it yet.
    pub(super) fn uncompared(&self) -> Vec<CommitSha> {
        let mut found: Vec<CommitSha> = Vec::new();
        let seats = self.seats();
        let undecided = seats
            .iter()
            .filter(|one| self.standing(one) == Standing::Undecided);
        for seat in undecided {
            found.extend(self.approved_by(&seat.kind, &seat.name));
        }
        if self.facts.settings.require_human_approval && !self.has_human_approval() {
            found.extend(self.approved_by(&SeatKind::Anybody, ""));
        }
        let is_new = |one: &CommitSha| {
            *one != self.facts.head && !self.state.compared.iter().any(|known| known.from == *one)
        };
        found.retain(is_new);
        found.sort();
        found.dedup();
        found
    }

    /// The commits that a seat's holders have approved last.
    fn approved_by(&self, kind: &SeatKind, name: &str) -> Vec<CommitSha> {
        let of_person = |login: &Login| {
            let reviews = self.facts.reviews.iter();
            let own = reviews.filter(|one| {
                one.author.as_ref() == Some(login) && one.state != ReviewState::Commented
            });
            let last = own.max_by_key(|one| one.id);
            let approves = |one: &&ReviewFact| one.state == ReviewState::Approved;
            let last = last.filter(approves).filter(|one| self.is_of_base(one));
            last.and_then(|one| one.commit.clone())
        };
        match kind {
            SeatKind::Agent => {
                let mut outcomes = self.outcomes(name);
                let last = outcomes.rfind(|one| one.decision == Decision::Approved);
                let last = last.filter(|one| !self.is_dismissed(name, &one.commit));
                last.map(|one| one.commit.clone()).into_iter().collect()
            }
            SeatKind::Person(login) => of_person(login).into_iter().collect(),
            SeatKind::Escalated { login, .. } => {
                let others = self.persons().chain(login);
                others.filter_map(of_person).collect()
            }
            SeatKind::Anybody => self.persons().filter_map(of_person).collect(),
        }
    }
}

fn seat(reviewer: &Reviewer) -> Seat {
    let kind = match reviewer.kind {
        ReviewerKind::Agent => SeatKind::Agent,
        ReviewerKind::Human => SeatKind::Person(Login::new(&reviewer.name)),
    };
    Seat {
        name: reviewer.name.clone(),
        kind,
    }
}

impl From<Decision> for Standing {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approved => Self::Approved,
            Decision::ChangesRequested => Self::ChangesRequested,
        }
    }
}

impl From<ReviewState> for Standing {
    fn from(state: ReviewState) -> Self {
        match state {
            ReviewState::Approved => Self::Approved,
            ReviewState::ChangesRequested => Self::ChangesRequested,
            ReviewState::Commented | ReviewState::Dismissed => Self::Undecided,
        }
    }
}

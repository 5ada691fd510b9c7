//! The state of people's reviews: who of the repository requests changes now. The reviewer's own account, bots, configured
//! agents and texts of machines are no people.

use crate::domain::Login;
use crate::event::Association;
use crate::state::block::{self, Block};

/// The mark of the comments of other review loops, which are no words of people.
const LOOP_MARKER: &str = "<!-- pr-review-loop-marker -->";

/// The judgement of a review on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    /// A draft, or a state that GitHub did not have when this was written.
    Other,
}

impl Judgement {
    #[must_use]
    pub fn parse(state: &str) -> Self {
        match state {
            "APPROVED" => Self::Approved,
            "CHANGES_REQUESTED" => Self::ChangesRequested,
            "COMMENTED" => Self::Commented,
            "DISMISSED" => Self::Dismissed,
            _ => Self::Other,
        }
    }
}

/// A review as GitHub lists it.
#[derive(Debug, Clone, Copy)]
pub struct GivenReview<'a> {
    pub id: u64,
    /// `None` where the account was deleted.
    pub author: Option<&'a Login>,
    pub association: Association,
    pub judgement: Judgement,
    pub body: &'a str,
}

/// The accounts whose words are no words of people: the reviewer's own, and the configured agents.
#[derive(Debug, Clone, Copy)]
pub struct Machines<'a> {
    pub own: &'a Login,
    pub agents: &'a [Login],
}

impl Machines<'_> {
    /// True if a person wrote the text: not an account of a machine, and not a text with the mark or the block of one.
    #[must_use]
    pub fn wrote_none_of(&self, author: &Login, body: &str) -> bool {
        let by_machine = author == self.own || author.is_bot() || self.agents.contains(author);
        !by_machine && !is_marked(body)
    }
}

/// True if a text carries the reviewer's block, or the mark of a review loop.
pub(super) fn is_marked(body: &str) -> bool {
    body.contains(LOOP_MARKER) || block::parse(body) != Block::default()
}

/// A person who requests changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requester {
    pub login: Login,
    pub association: Association,
}

/// The people of the repository who request changes now, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReviewState {
    changes_requested_by: Vec<Requester>,
}

impl ReviewState {
    /// Reads reviews, oldest first. The latest judgement of a person counts; a comment is none.
    #[must_use]
    pub fn read<'a>(
        reviews: impl IntoIterator<Item = GivenReview<'a>>,
        machines: Machines<'_>,
    ) -> Self {
        let mut people: Vec<Requester> = Vec::new();
        for review in reviews {
            let Some(login) = review.author else { continue };
            if !machines.wrote_none_of(login, review.body) {
                continue;
            }
            match review.judgement {
                Judgement::Commented | Judgement::Other => continue,
                Judgement::Approved | Judgement::Dismissed | Judgement::ChangesRequested => {
                    people.retain(|one| one.login != *login);
                }
            }
            if review.judgement == Judgement::ChangesRequested
                && review.association != Association::Other
            {
                people.push(Requester {
                    login: login.clone(),
                    association: review.association,
                });
            }
        }
        people.sort_by_key(|one| one.login.as_str().to_ascii_lowercase());
        Self {
            changes_requested_by: people,
        }
    }

    #[must_use]
    pub fn has_changes_requested(&self) -> bool {
        !self.changes_requested_by.is_empty()
    }

    #[must_use]
    pub fn changes_requested_by(&self) -> &[Requester] {
        &self.changes_requested_by
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The state in which these members request changes.
    pub(in crate::panel) fn requested_by(logins: &[&str]) -> ReviewState {
        let reviews: Vec<(&str, &str, &str, &str)> = logins
            .iter()
            .map(|login| (*login, "MEMBER", "CHANGES_REQUESTED", ""))
            .collect();
        state(&reviews)
    }

    fn state(reviews: &[(&str, &str, &str, &str)]) -> ReviewState {
        let logins: Vec<Login> = reviews.iter().map(|one| Login::new(one.0)).collect();
        let given = reviews.iter().zip(&logins).map(|(one, login)| GivenReview {
            id: 1,
            author: Some(login),
            association: Association::parse(one.1),
            judgement: Judgement::parse(one.2),
            body: one.3,
        });
        let own = Login::new("reviewer");
        let agents = [Login::new("Agent-Smith")];
        let machines = Machines {
            own: &own,
            agents: &agents,
        };
        ReviewState::read(given, machines)
    }

    fn names(reviews: &[(&str, &str, &str, &str)]) -> Vec<String> {
        let state = state(reviews);
        let people = state.changes_requested_by().iter();
        people.map(|one| one.login.to_string()).collect()
    }

    const REQUESTS: &str = "CHANGES_REQUESTED";

    #[test]
    fn a_person_of_the_repository_requests_changes_and_a_stranger_does_not() {
        for association in ["OWNER", "MEMBER", "COLLABORATOR"] {
            assert_eq!(names(&[("ann", association, REQUESTS, "No.")]), ["ann"]);
        }
        for association in ["NONE", "CONTRIBUTOR", "FIRST_TIMER", "MANNEQUIN", ""] {
            let none: [&str; 0] = [];
            assert_eq!(names(&[("ann", association, REQUESTS, "No.")]), none);
        }
    }

    #[test]
    fn the_latest_judgement_of_a_person_counts_and_a_comment_is_none() {
        let none: [&str; 0] = [];
        let first = ("ann", "MEMBER", REQUESTS, "");
        assert_eq!(names(&[first, ("ann", "MEMBER", "COMMENTED", "")]), ["ann"]);
        assert_eq!(names(&[first, ("ann", "MEMBER", "PENDING", "")]), ["ann"]);
        assert_eq!(names(&[first, ("ANN", "MEMBER", "APPROVED", "")]), none);
        assert_eq!(names(&[("ann", "MEMBER", "DISMISSED", "")]), none);
        assert_eq!(names(&[first, ("ann", "MEMBER", "DISMISSED", "")]), none);
        assert_eq!(names(&[("ann", "MEMBER", "APPROVED", ""), first]), ["ann"]);
        let others = [first, ("bob", "OWNER", "APPROVED", "")];
        assert_eq!(names(&others), ["ann"]);
    }

    #[test]
    fn machines_are_no_people_whatever_their_association() {
        let block = "Words.\n\n<!-- rmcoc:1 {\"kind\":\"manifest\"} -->";
        for (login, body) in [
            ("reviewer", ""),
            ("agent-smith", ""),
            ("robot[bot]", ""),
            ("ann", block),
            ("ann", "<!-- pr-review-loop-marker -->\nA report."),
        ] {
            let none: [&str; 0] = [];
            assert_eq!(
                names(&[(login, "MEMBER", REQUESTS, body)]),
                none,
                "{login} {body}"
            );
        }
        // A marked text says nothing about what its account said before, either.
        let marked = ("ann", "MEMBER", "APPROVED", block);
        assert_eq!(names(&[("ann", "MEMBER", REQUESTS, ""), marked]), ["ann"]);
    }
}

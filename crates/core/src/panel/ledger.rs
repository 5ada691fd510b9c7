//! The ledger of reviewers: what each of them raised, and what became of it.

use super::seats::Seat;
use super::votes::{Joined, Verdict, Vote};
use crate::domain::{CommentId, Thread};
use std::collections::BTreeSet;

/// The figures of one reviewer. All of them count findings, each cause once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    pub raised: u32,
    /// Nobody else raised it.
    pub alone: u32,
    /// Another reviewer confirmed it.
    pub confirmed: u32,
    /// Another reviewer refuted it.
    pub refuted: u32,
    /// Posted, contested ones included.
    pub stood: u32,
}

/// The figures of each seat, in the order of the seats.
#[must_use]
pub fn figures(seats: &[Seat], joined: &[Joined], votes: &[Vote]) -> Vec<Figures> {
    let mut figures = vec![Figures::default(); seats.len()];
    for cluster in joined {
        let raised = |seat: usize| cluster.claims.iter().any(|claim| claim.seat == seat);
        let given = |is: fn(&Verdict) -> bool| {
            let mut votes = votes
                .iter()
                .filter(|vote| cluster.claims.contains(&vote.claim));
            votes.any(|vote| !raised(vote.seat) && is(&vote.verdict))
        };
        let row = Figures {
            raised: 1,
            alone: u32::from(cluster.claims.len() == 1),
            confirmed: u32::from(given(|verdict| matches!(verdict, Verdict::Confirm { .. }))),
            refuted: u32::from(given(|verdict| matches!(verdict, Verdict::Refute { .. }))),
            stood: u32::from(cluster.stood()),
        };
        for (seat, figures) in figures.iter_mut().enumerate() {
            if raised(seat) {
                figures.add(row);
            }
        }
    }
    figures
}

/// The number of a reviewer's findings among threads that were conceded, each once.
#[must_use]
pub fn conceded<'a>(reviewer: &str, conceded: impl IntoIterator<Item = &'a Thread>) -> u32 {
    let own = |thread: &&Thread| thread.reviewers.iter().any(|name| name == reviewer);
    let own = conceded.into_iter().filter(own).map(|thread| thread.id);
    let own: BTreeSet<CommentId> = own.collect();
    u32::try_from(own.len()).unwrap_or(u32::MAX)
}

impl Figures {
    /// Adds the figures of the same reviewer for another part of the change.
    pub fn add(&mut self, other: Self) {
        self.raised += other.raised;
        self.alone += other.alone;
        self.confirmed += other.confirmed;
        self.refuted += other.refuted;
        self.stood += other.stood;
    }
}

#[cfg(test)]
mod tests {
    use super::super::claim::fixture::claim;
    use super::super::cluster::group;
    use super::super::seats::fixture::seats;
    use super::super::votes::join;
    use super::*;

    #[test]
    fn each_reviewer_sees_what_became_of_its_findings() {
        let seats = seats(&["a/claude"; 3]);
        let text = "`pages` rounds down, so the last page is lost";
        let claims = [
            claim(0, 1, 10, text).scored(5),
            claim(1, 1, 10, text).scored(4),
            claim(0, 2, 100, "The session never expires").scored(4),
            claim(1, 2, 200, "A password is logged").scored(9),
        ];
        let vote = |claim: usize, verdict| Vote {
            seat: 2,
            claim: claims[claim].id,
            verdict,
        };
        let reason = || "seen".to_owned();
        let refute = || Verdict::Refute {
            reason: reason(),
            quote: "code".into(),
        };
        let votes = [
            vote(0, Verdict::Confirm { reason: reason() }),
            vote(2, refute()),
            vote(3, refute()),
        ];
        let joined = join(&seats, &claims, &group(&claims), &votes);
        let [first, second, third] = figures(&seats, &joined, &votes)[..] else {
            panic!("a row for each seat");
        };
        let expected = Figures {
            raised: 2,
            alone: 1,
            confirmed: 1,
            refuted: 1,
            stood: 1,
        };
        assert_eq!(first, expected);
        let contested = Figures {
            stood: 2,
            ..expected
        };
        assert_eq!(second, contested, "what is contested is posted");
        assert_eq!(third, Figures::default());
    }

    #[test]
    fn a_concession_counts_for_everybody_who_raised_the_finding() {
        let thread = |id, reviewers: &[&str]| Thread {
            id: CommentId(id),
            reviewers: reviewers.iter().map(|&name| name.to_owned()).collect(),
            ..crate::domain::fixture::thread()
        };
        let threads = [
            thread(1, &["general", "security"]),
            thread(2, &["security"]),
            thread(2, &["security"]),
        ];
        assert_eq!(conceded("general", &threads), 1);
        assert_eq!(conceded("security", &threads), 2);
        assert_eq!(conceded("product", &threads), 0);
    }
}

//! The reviewer's own judgements on a pull request: approvals and requests for changes, told from other reviews of the same
//! account by their block. Every workflow of a repository may have the same account.

use super::review_state::{GivenReview, Judgement};
use crate::domain::{CommitSha, Login, ReviewDecision, ReviewEvent};
use crate::state::block::{self, Kind};

/// A review in which the reviewer judged a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnReview {
    pub id: u64,
    /// The head that it was about. GitHub may move the commit of a review; the block stays.
    pub head: String,
    /// The merge base, if the block names it: the same head against another branch is another diff.
    pub merge_base: Option<String>,
    /// The event that was decided, whatever GitHub made of it.
    pub event: ReviewEvent,
    pub judgement: Judgement,
    /// The reviewer with a name of its own that the block names.
    pub reviewer: Option<String>,
    /// Its decision, and whom it called.
    pub decision: Option<ReviewDecision>,
    pub escalations: Vec<String>,
}

impl OwnReview {
    pub(super) fn is_about(&self, diff: Diff<'_>) -> bool {
        let bases = self.merge_base.as_deref().zip(diff.merge_base);
        self.head == diff.head.as_str() && bases.is_none_or(|(one, now)| one == now.as_str())
    }
}

/// The diff that a judgement is about.
#[derive(Debug, Clone, Copy)]
pub struct Diff<'a> {
    pub head: &'a CommitSha,
    /// `None` where nobody has looked it up.
    pub merge_base: Option<&'a CommitSha>,
}

/// The judgements of the reviewer, oldest first.
///
/// A signature is not asked for: a review that only looks like one of the reviewer's is dismissed or respected like one, which
/// clears nothing. A person who can edit it could dismiss it, too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnReviews(Vec<OwnReview>);

impl OwnReviews {
    #[must_use]
    pub fn read<'a>(reviews: impl IntoIterator<Item = GivenReview<'a>>, own: &Login) -> Self {
        let ours = reviews.into_iter().filter_map(|review| {
            let hidden = block::parse(review.body).hidden?;
            let by_us = review.author == Some(own) && hidden.kind == Kind::Manifest;
            let decision = hidden.decision.as_deref().and_then(ReviewDecision::parse);
            let event = match &hidden.event {
                Some(event) => ReviewEvent::parse(event)?,
                // A decision may be stated in a review that only comments.
                None => decision.map(|_| ReviewEvent::Comment)?,
            };
            Some(OwnReview {
                id: review.id,
                head: hidden.head?,
                merge_base: hidden.merge_base,
                event,
                judgement: review.judgement,
                reviewer: hidden.reviewer,
                decision,
                escalations: hidden.escalations,
            })
            .filter(|_| by_us)
        });
        Self(ours.collect())
    }

    /// Those of one reviewer, where several with names of their own share the account, after the approvals of others: an approval is
    /// the account's and ends when one of them does not hold it up. A request for changes is its reviewer's alone.
    #[must_use]
    pub fn of_reviewer(&self, name: &str) -> Self {
        let is_own = |one: &&OwnReview| one.reviewer.as_deref().is_none_or(|own| own == name);
        let (own, others): (Vec<&OwnReview>, Vec<&OwnReview>) = self.0.iter().partition(is_own);
        let approvals = others.into_iter();
        let approvals = approvals.filter(|one| one.judgement == Judgement::Approved);
        Self(approvals.chain(own).cloned().collect())
    }

    /// True if the last of them about the diff states this decision and these calls, and nobody dismissed it.
    #[must_use]
    pub(super) fn states(
        &self,
        decision: ReviewDecision,
        escalations: &[String],
        diff: Diff<'_>,
    ) -> bool {
        let mut about = self.0.iter().rev().filter(|one| one.is_about(diff));
        about.next().is_some_and(|one| {
            let says = one.decision == Some(decision) && one.escalations == escalations;
            says && one.judgement != Judgement::Dismissed
        })
    }

    /// True if one of them is about this head.
    #[must_use]
    pub fn any_of(&self, head: &CommitSha) -> bool {
        self.0.iter().any(|one| one.head == head.as_str())
    }

    /// Those that are not about this head.
    #[must_use]
    pub fn without(&self, head: &CommitSha) -> Self {
        let others = self.0.iter().filter(|one| one.head != head.as_str());
        Self(others.cloned().collect())
    }

    /// The approvals that count on GitHub.
    pub fn approvals(&self) -> impl Iterator<Item = &OwnReview> {
        self.0
            .iter()
            .filter(|one| one.judgement == Judgement::Approved)
    }

    /// Approvals of other diffs than this one.
    pub fn stale_approvals(&self, diff: Diff<'_>) -> impl Iterator<Item = &OwnReview> {
        self.approvals().filter(move |one| !one.is_about(diff))
    }

    /// The requests for changes that count on GitHub.
    pub fn requests(&self) -> impl Iterator<Item = &OwnReview> {
        self.0
            .iter()
            .filter(|one| one.judgement == Judgement::ChangesRequested)
    }

    /// The judgement that GitHub shows for the account, if the reviews of these ids are dismissed.
    #[must_use]
    pub fn shown(&self, dismissed: &[u64]) -> Option<&OwnReview> {
        let judged = |one: &&OwnReview| {
            let judges = matches!(
                one.judgement,
                Judgement::Approved | Judgement::ChangesRequested
            );
            judges && !dismissed.contains(&one.id)
        };
        self.0.iter().rev().find(judged)
    }

    /// True if this event was tried on the diff before, and is not to be tried again: GitHub refused it, or somebody dismissed
    /// it while the verdict was the same (`unchanged`).
    #[must_use]
    pub fn was_tried(&self, event: ReviewEvent, diff: Diff<'_>, unchanged: bool) -> bool {
        let mut tried = self
            .0
            .iter()
            .filter(|one| one.event == event && one.is_about(diff));
        tried.any(|one| match one.judgement {
            Judgement::Commented => true,
            Judgement::Dismissed => unchanged,
            Judgement::Approved | Judgement::ChangesRequested | Judgement::Other => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Association;

    fn head(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn body(event: &str, head: &CommitSha) -> String {
        format!(
            "Words.\n\n<!-- rmcoc:1 {{\"kind\":\"manifest\",\"head\":\"{head}\",\"event\":\"{event}\"}} -->"
        )
    }

    fn read(reviews: &[(&str, &str, &str)]) -> OwnReviews {
        let logins: Vec<Login> = reviews.iter().map(|one| Login::new(one.0)).collect();
        let given = (1..).zip(reviews).zip(&logins);
        let given = given.map(|((id, (_, state, body)), login)| GivenReview {
            id,
            author: Some(login),
            association: Association::Other,
            judgement: Judgement::parse(state),
            body,
        });
        OwnReviews::read(given, &Login::new("bot[bot]"))
    }

    fn on(head: &CommitSha) -> Diff<'_> {
        Diff {
            head,
            merge_base: None,
        }
    }

    fn ids<'a>(reviews: impl Iterator<Item = &'a OwnReview>) -> Vec<u64> {
        reviews.map(|one| one.id).collect()
    }

    #[test]
    fn other_reviews_of_the_account_and_copies_by_others_are_not_the_reviewer_s() {
        let (a, b) = (head('a'), head('b'));
        let (old, new) = (body("approve", &a), body("approve", &b));
        let own = read(&[
            ("bot[bot]", "APPROVED", "Another workflow approves."),
            ("bot[bot]", "APPROVED", &old),
            ("dev", "APPROVED", &old),
            ("bot[bot]", "APPROVED", &new),
        ]);
        assert_eq!(ids(own.approvals()), [2, 4]);
        assert_eq!(ids(own.stale_approvals(on(&b))), [2]);
    }

    #[test]
    fn of_other_reviewers_of_the_account_approvals_count_and_requests_are_theirs() {
        let b = head('b');
        let by = |reviewer: &str, event: &str| {
            format!(
                "<!-- rmcoc:1 {{\"kind\":\"manifest\",\"head\":\"{b}\",\"event\":\"{event}\",\"reviewer\":\"{reviewer}\",\"decision\":\"approved\"}} -->"
            )
        };
        let (own, asks, approves) = (
            by("quality", "comment"),
            by("security", "request_changes"),
            by("security", "approve"),
        );
        let account = read(&[
            ("bot[bot]", "COMMENTED", &own),
            ("bot[bot]", "CHANGES_REQUESTED", &asks),
            ("bot[bot]", "APPROVED", &approves),
        ]);
        let quality = account.of_reviewer("quality");
        assert_eq!(ids(quality.requests()), Vec::<u64>::new());
        assert_eq!(ids(quality.approvals()), [3]);
        // Its own statement is still its last one.
        assert!(quality.states(ReviewDecision::Approved, &[], on(&b)));
        assert_eq!(ids(account.of_reviewer("security").requests()), [2]);
    }

    #[test]
    fn the_judgements_of_a_later_run_can_be_left_out() {
        let (a, b) = (head('a'), head('b'));
        let (old, new) = (body("request_changes", &a), body("approve", &b));
        let own = read(&[
            ("bot[bot]", "CHANGES_REQUESTED", &old),
            ("bot[bot]", "APPROVED", &new),
        ]);
        assert!(own.any_of(&b) && !own.any_of(&head('c')));
        let before = own.without(&b);
        assert_eq!(ids(before.approvals()), [0; 0]);
        assert_eq!(ids(before.requests()), [1]);
    }

    #[test]
    fn an_approval_against_another_branch_is_stale() {
        let (a, b, c) = (head('a'), head('b'), head('c'));
        let named = format!("\"merge_base\":\"{b}\",\"event\"");
        let body = body("approve", &a).replace("\"event\"", &named);
        let own = read(&[("bot[bot]", "APPROVED", &body)]);
        let against = |merge_base| Diff {
            head: &a,
            merge_base,
        };
        let none: [u64; 0] = [];
        assert_eq!(ids(own.stale_approvals(against(Some(&b)))), none);
        assert_eq!(ids(own.stale_approvals(against(Some(&c)))), [1]);
        assert_eq!(ids(own.stale_approvals(against(None))), none);
    }

    #[test]
    fn the_last_judgement_that_is_not_dismissed_is_shown() {
        let a = head('a');
        let (yes, no) = (body("approve", &a), body("request_changes", &a));
        let own = read(&[
            ("bot[bot]", "APPROVED", &yes),
            ("bot[bot]", "CHANGES_REQUESTED", &no),
            ("bot[bot]", "COMMENTED", &no),
        ]);
        let shown = |dismissed: &[u64]| own.shown(dismissed).map(|one| one.judgement);
        assert_eq!(shown(&[]), Some(Judgement::ChangesRequested));
        assert_eq!(shown(&[2]), Some(Judgement::Approved));
        assert_eq!(shown(&[1, 2]), None);
    }

    #[test]
    fn what_was_refused_is_not_tried_again_on_the_head_and_a_person_s_dismissal_is_respected() {
        let (a, b) = (head('a'), head('b'));
        let (yes, no) = (body("approve", &a), body("request_changes", &a));
        let own = read(&[
            ("bot[bot]", "COMMENTED", &yes),
            ("bot[bot]", "DISMISSED", &no),
        ]);
        for unchanged in [true, false] {
            assert!(own.was_tried(ReviewEvent::Approve, on(&a), unchanged));
            assert!(!own.was_tried(ReviewEvent::Approve, on(&b), unchanged));
        }
        assert!(own.was_tried(ReviewEvent::RequestChanges, on(&a), true));
        assert!(!own.was_tried(ReviewEvent::RequestChanges, on(&a), false));
    }
}

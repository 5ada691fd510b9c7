//! The decision under `review_event: decide`: which event a review has, and what becomes of the reviewer's earlier judgements.

use super::consensus::Consensus;
use super::own_reviews::OwnReviews;
use super::review_state::Judgement;
use crate::domain::{CommitSha, ReviewEvent, Verdict};

/// The facts that a decision rests on.
#[derive(Debug, Clone, Copy)]
pub struct Grounds {
    pub verdict: Verdict,
    /// `None` where the review is not complete.
    pub consensus: Option<Consensus>,
    /// True if every pass looked at the change. A person's `accept`, or a change of which nothing had to be shown, turns the
    /// check green without it.
    pub reviewed: bool,
    /// True if the reviewer's own account opened the pull request: GitHub takes no judgement then.
    pub own_pull_request: bool,
}

impl Grounds {
    /// The event of this run's review.
    #[must_use]
    pub fn event(&self) -> ReviewEvent {
        match self.verdict {
            _ if self.own_pull_request => ReviewEvent::Comment,
            Verdict::Blocking => ReviewEvent::RequestChanges,
            Verdict::Clean if self.reviewed && self.consensus == Some(Consensus::Approve) => {
                ReviewEvent::Approve
            }
            Verdict::Clean
            | Verdict::Findings
            | Verdict::Incomplete
            | Verdict::Skipped
            | Verdict::Error => ReviewEvent::Comment,
        }
    }

    /// True if nothing blocks, so that the reviewer's request for changes is dismissed.
    #[must_use]
    pub fn nothing_blocks(&self) -> bool {
        matches!(self.verdict, Verdict::Clean | Verdict::Findings)
    }

    /// The approvals that this run does not renew. One of the same head stays while the verdict is clean.
    #[must_use]
    pub fn outdated_approvals(&self, own: &OwnReviews, head: &CommitSha) -> Vec<u64> {
        let stays = self.verdict == Verdict::Clean;
        let ids = |one: &super::own_reviews::OwnReview| one.id;
        if stays {
            own.stale_approvals(head).map(ids).collect()
        } else {
            own.approvals().map(ids).collect()
        }
    }
}

/// The review that is posted by itself, without findings, after earlier judgements were dismissed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    Nothing,
    Post(ReviewEvent),
    /// Requests changes in place of an approval that GitHub does not let be dismissed.
    ReplaceApproval,
}

/// The circumstances in which a review is posted by itself.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub own: &'a OwnReviews,
    pub head: &'a CommitSha,
    /// The reviews that this run dismissed.
    pub dismissed: &'a [u64],
    /// True if an approval that this run does not renew could not be dismissed.
    pub approval_remains: bool,
    /// True if the run before on this head had the same verdict.
    pub unchanged: bool,
}

impl Circumstances<'_> {
    /// Decides about the review without findings. Nothing that GitHub shows already is posted again.
    #[must_use]
    pub fn alone(&self, event: ReviewEvent) -> Alone {
        let shown = self.own.shown(self.dismissed);
        let is_shown = match event {
            ReviewEvent::Comment => true,
            ReviewEvent::Approve => {
                let here =
                    self.own.approvals().count() > self.own.stale_approvals(self.head).count();
                shown == Some(Judgement::Approved) && here
            }
            ReviewEvent::RequestChanges => shown == Some(Judgement::ChangesRequested),
        };
        if self.approval_remains && event != ReviewEvent::Approve {
            return match shown {
                Some(Judgement::ChangesRequested) => Alone::Nothing,
                _ => Alone::ReplaceApproval,
            };
        }
        if is_shown || self.own.was_tried(event, self.head, self.unchanged) {
            return Alone::Nothing;
        }
        Alone::Post(event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::review_state::GivenReview;
    use super::*;
    use crate::domain::Login;
    use crate::event::Association;

    const CLEAN: Grounds = Grounds {
        verdict: Verdict::Clean,
        consensus: Some(Consensus::Approve),
        reviewed: true,
        own_pull_request: false,
    };

    #[test]
    fn the_table_of_events() {
        let changes = Some(Consensus::RequestChanges);
        let rows = [
            (CLEAN, ReviewEvent::Approve),
            // Rule 0: the person's own review blocks.
            (
                Grounds {
                    consensus: changes,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    reviewed: false,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    own_pull_request: true,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    verdict: Verdict::Findings,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    verdict: Verdict::Incomplete,
                    consensus: None,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    verdict: Verdict::Blocking,
                    consensus: changes,
                    ..CLEAN
                },
                ReviewEvent::RequestChanges,
            ),
            (
                Grounds {
                    verdict: Verdict::Blocking,
                    own_pull_request: true,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    verdict: Verdict::Skipped,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
            (
                Grounds {
                    verdict: Verdict::Error,
                    ..CLEAN
                },
                ReviewEvent::Comment,
            ),
        ];
        for (grounds, event) in rows {
            assert_eq!(grounds.event(), event, "{grounds:?}");
        }
    }

    fn head(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    /// Judgements of the reviewer: event, head, and the state that GitHub has.
    fn own(reviews: &[(&str, char, &str)]) -> OwnReviews {
        let login = Login::new("bot[bot]");
        let bodies: Vec<String> = reviews
            .iter()
            .map(|(event, digit, _)| {
                let head = head(*digit);
                format!("<!-- rmcoc:1 {{\"kind\":\"manifest\",\"head\":\"{head}\",\"event\":\"{event}\"}} -->")
            })
            .collect();
        let given = (1..).zip(reviews.iter().zip(&bodies));
        let given = given.map(|(id, ((_, _, state), body))| GivenReview {
            id,
            author: Some(&login),
            association: Association::Other,
            judgement: Judgement::parse(state),
            body,
        });
        OwnReviews::read(given, &login)
    }

    fn alone(
        own: &OwnReviews,
        event: ReviewEvent,
        change: impl FnOnce(&mut Circumstances<'_>),
    ) -> Alone {
        let head = head('b');
        let mut circumstances = Circumstances {
            own,
            head: &head,
            dismissed: &[],
            approval_remains: false,
            unchanged: true,
        };
        change(&mut circumstances);
        circumstances.alone(event)
    }

    #[test]
    fn a_judgement_is_given_once() {
        use ReviewEvent::{Approve, Comment, RequestChanges};
        let none = own(&[]);
        assert_eq!(alone(&none, Approve, |_| {}), Alone::Post(Approve));
        assert_eq!(
            alone(&none, RequestChanges, |_| {}),
            Alone::Post(RequestChanges)
        );
        assert_eq!(alone(&none, Comment, |_| {}), Alone::Nothing);
        let approved = own(&[("approve", 'b', "APPROVED")]);
        assert_eq!(alone(&approved, Approve, |_| {}), Alone::Nothing);
        let requested = own(&[("request_changes", 'a', "CHANGES_REQUESTED")]);
        assert_eq!(alone(&requested, RequestChanges, |_| {}), Alone::Nothing);
        // An approval after a request that this run has dismissed.
        let lifted = |one: &mut Circumstances<'_>| one.dismissed = &[1];
        assert_eq!(alone(&requested, Approve, lifted), Alone::Post(Approve));
    }

    #[test]
    fn a_person_s_dismissal_stands_until_the_verdict_changes() {
        use ReviewEvent::{Approve, RequestChanges};
        for (event, name) in [(Approve, "approve"), (RequestChanges, "request_changes")] {
            let dismissed = own(&[(name, 'b', "DISMISSED")]);
            assert_eq!(alone(&dismissed, event, |_| {}), Alone::Nothing);
            let changed = |one: &mut Circumstances<'_>| one.unchanged = false;
            assert_eq!(alone(&dismissed, event, changed), Alone::Post(event));
            // Of another head it says nothing about this one.
            let other = own(&[(name, 'a', "DISMISSED")]);
            assert_eq!(alone(&other, event, |_| {}), Alone::Post(event));
        }
    }

    #[test]
    fn an_approval_that_remains_is_replaced_unless_this_head_is_approved() {
        use ReviewEvent::{Approve, Comment, RequestChanges};
        let remains = |one: &mut Circumstances<'_>| one.approval_remains = true;
        let stale = own(&[("approve", 'a', "APPROVED")]);
        assert_eq!(alone(&stale, Comment, remains), Alone::ReplaceApproval);
        assert_eq!(
            alone(&stale, RequestChanges, remains),
            Alone::ReplaceApproval
        );
        assert_eq!(alone(&stale, Approve, remains), Alone::Post(Approve));
        let replaced = own(&[
            ("approve", 'a', "APPROVED"),
            ("request_changes", 'b', "CHANGES_REQUESTED"),
        ]);
        assert_eq!(alone(&replaced, Comment, remains), Alone::Nothing);
    }

    #[test]
    fn an_approval_outlives_neither_its_head_nor_its_verdict() {
        let own = own(&[("approve", 'a', "APPROVED"), ("approve", 'b', "APPROVED")]);
        assert_eq!(CLEAN.outdated_approvals(&own, &head('b')), [1]);
        let findings = Grounds {
            verdict: Verdict::Findings,
            ..CLEAN
        };
        assert_eq!(findings.outdated_approvals(&own, &head('b')), [1, 2]);
    }
}

//! The decision under `review_event: decide`: which event a review has, and what becomes of the reviewer's earlier judgements.

use super::consensus::Consensus;
use super::own_reviews::{Diff, OwnReview, OwnReviews};
use super::review_state::Judgement;
use crate::domain::{ReviewDecision, ReviewEvent, Verdict};

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
    /// True if an approval by this account would speak for others, too: several reviewers share it, and not all have approved.
    pub withholds_approval: bool,
}

impl Grounds {
    /// The event of this run's review.
    #[must_use]
    pub fn event(&self) -> ReviewEvent {
        match self.verdict {
            _ if self.own_pull_request => ReviewEvent::Comment,
            Verdict::Blocking => ReviewEvent::RequestChanges,
            Verdict::Clean if self.approves() && !self.withholds_approval => ReviewEvent::Approve,
            Verdict::Clean
            | Verdict::Findings
            | Verdict::Incomplete
            | Verdict::Skipped
            | Verdict::Error => ReviewEvent::Comment,
        }
    }

    fn approves(self) -> bool {
        self.reviewed && self.consensus == Some(Consensus::Approve)
    }

    /// The decision of the reviewer, whatever it can say on GitHub.
    #[must_use]
    pub fn decision(&self) -> ReviewDecision {
        match self.verdict {
            Verdict::Incomplete | Verdict::Skipped | Verdict::Error => ReviewDecision::Incomplete,
            Verdict::Clean | Verdict::Findings | Verdict::Blocking => {
                let free = Self {
                    own_pull_request: false,
                    withholds_approval: false,
                    ..*self
                };
                ReviewDecision::from_event(free.event())
            }
        }
    }

    /// True if nothing blocks, so that the reviewer's request for changes is dismissed.
    #[must_use]
    pub fn nothing_blocks(&self) -> bool {
        matches!(self.verdict, Verdict::Clean | Verdict::Findings)
    }

    /// The approvals that this run does not renew. One of the same diff stays while the verdict is clean.
    #[must_use]
    pub fn outdated_approvals(&self, own: &OwnReviews, diff: Diff<'_>) -> Vec<u64> {
        let stays = self.verdict == Verdict::Clean;
        let ids = |one: &OwnReview| one.id;
        if stays {
            own.stale_approvals(diff).map(ids).collect()
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

/// The circumstances in which earlier judgements are dismissed and a review is posted by itself.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub own: &'a OwnReviews,
    pub diff: Diff<'a>,
    /// The event that this run decided.
    pub event: ReviewEvent,
    /// The approvals that this run does not renew.
    pub outdated: &'a [u64],
    /// The reviews that this run dismissed.
    pub dismissed: &'a [u64],
    /// True if the run before on this head had the same verdict.
    pub unchanged: bool,
    /// The decision that a review of this run has to state, and whom it calls; `None`: its event says it all.
    pub states: Option<(ReviewDecision, &'a [String])>,
}

impl Circumstances<'_> {
    /// The reviewer's requests for changes that are dismissed because nothing blocks. One that stands before an approval that
    /// could not be dismissed stays, unless this run approves.
    #[must_use]
    pub fn requests_to_dismiss(&self, grounds: &Grounds) -> Vec<u64> {
        let may = self.event == ReviewEvent::Approve || !self.approval_remains();
        let requests = self
            .own
            .requests()
            .filter(|_| may && grounds.nothing_blocks());
        requests.map(|one| one.id).collect()
    }

    /// True if an approval that this run does not renew was not dismissed.
    fn approval_remains(&self) -> bool {
        let mut outdated = self.outdated.iter();
        outdated.any(|id| !self.dismissed.contains(id))
    }

    /// Decides about the review without findings. Nothing that GitHub shows already is posted again.
    #[must_use]
    pub fn alone(&self) -> Alone {
        let shown = self.own.shown(self.dismissed);
        let judgement = shown.map(|one| one.judgement);
        let is_shown = match self.event {
            ReviewEvent::Comment => true,
            ReviewEvent::Approve => {
                let here = shown.is_some_and(|one| one.is_about(self.diff));
                here && judgement == Some(Judgement::Approved)
            }
            ReviewEvent::RequestChanges => judgement == Some(Judgement::ChangesRequested),
        };
        if self.event != ReviewEvent::Approve
            && shown.is_some_and(|one| self.outdated.contains(&one.id))
        {
            return Alone::ReplaceApproval;
        }
        if let Some((decision, escalations)) = self.states {
            let is_stated = self.own.states(decision, escalations, self.diff);
            let has_decided = decision != ReviewDecision::Incomplete;
            return if has_decided && !is_stated {
                Alone::Post(self.event)
            } else {
                Alone::Nothing
            };
        }
        if is_shown || self.own.was_tried(self.event, self.diff, self.unchanged) {
            return Alone::Nothing;
        }
        Alone::Post(self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::super::review_state::GivenReview;
    use super::*;
    use crate::domain::{CommitSha, Login};
    use crate::event::Association;

    const CLEAN: Grounds = Grounds {
        verdict: Verdict::Clean,
        consensus: Some(Consensus::Approve),
        reviewed: true,
        own_pull_request: false,
        withholds_approval: false,
    };

    #[test]
    fn the_verdict_chooses_the_event() {
        let events = [
            (Verdict::Clean, ReviewEvent::Approve),
            (Verdict::Blocking, ReviewEvent::RequestChanges),
            (Verdict::Findings, ReviewEvent::Comment),
            (Verdict::Incomplete, ReviewEvent::Comment),
            (Verdict::Skipped, ReviewEvent::Comment),
            (Verdict::Error, ReviewEvent::Comment),
        ];
        for (verdict, event) in events {
            let grounds = Grounds { verdict, ..CLEAN };
            assert_eq!(grounds.event(), event, "{verdict}");
            let own_pull_request = true;
            let own = Grounds {
                own_pull_request,
                ..grounds
            };
            assert_eq!(own.event(), ReviewEvent::Comment, "{verdict}");
        }
    }

    #[test]
    fn a_clean_change_is_approved_only_by_consensus_and_after_a_review() {
        for consensus in [
            None,
            Some(Consensus::RequestChanges),
            Some(Consensus::NeedsMajorWork),
        ] {
            let grounds = Grounds { consensus, ..CLEAN };
            assert_eq!(grounds.event(), ReviewEvent::Comment);
        }
        let accepted = Grounds {
            reviewed: false,
            ..CLEAN
        };
        assert_eq!(accepted.event(), ReviewEvent::Comment);
    }

    #[test]
    fn an_account_that_may_not_judge_changes_the_event_and_not_the_decision() {
        use ReviewDecision::{Approved, ChangesRequested, Commented, Incomplete};
        let decisions = [
            (Verdict::Clean, Approved),
            (Verdict::Blocking, ChangesRequested),
            (Verdict::Findings, Commented),
            (Verdict::Incomplete, Incomplete),
            (Verdict::Error, Incomplete),
        ];
        for (verdict, decision) in decisions {
            for (own_pull_request, withholds_approval) in
                [(false, false), (true, false), (false, true)]
            {
                let grounds = Grounds {
                    verdict,
                    own_pull_request,
                    withholds_approval,
                    ..CLEAN
                };
                assert_eq!(grounds.decision(), decision, "{verdict}");
                let event = match decision {
                    ChangesRequested if !own_pull_request => ReviewEvent::RequestChanges,
                    Approved if !own_pull_request && !withholds_approval => ReviewEvent::Approve,
                    _ => ReviewEvent::Comment,
                };
                assert_eq!(grounds.event(), event, "{verdict}");
            }
        }
    }

    #[test]
    fn a_decision_is_stated_once_for_each_head_whatever_its_event_is() {
        use ReviewDecision::{Approved, Commented, Incomplete};
        let called = ["security".to_owned()];
        let said = |decision: &str, digit: char| {
            let (login, head) = (Login::new("bot[bot]"), head(digit));
            let body = format!(
                "<!-- rmcoc:1 {{\"kind\":\"manifest\",\"reviewer\":\"quality\",\"head\":\"{head}\",\"decision\":\"{decision}\",\"escalations\":[\"security\"]}} -->"
            );
            let given = GivenReview {
                id: 1,
                author: Some(&login),
                association: Association::Other,
                judgement: Judgement::Commented,
                body: &body,
            };
            OwnReviews::read([given], &login)
        };
        let on_b = head('b');
        let alone = |own: &OwnReviews, decision, called: &[String]| {
            let circumstances = Circumstances {
                own,
                diff: on(&on_b),
                event: ReviewEvent::Comment,
                outdated: &[],
                dismissed: &[],
                unchanged: true,
                states: Some((decision, called)),
            };
            circumstances.alone()
        };
        let post = Alone::Post(ReviewEvent::Comment);
        let none = own(&[]);
        assert_eq!(alone(&none, Commented, &[]), post);
        assert_eq!(alone(&none, Incomplete, &[]), Alone::Nothing);
        let here = said("approved", 'b');
        assert_eq!(alone(&here, Approved, &called), Alone::Nothing);
        assert_eq!(alone(&here, Approved, &[]), post);
        assert_eq!(alone(&here, Commented, &called), post);
        assert_eq!(alone(&said("approved", 'a'), Approved, &called), post);
        assert_eq!(
            alone(&here.of_reviewer("security"), Approved, &called),
            post
        );
        assert_eq!(
            alone(&here.of_reviewer("quality"), Approved, &called),
            Alone::Nothing
        );
    }

    fn head(digit: char) -> CommitSha {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn on(head: &CommitSha) -> Diff<'_> {
        Diff {
            head,
            merge_base: None,
        }
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

    /// The decision of a run on the head `b`.
    fn alone(
        own: &OwnReviews,
        event: ReviewEvent,
        change: impl FnOnce(&mut Circumstances<'_>),
    ) -> Alone {
        let head = head('b');
        let mut circumstances = Circumstances {
            own,
            diff: on(&head),
            event,
            outdated: &[],
            dismissed: &[],
            unchanged: true,
            states: None,
        };
        change(&mut circumstances);
        circumstances.alone()
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
        let remains = |one: &mut Circumstances<'_>| one.outdated = &[1];
        let stale = own(&[("approve", 'a', "APPROVED")]);
        for event in [Comment, RequestChanges] {
            assert_eq!(alone(&stale, event, remains), Alone::ReplaceApproval);
        }
        assert_eq!(alone(&stale, Approve, remains), Alone::Post(Approve));
        let replaced = own(&[
            ("approve", 'a', "APPROVED"),
            ("request_changes", 'b', "CHANGES_REQUESTED"),
        ]);
        assert_eq!(alone(&replaced, Comment, remains), Alone::Nothing);
        // An approval of this head stands before it: a person who requests changes later does not undo that.
        let renewed = own(&[("approve", 'a', "APPROVED"), ("approve", 'b', "APPROVED")]);
        assert_eq!(alone(&renewed, Comment, remains), Alone::Nothing);
    }

    #[test]
    fn a_request_is_dismissed_when_nothing_blocks_and_no_old_approval_would_show() {
        let own = own(&[
            ("approve", 'a', "APPROVED"),
            ("request_changes", 'b', "CHANGES_REQUESTED"),
        ]);
        let findings = Grounds {
            verdict: Verdict::Findings,
            ..CLEAN
        };
        let blocking = Grounds {
            verdict: Verdict::Blocking,
            ..CLEAN
        };
        let lifted = |grounds: &Grounds, event, dismissed: &[u64]| {
            let head = head('b');
            let circumstances = Circumstances {
                own: &own,
                diff: on(&head),
                event,
                outdated: &[1],
                dismissed,
                unchanged: true,
                states: None,
            };
            circumstances.requests_to_dismiss(grounds)
        };
        let none: [u64; 0] = [];
        assert_eq!(lifted(&findings, ReviewEvent::Comment, &[1]), [2]);
        assert_eq!(lifted(&findings, ReviewEvent::Comment, &[]), none);
        assert_eq!(lifted(&CLEAN, ReviewEvent::Approve, &[]), [2]);
        assert_eq!(lifted(&blocking, ReviewEvent::RequestChanges, &[1]), none);
    }

    #[test]
    fn an_approval_outlives_neither_its_head_nor_its_verdict() {
        let own = own(&[("approve", 'a', "APPROVED"), ("approve", 'b', "APPROVED")]);
        assert_eq!(CLEAN.outdated_approvals(&own, on(&head('b'))), [1]);
        let findings = Grounds {
            verdict: Verdict::Findings,
            ..CLEAN
        };
        assert_eq!(findings.outdated_approvals(&own, on(&head('b'))), [1, 2]);
    }
}

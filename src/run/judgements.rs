//! `review_event: decide`, carried out: approvals, requests for changes and their dismissals. `panel::decision` decides; where
//! reviews only comment, nothing here makes a request.

mod consensus;
mod dismissals;
mod last_look;
mod posting;

use super::check_run::CheckRun;
use super::outcome::Outcome;
use crate::gather::Facts;
use crate::host::Job;
use consensus::{analysis, enter_consensus, ruling};
use dismissals::Tried;
use last_look::{allowed, later_judgement};
use posting::{alone, post};
use reviewer_core::config::ReviewMode;
use reviewer_core::domain::{Login, ReviewDecision, ReviewEvent, Tally, Verdict};
use reviewer_core::panel::analysis::Analysis;
use reviewer_core::panel::consensus::Ruling;
use reviewer_core::panel::decision::{Alone, Circumstances, Grounds};
use reviewer_core::panel::own_reviews::{Diff, OwnReviews};
use reviewer_core::panel::review_state::{GivenReview, Judgement};
use reviewer_core::publish::comment::Stated;
use reviewer_core::publish::comment::judgement::{self, Judged};
use reviewer_github::{PullRequest, PullState, Review};
use std::sync::Mutex;

/// The dismissals of a run so far. Shared, because a run dismisses at its start, before its findings, and at its end.
#[derive(Default)]
pub(crate) struct Judgements {
    tried: Mutex<Tried>,
}

impl Judgements {
    /// Dismisses the reviewer's approvals of other diffs, before this one is reviewed: nobody has looked at it yet.
    pub(crate) async fn withdraw_stale(&self, job: &Job<'_>, facts: &Facts) {
        if decides(job) {
            let own = own_reviews(job, &facts.reviews, &facts.viewer);
            self.withdraw(job, diff(facts), &own).await;
        }
    }

    /// Withdraws the approvals of other heads on a pull request that is not reviewed now: too large, a draft, with the skip
    /// label, or because the run failed.
    pub(crate) async fn leave_alone(&self, job: &Job<'_>, pull: &PullRequest) {
        if !decides(job) || pull.state != PullState::Open {
            return;
        }
        let read = tokio::try_join!(job.github.viewer(), job.github.reviews(&job.pr));
        match read {
            Ok((viewer, reviews)) => {
                let own = own_reviews(job, &reviews, &viewer);
                let diff = Diff {
                    head: &pull.head_sha,
                    merge_base: None,
                };
                self.withdraw(job, diff, &own).await;
                self.replace_stale(job, pull, &viewer).await;
            }
            Err(error) => {
                let why = judgement::approvals_unread(&error.to_string());
                job.host.setup.actions.warning(&why);
            }
        }
    }

    /// The same after a run that failed, of the head that the pull request has now.
    pub(crate) async fn after_failure(&self, job: &Job<'_>) {
        if decides(job)
            && let Ok(pull) = job.github.pull_request(&job.pr).await
        {
            self.leave_alone(job, &pull).await;
        }
    }

    async fn withdraw(&self, job: &Job<'_>, diff: Diff<'_>, own: &OwnReviews) {
        let stale: Vec<u64> = own.stale_approvals(diff).map(|one| one.id).collect();
        let message = judgement::no_longer_approved(diff.head);
        self.dismiss(job, &stale, &message).await;
    }

    /// Requests changes in place of an approval of another head, where GitHub did not let it be dismissed and the run ends without
    /// a review.
    pub(crate) async fn replace_stale(&self, job: &Job<'_>, pull: &PullRequest, viewer: &Login) {
        let Some((_, why)) = self.tried().kept.first().cloned() else {
            return;
        };
        let actions = &job.host.setup.actions;
        let Ok(reviews) = job.github.reviews(&job.pr).await else {
            return actions.warning(&judgement::approval_stays(&why));
        };
        let own = own_reviews(job, &reviews, viewer);
        let shown = own.shown(&self.dismissed());
        if !shown.is_some_and(|one| self.is_kept(one.id)) {
            return;
        }
        if post(job, pull, &REPLACING, &Tally::default(), None)
            .await
            .is_err()
        {
            actions.warning(&judgement::approval_stays(&why));
        }
    }

    /// Decides the event of the review that posts findings. An approval ends with it, or is replaced by it.
    pub(crate) async fn of_findings<'a>(
        &self,
        job: &'a Job<'_>,
        facts: &Facts,
        verdict: Verdict,
        escalations: &'a [String],
    ) -> Judged<'a> {
        if !decides(job) {
            return Judged::COMMENT;
        }
        let head = &facts.pull.head_sha;
        let own = own_reviews(job, &facts.reviews, &facts.viewer);
        let grounds = Grounds {
            verdict,
            consensus: None,
            reviewed: false,
            own_pull_request: is_own(facts),
            withholds_approval: withholds_approval(job, escalations),
        };
        let stated = stated(job, grounds.decision(), escalations);
        let outdated = grounds.outdated_approvals(&own, diff(facts));
        let message = judgement::no_longer_approved(head);
        self.dismiss(job, &outdated, &message).await;
        let shown = own.shown(&self.dismissed());
        if shown.is_some_and(|one| outdated.contains(&one.id)) {
            return Judged {
                stated,
                ..REPLACING
            };
        }
        Judged {
            stated,
            ..Judged::new(grounds.event())
        }
    }

    /// Ends a run that reached a verdict: dismisses what does not hold any more, judges the head if the run posted no review, and
    /// enters the consensus in the report.
    pub(crate) async fn settle(
        &self,
        job: &Job<'_>,
        facts: &Facts,
        check: &CheckRun,
        outcome: &mut Outcome,
    ) {
        if !decides(job) {
            if job.host.weighs_conversations() {
                let analysis = analysis(job, facts);
                let ruling = ruling(job, facts, &facts.reviews, &analysis, outcome);
                let posted = outcome.posted;
                enter_consensus(job, outcome, &analysis, &ruling, posted);
            }
            return;
        }
        let (reviews, unread) = match job.github.reviews(&job.pr).await {
            Ok(reviews) => (reviews, None),
            Err(error) => (facts.reviews.clone(), Some(error.to_string())),
        };
        let analysis = analysis(job, facts);
        let ruling = ruling(job, facts, &reviews, &analysis, outcome);
        let grounds = grounds(job, facts, outcome, &ruling);
        let (posted, decision) = if let Some(why) = unread {
            let why = judgement::judgement_not_posted(grounds.event(), &why);
            outcome.unstated = outcome.posted.is_none().then(|| why.clone());
            outcome.report.warnings.push(why);
            (outcome.posted, grounds.decision())
        } else {
            let own = own_reviews(job, &reviews, &facts.viewer);
            let judged = (&own, &grounds, &analysis);
            self.judge(job, facts, check, judged, outcome).await
        };
        let otherwise = match decision {
            ReviewDecision::Incomplete => outcome.report.reasons.join(" "),
            _ => outcome.title(),
        };
        let escalations = &outcome.record.escalations;
        outcome
            .report
            .set_decision(decision, escalations, &otherwise);
        enter_consensus(job, outcome, &analysis, &ruling, posted);
    }

    /// Brings the reviewer's judgement on GitHub in line with the grounds. Returns the event of the review that the run posted, and
    /// the decision.
    async fn judge(
        &self,
        job: &Job<'_>,
        facts: &Facts,
        check: &CheckRun,
        (own, grounds, analysis): (&OwnReviews, &Grounds, &Analysis),
        outcome: &mut Outcome,
    ) -> (Option<ReviewEvent>, ReviewDecision) {
        let head = &facts.pull.head_sha;
        let later = later_judgement(job, facts, own).await;
        let before = later.as_ref().map(|later| own.without(later));
        let before = before.as_ref().unwrap_or(own);
        // New findings are open on the later head, too.
        let to_end = if outcome.posted.is_some() {
            own
        } else {
            before
        };
        let outdated = grounds.outdated_approvals(to_end, diff(facts));
        self.dismiss(job, &outdated, &judgement::no_longer_approved(head))
            .await;
        let (event, decision) = allowed(job, facts, check, (grounds, analysis), outcome).await;
        let escalations = outcome.record.escalations.clone();
        let stated = stated(job, decision, &escalations);
        let unchanged = facts.last_verdict() == Some(&outcome.verdict.to_string());
        let dismissed = self.dismissed();
        let mut circumstances = Circumstances {
            own: before,
            diff: diff(facts),
            event,
            outdated: &outdated,
            dismissed: &dismissed,
            unchanged,
            states: stated.map(|stated| (stated.decision, stated.escalations)),
        };
        let requests = circumstances.requests_to_dismiss(grounds);
        self.dismiss(job, &requests, &judgement::nothing_blocks(head))
            .await;
        let dismissed = self.dismissed();
        circumstances.dismissed = &dismissed;
        let judged = match (outcome.posted, circumstances.alone()) {
            (Some(_), _) | (None, Alone::Nothing) => None,
            _ if later.is_some() => None,
            (None, Alone::Post(event)) => Some(Judged {
                merge_base: (event == ReviewEvent::Approve).then_some(&facts.merge_base),
                stated,
                ..Judged::new(event)
            }),
            (None, Alone::ReplaceApproval) => Some(Judged {
                stated,
                ..REPLACING
            }),
        };
        let posted = match judged {
            Some(judged) => alone(job, facts, check, &judged, outcome).await,
            None => outcome.posted,
        };
        let remains = judged.is_some_and(|judged| judged.replaces_approval);
        let kept = (remains, outdated.as_slice(), requests.as_slice());
        self.warn_of_kept(posted, kept, outcome);
        (posted, decision)
    }

    /// Warns of earlier judgements that stay against the run's own, because GitHub did not let them be dismissed.
    fn warn_of_kept(
        &self,
        posted: Option<ReviewEvent>,
        (remains, outdated, requests): (bool, &[u64], &[u64]),
        outcome: &mut Outcome,
    ) {
        if remains
            && posted != Some(ReviewEvent::RequestChanges)
            && let Some(why) = self.why_kept(outdated)
        {
            let warning = judgement::approval_stays(&why);
            outcome.report.warnings.push(warning);
        }
        if posted != Some(ReviewEvent::Approve)
            && let Some(why) = self.why_kept(requests)
        {
            outcome.report.warnings.push(judgement::request_stays(&why));
        }
    }
}

/// The review that takes the place of an approval.
const REPLACING: Judged<'static> = Judged {
    replaces_approval: true,
    ..Judged::new(ReviewEvent::RequestChanges)
};

fn decides(job: &Job<'_>) -> bool {
    job.host.config.review_mode == ReviewMode::Decide
}

fn is_own(facts: &Facts) -> bool {
    facts.pull.author.as_ref() == Some(&facts.viewer)
}

fn diff(facts: &Facts) -> Diff<'_> {
    Diff {
        head: &facts.pull.head_sha,
        merge_base: Some(&facts.merge_base),
    }
}

pub(crate) fn given(review: &Review) -> GivenReview<'_> {
    GivenReview {
        id: review.id,
        author: review.author.as_ref(),
        association: review.association,
        judgement: Judgement::parse(&review.state),
        body: &review.body,
    }
}

fn own_reviews(job: &Job<'_>, reviews: &[Review], viewer: &Login) -> OwnReviews {
    let own = OwnReviews::read(reviews.iter().map(given), viewer);
    match job.persona() {
        Some(persona) => own.of_reviewer(&persona.name),
        None => own,
    }
}

/// True if a service wants no approval of this account on GitHub.
fn withholds_approval(job: &Job<'_>, escalations: &[String]) -> bool {
    let order = job.order();
    order.is_some_and(|order| order.withholds_approval(escalations))
}

/// The decision that a review states, of a reviewer with a name of its own.
fn stated<'a>(
    job: &'a Job<'_>,
    decision: ReviewDecision,
    escalations: &'a [String],
) -> Option<Stated<'a>> {
    job.persona().map(|persona| Stated {
        reviewer: &persona.name,
        decision,
        escalations,
    })
}

fn grounds(job: &Job<'_>, facts: &Facts, outcome: &Outcome, ruling: &Ruling) -> Grounds {
    let complete = outcome.verdict != Verdict::Incomplete;
    let record = &outcome.record;
    Grounds {
        verdict: outcome.verdict,
        consensus: complete.then(|| ruling.consensus()),
        reviewed: record.is_finished() && record.accepted.is_none(),
        own_pull_request: is_own(facts),
        withholds_approval: withholds_approval(job, &record.escalations),
    }
}

//! `review_event: decide`, carried out: approvals, requests for changes and their dismissals. `panel::decision` decides; where
//! reviews only comment, nothing here makes a request.

use super::check_run::CheckRun;
use super::outcome::Outcome;
use crate::gather::{Facts, Memory};
use crate::host::{Failure, Job};
use reviewer_core::config::ReviewMode;
use reviewer_core::domain::{CommitSha, Login, ReviewDecision, ReviewEvent, Tally, Verdict};
use reviewer_core::panel::analysis::Analysis;
use reviewer_core::panel::consensus::{Consensus, Priority, Ruling};
use reviewer_core::panel::decision::{Alone, Circumstances, Grounds};
use reviewer_core::panel::own_reviews::{Diff, OwnReviews};
use reviewer_core::panel::review_state::{GivenReview, Judgement, Machines, ReviewState};
use reviewer_core::publish::comment::Stated;
use reviewer_core::publish::comment::judgement::{self, Judged, NotApproved};
use reviewer_core::report::consensus::ConsensusReport;
use reviewer_core::report::conversations::AnalyzerReport;
use reviewer_core::state::record::Record;
use reviewer_github::{ApiError, NewReview, PullRequest, PullState, Review, ReviewRef};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The dismissals of a run so far. Shared, because a run dismisses at its start, before its findings, and at its end.
#[derive(Default)]
pub(crate) struct Judgements {
    tried: Mutex<Tried>,
}

#[derive(Default)]
struct Tried {
    dismissed: Vec<u64>,
    /// The reviews that GitHub did not let be dismissed, and its reason.
    kept: Vec<(u64, String)>,
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

    /// Dismisses reviews, each tried once in a run.
    async fn dismiss(&self, job: &Job<'_>, reviews: &[u64], message: &str) {
        for id in reviews {
            if self.dismissed().contains(id) || self.is_kept(*id) {
                continue;
            }
            let dismissed = job.github.dismiss_review(&job.pr, *id, message).await;
            let mut tried = self.tried();
            match dismissed {
                Ok(()) => tried.dismissed.push(*id),
                Err(error) => tried.kept.push((*id, error.to_string())),
            }
        }
    }

    fn dismissed(&self) -> Vec<u64> {
        self.tried().dismissed.clone()
    }

    fn is_kept(&self, id: u64) -> bool {
        self.tried().kept.iter().any(|(kept, _)| *kept == id)
    }

    /// GitHub's reason for not letting one of these be dismissed.
    fn why_kept(&self, reviews: &[u64]) -> Option<String> {
        let tried = self.tried();
        let mut kept = tried.kept.iter();
        let kept = kept.find(|(id, _)| reviews.contains(id));
        kept.map(|(_, why)| why.clone())
    }

    fn tried(&self) -> MutexGuard<'_, Tried> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The open conversations of people, as far as this run or an earlier one has weighed them.
fn analysis(job: &Job<'_>, facts: &Facts) -> Analysis {
    let weighed = job.host.session().desk.with(|desk| desk.weighed().to_vec());
    facts.analysis(&weighed.unwrap_or_default())
}

fn enter_consensus(
    job: &Job<'_>,
    outcome: &mut Outcome,
    analysis: &Analysis,
    ruling: &Ruling,
    posted: Option<ReviewEvent>,
) {
    let analyzer = AnalyzerReport::new(job.pr.number, analysis, &ruling.people);
    let (verdict, raised) = (outcome.verdict, outcome.raised);
    let mut report = ConsensusReport::new(ruling, verdict, raised, analyzer, posted);
    if let Some(why) = outcome.record.unfinished_reviewers() {
        report.withhold(why);
    }
    outcome.report.consensus = Some(report);
}

fn ruling(
    job: &Job<'_>,
    facts: &Facts,
    reviews: &[Review],
    analysis: &Analysis,
    outcome: &Outcome,
) -> Ruling {
    let machines = Machines {
        own: &facts.viewer,
        agents: &job.host.config.trusted_bots,
    };
    let people = ReviewState::read(reviews.iter().map(given), machines);
    let standing = outcome.standing.iter().copied().map(Priority::from);
    Ruling::decide(standing, analysis.priorities(), people)
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

/// The head that the pull request has now, if it is another one and a run has judged it: that run knows more.
async fn later_judgement(job: &Job<'_>, facts: &Facts, own: &OwnReviews) -> Option<CommitSha> {
    // Most pull requests have no judgement yet, and nobody has to look.
    let elsewhere = own.without(&facts.pull.head_sha);
    if elsewhere == OwnReviews::default() {
        return None;
    }
    let now = job.github.pull_request(&job.pr).await.ok()?.head_sha;
    elsewhere.any_of(&now).then_some(now)
}

/// The event of the run and its decision, after a last look at what an approval depends on. The report says why a clean change is
/// not approved.
async fn allowed(
    job: &Job<'_>,
    facts: &Facts,
    check: &CheckRun,
    (grounds, analysis): (&Grounds, &Analysis),
    outcome: &mut Outcome,
) -> (ReviewEvent, ReviewDecision) {
    let (event, decision) = (grounds.event(), grounds.decision());
    let agreed = grounds.consensus == Some(Consensus::Approve);
    if grounds.verdict != Verdict::Clean || !agreed {
        return (event, decision);
    }
    let pull = job.github.pull_request(&job.pr).await;
    let conversation = new_conversation(job, facts, analysis).await;
    let unread = pull.as_ref().err().map(ToString::to_string);
    let unread = unread.or_else(|| conversation.as_ref().err().cloned());
    let why = match (&pull, &unread) {
        _ if !grounds.reviewed => NotApproved::NotReviewed,
        (_, Some(why)) => NotApproved::Unknown(why),
        (Ok(now), _) if now.head_sha != facts.pull.head_sha => {
            NotApproved::HeadMoved(&now.head_sha)
        }
        (Ok(now), _) if now.base_ref != facts.pull.base_ref => {
            NotApproved::BaseChanged(&now.base_ref)
        }
        _ if is_held_back(check, job.pr.number).await => NotApproved::HeldBack,
        _ => {
            if let Ok(Some(url)) = &conversation {
                NotApproved::Conversation(url)
            } else {
                let own = grounds.own_pull_request;
                let own = own.then(|| judgement::not_approved(&NotApproved::OwnPullRequest));
                outcome.report.notes.extend(own);
                return (event, decision);
            }
        }
    };
    outcome.report.notes.push(judgement::not_approved(&why));
    (ReviewEvent::Comment, ReviewDecision::Commented)
}

/// The address of a conversation that a person began, or went on with, while the model worked; or why nobody knows.
async fn new_conversation(
    job: &Job<'_>,
    facts: &Facts,
    analysis: &Analysis,
) -> Result<Option<String>, String> {
    let author = facts.pull.author.as_ref();
    let memory = Memory::from_job(job);
    let now = memory.rebuild(author, &facts.reviews, &facts.files).await;
    let people = now.map_err(|Failure(why)| why.join(" "))?.people;
    let new = analysis.new_in(&people, facts.pull.from_fork);
    Ok(new.map(|conversation| conversation.url.clone()))
}

/// True if another pull request of the head keeps its check from being green, or nobody could look.
async fn is_held_back(check: &CheckRun, number: u64) -> bool {
    let company = check.company(Verdict::Clean).await;
    company
        .is_some_and(|(_, company)| company.failed.is_some() || !company.holders(number).is_empty())
}

/// Posts a review without findings, and enters it in the report. Returns its event.
async fn alone(
    job: &Job<'_>,
    facts: &Facts,
    check: &CheckRun,
    judged: &Judged<'_>,
    outcome: &mut Outcome,
) -> Option<ReviewEvent> {
    let record = Record {
        verdict: outcome.verdict.to_string(),
        ..outcome.record.clone()
    };
    let record = (!check.is_open()).then_some(&record);
    let report = &mut outcome.report;
    match post(job, &facts.pull, judged, &outcome.tally, record).await {
        Ok((event, posted, refusal)) => {
            let url = Some(posted.html_url).filter(|url| !url.is_empty());
            report.review_url = report.review_url.take().or(url);
            report.warnings.extend(refusal);
            Some(event)
        }
        Err(error) => {
            let why = judgement::judgement_not_posted(judged.event, &error.to_string());
            report.warnings.push(why.clone());
            outcome.unstated = Some(why);
            None
        }
    }
}

/// Posts a review without findings. Where GitHub refuses the event, it is a comment, and the last part of the answer says so.
async fn post(
    job: &Job<'_>,
    pull: &PullRequest,
    judged: &Judged<'_>,
    tally: &Tally,
    record: Option<&Record>,
) -> Result<(ReviewEvent, ReviewRef, Option<String>), ApiError> {
    let send = async |judged: &Judged<'_>| {
        let record = record.map(|record| serde_json::to_value(record).unwrap_or_default());
        let review = NewReview {
            commit_id: pull.head_sha.clone(),
            body: job.voice(pull).judgement(judged, tally, record),
            event: Some(judged.sent()),
            comments: Vec::new(),
        };
        job.github.create_review(&job.pr, &review).await
    };
    match send(judged).await {
        Err(error) if error.is_refusal() => {
            let why = error.to_string();
            let comment = Judged {
                refused: Some(&why),
                ..*judged
            };
            let posted = send(&comment).await?;
            let warning = judgement::judgement_refused(judged.event, &why);
            Ok((ReviewEvent::Comment, posted, Some(warning)))
        }
        posted => Ok((judged.event, posted?, None)),
    }
}

//! The last look at GitHub before a judgement: whether an approval still holds of what people see now, and whether a run of a later head
//! knows more.

use super::CheckRun;
use crate::gather::{Facts, Memory};
use crate::host::{Failure, Job};
use crate::run::outcome::Outcome;
use reviewer_core::domain::{CommitSha, ReviewDecision, ReviewEvent, Verdict};
use reviewer_core::panel::analysis::Analysis;
use reviewer_core::panel::consensus::Consensus;
use reviewer_core::panel::decision::Grounds;
use reviewer_core::panel::own_reviews::OwnReviews;
use reviewer_core::publish::comment::judgement::{self, NotApproved};

/// The head that the pull request has now, if it is another one and a run has judged it: that run knows more.
pub(super) async fn later_judgement(
    job: &Job<'_>,
    facts: &Facts,
    own: &OwnReviews,
) -> Option<CommitSha> {
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
pub(super) async fn allowed(
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

//! `dismiss`: a person closes a finding of the reviewer, if they may. The model is not asked.

use super::replies;
use crate::gather::{Facts, Memory};
use crate::host::{Failure, Job};
use crate::outbox::Outbox;
use reviewer_core::authority::{Action, Stake, judge};
use reviewer_core::domain::{CommentId, Login, Status, Thread};
use reviewer_core::event::{Command, CommentPlace, EventKind};
use reviewer_core::publish::comment::Figures;
use reviewer_core::publish::comment::requests::NotDismissed;
use reviewer_core::review::desk::{Effect, StagedReply};
use reviewer_core::review::ledger::Stage;
use reviewer_github::ReviewComment;
use std::ops::ControlFlow;

/// The facts after what the event's own comment dismisses is closed, if it dismisses something and a model may be asked. It
/// breaks with a sentence where the run may not write.
pub(crate) async fn as_asked(
    job: &Job<'_>,
    facts: Facts,
) -> Result<ControlFlow<String, Facts>, Failure> {
    let request = job.request().filter(|_| facts.can_ask_model());
    let Some(Command::Dismiss(named)) = request.map(|request| request.command) else {
        return Ok(ControlFlow::Continue(facts));
    };
    if let Some(reason) = replies::may_not_comment(job, &facts.pull).await? {
        return Ok(ControlFlow::Break(reason));
    }
    let closed = dismiss(job, &facts, named).await?;
    Ok(ControlFlow::Continue(match closed {
        Some((thread, warnings)) => facts.with_closed(thread, warnings),
        None => facts,
    }))
}

/// Closes the finding that is meant, or says why not. Threads that are closed already are left alone. Returns what it closed,
/// with warnings.
async fn dismiss(
    job: &Job<'_>,
    facts: &Facts,
    named: Option<CommentId>,
) -> Result<Option<(CommentId, Vec<String>)>, Failure> {
    let EventKind::Mention {
        comment_id,
        on,
        author,
        ..
    } = &job.event.kind
    else {
        return Ok(None);
    };
    let comments = job.github.review_comments(&job.pr).await;
    let comments = comments.map_err(Failure::new)?;
    let asked_in = match on {
        CommentPlace::ReviewComment => root_of(&comments, *comment_id),
        CommentPlace::IssueComment => None,
    };
    let meant = match named {
        Some(named) => root_of(&comments, named),
        None => asked_in,
    };
    let judged = match meant.and_then(|meant| facts.thread(meant)) {
        None => Err(NotDismissed::NoThread),
        Some(thread) if thread.status == Status::Resolved => return Ok(None),
        Some(thread) => match refusal(job, facts, thread, author).await? {
            None => Ok(thread.clone()),
            Some(why) => Err(why),
        },
    };
    match judged {
        Ok(thread) => {
            let by = author.clone();
            let comment = *comment_id;
            let reply = StagedReply {
                thread,
                effect: Effect::Dismissed { by, comment },
                body: String::new(),
                stage: Stage::TurnZero,
            };
            let warnings = close(job, facts, &reply).await?;
            Ok(Some((reply.thread.id, warnings)))
        }
        Err(why) => {
            let text = job.voice(&facts.pull).not_dismissed(&why);
            replies::tell(job, facts, (*comment_id, asked_in), &text).await?;
            Ok(None)
        }
    }
}

/// Returns the reason why this person may not close the thread, if there is one.
async fn refusal(
    job: &Job<'_>,
    facts: &Facts,
    thread: &Thread,
    who: &Login,
) -> Result<Option<NotDismissed>, Failure> {
    let blocking = job.host.config.policy.blocking;
    let blocks = blocking.is_some_and(|blocking| thread.assessment.score >= blocking);
    let escalated = thread.status == Status::Escalated;
    let dismissal = |reviewed| Action::Dismiss(Stake::new(blocks, escalated, reviewed));
    let (memory, author) = (Memory::from_job(job), facts.pull.author.as_ref());
    let person = memory.person(who, author, dismissal(false)).await?;
    if judge(person, dismissal(false)).is_err() {
        return Ok(Some(NotDismissed::NoRight));
    }
    if blocks && !job.keys.can_sign() {
        return Ok(Some(NotDismissed::Unsigned));
    }
    if judge(person, dismissal(true)).is_ok() {
        return Ok(None);
    }
    let people = memory.human_reviewers(author, &facts.reviews).await?;
    let judged = judge(person, dismissal(!people.is_empty()));
    Ok(judged.err().map(|_| NotDismissed::ForOthers(people)))
}

/// Says so in the thread, and closes the conversation where the token may. Returns warnings.
async fn close(job: &Job<'_>, facts: &Facts, reply: &StagedReply) -> Result<Vec<String>, Failure> {
    let outbox = Outbox {
        figures: Figures::default(),
        voice: job.voice(&facts.pull),
        diffs: &[],
        findings: Vec::new(),
        replies: vec![reply],
        open: Vec::new(),
        partial: false,
        record: None,
    };
    let sent = outbox.send_replies(&job.github).await;
    if !sent.failed.is_empty() {
        return Err(Failure(sent.failed));
    }
    Ok(sent.warnings)
}

/// The first comment of the thread that a comment stands in.
fn root_of(comments: &[ReviewComment], id: CommentId) -> Option<CommentId> {
    let comment = comments.iter().find(|comment| comment.id == id)?;
    Some(comment.in_reply_to.unwrap_or(id))
}

//! `dismiss`: a person closes a finding of ours. Who may is decided here, by code; the model is not asked.

use super::reading::Reading;
use super::{Run, Stop, asking};
use crate::domain::{Awaiting, CommentId, Login, Resolution, ReviewEvent, Status, Thread};
use crate::event::{Command, CommentPlace, EventKind};
use crate::github::ReviewComment;
use crate::outbox::Outbox;
use crate::publish::comment::NotDismissed;
use crate::review::desk::{Effect, StagedReply};
use crate::review::ledger::Stage;

/// Whether the event's own comment dismisses something.
pub fn is_asked(run: &Run<'_>) -> bool {
    let request = asking::request(run);
    request.is_some_and(|request| matches!(request.command, Command::Dismiss(_)))
}

/// Closes the finding that is meant, or says why not. Threads that are closed already are left alone.
pub async fn dismiss(
    run: &Run<'_>,
    reading: &mut Reading,
    named: Option<CommentId>,
) -> Result<(), Stop> {
    let EventKind::Mention {
        comment_id,
        on,
        author,
        ..
    } = &run.event.kind
    else {
        return Ok(());
    };
    let comments = run.github.review_comments(&run.pr).await;
    let comments = comments.map_err(Stop::fail)?;
    let asked_in = match on {
        CommentPlace::ReviewComment => root_of(&comments, *comment_id),
        CommentPlace::IssueComment => None,
    };
    let meant = match named {
        Some(named) => root_of(&comments, named),
        None => asked_in,
    };
    let mut threads = reading.threads.iter();
    let found = threads.find(|thread| Some(thread.id) == meant);
    let judged = match found {
        None => Err(NotDismissed::NoThread),
        Some(thread) if thread.status == Status::Resolved => return Ok(()),
        Some(thread) => match refusal(run, reading, thread, author).await? {
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
            close(run, reading, &reply).await
        }
        Err(why) => {
            let text = run.voice(&reading.pull).not_dismissed(&why);
            asking::tell(run, reading, (*comment_id, asked_in), &text).await
        }
    }
}

/// Why this person may not close the thread, if they may not.
async fn refusal(
    run: &Run<'_>,
    reading: &Reading,
    thread: &Thread,
    who: &Login,
) -> Result<Option<NotDismissed>, Stop> {
    let blocking = run.engine.config.policy.blocking;
    let blocks = blocking.is_some_and(|blocking| thread.assessment.score >= blocking);
    let author = reading.pull.author.as_ref();
    let is_author = author == Some(who);
    let memory = run.memory();
    if !(memory.may_write(who).await? || is_author && !blocks) {
        return Ok(Some(NotDismissed::NoRight));
    }
    if !blocks {
        return Ok(None);
    }
    if !run.keys.can_sign() {
        return Ok(Some(NotDismissed::Unsigned));
    }
    if is_author && thread.status == Status::Escalated {
        let people = memory.human_reviewers(author, &reading.reviews).await?;
        return Ok((!people.is_empty()).then_some(NotDismissed::ForOthers(people)));
    }
    Ok(None)
}

/// Says so in the thread, and closes the conversation where the token may.
async fn close(run: &Run<'_>, reading: &mut Reading, reply: &StagedReply) -> Result<(), Stop> {
    let outbox = Outbox {
        voice: run.voice(&reading.pull),
        diffs: &[],
        findings: Vec::new(),
        replies: vec![reply],
        event: ReviewEvent::Comment,
        partial: false,
        record: None,
    };
    let sent = outbox.send(&run.github).await;
    if !sent.failed.is_empty() {
        return Err(Stop::Fail(sent.failed));
    }
    reading.warnings.extend(sent.warnings);
    let mut threads = reading.threads.iter_mut();
    if let Some(thread) = threads.find(|thread| thread.id == reply.thread.id) {
        thread.status = Status::Resolved;
        thread.awaiting = Awaiting::Nobody;
        thread.resolution = Some(Resolution::ByPerson);
    }
    Ok(())
}

/// The first comment of the thread that a comment stands in.
fn root_of(comments: &[ReviewComment], id: CommentId) -> Option<CommentId> {
    let comment = comments.iter().find(|comment| comment.id == id)?;
    Some(comment.in_reply_to.unwrap_or(id))
}

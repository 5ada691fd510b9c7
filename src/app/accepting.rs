//! `accept`: somebody with write access takes it on them that a head is green although not everything was done. It excuses
//! what the check's page lists as not done, and never closes a finding.

use super::asking::Agenda;
use super::check::CheckRun;
use super::finish::{self, Finished};
use super::reading::Reading;
use super::{Run, Stop};
use crate::authority::{Action, judge};
use crate::event::EventKind;
use crate::publish::comment;
use crate::state::record::{Accepted, Record};

/// Concludes the head as its record stands, with the name of the person who accepts it.
pub async fn accept(
    run: &Run<'_>,
    mut reading: Reading,
    agenda: &Agenda,
    check: &CheckRun,
) -> Result<Finished, Stop> {
    let EventKind::Mention {
        comment_id,
        author,
        created_at,
        ..
    } = &run.event.kind
    else {
        return Err(Stop::fail("Only a comment can accept a head."));
    };
    let (memory, opened_by) = (run.memory(), reading.pull.author.as_ref());
    let person = memory.person(author, opened_by, Action::Accept).await?;
    if judge(person, Action::Accept).is_err() {
        let reply = comment::may_not_accept(author);
        return Err(agenda.decline(run, &reading, &reply).await);
    }
    if let Err(reply) = acceptable(&reading, created_at) {
        return Err(agenda.decline(run, &reading, &reply).await);
    }
    check.open(run, &reading).await;
    if check.wait_for_turn(run, &reading.pull.head_sha).await? {
        reading.again(run).await?;
    }
    // The run that was waited for may have concluded something that nobody has seen yet.
    let record = acceptable(&reading, created_at).map_err(Stop::fail)?;
    let accepted = Accepted {
        by: author.to_string(),
        comment: comment_id.0,
    };
    let record = Record {
        accepted: Some(accepted),
        ..record
    };
    let mut finished = finish::recomputed(run, &reading, record);
    let head = reading.pull.head_sha.clone();
    agenda.tell_state(run, &head, &mut finished).await;
    Ok(finished)
}

/// The record of this head, if there is something in it to accept that could be seen when the comment was written; else what
/// to reply.
fn acceptable(reading: &Reading, written_at: &str) -> Result<Record, String> {
    let head = &reading.pull.head_sha;
    let Some(on_head) = &reading.on_head else {
        return Err(comment::nothing_reviewed(head));
    };
    let record = &on_head.record;
    if record.unsent > 0 || reading.carried.is_due() {
        return Err(comment::findings_to_post(head));
    }
    if record.undone().is_empty() {
        return Err(comment::nothing_to_accept(head));
    }
    // Both times are GitHub's, in the same form.
    if on_head
        .concluded_at
        .as_deref()
        .is_some_and(|at| at > written_at)
    {
        return Err(comment::concluded_since(head));
    }
    Ok(record.clone())
}

//! Finds the people who decide where the model and the developer do not agree. Asks GitHub only when somebody may have
//! to.

use super::{Facts, Memory};
use crate::host::{Failure, Job};
use reviewer_core::domain::{Awaiting, Status, Thread};

/// People and teams as they are mentioned; none where no thread can be escalated in this run.
pub(crate) async fn who_decides(
    job: &Job<'_>,
    facts: &Facts,
    to_judge: &[&Thread],
) -> Result<Vec<String>, Failure> {
    let undecided =
        |thread: &&&Thread| thread.status == Status::Disputed && thread.awaiting == Awaiting::Us;
    if to_judge.iter().find(undecided).is_none() {
        return Ok(Vec::new());
    }
    let author = facts.pull.author.as_ref();
    let memory = Memory::from_job(job);
    memory.human_reviewers(author, &facts.reviews).await
}

//! Who decides where the model and the developer do not agree. Asked of GitHub only when somebody may have to.

use super::reading::Reading;
use super::{Run, Stop};
use crate::domain::{Awaiting, Status, Thread};

/// People and teams as they are mentioned; none where no thread can be escalated in this run.
pub async fn who_decides(
    run: &Run<'_>,
    reading: &Reading,
    to_judge: &[&Thread],
) -> Result<Vec<String>, Stop> {
    let undecided =
        |thread: &&&Thread| thread.status == Status::Disputed && thread.awaiting == Awaiting::Us;
    if to_judge.iter().find(undecided).is_none() {
        return Ok(Vec::new());
    }
    let author = reading.pull.author.as_ref();
    let memory = run.memory();
    memory.human_reviewers(author, &reading.reviews).await
}

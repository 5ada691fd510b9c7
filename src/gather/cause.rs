//! Finds out who or what caused a run, and how much of the model it may use: asks GitHub for the facts that the rules
//! need.

use super::memory::Memory;
use crate::host::{Failure, Job};
use reviewer_core::authority::{Action, judge};
use reviewer_core::domain::Login;
use reviewer_core::event::Command;
use reviewer_core::plan::{Cause, Situation, SpendScope};
use reviewer_github::{PullRequest, PullState};
use std::ops::ControlFlow;

/// Decides how much of the model the run may use. It breaks with a sentence where the pull request is to be left alone.
pub(crate) async fn spend_scope(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<ControlFlow<String, SpendScope>, Failure> {
    let config = &job.host.config;
    let situation = Situation {
        kind: &job.event.kind,
        open: pull.state == PullState::Open,
        draft: pull.draft,
        from_fork: pull.from_fork,
        forks: config.fork_reviews,
        labels: &pull.labels,
        skip_label: &config.skip_label,
        skip: &config.skip,
        author: pull.author.as_ref(),
        files: pull.changed_files,
        lines: pull.changed_lines,
        mention: &config.mention,
    };
    if let Some(reason) = situation.skip_reason() {
        return Ok(ControlFlow::Break(reason.to_string()));
    }
    let request = job.request();
    let cause = Cause {
        kind: &job.event.kind,
        dismisses: request.is_some_and(|one| matches!(one.command, Command::Dismiss(_))),
        repo: &job.pr.repo,
        from_fork: pull.from_fork,
        forks: config.fork_reviews,
        mention: &config.mention,
    };
    let speaker = match cause.needs().zip(job.event.speaker()) {
        Some((action, login)) => {
            let (memory, author) = (Memory::from_job(job), pull.author.as_ref());
            Some((login, memory.person(login, author, action).await?))
        }
        None => None,
    };
    Ok(match cause.scope(speaker) {
        Ok(scope) => ControlFlow::Continue(scope),
        Err(reason) => ControlFlow::Break(reason.to_string()),
    })
}

/// True if a comment of this person may start model requests.
pub(crate) async fn may_spend(
    job: &Job<'_>,
    pull: &PullRequest,
    login: &Login,
) -> Result<bool, Failure> {
    let action = Action::Spend {
        from_fork: pull.from_fork,
    };
    let (memory, author) = (Memory::from_job(job), pull.author.as_ref());
    let person = memory.person(login, author, action).await?;
    Ok(judge(person, action).is_ok())
}

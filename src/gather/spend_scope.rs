//! How much of the model a run may use: asks GitHub what the rules of `plan` need to know of the person who caused it.

use super::memory::may_write;
use crate::config::ForkReviews;
use crate::domain::Login;
use crate::event::{Command, EventKind};
use crate::github::{PullRequest, PullState};
use crate::host::{Failure, Job};
use crate::plan::{self, Means, NotNow, Payer, Situation};
use std::ops::ControlFlow;

/// How much of the model the run may use. It breaks with a sentence where the pull request is to be left alone.
pub async fn spend_scope(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<ControlFlow<String, Means>, Failure> {
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
    match situation.not_now() {
        Some(reason) => Ok(ControlFlow::Break(reason.to_string())),
        None => by_cause(job, pull).await,
    }
}

/// Words cost money, so they are heard from people with write access, and from the author of a pull request that does
/// not come from a fork.
pub async fn is_heard(job: &Job<'_>, pull: &PullRequest, login: &Login) -> Result<bool, Failure> {
    if login.is_bot() {
        return Ok(false);
    }
    let own_work = pull.author.as_ref() == Some(login) && !pull.from_fork;
    Ok(own_work || may_write(&job.github, &job.pr.repo, login).await?)
}

async fn by_cause(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<ControlFlow<String, Means>, Failure> {
    let (kind, forks) = (&job.event.kind, job.host.config.fork_reviews);
    let mention = &job.host.config.mention;
    let scope = match plan::payer(kind, pull.from_fork, forks) {
        Payer::Event => Means::Everything,
        Payer::Nobody => Means::Nothing(NotNow::fork(mention)),
        Payer::Person => return by_speaker(job, pull).await,
    };
    Ok(ControlFlow::Continue(scope))
}

async fn by_speaker(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<ControlFlow<String, Means>, Failure> {
    let (kind, forks) = (&job.event.kind, job.host.config.fork_reviews);
    let mention = &job.host.config.mention;
    let Some(speaker) = job.event.speaker() else {
        let nobody = Means::Nothing(NotNow::Unheard(Login::new("ghost")));
        return Ok(ControlFlow::Continue(nobody));
    };
    let request = job.request();
    let dismisses = request.is_some_and(|one| matches!(one.command, Command::Dismiss(_)));
    if is_heard(job, pull, speaker).await? {
        // Who closes a finding of a fork's pull request does not ask for a review.
        let scope = if dismisses && pull.from_fork && forks != ForkReviews::Always {
            Means::Discussion(NotNow::fork(mention))
        } else {
            Means::of_person(kind, pull.from_fork, forks, mention)
        };
        return Ok(ControlFlow::Continue(scope));
    }
    // An author who dismisses is told who can.
    let is_author = pull.author.as_ref() == Some(speaker);
    if matches!(kind, EventKind::Mention { .. }) && !(dismisses && is_author) {
        return Ok(ControlFlow::Break(format!(
            "{speaker} addressed the reviewer without write access to {}; nothing was started.",
            job.pr.repo
        )));
    }
    let unheard = Means::Nothing(NotNow::Unheard(speaker.clone()));
    Ok(ControlFlow::Continue(unheard))
}

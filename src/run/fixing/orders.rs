//! Orders of people about fixing: `fix`, `fix stop`, `fix resume`; and what they took back by a revert.

use super::ground::{Ground, told_in};
use super::{now, post, time};
use crate::gather::{Facts, Memory as Discussion};
use crate::host::{Aim, Failure, Job};
use crate::run::replies;
use reviewer_core::authority::{Action, Person, judge};
use reviewer_core::domain::{CommentId, Login};
use reviewer_core::event::{Command, CommentPlace, EventKind};
use reviewer_core::fix::memory::Memory;
use reviewer_core::fix::preflight::{NotFixed, has_no_fix};
use reviewer_core::fix::report::{FixReport, Order};
use reviewer_core::fix::reverts::Reverts;
use reviewer_core::fix::rounds::FixCommand;
use reviewer_core::publish::comment::fixing;
use reviewer_github::PullState;

/// A person's word about fixing, in the event's own comment.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub by: Login,
    pub person: Person,
    pub comment: CommentId,
    /// Its thread, where it stands in one.
    pub thread: Option<CommentId>,
    command: Option<FixCommand>,
    /// `fix resume`: the signed order is the answer to it.
    pub resumes: bool,
    at: String,
    /// At a shell, by whoever has the token; the number of the comment is that of no comment then.
    pub at_shell: bool,
}

impl Asked {
    /// The order of the event's comment to fix or to resume. Access is not known yet.
    pub(super) fn from_job(job: &Job<'_>) -> Option<Self> {
        let EventKind::Mention {
            comment_id,
            author,
            created_at,
            ..
        } = &job.event.kind
        else {
            return Self::from_shell(job);
        };
        let command = job.request()?.command;
        let resumes = command == Command::FixResume;
        (resumes || command == Command::Fix).then(|| Self {
            by: author.clone(),
            person: Person::new(author, None),
            comment: *comment_id,
            thread: None,
            command: None,
            resumes,
            at: created_at.clone(),
            at_shell: false,
        })
    }

    /// The order of whoever started the program: the token decides what it may.
    fn from_shell(job: &Job<'_>) -> Option<Self> {
        if job.event.kind != EventKind::Manual {
            return None;
        }
        // Later than the numbers of all comments, and another one for each command.
        let number = || u64::try_from(time(job).timestamp_millis()).unwrap_or_default();
        let number = match job.aim {
            Aim::Review | Aim::Loop => return None,
            Aim::Fix | Aim::PatchOut(_) => Some(number()),
            Aim::Publish(bundle) => bundle.command,
        };
        let by = Login::new("shell");
        let asked = Self {
            person: Person::new(&by, None),
            by,
            comment: CommentId(number.unwrap_or_default()),
            thread: None,
            command: None,
            resumes: false,
            at: now(job),
            at_shell: true,
        };
        let order = asked.order();
        let command = number.map(|_| FixCommand {
            order,
            thread: None,
        });
        Some(Self { command, ..asked })
    }

    pub(super) fn command(&self) -> Option<&FixCommand> {
        self.command.as_ref()
    }

    /// The comment to answer, and its thread.
    pub(super) fn place(&self) -> (CommentId, Option<CommentId>) {
        (self.comment, self.thread)
    }

    fn order(&self) -> Order {
        Order {
            at: self.at.clone(),
            comment: self.comment.0,
            by: self.by.to_string(),
        }
    }

    /// The same with the facts that only GitHub knows: the person's access, and the thread of the comment.
    pub(super) async fn completed(
        self,
        job: &Job<'_>,
        author: Option<&Login>,
    ) -> Result<Self, Failure> {
        if self.at_shell {
            return Ok(self);
        }
        let discussion = Discussion::from_job(job);
        let person = discussion.person(&self.by, author, Action::Fix).await?;
        let thread = thread_of(job, self.comment).await?;
        let order = self.order();
        let command = (!self.resumes).then_some(FixCommand { order, thread });
        Ok(Self {
            person,
            thread,
            command,
            ..self
        })
    }
}

/// The first comment of the thread that a review comment stands in.
async fn thread_of(job: &Job<'_>, comment: CommentId) -> Result<Option<CommentId>, Failure> {
    let EventKind::Mention { on, .. } = &job.event.kind else {
        return Ok(None);
    };
    if *on == CommentPlace::IssueComment {
        return Ok(None);
    }
    let comments = job
        .github
        .review_comments(&job.pr)
        .await
        .map_err(Failure::new)?;
    let found = comments.iter().find(|one| one.id == comment);
    Ok(Some(
        found.and_then(|one| one.in_reply_to).unwrap_or(comment),
    ))
}

/// The reason why a fix that is ready must not be delivered any more: somebody stopped it while the fixer worked.
pub(super) async fn called_off(job: &Job<'_>) -> Result<Option<NotFixed>, String> {
    let read = tokio::try_join!(
        job.github.pull_request(&job.pr),
        job.github.issue_comments(&job.pr),
    );
    let (pull, comments) = read.map_err(|error| error.to_string())?;
    let memory = Memory::new(told_in(job, &comments));
    let reasons = [
        (pull.state == PullState::Merged, NotFixed::Merged),
        (pull.state == PullState::Closed, NotFixed::Closed),
        (pull.locked, NotFixed::Locked),
        (has_no_fix(&pull.labels), NotFixed::Label),
        (memory.stop().is_some(), NotFixed::Stopped),
    ];
    let mut reasons = reasons.into_iter();
    let found = reasons.find(|(applies, _)| *applies);
    Ok(found.map(|(_, reason)| reason))
}

/// Stops fixing, if the event's comment asks for it. Returns the sentence that ends the run.
pub(crate) async fn stop_as_asked(job: &Job<'_>, facts: &Facts) -> Result<Option<String>, Failure> {
    let request = job.request().filter(|one| one.command == Command::FixStop);
    let (
        Some(_),
        EventKind::Mention {
            comment_id,
            author,
            created_at,
            ..
        },
    ) = (request, &job.event.kind)
    else {
        return Ok(None);
    };
    let thread = thread_of(job, *comment_id).await?;
    let discussion = Discussion::from_job(job);
    let person = discussion
        .person(author, facts.pull.author.as_ref(), Action::Fix)
        .await?;
    let refusal = match judge(person, Action::Fix) {
        Err(_) => Some(NotFixed::NoAccess(author.clone())),
        Ok(()) if !job.keys.can_sign() => Some(NotFixed::NoKey),
        Ok(()) => None,
    };
    if let Some(refusal) = refusal {
        let told = refusal.to_string();
        replies::tell(job, facts, (*comment_id, thread), &told).await?;
        return Ok(Some(told));
    }
    let order = Order {
        at: created_at.clone(),
        comment: comment_id.0,
        by: author.to_string(),
    };
    let known = super::ground::memory_of(job, facts);
    if !known.is_ordered(&order) {
        tell_order(job, author, (vec![order], Vec::new())).await?;
    }
    Ok(Some(format!("Fixing is stopped, as {author} asked.")))
}

/// The memory with the order of the event's comment, which is signed on the pull request first.
pub(super) async fn remember(
    job: &Job<'_>,
    ground: &Ground,
    asked: Option<&Asked>,
) -> Result<Memory, Failure> {
    let may = |asked: &&Asked| judge(asked.person, Action::Fix).is_ok() && job.keys.can_sign();
    let Some(asked) = asked.filter(|asked| asked.resumes).filter(may) else {
        return Ok(ground.memory.clone());
    };
    let order = asked.order();
    if !ground.memory.is_ordered(&order) {
        tell_order(job, &asked.by, (Vec::new(), vec![order.clone()])).await?;
    }
    Ok(ground.remembered(None, Some(order)))
}

async fn tell_order(
    job: &Job<'_>,
    by: &Login,
    (stops, resumes): (Vec<Order>, Vec<Order>),
) -> Result<(), Failure> {
    let goes_on = !resumes.is_empty();
    let report = FixReport {
        at: now(job),
        stops,
        resumes,
        ..FixReport::default()
    };
    let mention = &job.host.config.mention;
    let body = fixing::ordered(goes_on, by.as_str(), mention, &report, (&job.pr, &job.keys));
    post(job, &body).await
}

/// Signs on the pull request what somebody took back, so that it outlives a force-push. Returns what was posted.
pub(super) async fn note_reverts(
    job: &Job<'_>,
    facts: &Facts,
    reverts: &Reverts,
) -> Result<Option<FixReport>, Failure> {
    if reverts.is_empty() || !job.keys.can_sign() {
        return Ok(None);
    }
    let report = FixReport {
        at: now(job),
        head: facts.pull.head_sha.to_string(),
        reverted_commits: reverts.commits.clone(),
        reverted_findings: reverts.findings.clone(),
        ..FixReport::default()
    };
    let mention = &job.host.config.mention;
    let body = fixing::reverted(&report, mention, (&job.pr, &job.keys));
    post(job, &body).await?;
    Ok(Some(report))
}

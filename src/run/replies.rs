//! Replies to people who address the reviewer: help, answers, where a head stands, why something is not done.

use super::outcome::Outcome;
use super::review_session::{self, Talk};
use super::sessions::{self, Material};
use crate::gather::{Facts, answered_in};
use crate::host::sidecar::Running;
use crate::host::{Failure, Job};
use reviewer_core::config::FixMode;
use reviewer_core::domain::{CommentId, CommitSha};
use reviewer_core::event::SkipReason;
use reviewer_core::plan::agenda::{Agenda, ReplyTo, Task};
use reviewer_core::publish::comment::{self, Voice};
use reviewer_core::review::session_outcome::{End, Outcome as Held};
use reviewer_github::{ApiError, PullRequest};

/// Does what an agenda asks for that has no check: help, a reply, answers. Returns why the run ends with that; `None` where
/// it goes on.
pub(crate) async fn only(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    running: Option<&Running>,
) -> Result<Option<String>, Failure> {
    let head = &facts.pull.head_sha;
    match &agenda.task {
        Task::Help => {
            let fixes = job.host.config.fix.mode != FixMode::Off;
            let text = comment::requests::help(&job.host.config.mention, fixes);
            reply(job, head, agenda.reply_to, &text).await?;
            Ok(Some(comment::requests::HELPED.into()))
        }
        Task::Decline(why) => {
            let text = comment::requests::not_accepted(why, head);
            reply(job, head, agenda.reply_to, &text).await?;
            Ok(Some(text))
        }
        Task::Skip(reason) => {
            if let (Some(running), false) = (running, agenda.questions.is_empty()) {
                answer_alone(job, facts, agenda, running).await?;
            }
            Ok(Some(reason.clone()))
        }
        Task::Fail(_) | Task::Conclude(_) | Task::Session { .. } => Ok(None),
    }
}

/// Answers the questions about a pull request that is not reviewed now.
async fn answer_alone(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    running: &Running,
) -> Result<(), Failure> {
    let diffs = review_session::diff_files(&facts.change).await?;
    let title = format!("Questions about {}", job.pr);
    let talk = Talk {
        candidates: &[],
        sidecar: &running.sidecar,
        title: &title,
        to_judge: &[],
        questions: &agenda.questions,
        conversations: &[],
        reviews: false,
    };
    let material = Material {
        diffs: &diffs,
        decided: &[],
        ground: None,
    };
    let concluded = sessions::talk(job, facts, agenda, talk, material).await?;
    let held = concluded.outcome;
    if let End::Refused(why) = &held.end {
        return Err(Failure::new(why));
    }
    let unanswered = send(job, &facts.pull.head_sha, &held).await;
    if unanswered.is_empty() {
        return Ok(());
    }
    Err(Failure(unanswered))
}

/// Posts the answers of a session. Returns a sentence for each question without one.
pub(crate) async fn send(job: &Job<'_>, head: &CommitSha, session: &Held) -> Vec<String> {
    let mut unanswered = session.unanswered.clone();
    for answer in &session.answers {
        let question = &answer.question;
        let to = ReplyTo {
            comment: question.comment,
            root: question.thread.as_ref().map(|thread| thread.root),
            seq: question.thread.as_ref().map_or(0, |thread| thread.seq),
        };
        let text = job.host.secrets.redactor.clean(&answer.text);
        if let Err(error) = post(job, head, to, &text).await {
            unanswered.push(comment::requests::unanswered(
                question.comment,
                &error.to_string(),
            ));
        }
    }
    unanswered
}

/// Tells the state of a head that was reviewed before.
pub(crate) async fn tell_state(
    job: &Job<'_>,
    facts: &Facts,
    agenda: &Agenda,
    outcome: &mut Outcome,
) {
    let (head, mention) = (&facts.pull.head_sha, &job.host.config.mention);
    let state = voice(job, head).state(outcome.verdict, &outcome.tally, mention);
    let text = match &outcome.headline {
        Some(headline) => format!("{headline}. {state}"),
        None => state,
    };
    if let Err(Failure(sentences)) = reply(job, head, agenda.reply_to, &text).await {
        let sentence = comment::requests::untold(&sentences.join(" "));
        outcome.leave_unanswered(vec![sentence]);
    }
}

async fn reply(
    job: &Job<'_>,
    head: &CommitSha,
    to: Option<ReplyTo>,
    text: &str,
) -> Result<(), Failure> {
    match to {
        Some(to) => post(job, head, to, text).await.map_err(Failure::new),
        None => Ok(()),
    }
}

/// Tells somebody something about their comment, once.
pub(crate) async fn tell(
    job: &Job<'_>,
    facts: &Facts,
    (comment, root): (CommentId, Option<CommentId>),
    text: &str,
) -> Result<(), Failure> {
    let answered = answered_in(job, &facts.conversation, root).await?;
    if answered.contains(&comment) {
        return Ok(());
    }
    let seq = 0;
    let to = ReplyTo { comment, root, seq };
    reply(job, &facts.pull.head_sha, Some(to), text).await
}

/// Tells whoever asked something about fixing, below their comment, once. The conversation is read anew: the run has posted.
pub(crate) async fn tell_asker(
    job: &Job<'_>,
    head: &CommitSha,
    (comment, root): (CommentId, Option<CommentId>),
    text: &str,
) -> Result<(), Failure> {
    let conversation = match root {
        Some(_) => Vec::new(),
        None => job
            .github
            .issue_comments(&job.pr)
            .await
            .map_err(Failure::new)?,
    };
    let answered = answered_in(job, &conversation, root).await?;
    if answered.contains(&comment) {
        return Ok(());
    }
    let seq = 0;
    let to = ReplyTo { comment, root, seq };
    reply(job, head, Some(to), text).await
}

async fn post(job: &Job<'_>, head: &CommitSha, to: ReplyTo, text: &str) -> Result<(), ApiError> {
    let body = voice(job, head).answer(to.comment, to.root, to.seq, text);
    match to.root {
        Some(root) => job.github.reply(&job.pr, root, &body).await.map(drop),
        None => job.github.comment(&job.pr, &body).await.map(drop),
    }
}

fn voice<'a>(job: &'a Job<'_>, head: &'a CommitSha) -> Voice<'a> {
    Voice {
        pr: &job.pr,
        keys: &job.keys,
        head,
        run: &job.id,
        // An answer says nothing about disagreeing, blocks nothing and links nowhere.
        fork: false,
        mention: &job.host.config.mention,
        blocking: None,
        page: "",
        rounds: job.host.in_rounds(),
    }
}

/// Returns the reason why the run ends before it posts something; `None`: it may. A review that cannot be posted is not
/// begun: nobody pays for a review that nobody can read. Of a fork's own events this is no mistake: GitHub gives them a token
/// that only reads.
pub(crate) async fn may_not_comment(
    job: &Job<'_>,
    pull: &PullRequest,
) -> Result<Option<String>, Failure> {
    const RESTRICTED: [&str; 3] = [
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
    ];
    if job
        .github
        .may_comment(&job.pr)
        .await
        .map_err(Failure::new)?
    {
        return Ok(None);
    }
    let event = job.host.setup.environment.event_name.as_deref();
    if pull.from_fork && event.is_some_and(|name| RESTRICTED.contains(&name)) {
        let mention = job.host.config.mention.clone();
        return Ok(Some(SkipReason::ForkWithoutSecrets { mention }.to_string()));
    }
    Err(Failure::new(
        "Input github_token may not comment on the pull request; add `pull-requests: write` to the job's \
         permissions.",
    ))
}

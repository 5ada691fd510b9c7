//! People who address the reviewer: what they asked, which questions wait for an answer, and where the replies go.

use super::facts::Facts;
use super::memory::Memory;
use super::{cause, discussion};
use crate::host::{Failure, Job};
use reviewer_core::context::speakers::Speakers;
use reviewer_core::domain::{CommentId, Login};
use reviewer_core::event::{CommentPlace, EventKind};
use reviewer_core::plan::agenda::{Inquiries, ReplyTo};
use reviewer_core::plan::{self, MOST_QUESTIONS, Question, QuestionThread, Said};
use reviewer_core::state::answers;
use reviewer_github::{IssueComment, ReviewComment};
use std::collections::HashMap;

/// Collects the requests of people besides the review.
pub(crate) async fn inquiries(job: &Job<'_>, facts: &Facts) -> Result<Inquiries, Failure> {
    if !facts.allows_discussion() {
        return Ok(Inquiries::default());
    }
    let mut words: Vec<Said<'_>> = facts.conversation.iter().map(said).collect();
    let asked = asked(job);
    if let Some((asked, CommentPlace::IssueComment)) = &asked
        && !words.iter().any(|said| said.id == asked.id)
    {
        // The list can be older than the event.
        words.push(*asked);
    }
    let any = !plan::unanswered(&words, &[], &job.host.config.mention).is_empty();
    if asked.is_none() && !any {
        return Ok(Inquiries::default());
    }
    let us = Us::load(job).await?;
    let answered = us.answered(&words, None);
    let mut inquiries = Inquiries {
        questions: pending(job, facts, &words, &answered).await?,
        ..Inquiries::default()
    };
    match asked {
        Some((asked, CommentPlace::IssueComment)) => {
            inquiries.reply_to = (!answered.contains(&asked.id)).then_some(ReplyTo {
                comment: asked.id,
                root: None,
                seq: 0,
            });
        }
        Some((asked, CommentPlace::ReviewComment)) => {
            if let Some((reply_to, question)) = in_thread(&us, facts, &asked).await? {
                inquiries.reply_to = Some(reply_to);
                inquiries.in_thread = question;
            }
        }
        None => {}
    }
    Ok(inquiries)
}

/// A mention in a review thread that has no reply yet, and the question in it, if it is one.
async fn in_thread(
    us: &Us<'_>,
    facts: &Facts,
    asked: &Said<'_>,
) -> Result<Option<(ReplyTo, Option<Question>)>, Failure> {
    let comments = us.job.github.review_comments(&us.job.pr).await;
    let comments = comments.map_err(Failure::new)?;
    let found = comments.iter().find(|comment| comment.id == asked.id);
    let root = found.and_then(|c| c.in_reply_to).unwrap_or(asked.id);
    let thread: Vec<&ReviewComment> = comments
        .iter()
        .filter(|comment| comment.id == root || comment.in_reply_to == Some(root))
        .collect();
    let words: Vec<Said<'_>> = thread.iter().map(|c| said_in_review(c)).collect();
    let ours = facts.thread(root);
    let replied = ours.is_some() && us.spoke_after(&words, asked.id);
    if replied || us.answered(&words, Some(root)).contains(&asked.id) {
        return Ok(None);
    }
    let reply_to = ReplyTo {
        comment: asked.id,
        root: Some(root),
        seq: 0,
    };
    let seq = ours.map_or(0, |thread| thread.seq.saturating_add(1));
    let speakers = discussion::speakers(facts);
    let questions = plan::unanswered(&[*asked], &[], &us.job.host.config.mention);
    let question = questions.into_iter().next().map(|question| Question {
        thread: Some(question_thread(&speakers, (root, seq), &thread, asked.id)),
        ..question
    });
    Ok(Some((reply_to, question)))
}

/// The comments that the reviewer's comments answer: in the thread of `root`, or below the description.
pub(crate) async fn answered_in(
    job: &Job<'_>,
    conversation: &[IssueComment],
    root: Option<CommentId>,
) -> Result<Vec<CommentId>, Failure> {
    let us = Us::load(job).await?;
    if root.is_some() {
        let comments = job.github.review_comments(&job.pr).await;
        let comments = comments.map_err(Failure::new)?;
        let words: Vec<Said<'_>> = comments.iter().map(said_in_review).collect();
        return Ok(us.answered(&words, root));
    }
    let words: Vec<Said<'_>> = conversation.iter().map(said).collect();
    Ok(us.answered(&words, None))
}

/// The event's own comment, if it addresses the reviewer.
fn asked<'a>(job: &'a Job<'_>) -> Option<(Said<'a>, CommentPlace)> {
    let EventKind::Mention {
        comment_id,
        on,
        body,
        author,
        ..
    } = &job.event.kind
    else {
        return None;
    };
    let said = Said {
        id: *comment_id,
        author: Some(author),
        body,
    };
    Some((said, *on))
}

/// The newest questions below the description that wait, by people who may spend; oldest first.
async fn pending(
    job: &Job<'_>,
    facts: &Facts,
    conversation: &[Said<'_>],
    answered: &[CommentId],
) -> Result<Vec<Question>, Failure> {
    let mut authorized: HashMap<Login, bool> = HashMap::new();
    let mut questions = Vec::new();
    let waiting = plan::unanswered(conversation, answered, &job.host.config.mention);
    for question in waiting.into_iter().rev() {
        let author = &question.author;
        let may_spend = match authorized.get(author) {
            Some(known) => *known,
            None => cause::may_spend(job, &facts.pull, author).await?,
        };
        authorized.insert(author.clone(), may_spend);
        if may_spend {
            questions.push(question);
        }
        if questions.len() == MOST_QUESTIONS {
            break;
        }
    }
    questions.reverse();
    Ok(questions)
}

/// The reviewer's identity on this pull request.
struct Us<'a> {
    job: &'a Job<'a>,
    names: Vec<Login>,
}

impl<'a> Us<'a> {
    async fn load(job: &'a Job<'a>) -> Result<Self, Failure> {
        let names = Memory::from_job(job).ours().await?;
        Ok(Self { job, names })
    }

    fn wrote(&self, said: &Said<'_>) -> bool {
        said.author
            .is_some_and(|author| self.names.contains(author))
    }

    /// The comments that the reviewer's comments among these answer.
    fn answered(&self, comments: &[Said<'_>], root: Option<CommentId>) -> Vec<CommentId> {
        let (pr, keys) = (&self.job.pr, &self.job.keys);
        let ours = comments.iter().filter(|said| self.wrote(said));
        ours.filter_map(|said| answers::answered(said.body, pr, keys, root))
            .collect()
    }

    /// True if the reviewer has commented after a comment.
    fn spoke_after(&self, comments: &[Said<'_>], comment: CommentId) -> bool {
        let mut later = comments.iter().filter(|said| said.id > comment);
        later.any(|said| self.wrote(said))
    }
}

fn said(comment: &IssueComment) -> Said<'_> {
    Said {
        id: comment.id,
        author: comment.author.as_ref(),
        body: &comment.body,
    }
}

fn said_in_review(comment: &ReviewComment) -> Said<'_> {
    Said {
        id: comment.id,
        author: comment.author.as_ref(),
        body: &comment.body,
    }
}

/// The thread of a question: where it is, and what was said there before.
fn question_thread(
    speakers: &Speakers<'_>,
    (root, seq): (CommentId, u32),
    thread: &[&ReviewComment],
    question: CommentId,
) -> QuestionThread {
    let first = thread.iter().find(|comment| comment.id == root);
    let place = first.map_or_else(String::new, |first| {
        let line = first.line.or(first.original_line);
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}", first.path)
    });
    let before = thread.iter().filter(|comment| comment.id < question);
    let words = before.map(|comment| {
        let who = speakers.who(comment.author.as_ref(), comment.association);
        (who, comment.body.clone())
    });
    QuestionThread {
        root,
        seq,
        place,
        before: words.collect(),
    }
}

//! People who address us: what they asked, which questions wait for an answer, and the replies that they
//! get. Separate from the review, which goes on without any of it.

use super::finish::Finished;
use super::reading::{self, Reading};
use super::reviewing;
use super::session::{self, Talk};
use super::{Run, Stop, words};
use crate::context::speakers::Speakers;
use crate::domain::{CommentId, CommitSha, Login};
use crate::event::{self, CommentPlace, EventKind};
use crate::github::{ApiError, IssueComment, ReviewComment};
use crate::opencode::Supervisor;
use crate::plan::{self, Asking, MOST_QUESTIONS, Question, Request, Said};
use crate::publish::comment::{self, Voice};
use crate::review::run::{End, Outcome};
use crate::state::answers;
use std::collections::HashMap;
use std::sync::Arc;

/// What people want of this run besides the review.
#[derive(Default)]
pub struct Agenda {
    pub questions: Vec<Question>,
    /// Where the reply to the event's own comment goes; `None` once it has one.
    reply_to: Option<ReplyTo>,
}

/// A comment, and where in which thread the reply to it stands.
#[derive(Debug, Clone, Copy)]
struct ReplyTo {
    comment: CommentId,
    /// `None`: below the description.
    root: Option<CommentId>,
    /// The reply's number in a thread of ours.
    seq: u32,
}

/// What the event's own comment asks for. A mention in the middle of a line is no command.
pub fn request(run: &Run<'_>) -> Option<Request> {
    let EventKind::Mention {
        comment_id, body, ..
    } = &run.event.kind
    else {
        return None;
    };
    Some(Request {
        comment: *comment_id,
        command: event::command(body, &run.engine.config.mention)?,
    })
}

impl Agenda {
    /// `judges`: turn 0 is held, and replies in the threads that wait for it.
    pub async fn of(run: &Run<'_>, reading: &Reading, judges: bool) -> Result<Self, Stop> {
        if !reading.means.allow_discussion() {
            return Ok(Self::default());
        }
        let mut words: Vec<Said<'_>> = reading.conversation.iter().map(said).collect();
        let asked = asked(run);
        if let Some((asked, CommentPlace::IssueComment)) = &asked
            && !words.iter().any(|said| said.id == asked.id)
        {
            // The list can be older than the event.
            words.push(*asked);
        }
        let any = !plan::unanswered(&words, &[], &run.engine.config.mention).is_empty();
        if asked.is_none() && !any {
            return Ok(Self::default());
        }
        let us = Us {
            run,
            names: run.memory().ours().await?,
        };
        let answered = us.answered(&words, None);
        let mut agenda = Self {
            questions: pending(run, reading, &words, &answered).await?,
            reply_to: None,
        };
        match asked {
            Some((asked, CommentPlace::IssueComment)) => {
                agenda.reply_to = (!answered.contains(&asked.id)).then_some(ReplyTo {
                    comment: asked.id,
                    root: None,
                    seq: 0,
                });
            }
            Some((asked, CommentPlace::ReviewComment)) => {
                agenda.in_thread(&us, reading, judges, &asked).await?;
            }
            None => {}
        }
        Ok(agenda)
    }

    /// A mention in a review thread. In a thread of ours that waits for a judgement, turn 0 gives the reply.
    async fn in_thread(
        &mut self,
        us: &Us<'_>,
        reading: &Reading,
        judges: bool,
        asked: &Said<'_>,
    ) -> Result<(), Stop> {
        let comments = us.run.github.review_comments(&us.run.pr).await;
        let comments = comments.map_err(Stop::fail)?;
        let found = comments.iter().find(|comment| comment.id == asked.id);
        let root = found.and_then(|c| c.in_reply_to).unwrap_or(asked.id);
        let thread: Vec<&ReviewComment> = comments
            .iter()
            .filter(|comment| comment.id == root || comment.in_reply_to == Some(root))
            .collect();
        let words: Vec<Said<'_>> = thread.iter().map(|c| said_in_review(c)).collect();
        let ours = reading.threads.iter().find(|thread| thread.id == root);
        let replied = ours.is_some() && us.spoke_after(&words, asked.id);
        if replied || us.answered(&words, Some(root)).contains(&asked.id) {
            return Ok(());
        }
        self.reply_to = Some(ReplyTo {
            comment: asked.id,
            root: Some(root),
            seq: 0,
        });
        let waits = reading.to_judge(false);
        if judges && waits.iter().any(|thread| thread.id == root) {
            return Ok(());
        }
        let seq = ours.map_or(0, |thread| thread.seq.saturating_add(1));
        let speakers = words::speakers(reading);
        let questions = plan::unanswered(&[*asked], &[], &us.run.engine.config.mention);
        self.questions
            .extend(questions.into_iter().map(|question| Question {
                thread: Some(asking(&speakers, (root, seq), &thread, asked.id)),
                ..question
            }));
        Ok(())
    }

    /// Lists the commands. The end of the run, as a stop.
    pub async fn help(&self, run: &Run<'_>, reading: &Reading) -> Stop {
        let text = comment::help(&run.engine.config.mention);
        match self.reply(run, &reading.pull.head_sha, &text).await {
            Ok(()) => Stop::Skip("Somebody asked for help and got the list of commands.".into()),
            Err(error) => Stop::fail(error),
        }
    }

    /// Replies why something is not done. The end of the run, as a stop.
    pub async fn decline(&self, run: &Run<'_>, reading: &Reading, why: &str) -> Stop {
        match self.reply(run, &reading.pull.head_sha, why).await {
            Ok(()) => Stop::Skip(why.to_owned()),
            Err(error) => Stop::fail(error),
        }
    }

    /// Says where a head stands that was reviewed before.
    pub async fn tell_state(&self, run: &Run<'_>, head: &CommitSha, finished: &mut Finished) {
        let mention = &run.engine.config.mention;
        let state = voice(run, head).state(finished.verdict, &finished.tally, mention);
        let text = match &finished.headline {
            Some(headline) => format!("{headline}. {state}"),
            None => state,
        };
        if let Err(error) = self.reply(run, head, &text).await {
            let sentence = comment::untold(&error.to_string());
            finished.leave_unanswered(vec![sentence]);
        }
    }

    async fn reply(&self, run: &Run<'_>, head: &CommitSha, text: &str) -> Result<(), ApiError> {
        match self.reply_to {
            Some(to) => post(run, head, to, text).await,
            None => Ok(()),
        }
    }

    /// Answers the questions about a pull request that is not reviewed now.
    pub async fn answer_alone(
        &self,
        run: &Run<'_>,
        sidecar: &Arc<Supervisor>,
        reading: &Reading,
    ) -> Result<(), Stop> {
        let diffs = session::diff_files(&reading.change).await?;
        let title = format!("Questions about {}", run.pr);
        let mut conversation = session::open(&run.engine, sidecar, &title).await?;
        let talk = Talk {
            conversation: &mut conversation,
            to_judge: &[],
            questions: &self.questions,
            reviews: false,
        };
        let (outcome, _) = reviewing::passes(run, talk, reading, &diffs).await?;
        if let End::Refused(why) = &outcome.end {
            return Err(Stop::fail(session::refusal(&run.engine, why)));
        }
        let unanswered = send(run, reading, &outcome).await;
        if unanswered.is_empty() {
            return Ok(());
        }
        Err(Stop::Fail(unanswered))
    }
}

/// Posts the answers of a session. Returns a sentence for each question without one.
pub async fn send(run: &Run<'_>, reading: &Reading, outcome: &Outcome) -> Vec<String> {
    let mut unanswered = outcome.unanswered.clone();
    for answer in &outcome.answers {
        let question = &answer.question;
        let to = ReplyTo {
            comment: question.comment,
            root: question.thread.as_ref().map(|thread| thread.root),
            seq: question.thread.as_ref().map_or(0, |thread| thread.seq),
        };
        let text = run.engine.secrets.redactor.clean(&answer.text);
        if let Err(error) = post(run, &reading.pull.head_sha, to, &text).await {
            unanswered.push(comment::unanswered(question.comment, &error.to_string()));
        }
    }
    unanswered
}

/// Tells somebody something about their comment, once.
pub async fn tell(
    run: &Run<'_>,
    reading: &Reading,
    (comment, root): (CommentId, Option<CommentId>),
    text: &str,
) -> Result<(), Stop> {
    let us = Us {
        run,
        names: run.memory().ours().await?,
    };
    let answered = if root.is_some() {
        let comments = run.github.review_comments(&run.pr).await;
        let comments = comments.map_err(Stop::fail)?;
        let words: Vec<Said<'_>> = comments.iter().map(said_in_review).collect();
        us.answered(&words, root)
    } else {
        let words: Vec<Said<'_>> = reading.conversation.iter().map(said).collect();
        us.answered(&words, None)
    };
    if answered.contains(&comment) {
        return Ok(());
    }
    let seq = 0;
    let to = ReplyTo { comment, root, seq };
    let posted = post(run, &reading.pull.head_sha, to, text).await;
    posted.map_err(Stop::fail)
}

async fn post(run: &Run<'_>, head: &CommitSha, to: ReplyTo, text: &str) -> Result<(), ApiError> {
    let body = voice(run, head).answer(to.comment, to.root, to.seq, text);
    match to.root {
        Some(root) => run.github.reply(&run.pr, root, &body).await.map(drop),
        None => run.github.comment(&run.pr, &body).await.map(drop),
    }
}

fn voice<'a>(run: &'a Run<'_>, head: &'a CommitSha) -> Voice<'a> {
    Voice {
        pr: &run.pr,
        keys: &run.keys,
        head,
        run: &run.id,
        // An answer says nothing about disagreeing.
        fork: false,
        mention: &run.engine.config.mention,
    }
}

/// The event's own comment, if it addresses us.
fn asked<'a>(run: &'a Run<'_>) -> Option<(Said<'a>, CommentPlace)> {
    let EventKind::Mention {
        comment_id,
        on,
        body,
        author,
        ..
    } = &run.event.kind
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

/// The newest questions below the description that wait, by people who are heard; oldest first.
async fn pending(
    run: &Run<'_>,
    reading: &Reading,
    conversation: &[Said<'_>],
    answered: &[CommentId],
) -> Result<Vec<Question>, Stop> {
    let mut heard: HashMap<Login, bool> = HashMap::new();
    let mut questions = Vec::new();
    let waiting = plan::unanswered(conversation, answered, &run.engine.config.mention);
    for question in waiting.into_iter().rev() {
        let author = &question.author;
        let is_heard = match heard.get(author) {
            Some(known) => *known,
            None => reading::is_heard(run, &reading.pull, author).await?,
        };
        heard.insert(author.clone(), is_heard);
        if is_heard {
            questions.push(question);
        }
        if questions.len() == MOST_QUESTIONS {
            break;
        }
    }
    questions.reverse();
    Ok(questions)
}

/// Who we are on this pull request.
struct Us<'a> {
    run: &'a Run<'a>,
    names: Vec<Login>,
}

impl Us<'_> {
    fn wrote(&self, said: &Said<'_>) -> bool {
        said.author
            .is_some_and(|author| self.names.contains(author))
    }

    /// What comments of ours among these answer.
    fn answered(&self, comments: &[Said<'_>], root: Option<CommentId>) -> Vec<CommentId> {
        let (pr, keys) = (&self.run.pr, &self.run.keys);
        let ours = comments.iter().filter(|said| self.wrote(said));
        ours.filter_map(|said| answers::answered(said.body, pr, keys, root))
            .collect()
    }

    /// Whether we have said something after a comment.
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
fn asking(
    speakers: &Speakers<'_>,
    (root, seq): (CommentId, u32),
    thread: &[&ReviewComment],
    question: CommentId,
) -> Asking {
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
    Asking {
        root,
        seq,
        place,
        before: words.collect(),
    }
}

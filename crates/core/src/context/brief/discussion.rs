//! The part of the brief that people wrote: threads, questions, the conversation. Separate because every piece of it
//! has an author: each stands in a fence of its own, so that nobody speaks in another's name.

use super::{Brief, cut};
use crate::context::speakers;
use crate::context::suspicion::Suspicions;
use crate::domain::{Awaiting, CommentId, Status, Thread, prefixed};
use crate::plan::Question;
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use reviewer_text::prose::Prose;
use reviewer_text::template::{self, TemplateError};
use std::fmt::Write as _;

const TURN_ZERO: &str = include_str!("../../prompts/turn-0.md");
const QUESTION: &str = include_str!("../../prompts/question.md");

/// The latest words of people, and no more of each than a screen.
const MAX_COMMENTS: usize = 20;
const MAX_COMMENT: usize = 2_000;
const MAX_QUESTION: usize = 8_000;
const MAX_HEADLINE: usize = 400;
/// Bytes for open threads, four of which are about a token: so many with all that was said in them, and so many in all.
const ROOM_IN_FULL: usize = 120_000;
const ROOM: usize = 200_000;

/// A comment below the description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words<'a> {
    /// Name and standing of who said it.
    pub who: String,
    pub body: &'a str,
    /// True if the reviewer signed it.
    pub ours: bool,
}

/// The code that a thread hangs on, when the finding was made and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub thread: CommentId,
    pub then: Option<String>,
    pub now: Option<String>,
}

impl Brief<'_> {
    /// The prompt about the threads that are to be judged.
    pub(super) fn turn_zero(&self, excerpts: &[Excerpt]) -> Result<String, TemplateError> {
        let threads: Vec<String> = excerpts
            .iter()
            .map(|excerpt| self.judged(excerpt))
            .collect();
        template::render(
            &prefixed(TURN_ZERO, self.prefix),
            &[("threads", &threads.join("\n\n"))],
        )
    }

    fn judged(&self, excerpt: &Excerpt) -> String {
        let id = excerpt.thread;
        let thread = self.threads.iter().find(|thread| thread.id == id);
        let asked = match thread.map(|thread| (thread.awaiting, thread.status)) {
            Some((Awaiting::Us, Status::Escalated)) => "a person has answered the escalation",
            Some((Awaiting::Us, _)) => "a reply waits for your judgement",
            _ => "the code has changed since; is it fixed?",
        };
        let code = |text: &Option<String>| text.clone().unwrap_or_else(|| "(not there)".into());
        let then = self.fence.code("code then", &code(&excerpt.then));
        let now = self.fence.code("code now", &code(&excerpt.now));
        format!("Thread {id}: {asked}\n{then}\n{now}")
    }

    /// The prompt about a question.
    pub(super) fn question(&self, question: &Question) -> Result<String, TemplateError> {
        let (place, discussion) = match &question.thread {
            Some(thread) => (
                "in a review thread",
                format!(
                    "The thread stands at:\n{}\nWhat was said there before:\n{}",
                    self.fence.code("place", &thread.place),
                    self.said(thread.before.iter().map(|(who, body)| (who, body.as_str())))
                ),
            ),
            None => ("below the description", String::new()),
        };
        let login = question.author.as_str();
        // Nobody else is authorized to ask.
        let standing = if login.eq_ignore_ascii_case(self.author) {
            "author of the pull request"
        } else {
            "write access"
        };
        let text = cut(&question.text, MAX_QUESTION);
        let values = [
            ("author", format!("{} ({standing})", visible(login))),
            ("place", place.to_owned()),
            ("question", self.fence.prose("question", text)),
            ("discussion", discussion),
        ];
        let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (*k, v.as_str())).collect();
        template::render(QUESTION, &values)
    }

    /// The open threads: those that wait for the reviewer before the others, in full while there is room, then by their
    /// finding alone.
    pub(super) fn threads(&self) -> String {
        let open = self.threads.iter().filter(|thread| thread.status.is_open());
        let mut open: Vec<&Thread> = open.collect();
        if open.is_empty() {
            return "None.".into();
        }
        open.sort_by_key(|thread| thread.awaiting != Awaiting::Us);
        let (mut out, mut more) = (String::new(), 0);
        for thread in open {
            let mut text = self.thread(thread);
            if out.len() + text.len() > ROOM_IN_FULL {
                text = self.headline(thread);
            }
            if out.len() + text.len() > ROOM {
                more += 1;
            } else {
                let _ = writeln!(out, "{text}");
            }
        }
        if more > 0 {
            let more = plural(more, "more open thread");
            let _ = writeln!(out, "And {more}: `github_get_run_state` has them all.");
        }
        out
    }

    /// A thread without what was said in it.
    fn headline(&self, thread: &Thread) -> String {
        let place = place(thread);
        let text = format!("{place}: {}", Prose::line(&thread.assessment.finding));
        let text = self.fence.prose("thread", cut(&text, MAX_HEADLINE));
        format!(
            "Thread {} ({}, score {})\n{text}",
            thread.id, thread.status, thread.assessment.score
        )
    }

    pub(super) fn conversation(&self) -> String {
        self.said(
            self.conversation
                .iter()
                .map(|words| (&words.who, words.body)),
        )
    }

    /// The latest of what people said, each with their name.
    pub(super) fn said<'w>(
        &self,
        said: impl ExactSizeIterator<Item = (&'w String, &'w str)>,
    ) -> String {
        let skipped = said.len().saturating_sub(MAX_COMMENTS);
        let texts: Vec<String> = said
            .skip(skipped)
            .map(|(who, body)| {
                let what = format!("comment by {who}");
                self.fence.prose(&what, cut(body, MAX_COMMENT))
            })
            .collect();
        if texts.is_empty() {
            return "None.".into();
        }
        texts.join("\n")
    }

    fn thread(&self, thread: &Thread) -> String {
        let text = format!(
            "{}\nFinding: {}\nAssessment: {}",
            place(thread),
            Prose::line(&thread.assessment.finding),
            thread.assessment.assessment
        );
        let mut out = format!(
            "Thread {} ({}, score {}{})\n{}",
            thread.id,
            thread.status,
            thread.assessment.score,
            if thread.status == Status::Escalated {
                ", left to people"
            } else {
                ""
            },
            self.fence.prose("thread", &text)
        );
        let skipped = thread.replies.len().saturating_sub(MAX_COMMENTS);
        if skipped > 0 {
            let _ = write!(out, "\n({skipped} earlier ones are left out here)");
        }
        for reply in &thread.replies[skipped..] {
            let who = speakers::replier(reply.author.as_ref(), reply.standing);
            let body = cut(&reply.body, MAX_COMMENT);
            let reply = self.fence.prose(&format!("reply by {who}"), body);
            let _ = write!(out, "\n{reply}");
        }
        out
    }

    /// Adds the suspicious parts of people's comments. The reviewer's own comments are left out.
    pub(super) fn in_discussion(&self, questions: &[Question], found: &mut Suspicions) {
        for words in self.conversation.iter().filter(|words| !words.ours) {
            found.in_prose(&format!("comment by {}", words.who), words.body);
        }
        for thread in self.threads {
            for reply in &thread.replies {
                let who = speakers::replier(reply.author.as_ref(), reply.standing);
                found.in_prose(&format!("reply {} by {who}", reply.id), &reply.body);
            }
        }
        // A question below the description is one of the comments above.
        for question in questions
            .iter()
            .filter(|question| question.thread.is_some())
        {
            found.in_prose(&format!("question by {}", question.author), &question.text);
        }
    }
}

pub(super) fn place(thread: &Thread) -> String {
    let line = thread.line.map(|line| format!(":{line}"));
    format!("{}{}", visible(&thread.file), line.unwrap_or_default())
}

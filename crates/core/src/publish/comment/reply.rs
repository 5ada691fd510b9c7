//! The reviewer's replies in the threads of its findings: what becomes of a finding, and who closes a thread that stays open.

use super::{MAX_BODY, Voice, cut};
use crate::domain::{Status, Thread};
use crate::review::desk::{Effect, Fix, StagedReply};
use crate::state::block::{Conversation, Hidden, Kind};
use crate::state::rebuild::{ESCALATED_MARKER, RESOLVED_MARKER};
use reviewer_text::hidden::visible;
use reviewer_text::sanitize::{begins_with_words, clean};
use reviewer_text::sentence::code;
use serde_json::Value;
use std::fmt::Write as _;

impl Voice<'_> {
    /// A reply in a thread that is on the pull request.
    #[must_use]
    pub fn reply(&self, reply: &StagedReply, conversation: Conversation) -> String {
        let thread: &Thread = &reply.thread;
        let kind = match reply.effect {
            Effect::Keep => Kind::Keep,
            Effect::Answer | Effect::SeemsFixed { .. } => Kind::Answer,
            Effect::GiveUp => Kind::Concede,
            Effect::Concede
            | Effect::Fixed { .. }
            | Effect::DevelopersWord
            | Effect::Dismissed { .. } => Kind::Resolve,
            Effect::Escalate { .. } => Kind::Escalate,
            Effect::Reopen => Kind::Reopen,
        };
        let answers = match &reply.effect {
            Effect::Dismissed { comment, .. } => Some(*comment),
            _ => thread.replies.last().map(|reply| reply.id),
        };
        let hidden = Hidden {
            id: thread.finding_id.as_ref().map(ToString::to_string),
            seq: thread.seq.saturating_add(1),
            answers: answers.map(|comment| comment.0),
            head: Some(self.head.to_string()),
            conversation: (kind == Kind::Resolve).then_some(conversation),
            fixed: match &reply.effect {
                Effect::Fixed { file, .. } => Some(file.clone()),
                _ => None,
            },
            seems: match &reply.effect {
                Effect::SeemsFixed { fix, .. } => Some(fix.key()),
                _ => None,
            },
            dismissed: match &reply.effect {
                Effect::Dismissed { by, .. } => Some(by.to_string()),
                _ => None,
            },
            ..Hidden::new(kind)
        };
        let hidden = self.sign(hidden, Some(thread.id), &Value::Null);
        format!(
            "{}\n\n{hidden}",
            cut(&self.said(reply), MAX_BODY.saturating_sub(hidden.len()))
        )
    }

    /// The words of a reply.
    fn said(&self, reply: &StagedReply) -> String {
        let (thread, body) = (&reply.thread, &reply.body);
        match &reply.effect {
            Effect::Keep | Effect::Answer => clean(body),
            Effect::SeemsFixed { fix, objection, .. } => {
                let mut text = behind(&seems_fixed(fix), body);
                if let Some(objection) = objection {
                    let lead = "A second look at the code alone does not confirm it:";
                    let _ = write!(text, "\n\n{}", behind(lead, objection));
                } else {
                    text.push_str("\n\nNo second look at the code has confirmed it.");
                }
                format!("{text}\n\n{}", self.how_to_close(closer(thread), thread))
            }
            Effect::GiveUp => format!(
                "{}\n\nThe reviewer no longer insists on this finding. {}",
                clean(body),
                self.how_to_close(closer(thread), thread)
            ),
            Effect::Dismissed { by, .. } => format!(
                "{RESOLVED_MARKER}\n\n{} dismissed this finding.",
                code(by.as_str())
            ),
            Effect::Concede => format!("{RESOLVED_MARKER}\n\n{}", clean(body)),
            Effect::Reopen => behind("The problem is back.", body),
            Effect::DevelopersWord => {
                let lead = format!(
                    "{RESOLVED_MARKER}\n\nThe reviewer does not agree, and nobody else reviews this pull request: the \
                     developer's word stands."
                );
                behind(&lead, body)
            }
            Effect::Escalate { people } => {
                let lead = format!("{ESCALATED_MARKER}\n\n{}", call(people));
                let who = if people.is_empty() {
                    SOMEBODY
                } else {
                    "One of them"
                };
                let text = behind(&lead, body);
                format!("{text}\n\n{}", self.how_to_close(who, thread))
            }
            Effect::Fixed { file, commit } => {
                let commit = commit
                    .as_deref()
                    .map(|c| format!(" ({c})"))
                    .unwrap_or_default();
                let file = code(&visible(file));
                behind(
                    &format!("{RESOLVED_MARKER}\n\nFixed in {file}{commit}."),
                    body,
                )
            }
        }
    }

    /// Says who closes a thread that the reviewer leaves open, and by which means.
    fn how_to_close(&self, who: &str, thread: &Thread) -> String {
        let mention = self.mention;
        let dismiss = if self.fork {
            let link = format!("{mention} dismiss {}", thread.url);
            format!("{} in the pull request's conversation", code(&link))
        } else {
            format!("{} here", code(&format!("{mention} dismiss")))
        };
        format!("{who} closes this thread by resolving the conversation, or with {dismiss}.")
    }
}

const SOMEBODY: &str = "Somebody with write access";

/// Names the person who closes a thread that the reviewer leaves open.
fn closer(thread: &Thread) -> &'static str {
    match thread.status {
        Status::Escalated => "Whoever decides it",
        _ => SOMEBODY,
    }
}

/// Names the line that seems to fix a finding.
fn seems_fixed(fix: &Fix) -> String {
    const MAX_LINE: usize = 200;
    let file = visible(&fix.file);
    match &fix.line {
        Some((number, text)) => {
            let shown: String = visible(text.trim()).chars().take(MAX_LINE).collect();
            let place = code(&format!("{file}:{number}"));
            format!("This line seems to fix it, {place}: {}", code(&shown))
        }
        None => format!("The code is not there any more in {}.", code(&file)),
    }
}

/// Calls the people who decide, once. Where nobody may be called, the maintainers find it by themselves.
fn call(people: &[String]) -> String {
    if people.is_empty() {
        return "A maintainer decides whether this holds.".into();
    }
    let names: Vec<String> = people.iter().map(|name| format!("@{name}")).collect();
    format!("{}: please decide whether this holds.", names.join(", "))
}

/// The model's text behind the reviewer's words, or below them where it begins with anything but words: in the middle of a
/// line a fence or a quote is no longer what it was cleaned as.
fn behind(lead: &str, text: &str) -> String {
    let text = clean(text);
    let gap = if begins_with_words(&text) {
        " "
    } else {
        "\n\n"
    };
    format!("{lead}{gap}{text}")
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;

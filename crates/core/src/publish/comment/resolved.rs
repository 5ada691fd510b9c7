//! The comment of a finding that is fixed, rewritten in place of a reply: GitHub tells nobody of an edit. And the same comment as
//! it was, where the problem is back.

use super::{Voice, cut};
use crate::domain::Thread;
use crate::review::desk::{Effect, StagedReply};
use crate::state::block::{self, Conversation, Hidden};
use crate::state::rebuild::RESOLVED_MARKER;
use reviewer_text::hidden::visible;
use reviewer_text::sanitize::clean;
use reviewer_text::sentence::code;
use serde_json::Value;

/// Stands between the words about the fix and the finding. No text of others holds an HTML comment.
const FINDING: &str = "<!-- rmcoc:finding -->";

/// GitHub refuses bodies above 65,536 characters. The finding has the larger part of them.
const MOST: usize = 65_000;
/// With less room for words about the fix, a reply says them.
const LEAST_WORDS: usize = 500;

impl Voice<'_> {
    /// The finding's comment, saying that it is fixed. `None` where a reply says it: somebody else has spoken in the thread, who
    /// should be told, or the comment is not the reviewer's to rewrite.
    #[must_use]
    pub fn resolved(&self, reply: &StagedReply, conversation: Conversation) -> Option<String> {
        let Effect::Fixed { file, commit } = &reply.effect else {
            return None;
        };
        let thread = &reply.thread;
        if !thread.replies.is_empty() {
            return None;
        }
        let seq = thread.seq.saturating_add(1);
        let rewritten = self.rewritten(thread, |hidden| Hidden {
            seq,
            conversation: Some(conversation),
            fixed: Some(file.clone()),
            ..hidden
        })?;
        let commit = commit.as_deref().unwrap_or_else(|| self.head.short());
        let (commit, file) = (code(&visible(commit)), code(&visible(file)));
        let lead = format!("{RESOLVED_MARKER} in {commit} by {file}\n\n");
        let end = format!("\n\n---\n\n{FINDING}\n\n{rewritten}");
        let room = MOST.checked_sub(lead.len() + end.len())?;
        if room < LEAST_WORDS {
            return None;
        }
        // A name or a block of code could hold the line that is looked for when the comment is read.
        let words = format!("{lead}{}", clean(&reply.body)).replace("<!--", "< !--");
        Some(format!("{}{end}", cut(words.trim_end(), room)))
    }

    /// The finding's comment without the words about a fix that did not hold. `None` where it has none.
    #[must_use]
    pub fn unresolved(&self, thread: &Thread) -> Option<String> {
        block::parse(thread.comment.as_deref()?).hidden?.fixed?;
        self.rewritten(thread, |hidden| Hidden {
            conversation: None,
            fixed: None,
            ..hidden
        })
    }

    /// The finding's own words, with its hidden record changed and signed for this thread.
    fn rewritten(&self, thread: &Thread, change: impl FnOnce(Hidden) -> Hidden) -> Option<String> {
        let body = thread.comment.as_deref()?;
        let block = block::parse(body);
        let before = block.hidden?;
        let words = match before.fixed {
            Some(_) => body.split_once(FINDING)?.1,
            None => body,
        };
        let words = block::without_hidden(words)?.trim();
        let hidden = Hidden {
            kid: None,
            sig: None,
            ..change(before)
        };
        let seen = serde_json::to_value(&block.visible?).unwrap_or(Value::Null);
        let hidden = self.sign(hidden, Some(thread.id), &seen);
        Some(format!("{words}\n\n{hidden}"))
    }
}

#[cfg(test)]
#[path = "resolved_tests.rs"]
mod tests;

//! The prompt of the comments analyzer: open conversations of people, each with its place. It begins a conversation of its own,
//! without the context of the review.

use super::Brief;
use crate::context::speakers::replier;
use crate::domain::prefixed;
use crate::panel::open_conversations::{OpenConversation, Words};
use reviewer_text::template::{self, TemplateError};

const CONVERSATIONS: &str = include_str!("../../prompts/conversations.md");

/// The number of comments that are shown besides the first one.
const LATEST: usize = 9;

impl Brief<'_> {
    pub(super) fn conversations(&self, open: &[OpenConversation]) -> Result<String, TemplateError> {
        let texts: Vec<String> = open.iter().map(|one| self.open_conversation(one)).collect();
        template::render(
            &prefixed(CONVERSATIONS, self.prefix),
            &[("conversations", &texts.join("\n\n"))],
        )
    }

    fn open_conversation(&self, open: &OpenConversation) -> String {
        let place = match open.line {
            Some(line) => format!("{}:{line}", open.file),
            None => open.file.clone(),
        };
        let outdated = if open.outdated {
            ", on code that has changed since"
        } else {
            ""
        };
        let who = |words: &Words| replier(Some(&words.author), words.person.standing());
        // The first comment says what it is about, the latest ones where it stands.
        let skipped = open.words.len().saturating_sub(LATEST);
        let latest = open.words.iter().skip(skipped.max(1));
        let said: Vec<(String, &str)> = open
            .words
            .iter()
            .take(1)
            .chain(latest)
            .map(|words| (who(words), words.body.as_str()))
            .collect();
        format!(
            "Conversation {}{outdated}\n{}\n{}",
            open.root.0,
            self.fence.code("place", &place),
            self.said(said.iter().map(|(who, body)| (who, *body)))
        )
    }
}

//! The conversations of people that the model weighs for the consensus, and its word on each.

use super::{Answer, Desk, MAX_SENTENCES};
use crate::domain::CommentId;
use crate::panel::analysis::Weighed;
use crate::panel::consensus::Priority;
use crate::review::ledger::Stage;

/// The conversations that are asked about, and what was answered.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    asked: Vec<CommentId>,
    weighed: Vec<Weighed>,
}

/// The model's word on a conversation, as it was given.
#[derive(Debug, Clone, Copy)]
pub struct GivenConversation<'a> {
    pub id: &'a str,
    pub priority: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    pub suggestion: &'a str,
}

impl Desk {
    /// Opens the turn about these conversations.
    pub fn begin_conversations(&mut self, asked: impl IntoIterator<Item = CommentId>) {
        self.conversations.asked = asked.into_iter().collect();
        self.ledger.begin_conversations();
    }

    /// The model's word on a conversation. A later one replaces it.
    pub fn weigh_conversation(&mut self, given: GivenConversation<'_>) -> Answer {
        if self.ledger.current() != Some(Stage::Conversations) {
            return Err("No conversations are weighed now; this tool is not for this task.".into());
        }
        let priority: Priority = given.priority.parse()?;
        let title = given.title.trim();
        if title.is_empty() {
            return Err(
                "title is empty. Say in one sentence what is asked for, and call again.".into(),
            );
        }
        for (name, text) in [
            ("title", title),
            ("description", given.description),
            ("suggestion", given.suggestion),
        ] {
            if text.len() > MAX_SENTENCES {
                return Err(format!(
                    "{name} is too long; at most {MAX_SENTENCES} characters are allowed. Shorten it and call again."
                ));
            }
        }
        let known = self.conversations.asked.iter();
        let root = known
            .copied()
            .find(|root| root.0.to_string() == given.id.trim());
        let Some(root) = root else {
            return Err(format!(
                "There is no conversation {:?}. {}",
                given.id,
                self.unweighed()
            ));
        };
        let weighed = &mut self.conversations.weighed;
        weighed.retain(|one| one.root != root);
        weighed.push(Weighed {
            root,
            priority,
            title: title.to_owned(),
            description: given.description.trim().to_owned(),
            suggestion: given.suggestion.trim().to_owned(),
        });
        Ok(format!("Recorded. {}", self.unweighed()))
    }

    /// The conversations that the model has weighed.
    #[must_use]
    pub fn weighed(&self) -> &[Weighed] {
        &self.conversations.weighed
    }

    fn unweighed(&self) -> String {
        let Conversations { asked, weighed } = &self.conversations;
        let left = asked
            .iter()
            .filter(|root| weighed.iter().all(|one| one.root != **root));
        let left: Vec<String> = left.map(|root| root.0.to_string()).collect();
        match left.as_slice() {
            [] => "No conversation is left; end your turn.".into(),
            left => format!("Left: {}.", left.join(", ")),
        }
    }
}

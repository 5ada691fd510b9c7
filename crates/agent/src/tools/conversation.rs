//! `submit_conversation`: weighs an open conversation of people, in the session of the comments analyzer.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::review::desk::{Desk, GivenConversation};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    conversation_id: GivenThread,
    /// P0, P1, P2 or P3.
    priority: String,
    /// The request in one sentence.
    title: String,
    description: String,
    suggestion: Option<String>,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "submit",
    name: "conversation",
    description: "Only in the task about conversations of people.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let usage = "{conversation_id: string, priority: \"P0\" | \"P1\" | \"P2\" | \"P3\", title: string, description: string, \
                 suggestion?: string}";
    let given: Arguments = arguments(given, usage)?;
    desk.weigh_conversation(GivenConversation {
        id: &given.conversation_id.text(),
        priority: &given.priority,
        title: &given.title,
        description: &given.description,
        suggestion: given.suggestion.as_deref().unwrap_or_default(),
    })
}

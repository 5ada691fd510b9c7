//! `github_reply_to_thread`: a reply in a discussion, or an addition to a recorded finding.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::review::desk::{Desk, Word};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    thread_id: GivenThread,
    body: String,
    /// The developer is right.
    is_concession: bool,
    /// They only asked.
    is_answer: Option<bool>,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "github",
    name: "reply_to_thread",
    description: "Answers in a thread, or adds to a finding of this review.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let given: Arguments = arguments(
        given,
        "{thread_id: string, body: string, is_concession: boolean, is_answer?: boolean}",
    )?;
    let word = match (given.is_concession, given.is_answer.unwrap_or_default()) {
        (true, _) => Word::Concession,
        (false, true) => Word::Answer,
        (false, false) => Word::Argument,
    };
    desk.reply(given.thread_id.parse()?, &given.body, word)
}

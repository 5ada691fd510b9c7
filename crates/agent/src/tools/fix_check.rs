//! `submit_fix_check`: says whether a finding is fixed, in the session that checks fixes.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::review::desk::Desk;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    thread_id: GivenThread,
    is_fixed: bool,
    reason: String,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "submit",
    name: "fix_check",
    description: "Only in a check of fixes.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let usage = "{thread_id: string, is_fixed: boolean, reason: string}";
    let given: Arguments = arguments(given, usage)?;
    desk.check_fix(given.thread_id.parse()?, given.is_fixed, &given.reason)
}

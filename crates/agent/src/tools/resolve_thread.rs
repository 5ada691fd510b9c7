//! `github_resolve_thread`: closes a thread that is fixed or explained, or withdraws a recorded finding.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::review::desk::{Claim, Desk};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    thread_id: GivenThread,
    reason: String,
    fixed_by: Option<FixedBy>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FixedBy {
    file: String,
    commit: Option<String>,
    quote: Option<String>,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "github",
    name: "resolve_thread",
    description: "Closes a thread that is fixed (with fixed_by) or explained, or withdraws a finding of this review.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let usage = "{thread_id: string, reason: string, \
                 fixed_by?: {file: string, commit?: string, quote?: string}}";
    let given: Arguments = arguments(given, usage)?;
    // It is shown, so it is a hash or nothing.
    let is_hash = |commit: &String| {
        (7..=40).contains(&commit.len()) && commit.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let fixed_by = given.fixed_by.map(|fixed| Claim {
        file: fixed.file,
        commit: fixed.commit.filter(is_hash),
        quote: fixed.quote,
    });
    desk.resolve(given.thread_id.parse()?, &given.reason, fixed_by)
}

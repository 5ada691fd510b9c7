//! `submit_same_cause`: says whether two findings have the same cause, in the last pass of a panel.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{SharedDesk, arguments};
use reviewer_core::review::desk::Desk;
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As the prompt lists it, such as pair-1.
    pair_id: String,
    /// True only if one fix at one place would settle both.
    is_same: bool,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "submit",
    name: "same_cause",
    description: "Says whether two findings have the same cause. Only in the last pass, once for each pair that its prompt lists.",
    schema: schema_for_type::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let given: Arguments = arguments(given, "{pair_id: string, is_same: boolean}")?;
    desk.compare_findings(&given.pair_id, given.is_same)
}

//! `submit_pass_results`: marks the pass under way as complete.

use super::{Tool, arguments};
use crate::review::desk::Desk;
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The pass that is complete, 1 to 4.
    pass_number: u64,
    /// What was checked and found, in one or two sentences, or "Nothing to report.".
    summary: String,
    /// True if a recorded finding is scored 9 or 10.
    has_blocking_issues: bool,
}

pub const TOOL: Tool = Tool {
    server: "submit",
    name: "pass_results",
    description: "Ends the pass under way. Call it once per pass, after its findings are recorded, then end your turn.",
    schema: schema_for_type::<Arguments>,
    call,
};

fn call(desk: &mut Desk, given: JsonObject) -> Result<String, String> {
    let usage = "{pass_number: integer 1-4, summary: string, has_blocking_issues: boolean}";
    let given: Arguments = arguments(given, usage)?;
    desk.submit(given.pass_number, &given.summary, given.has_blocking_issues)
}

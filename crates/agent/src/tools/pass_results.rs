//! `submit_pass_results`: marks the pass under way as complete.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{SharedDesk, arguments};
use reviewer_core::domain::PASSES;
use reviewer_core::review::desk::Desk;
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[schemars(description = format!("The pass that is complete, 1 to {}.", PASSES.total()))]
    pass_number: u64,
    /// The checks and their results, in one or two sentences, or "Nothing to report.".
    summary: String,
    /// True if a recorded finding is scored 9 or 10.
    has_blocking_issues: bool,
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "submit",
    name: "pass_results",
    description: "Ends the pass under way. Call it once per pass, after its findings are recorded, then end your turn.",
    schema: schema_for_type::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let usage = format!(
        "{{pass_number: integer 1-{}, summary: string, has_blocking_issues: boolean}}",
        PASSES.total()
    );
    let given: Arguments = arguments(given, &usage)?;
    desk.submit(given.pass_number, &given.summary, given.has_blocking_issues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_which_passes_there_are() {
        let schema = (TOOL.schema)();
        assert_eq!(
            schema["properties"]["pass_number"]["description"],
            "The pass that is complete, 1 to 4."
        );
    }
}

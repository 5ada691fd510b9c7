//! `submit_pass_results`: marks the pass under way as complete.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::domain::PASSES;
use reviewer_core::review::desk::{AuthorText, Desk};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pass_number: u64,
    summary: String,
    /// A score of 9 or 10 stands.
    has_blocking_issues: bool,
    #[schemars(description = format!("In pass {}, for every finding that stands.", PASSES.total()))]
    texts: Option<Vec<GivenText>>,
    /// Shown to reviewers who may call others, with their names.
    #[schemars(skip)]
    escalate: Option<Vec<String>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenText {
    thread_id: GivenThread,
    body: String,
}

impl GivenText {
    fn parse(self) -> Result<AuthorText, String> {
        Ok(AuthorText {
            thread: self.thread_id.parse()?,
            body: self.body,
        })
    }
}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "submit",
    name: "pass_results",
    description: "Ends the pass.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let usage = format!(
        "{{pass_number: integer 1-{}, summary: string, has_blocking_issues: boolean, texts?: [{{thread_id, body}}]}}",
        PASSES.total()
    );
    let given: Arguments = arguments(given, &usage)?;
    let texts = given.texts.unwrap_or_default().into_iter();
    let texts: Result<Vec<AuthorText>, String> = texts.map(GivenText::parse).collect();
    let escalate = given.escalate.unwrap_or_default();
    let pass = (
        given.pass_number,
        given.summary.as_str(),
        given.has_blocking_issues,
    );
    desk.submit_and_escalate(pass, &texts?, &escalate)
}

/// The schema for a reviewer who may call these.
pub(super) fn schema_with_escalation(names: &[String]) -> Arc<JsonObject> {
    let mut schema = (*(TOOL.schema)()).clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let escalate = json!({
            "description": "Further reviewers that this change needs.",
            "type": "array",
            "items": { "type": "string", "enum": names },
        });
        properties.insert("escalate".into(), escalate);
    }
    Arc::new(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_in_which_pass_it_writes_to_the_author() {
        let schema = (TOOL.schema)();
        assert_eq!(
            schema["properties"]["texts"]["description"],
            "In pass 4, for every finding that stands."
        );
    }

    #[test]
    fn escalation_is_shown_to_those_who_may_call_somebody_with_the_names() {
        let usual = (TOOL.schema)();
        assert!(usual["properties"].get("escalate").is_none());
        let schema = schema_with_escalation(&["security".into(), "octocat".into()]);
        let items = &schema["properties"]["escalate"]["items"];
        assert_eq!(items["enum"], json!(["security", "octocat"]));
        assert_eq!(schema["required"], usual["required"]);
    }
}

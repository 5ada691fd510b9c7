//! `submit_fix_result`: ends an issue.

use super::{FixCall, FixCalls};
use crate::tools::tool::{Redaction, Tool};
use crate::tools::{arguments, schema};
use futures_util::FutureExt as _;
use futures_util::future;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Fixed,
    Rejected,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    issue: String,
    result: Outcome,
    /// For fixed what now stops the defect, for rejected the reason.
    text: String,
}

pub(super) const TOOL: Tool<FixCalls> = Tool {
    server: "submit",
    name: "fix_result",
    description: "Ends an issue.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |calls, given| {
        let usage = "{issue: string, result: \"fixed\" | \"rejected\", text: string}";
        match arguments::<Arguments>(given, usage) {
            Ok(given) => calls.send(FixCall::Submit {
                issue: given.issue,
                is_fixed: given.result == Outcome::Fixed,
                text: given.text,
            }),
            Err(told) => future::ready(Err(told)).boxed(),
        }
    },
};

//! `fix_create`: makes a new file, for an issue.

use super::{FixCall, FixCalls};
use crate::tools::tool::{Redaction, Tool};
use crate::tools::{arguments, schema};
use futures_util::FutureExt as _;
use futures_util::future;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    issue: String,
    file: String,
    content: String,
}

pub(super) const TOOL: Tool<FixCalls> = Tool {
    server: "fix",
    name: "create",
    description: "Makes a new file.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    // As for an edit.
    redaction: Redaction::None,
    call: |calls, given| {
        let usage = "{issue: string, file: string, content: string}";
        match arguments::<Arguments>(given, usage) {
            Ok(given) => calls.send(FixCall::Create {
                issue: given.issue,
                file: given.file,
                content: given.content,
            }),
            Err(told) => future::ready(Err(told)).boxed(),
        }
    },
};

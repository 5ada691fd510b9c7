//! `fix_delete`: removes a file, for an issue.

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
    /// For a file that the pull request does not change: the line of it that the issue depends on.
    quote: Option<String>,
}

pub(super) const TOOL: Tool<FixCalls> = Tool {
    server: "fix",
    name: "delete",
    description: "Removes a file.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |calls, given| {
        let usage = "{issue: string, file: string, quote?: string}";
        match arguments::<Arguments>(given, usage) {
            Ok(given) => calls.send(FixCall::Delete {
                issue: given.issue,
                file: given.file,
                quote: given.quote,
            }),
            Err(told) => future::ready(Err(told)).boxed(),
        }
    },
};

//! `fix_undo`: takes back all that was changed for an issue.

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
}

pub(super) const TOOL: Tool<FixCalls> = Tool {
    server: "fix",
    name: "undo",
    description: "Takes back all that you changed for an issue.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |calls, given| match arguments::<Arguments>(given, "{issue: string}") {
        Ok(given) => calls.send(FixCall::Undo { issue: given.issue }),
        Err(told) => future::ready(Err(told)).boxed(),
    },
};

//! `submit_finding_verdict`: the verdict on a finding of another reviewer, in the last pass of a panel. A refutation needs a
//! quote, which is looked up in the snapshot before the desk hears of it.

use super::arguments;
use super::quoted_code::{Examiner, look_up};
use super::tool::{Answer, Redaction, Tool, not_begun};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reviewer_core::review::desk::{GivenVerdict, Quote};
use rmcp::handler::server::tool::schema_for_type;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Confirm,
    Refute,
    Unsure,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// As the prompt lists it, such as f-1.
    finding_id: String,
    verdict: Verdict,
    /// For confirm the scenario in your own words, for refute what contradicts it.
    reason: String,
    /// For refute: the file of the quote.
    file: Option<String>,
    /// For refute: the exact code, or line of a test, that contradicts the finding.
    quote: Option<String>,
}

pub(crate) const TOOL: Tool<Examiner> = Tool {
    server: "submit",
    name: "finding_verdict",
    description: "Judges a finding of another reviewer. Only in the last pass, once for each finding that its prompt lists.",
    schema: schema_for_type::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call,
};

fn call(examiner: Examiner, given: JsonObject) -> BoxFuture<'static, Answer> {
    async move {
        let usage = "{finding_id: string, verdict: \"confirm\" | \"refute\" | \"unsure\", reason: string, file?: string, \
                     quote?: string}";
        let given: Arguments = arguments(given, usage)?;
        let verdict = match given.verdict {
            Verdict::Confirm => GivenVerdict::Confirm,
            Verdict::Refute => GivenVerdict::Refute,
            Verdict::Unsure => GivenVerdict::Unsure,
        };
        let quote = match (given.file, given.quote) {
            (Some(file), Some(quote)) => look_up(&examiner, &file, &quote).await,
            _ => Quote::None,
        };
        let judged = examiner
            .desk
            .work(|desk| desk.judge_finding(&given.finding_id, verdict, &given.reason, quote));
        judged.unwrap_or_else(not_begun)
    }
    .boxed()
}

//! `submit_candidate_verdict`: the verdict on a result of static analysis. It is confirmed by a finding that stands, or refuted with a
//! quote, which is looked up in the snapshot before the desk hears of it.

use super::quoted_code::{Examiner, look_up};
use super::tool::{Answer, Redaction, Tool, not_begun};
use super::{GivenThread, arguments, schema};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reviewer_core::review::desk::{GivenCandidateVerdict, Quote};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Confirm,
    Refute,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// Such as S1.
    candidate_id: String,
    verdict: Verdict,
    /// For confirm: the finding, such as new-1, or the open thread that says it.
    finding_id: Option<GivenThread>,
    /// For refute.
    reason: Option<String>,
    /// For refute: the file of the quote.
    file: Option<String>,
    /// For refute: the exact code that contradicts it.
    quote: Option<String>,
}

const USAGE: &str = "{candidate_id: string, verdict: \"confirm\" | \"refute\", finding_id?: string, reason?: string, \
                     file?: string, quote?: string}";

pub(crate) const TOOL: Tool<Examiner> = Tool {
    server: "submit",
    name: "candidate_verdict",
    description: "Judges a result of static analysis.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call,
};

fn call(examiner: Examiner, given: JsonObject) -> BoxFuture<'static, Answer> {
    async move {
        let given: Arguments = arguments(given, USAGE)?;
        let verdict = match given.verdict {
            Verdict::Confirm => {
                let finding = given.finding_id.ok_or(
                    "confirm needs finding_id: the finding or the open thread that says what the result reports.",
                )?;
                GivenCandidateVerdict::Confirm {
                    finding: finding.parse()?,
                }
            }
            Verdict::Refute => {
                let quote = match (&given.file, &given.quote) {
                    (Some(file), Some(quote)) => look_up(&examiner, file, quote).await,
                    _ => Quote::None,
                };
                GivenCandidateVerdict::Refute {
                    reason: given.reason.unwrap_or_default(),
                    file: given.file.unwrap_or_default(),
                    quote,
                }
            }
        };
        let judged = examiner
            .desk
            .work(|desk| desk.judge_candidate(&given.candidate_id, verdict));
        judged.unwrap_or_else(not_begun)
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reviewer_core::review::desk::SharedDesk;
    use reviewer_text::redact::Redactor;
    use serde_json::{Value, json};
    use std::path::Path;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_verdict_without_its_ground_is_refused_with_what_is_missing() {
        let redactor = Arc::new(Redactor::new(&[]));
        let examiner = Examiner::new(&SharedDesk::default(), Path::new("/snapshot"), &redactor);
        let refused = async |given: Value| {
            let Value::Object(given) = given else {
                panic!("an object");
            };
            call(examiner.clone(), given).await.unwrap_err()
        };
        let refusal = refused(json!({ "candidate_id": "S1", "verdict": "confirm" })).await;
        assert!(refusal.starts_with("confirm needs finding_id"), "{refusal}");
        let refusal = refused(json!({ "candidate_id": "S1", "verdict": "unsure" })).await;
        assert!(
            refusal.contains("Expected {candidate_id: string"),
            "{refusal}"
        );
        let refusal = refused(json!({ "candidate_id": "S1", "verdict": "refute" })).await;
        assert!(refusal.starts_with("The review has not begun"), "{refusal}");
    }
}

//! `github_post_review_comment`: a new finding.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{GivenThread, SharedDesk, arguments, schema};
use reviewer_core::domain::{Assessment, Category, Score, ThreadId};
use reviewer_core::review::desk::{self, Desk, Draft};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    file: String,
    line: u32,
    /// The scenario; in the last pass, the text for the author.
    body: String,
    assessment: GivenAssessment,
    /// security, logic, performance, design, rules, docs or style.
    category: Option<String>,
    /// The exact code; it decides the place.
    quote: Option<String>,
    /// Only if told that it looks like another.
    distinct_from: Option<Distinct>,
    combines: Option<Vec<GivenThread>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenAssessment {
    /// The claim, in one sentence.
    finding: String,
    /// The level, and why not one lower.
    assessment: String,
    score: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Distinct {
    thread_id: GivenThread,
    reason: String,
}

const USAGE: &str = "{file: string, line: integer, body: string, assessment: {finding: string, assessment: string, \
                     score: integer 1-10}, category?: string, quote?: string, distinct_from?: {thread_id, reason}, \
                     combines?: [thread ids]}";

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "github",
    name: "post_review_comment",
    description: "Records a finding, such as new-1. Nothing is published before the review ends.",
    schema: schema::of::<Arguments>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, given: JsonObject) -> Answer {
    let given: Arguments = arguments(given, USAGE)?;
    desk.post(draft(given)?)
}

fn draft(given: Arguments) -> Result<Draft, String> {
    let score = Score::new(given.assessment.score).ok_or_else(|| {
        format!(
            "assessment.score is an integer from 1 to 10, not {}.",
            given.assessment.score
        )
    })?;
    let category = given.category.as_deref().map(category).transpose()?;
    let combines = given.combines.unwrap_or_default();
    let combines: Result<Vec<ThreadId>, String> = combines.iter().map(GivenThread::parse).collect();
    let distinct_from = given.distinct_from.as_ref().map(distinct).transpose()?;
    Ok(Draft {
        file: given.file,
        line: Some(given.line),
        body: given.body,
        assessment: Assessment {
            finding: given.assessment.finding.trim().to_owned(),
            assessment: given.assessment.assessment.trim().to_owned(),
            score,
        },
        category,
        quote: given.quote.filter(|quote| !quote.trim().is_empty()),
        distinct_from,
        combines: combines?,
    })
}

fn category(text: &str) -> Result<Category, String> {
    text.parse().map_err(|()| {
        let known: Vec<&str> = Category::ALL
            .iter()
            .map(|category| category.as_str())
            .collect();
        format!(
            "category {text:?} is unknown; use one of {}.",
            known.join(", ")
        )
    })
}

fn distinct(given: &Distinct) -> Result<desk::Distinct, String> {
    let reason = given.reason.trim();
    if reason.is_empty() {
        return Err("distinct_from needs a reason: say what makes it a different problem.".into());
    }
    Ok(desk::Distinct {
        thread: given.thread_id.parse()?,
        reason: reason.to_owned(),
    })
}

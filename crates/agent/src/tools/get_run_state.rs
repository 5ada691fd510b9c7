//! `github_get_run_state`: the threads on the pull request and what this review has recorded.

use super::tool::{Answer, Redaction, Tool, at_desk};
use super::{SharedDesk, schema};
use reviewer_core::domain::Thread;
use reviewer_core::review::desk::Desk;
use reviewer_core::review::ledger::Stage;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

pub(crate) const TOOL: Tool<SharedDesk> = Tool {
    server: "github",
    name: "get_run_state",
    description: "Lists your threads and the findings of this review.",
    schema: schema::of::<Nothing>,
    is_offered: |_| true,
    redaction: Redaction::WordsAndAnswer,
    call: |desk, given| at_desk(&desk, |desk| call(desk, given)),
};

fn call(desk: &mut Desk, _: JsonObject) -> Answer {
    // A check of fixes gets none of the discussion.
    if let Some(why) = desk.ledger.current().and_then(Stage::refusal) {
        return Err(why.into());
    }
    let subject = desk.subject();
    let threads: Vec<Value> = subject.threads.iter().map(thread_json).collect();
    let recorded: Vec<Value> = desk
        .entries()
        .iter()
        .filter(|entry| entry.is_live())
        .map(|entry| {
            json!({
                "id": entry.thread_id().to_string(),
                "place": entry.finding.place(),
                "pass": entry.finding.pass.get(),
                "score": entry.given.get(),
                "finding": entry.finding.assessment.finding,
            })
        })
        .collect();
    let pass = match desk.ledger.current() {
        Some(Stage::Pass(pass)) => Some(pass.get()),
        Some(Stage::TurnZero) => Some(0),
        Some(Stage::FixCheck | Stage::Conversations) | None => None,
    };
    let files: Vec<&str> = subject
        .diffs
        .iter()
        .map(|diff| diff.path.as_str())
        .collect();
    let state = json!({
        "threads": threads,
        "metadata": {
            "head": subject.head.as_str(),
            "pass": pass,
            "files": files,
            "recorded": recorded,
        },
    });
    Ok(state.to_string())
}

/// A thread in the shape that the specification gives it.
#[must_use]
pub fn thread_json(thread: &Thread) -> Value {
    let replies: Vec<Value> = thread
        .replies
        .iter()
        .map(|reply| {
            json!({
                "author": reply.author.as_ref().map_or("ghost", |author| author.as_str()),
                "standing": reply.standing.to_string(),
                "body": reply.body,
                "timestamp": reply.created_at,
            })
        })
        .collect();
    let mut json = json!({
        "id": thread.id.to_string(),
        "file": thread.file,
        "line": thread.line,
        "status": thread.status.to_string(),
        "awaiting": thread.awaiting.to_string(),
        "score": thread.assessment.score.get(),
        "assessment": {
            "finding": thread.assessment.finding,
            "assessment": thread.assessment.assessment,
            "score": thread.assessment.score.get(),
        },
        "developer_replies": replies,
    });
    if !thread.reviewers.is_empty() {
        json["reviewers"] = json!(thread.reviewers);
    }
    json
}

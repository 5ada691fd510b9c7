//! The model's only effects: one file a tool, listed in one table, and the loopback server that offers them over
//! MCP. A tool parses its arguments and asks the desk; deciding is the desk's work.

mod fix_check;
mod get_run_state;
mod pass_results;
mod post_review_comment;
mod reply_to_thread;
mod resolve_thread;
pub mod server;
pub mod web;
mod web_fetch;
mod web_search;

pub use get_run_state::thread_json;

use crate::domain::ThreadId;
use crate::redact::Redactor;
use crate::review::desk::Desk;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// A tool as the model meets it: `<server>_<name>`.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    pub server: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub schema: fn() -> Arc<JsonObject>,
    /// The answer, or a refusal that tells the model what to do next.
    pub call: fn(&mut Desk, JsonObject) -> Result<String, String>,
}

/// Every tool that works on the desk; `web::WEB_TOOLS` are the others.
pub const TOOLS: &[Tool] = &[
    get_run_state::TOOL,
    post_review_comment::TOOL,
    reply_to_thread::TOOL,
    resolve_thread::TOOL,
    pass_results::TOOL,
    fix_check::TOOL,
];

/// The servers the tools are grouped under.
pub const SERVERS: &[&str] = &["github", "submit"];

/// Arguments as a type; OpenCode does not check them, so this is the only check there is.
fn arguments<T: DeserializeOwned>(given: JsonObject, usage: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        format!("Wrong arguments: {error}. Expected {usage}. Correct them and call again.")
    })
}

/// Arguments that name something rather than say it: they are compared with what is there, and repeated to the model
/// alone.
const NAMES: [&str; 5] = ["file", "quote", "thread_id", "distinct_from", "combines"];

/// The arguments with the secrets in their words replaced. Everything that is said about a change, in comments, report
/// and log, comes through here.
fn without_secrets(given: JsonObject, redactor: &Redactor) -> JsonObject {
    let clean = |(name, value): (String, Value)| {
        let value = match value {
            value if NAMES.contains(&name.as_str()) => value,
            Value::Object(inner) => Value::Object(without_secrets(inner, redactor)),
            other => redactor.clean_value(other),
        };
        (name, value)
    };
    given.into_iter().map(clean).collect()
}

/// A thread id as models write it: a string, or the bare number.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum GivenThread {
    Text(String),
    Number(u64),
}

impl GivenThread {
    fn parse(&self) -> Result<ThreadId, String> {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        };
        text.parse()
            .map_err(|error| format!("{error}. github_get_run_state lists the threads."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r7_a_secret_is_taken_out_of_what_is_said_and_not_out_of_names() {
        let key = "sk-standin-0123456789abcdef0123456789abcdef";
        let redactor = Redactor::new(&[key.into()]);
        let given = json!({
            "file": key,
            "line": 3,
            "quote": format!("key = {key}"),
            "body": format!("The key {key} is committed in src/a.ts."),
            "assessment": { "finding": format!("{key} leaks"), "score": 9 },
        });
        let Value::Object(given) = given else {
            panic!("an object");
        };
        let cleaned = Value::Object(without_secrets(given, &redactor));
        assert_eq!(cleaned["file"], key);
        assert_eq!(cleaned["quote"], format!("key = {key}"));
        assert_eq!(
            cleaned["body"],
            "The key [redacted: secret of this run] is committed in src/a.ts."
        );
        assert_eq!(
            cleaned["assessment"],
            json!({ "finding": "[redacted: secret of this run] leaks", "score": 9 })
        );
        assert_eq!(cleaned["line"], 3);
    }
}

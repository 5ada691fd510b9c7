//! The model's only effects: one file a tool, listed in one table, and the loopback server that offers them over
//! MCP. A tool parses its arguments and asks the desk; deciding is the desk's work.

mod get_run_state;
mod pass_results;
mod post_review_comment;
mod reply_to_thread;
mod resolve_thread;
pub mod server;

pub use get_run_state::thread_json;

use crate::domain::ThreadId;
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

/// Every tool there is.
pub const TOOLS: &[Tool] = &[
    get_run_state::TOOL,
    post_review_comment::TOOL,
    reply_to_thread::TOOL,
    resolve_thread::TOOL,
    pass_results::TOOL,
];

/// The servers the tools are grouped under.
pub const SERVERS: &[&str] = &["github", "submit"];

/// Arguments as a type; OpenCode does not check them, so this is the only check there is.
fn arguments<T: DeserializeOwned>(given: JsonObject, usage: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        format!("Wrong arguments: {error}. Expected {usage}. Correct them and call again.")
    })
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

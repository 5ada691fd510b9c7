//! The model's only effects: one file a tool, one table a set of them, and the loopback server that offers them over
//! MCP. A tool of a review parses its arguments and asks the desk; deciding is the desk's work.

mod fix_check;
mod get_run_state;
mod handler;
mod pass_results;
mod post_review_comment;
mod reply_to_thread;
mod resolve_thread;
mod schema;
pub mod server;
mod tool;
mod web_fetch;
mod web_search;

pub use get_run_state::thread_json;
pub use tool::{Answer, BoundTool, Redaction, Tool, bind};

use crate::opencode::ToolName;
use reviewer_core::domain::ThreadId;
use reviewer_core::review::desk::SharedDesk;
use reviewer_web::Web;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The tools of a review.
pub const REVIEW_TOOLS: &[Tool<SharedDesk>] = &[
    get_run_state::TOOL,
    post_review_comment::TOOL,
    reply_to_thread::TOOL,
    resolve_thread::TOOL,
    pass_results::TOOL,
    fix_check::TOOL,
];

/// The tools that ask the web. They touch no desk: a slow page must not keep a finding from being recorded.
pub(crate) const WEB_TOOLS: &[Tool<Arc<Web>>] = &[web_search::TOOL, web_fetch::TOOL];

/// The names of a review's tools. OpenCode's permissions and the gateway's list follow from them.
#[must_use]
pub fn review_names(with_web: bool) -> Vec<ToolName> {
    let web = WEB_TOOLS.iter().filter(|_| with_web);
    let names = REVIEW_TOOLS.iter().map(Tool::full_name);
    names.chain(web.map(Tool::full_name)).collect()
}

/// The tools that the session of a review does not show to the model, because there is nothing to do with them. Every request
/// carries the description of a tool that is shown.
#[must_use]
pub fn hidden_in_review(has_threads: bool) -> Vec<ToolName> {
    let reply = (!has_threads).then(|| reply_to_thread::TOOL.full_name());
    let always = [fix_check::TOOL.full_name()];
    always.into_iter().chain(reply).collect()
}

/// The tools that the session of a check of fixes does not show to the model: all others that work on the desk.
#[must_use]
pub fn hidden_in_fix_check() -> Vec<ToolName> {
    let names = REVIEW_TOOLS.iter().map(Tool::full_name);
    names
        .filter(|name| *name != fix_check::TOOL.full_name())
        .collect()
}

/// The tools of a review, with what they work on. Without access to the web, its tools do not exist.
#[must_use]
pub fn review_tools(desk: &SharedDesk, web: Option<&Arc<Web>>) -> Vec<BoundTool> {
    let web = web.map(|web| tool::bind(WEB_TOOLS, web));
    let mut tools = tool::bind(REVIEW_TOOLS, desk);
    tools.extend(web.into_iter().flatten());
    tools
}

/// Arguments as a type; OpenCode does not check them, so this is the only check there is.
fn arguments<T: DeserializeOwned>(given: JsonObject, usage: &str) -> Result<T, String> {
    serde_json::from_value(Value::Object(given)).map_err(|error| {
        format!("Wrong arguments: {error}. Expected {usage}. Correct them and call again.")
    })
}

/// A thread id as models write it: a string, or the bare number.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum GivenThread {
    Text(String),
    Number(u64),
}

/// The model is told of the string alone.
impl JsonSchema for GivenThread {
    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
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

    #[test]
    fn the_model_meets_the_tools_by_these_names() {
        let names = |with_web| {
            let names = review_names(with_web).into_iter();
            names.map(|name| name.to_string()).collect::<Vec<_>>()
        };
        let of_review = [
            "github_get_run_state",
            "github_post_review_comment",
            "github_reply_to_thread",
            "github_resolve_thread",
            "submit_pass_results",
            "submit_fix_check",
        ];
        assert_eq!(names(false), of_review);
        assert_eq!(
            names(true),
            [&of_review[..], &["web_search", "web_fetch"]].concat()
        );
    }

    #[test]
    fn a_session_shows_the_tools_that_it_has_a_use_for() {
        let names = |hidden: Vec<ToolName>| {
            let names = hidden.iter().map(ToString::to_string);
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(hidden_in_review(true)), ["submit_fix_check"]);
        assert_eq!(
            names(hidden_in_review(false)),
            ["submit_fix_check", "github_reply_to_thread"]
        );
        let shown = review_names(true).into_iter();
        let shown = shown.filter(|name| !hidden_in_fix_check().contains(name));
        assert_eq!(
            names(shown.collect()),
            ["submit_fix_check", "web_search", "web_fetch"]
        );
    }

    #[test]
    fn what_is_bound_is_what_is_named() {
        let bound = review_tools(&SharedDesk::default(), None);
        let bound: Vec<ToolName> = bound.iter().map(|tool| tool.name).collect();
        assert_eq!(bound, review_names(false));
    }
}

//! The model's only effects: one file a tool, one table a set of them, and the loopback server that offers them over
//! MCP. A tool of a review parses its arguments and asks the desk; deciding is the desk's work.

mod candidate_verdict;
mod conversation;
mod finding_verdict;
mod fix_check;
mod fixing;
mod get_run_state;
mod handler;
mod pass_results;
mod post_review_comment;
mod quoted_code;
mod reply_to_thread;
mod resolve_thread;
mod same_cause;
mod schema;
pub mod server;
mod tool;
mod web_fetch;
mod web_search;

pub use fixing::{FixCall, FixCalls, fix_names, fix_tools};
pub use get_run_state::thread_json;
pub use tool::{Answer, BoundTool, Redaction, Tool, bind};

use crate::opencode::{SessionName, ToolName};
use quoted_code::Examiner;
use reviewer_core::domain::ThreadId;
use reviewer_core::review::desk::SharedDesk;
use reviewer_text::redact::Redactor;
use reviewer_web::Web;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// The tools of a review.
pub const REVIEW_TOOLS: &[Tool<SharedDesk>] = &[
    get_run_state::TOOL,
    post_review_comment::TOOL,
    reply_to_thread::TOOL,
    resolve_thread::TOOL,
    pass_results::TOOL,
    fix_check::TOOL,
    conversation::TOOL,
];

/// The tools that ask the web. They touch no desk: a slow page must not keep a finding from being recorded.
pub(crate) const WEB_TOOLS: &[Tool<Arc<Web>>] = &[web_search::TOOL, web_fetch::TOOL];

/// The tools of a cross-examination, for a reviewer among several.
pub(crate) const VERDICT_TOOLS: &[Tool<Examiner>] = &[finding_verdict::TOOL];
pub(crate) const PAIR_TOOLS: &[Tool<SharedDesk>] = &[same_cause::TOOL];

/// The tool for results of static analysis, in a run that has such files.
pub(crate) const CANDIDATE_TOOLS: &[Tool<Examiner>] = &[candidate_verdict::TOOL];

/// The names of the tools for results of static analysis.
#[must_use]
pub fn candidate_names() -> Vec<ToolName> {
    CANDIDATE_TOOLS.iter().map(Tool::full_name).collect()
}

/// The tools for results of static analysis, with the snapshot in which quotes are looked up.
#[must_use]
pub fn candidate_tools(
    desk: &SharedDesk,
    (snapshot, redactor): (&Path, &Arc<Redactor>),
) -> Vec<BoundTool> {
    tool::bind(CANDIDATE_TOOLS, &Examiner::new(desk, snapshot, redactor))
}

/// The tools that a session does not show to the model where there are no results to judge.
#[must_use]
pub fn hidden_without_candidates(session: SessionName) -> Vec<String> {
    let names = candidate_names().into_iter();
    names.map(|tool| session.tool(tool)).collect()
}

/// The names of a review's tools. OpenCode's permissions and the gateway's list follow from them.
#[must_use]
pub fn review_names(with_web: bool, is_panel: bool) -> Vec<ToolName> {
    let web = WEB_TOOLS.iter().filter(|_| with_web);
    let names = REVIEW_TOOLS.iter().map(Tool::full_name);
    let verdicts = VERDICT_TOOLS.iter().map(Tool::full_name);
    let of_panel = verdicts.chain(PAIR_TOOLS.iter().map(Tool::full_name));
    names
        .chain(of_panel.filter(|_| is_panel))
        .chain(web.map(Tool::full_name))
        .collect()
}

/// The tools that the session of a review does not show to the model, because there is nothing to do with them. Every request
/// carries the description of a tool that is shown.
#[must_use]
pub fn hidden_in_review(session: SessionName, has_threads: bool) -> Vec<String> {
    let reply = (!has_threads).then(|| reply_to_thread::TOOL.full_name());
    let always = [fix_check::TOOL.full_name(), conversation::TOOL.full_name()];
    let hidden = always.into_iter().chain(reply);
    hidden.map(|tool| session.tool(tool)).collect()
}

/// The tools that the session of a check of fixes does not show to the model: all others that work on the desk.
#[must_use]
pub fn hidden_in_fix_check(session: SessionName) -> Vec<String> {
    all_but(&fix_check::TOOL, session, false)
}

/// The tools that the session of the comments analyzer does not show to the model: all others.
#[must_use]
pub fn hidden_in_analysis(session: SessionName) -> Vec<String> {
    all_but(&conversation::TOOL, session, true)
}

fn all_but(tool: &Tool<SharedDesk>, session: SessionName, with_web: bool) -> Vec<String> {
    let names = review_names(with_web, true).into_iter();
    names
        .chain(candidate_names())
        .filter(|name| *name != tool.full_name())
        .map(|tool| session.tool(tool))
        .collect()
}

/// The tools of a review, with what they work on. Without access to the web, its tools do not exist; those of a
/// cross-examination exist only with a snapshot, in which quotes are looked up.
#[must_use]
pub fn review_tools(
    desk: &SharedDesk,
    web: Option<&Arc<Web>>,
    examines: Option<(&Path, &Arc<Redactor>)>,
) -> Vec<BoundTool> {
    let mut tools = tool::bind(REVIEW_TOOLS, desk);
    if let Some((snapshot, redactor)) = examines {
        let quotes = Examiner::new(desk, snapshot, redactor);
        tools.extend(tool::bind(VERDICT_TOOLS, &quotes));
        tools.extend(tool::bind(PAIR_TOOLS, desk));
    }
    let web = web.map(|web| tool::bind(WEB_TOOLS, web));
    tools.extend(web.into_iter().flatten());
    tools
}

/// The same tools of a reviewer who may call others to the pull request.
#[must_use]
pub fn with_escalation(mut tools: Vec<BoundTool>, names: &[String]) -> Vec<BoundTool> {
    let submit = pass_results::TOOL.full_name();
    for tool in tools.iter_mut().filter(|tool| tool.name == submit) {
        tool.schema = pass_results::schema_with_escalation(names);
    }
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
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
        }
    }

    fn parse(&self) -> Result<ThreadId, String> {
        self.text()
            .parse()
            .map_err(|error| format!("{error}. github_get_run_state lists the threads."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_meets_the_tools_by_these_names() {
        let names = |with_web, is_panel| {
            let names = review_names(with_web, is_panel).into_iter();
            names.map(|name| name.to_string()).collect::<Vec<_>>()
        };
        let of_review = [
            "github_get_run_state",
            "github_post_review_comment",
            "github_reply_to_thread",
            "github_resolve_thread",
            "submit_pass_results",
            "submit_fix_check",
            "submit_conversation",
        ];
        let of_panel = ["submit_finding_verdict", "submit_same_cause"];
        let of_web = ["web_search", "web_fetch"];
        assert_eq!(names(false, false), of_review);
        assert_eq!(names(true, false), [&of_review[..], &of_web].concat());
        let all = [&of_review[..], &of_panel, &of_web].concat();
        assert_eq!(names(true, true), all);
        let of_candidates = candidate_names();
        let of_candidates: Vec<String> = of_candidates.iter().map(ToString::to_string).collect();
        assert_eq!(of_candidates, ["submit_candidate_verdict"]);
        let known = reviewer_core::domain::TOOL_NAMES.iter();
        let known: Vec<&str> = known
            .copied()
            .filter(|name| *name != of_candidates[0])
            .collect();
        assert_eq!(all, known);
        assert!(reviewer_core::domain::TOOL_NAMES.contains(&of_candidates[0].as_str()));
    }

    #[test]
    fn a_session_shows_the_tools_that_it_has_a_use_for() {
        let (first, second) = (SessionName::Review(1), SessionName::Review(2));
        assert_eq!(
            hidden_in_review(first, true),
            ["submit_fix_check", "submit_conversation"]
        );
        assert_eq!(
            hidden_in_review(second, false),
            [
                "r2_submit_fix_check",
                "r2_submit_conversation",
                "r2_github_reply_to_thread"
            ]
        );
        let shown = |hidden: &[String]| {
            let names = review_names(true, true).into_iter();
            let names = names.map(|name| name.to_string());
            names
                .filter(|name| !hidden.contains(name))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(&hidden_in_fix_check(first)),
            ["submit_fix_check", "web_search", "web_fetch"]
        );
        assert_eq!(shown(&hidden_in_analysis(first)), ["submit_conversation"]);
    }

    #[test]
    fn what_is_bound_is_what_is_named() {
        let redactor = Arc::new(Redactor::new(&[]));
        for examines in [None, Some((Path::new("/snapshot"), &redactor))] {
            let bound = review_tools(&SharedDesk::default(), None, examines);
            let bound: Vec<ToolName> = bound.iter().map(|tool| tool.name).collect();
            assert_eq!(bound, review_names(false, examines.is_some()));
        }
    }
}

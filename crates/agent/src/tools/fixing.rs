//! The tools of a fix session. Each parses its arguments and hands a [`FixCall`] on; the desk decides, and the reviewer's process
//! writes. The sidecar only reads.

mod fix_create;
mod fix_delete;
mod fix_edit;
mod fix_result;
mod fix_undo;

use super::tool::{Answer, BoundTool, Tool, bind};
use crate::opencode::ToolName;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

/// A call of one of these tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixCall {
    Edit {
        issue: String,
        file: String,
        old: String,
        new: String,
        /// A line of the file that the issue depends on, for a file that the pull request does not change.
        quote: Option<String>,
    },
    Create {
        issue: String,
        file: String,
        content: String,
    },
    Delete {
        issue: String,
        file: String,
        /// As for an edit.
        quote: Option<String>,
    },
    Undo {
        issue: String,
    },
    Submit {
        issue: String,
        is_fixed: bool,
        /// The code that stops the defect now, or the reason for the rejection.
        text: String,
    },
}

/// The desk of a fix session, as the tools reach it.
#[derive(Clone)]
pub struct FixCalls(Arc<dyn Fn(FixCall) -> BoxFuture<'static, Answer> + Send + Sync>);

impl FixCalls {
    pub fn new(
        handle: impl Fn(FixCall) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(handle))
    }

    fn send(&self, call: FixCall) -> BoxFuture<'static, Answer> {
        (self.0)(call)
    }
}

impl fmt::Debug for FixCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FixCalls")
    }
}

/// The tools of a fix session.
pub(crate) const FIX_TOOLS: &[Tool<FixCalls>] = &[
    fix_edit::TOOL,
    fix_create::TOOL,
    fix_delete::TOOL,
    fix_undo::TOOL,
    fix_result::TOOL,
];

/// Their names. OpenCode's permissions and the gateway's list follow from them.
#[must_use]
pub fn fix_names() -> Vec<ToolName> {
    FIX_TOOLS.iter().map(Tool::full_name).collect()
}

/// The tools, with the desk that they work on.
#[must_use]
pub fn fix_tools(calls: &FixCalls) -> Vec<BoundTool> {
    bind(FIX_TOOLS, calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future;
    use serde_json::{Value, json};

    /// Calls a tool by its name, and gives what the desk would hear.
    async fn heard(name: &str, arguments: Value) -> Answer {
        let calls = FixCalls::new(|call| future::ready(Ok(format!("{call:?}"))).boxed());
        let tools = fix_tools(&calls);
        let tool = tools.iter().find(|tool| tool.name.to_string() == name);
        let Value::Object(arguments) = arguments else {
            panic!("no arguments");
        };
        tool.expect("a tool").call(arguments).await
    }

    #[test]
    fn the_fixer_has_its_five_tools() {
        let names: Vec<String> = fix_names().iter().map(ToString::to_string).collect();
        let expected = [
            "fix_edit",
            "fix_create",
            "fix_delete",
            "fix_undo",
            "submit_fix_result",
        ];
        assert_eq!(names, expected);
    }

    #[tokio::test]
    async fn what_the_model_writes_reaches_the_desk_as_it_is() {
        let edit =
            json!({"issue": "a1", "file": "src/a.rs", "old": "  a\r\n", "new": "\tb\u{feff}"});
        let call = FixCall::Edit {
            issue: "a1".into(),
            file: "src/a.rs".into(),
            old: "  a\r\n".into(),
            new: "\tb\u{feff}".into(),
            quote: None,
        };
        assert_eq!(heard("fix_edit", edit).await, Ok(format!("{call:?}")));
        let result = json!({"issue": "a1", "result": "rejected", "text": "It is meant."});
        let call = FixCall::Submit {
            issue: "a1".into(),
            is_fixed: false,
            text: "It is meant.".into(),
        };
        let answer = heard("submit_fix_result", result).await;
        assert_eq!(answer, Ok(format!("{call:?}")));
    }

    #[tokio::test]
    async fn wrong_arguments_are_told_with_what_is_expected() {
        for (name, arguments, expected) in [
            (
                "fix_edit",
                json!({"issue": "a1"}),
                "Expected {issue: string, file: string, old: string",
            ),
            (
                "fix_create",
                json!({"issue": 1}),
                "Expected {issue: string, file: string, content: string}",
            ),
            (
                "submit_fix_result",
                json!({"issue": "a1", "result": "done", "text": ""}),
                "\"fixed\" | \"rejected\"",
            ),
        ] {
            let told = heard(name, arguments).await.unwrap_err();
            assert!(told.contains(expected), "{told}");
        }
    }
}

//! The one MCP server, whatever its tools work on. Secrets are removed here, from the model's arguments and from the answers.

use super::tool::{Answer, BoundTool, Redaction};
use reviewer_core::domain::prefixed;
use reviewer_text::redact::Redactor;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::sync::Arc;

/// The tools of one server in one session.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    pub(super) tools: Arc<[BoundTool]>,
    pub(super) redactor: Arc<Redactor>,
    /// Of the session's tools.
    pub(super) prefix: String,
}

impl Handler {
    async fn call(&self, request: CallToolRequestParams) -> Answer {
        let mut tools = self.tools.iter();
        let tool = tools
            .find(|tool| tool.name.name == request.name)
            .ok_or_else(|| format!("There is no tool {}.", request.name))?;
        let arguments = request.arguments.unwrap_or_default();
        match tool.redaction {
            Redaction::WordsAndAnswer => {
                let answer = tool.call(without_secrets(arguments, &self.redactor)).await;
                // A refusal quotes the name that it refuses.
                let clean = |text: String| self.redactor.clean_own(&text).into_owned();
                answer.map(clean).map_err(clean)
            }
            Redaction::None => tool.call(arguments).await,
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.tools.iter();
        let described = |tool: &BoundTool| {
            let description = prefixed(tool.description, &self.prefix).into_owned();
            rmcp::model::Tool::new(tool.name.name, description, Arc::clone(&tool.schema))
        };
        let tools = tools.map(described).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // A refusal is a result, too: the model can act on it.
        let block = |text: String| vec![ContentBlock::text(prefixed(&text, &self.prefix))];
        let result = match self.call(request).await {
            Ok(text) => CallToolResult::success(block(text)),
            Err(text) => CallToolResult::error(block(text)),
        };
        Ok(result.into())
    }
}

/// Arguments that name something rather than say it: they are compared with what is there, and repeated to the model
/// alone.
const NAMES: [&str; 6] = [
    "file",
    "quote",
    "thread_id",
    "distinct_from",
    "combines",
    "escalate",
];

/// The arguments with the secrets in their words replaced. Everything that is said about a change, in comments, report
/// and log, comes through here.
fn without_secrets(given: JsonObject, redactor: &Redactor) -> JsonObject {
    let clean = |(name, value): (String, Value)| {
        let value = match value {
            value if NAMES.contains(&name.as_str()) => value,
            other => words_without_secrets(other, redactor),
        };
        (name, value)
    };
    given.into_iter().map(clean).collect()
}

fn words_without_secrets(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::Object(inner) => Value::Object(without_secrets(inner, redactor)),
        Value::Array(items) => {
            let items = items.into_iter();
            items
                .map(|item| words_without_secrets(item, redactor))
                .collect()
        }
        other => redactor.clean_value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tool::{Tool, bind};
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use rmcp::handler::server::tool::schema_for_type;
    use serde_json::json;
    use std::sync::Mutex;

    /// The calls that the tools of the tests received.
    type Received = Arc<Mutex<Vec<Value>>>;

    /// Takes its time, and repeats what it received.
    fn repeat(received: Received, given: JsonObject) -> BoxFuture<'static, Answer> {
        async move {
            tokio::task::yield_now().await;
            let said = given["said"].clone();
            received.lock().unwrap().push(said.clone());
            Err(format!("Not {said}."))
        }
        .boxed()
    }

    const REPEATS: Tool<Received> = Tool {
        server: "test",
        name: "repeat",
        description: "Repeats.",
        schema: schema_for_type::<String>,
        is_offered: |_| true,
        redaction: Redaction::WordsAndAnswer,
        call: repeat,
    };

    const TABLE: &[Tool<Received>] = &[
        REPEATS,
        Tool {
            name: "repeat_whole",
            redaction: Redaction::None,
            ..REPEATS
        },
        Tool {
            name: "not_here",
            is_offered: |_| false,
            ..REPEATS
        },
    ];

    #[tokio::test]
    async fn tools_over_anything_lose_secrets_unless_they_judge_them() {
        let key = "sk-standin-0123456789abcdef0123456789abcdef";
        let received = Received::default();
        let handler = Handler {
            tools: bind(TABLE, &received).into(),
            redactor: Arc::new(Redactor::new(&[key.into()])),
            prefix: String::new(),
        };
        let call = async |name: &'static str| {
            let given = JsonObject::from_iter([("said".to_owned(), json!(key))]);
            let request = CallToolRequestParams::new(name).with_arguments(given);
            handler.call(request).await.unwrap_err()
        };
        let redacted = "[redacted: secret of this run]";
        assert_eq!(call("repeat").await, format!("Not \"{redacted}\"."));
        assert_eq!(call("repeat_whole").await, format!("Not \"{key}\"."));
        assert_eq!(call("not_here").await, "There is no tool not_here.");
        assert_eq!(*received.lock().unwrap(), [json!(redacted), json!(key)]);
    }

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
            "texts": [{ "thread_id": key, "body": format!("Remove {key}.") }],
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
        assert_eq!(
            cleaned["texts"],
            json!([{ "thread_id": key, "body": "Remove [redacted: secret of this run]." }])
        );
        assert_eq!(cleaned["line"], 3);
    }
}

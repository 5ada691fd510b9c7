//! The messages of the search endpoint: JSON-RPC as MCP uses it. Only what a search needs of it.

use serde::Deserialize;
use serde_json::{Value, json};

/// The version that is spoken where the endpoint wants to be greeted first.
pub(crate) const PROTOCOL: &str = "2025-06-18";
pub(crate) const CALL_ID: u64 = 1;

/// The tool that OpenCode's own search calls, with what it passes by default.
#[must_use]
pub(crate) fn call(query: &str, results: u32) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": CALL_ID,
        "method": "tools/call",
        "params": {
            "name": "web_search_exa",
            "arguments": { "query": query, "type": "auto", "numResults": results, "livecrawl": "fallback" },
        },
    })
}

#[must_use]
pub(crate) fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": CALL_ID,
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": { "name": "opencode-reviewer", "version": env!("CARGO_PKG_VERSION") },
        },
    })
}

#[must_use]
pub(crate) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

#[derive(Deserialize)]
struct Message {
    result: Option<CallResult>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct CallResult {
    #[serde(default)]
    content: Vec<ToolContent>,
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct ToolContent {
    text: Option<String>,
}

#[derive(Deserialize)]
struct RpcError {
    message: Option<String>,
}

/// Parses one message: the results as text, or the error. `None`: it is another message.
#[must_use]
pub(crate) fn answer(message: &str) -> Option<Result<String, String>> {
    let message: Message = serde_json::from_str(message).ok()?;
    if let Some(error) = message.error {
        return Some(Err(error.message.unwrap_or_default()));
    }
    let result = message.result?;
    let texts: Vec<String> = result
        .content
        .into_iter()
        .filter_map(|part| part.text)
        .collect();
    let text = texts.join("\n\n");
    Some(if result.is_error { Err(text) } else { Ok(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_errors_and_other_messages_are_told_apart() {
        let result = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},
            {"type":"image","data":"x"},{"type":"text","text":"b"}],"extra":1}}"#;
        assert_eq!(answer(result), Some(Ok("a\n\nb".into())));
        let refused = r#"{"result":{"content":[{"type":"text","text":"no"}],"isError":true}}"#;
        assert_eq!(answer(refused), Some(Err("no".into())));
        let error = r#"{"id":null,"error":{"code":-32000,"message":"rate limit"}}"#;
        assert_eq!(answer(error), Some(Err("rate limit".into())));
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
            r#"{"result":7}"#,
            "[]",
            "not JSON",
            "",
        ] {
            assert_eq!(answer(other), None, "{other}");
        }
    }
}

//! What a hostile sidecar could have the provider do with our key: connect to other servers, search, fetch, run code,
//! keep things, ask another model. Each is refused with its reason, and nothing of it leaves.

use super::bench::{Bench, PLACEHOLDER, Provider, refused};
use super::opencode::choice;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use reviewer_agent::gateway::Limits;
use serde_json::{Value, json};

/// Provider, model and path: one for each wire format.
const CHAT: (&str, &str, &str) = ("openrouter", "m/1", "chat/completions");
const MESSAGES: (&str, &str, &str) = ("anthropic", "claude-sonnet-4-5", "messages");
const RESPONSES: (&str, &str, &str) = ("openai", "gpt-5", "responses");
const GOOGLE: (&str, &str, &str) = (
    "google",
    "gemini-2.5-pro",
    "models/gemini-2.5-pro:streamGenerateContent?alt=sse",
);
const COHERE: (&str, &str, &str) = ("cohere", "command-a-03-2025", "chat");
const VERCEL: (&str, &str, &str) = ("vercel", "openai/gpt-5", "language-model");

/// A gateway whose only way out is a proxy, which then has seen everything that left.
struct Way {
    bench: Bench,
    proxy: Provider,
    of: (&'static str, &'static str, &'static str),
}

impl Way {
    async fn to(of: (&'static str, &'static str, &'static str)) -> Self {
        let proxy = Provider::answers(|_| StatusCode::FORBIDDEN.into_response()).await;
        let address = format!("http://{}", proxy.address);
        let network = [("HTTPS_PROXY", address.as_str())];
        let choice = choice(of.0, of.1, None);
        let bench = Bench::before(&choice, &network, Limits::default()).await;
        Self { bench, proxy, of }
    }

    fn asks(&self, body: String) -> reqwest::RequestBuilder {
        let path = format!("/model/r1/{}", self.of.2);
        let mut request = self.bench.plain(reqwest::Method::POST, &path);
        if self.of.0 == "vercel" {
            request = request.header("ai-language-model-id", self.of.1);
        }
        request.bearer_auth(PLACEHOLDER).body(body)
    }

    /// A body that passes, with this in it.
    fn body(&self, more: &Value) -> String {
        let mut body = match self.of.2 {
            "responses" => json!({ "model": self.of.1, "input": [], "store": false }),
            "language-model" => json!({ "prompt": [] }),
            path if path.starts_with("models/") => json!({ "contents": [] }),
            _ => json!({ "model": self.of.1, "messages": [] }),
        };
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        body.to_string()
    }

    async fn refuses(&self, body: String, why: &str) {
        let (status, message) = refused(self.asks(body.clone())).await;
        assert_eq!(status, 403, "{body}: {message}");
        assert!(message.contains(why), "{body}: {message}");
        assert!(self.proxy.got().is_empty(), "{body} left");
    }
}

async fn refuses_each(of: (&'static str, &'static str, &'static str), rows: &[(Value, &str)]) {
    let way = Way::to(of).await;
    for (more, why) in rows {
        way.refuses(way.body(more), why).await;
    }
    let (status, _) = refused(way.asks(way.body(&json!({ "new_setting": 1 })))).await;
    assert_eq!(status, 502, "the body itself and a new plain setting pass");
    assert_eq!(way.proxy.got().len(), 3, "the proxy is tried three times");
}

fn user(part: &Value) -> Value {
    json!({ "messages": [{ "role": "user", "content": [part] }] })
}

#[tokio::test]
async fn chat_completions_reach_no_server_search_file_or_model_of_the_sidecars_choice() {
    let url = "https://evil.example/?data";
    refuses_each(
        CHAT,
        &[
            (json!({ "tools": [{ "type": "mcp" }] }), "the value mcp at tools[].type"),
            (json!({ "tools": [{ "type": "mcp", "server_url": url }] }), "an unknown value at tools[].server_url"),
            (json!({ "tools": ["web_search"] }), "an unknown value at tools[]"),
            (json!({ "bootstrap_host": "evil.example" }), "the key bootstrap_host"),
            (json!({ "draft_model": "m/2" }), "the key draft_model"),
            (json!({ "notify": "ht\ttps://evil" }), "an address at notify"),
            (json!({ "notify": r"https:\\evil\x" }), "an address at notify"),
            (user(&json!({ "type": "input_audio", "input_audio": { "data": "evil.example/x" } })), "an address at messages[].content[].input_audio.data"),
            (json!({ "tools": [{ "type": "builtin_function", "function": { "name": "$web_search" } }] }), "the value $web_search at tools[].function.name"),
            (json!({ "tools": [{ "type": "function", "function": { "name": "browser_search" } }] }), "tools[].function.name"),
            (json!({ "tools": { "type": "web_search" } }), "an unknown object at tools"),
            (json!({ "plugins": [{ "id": "web" }] }), "an unknown list at plugins"),
            (json!({ "web_search_options": {} }), "an unknown object at web_search_options"),
            (json!({ "mcp_servers": [] }), "an unknown list at mcp_servers"),
            (json!({ "search_parameters": { "mode": "on" } }), "an unknown object at search_parameters"),
            (json!({ "provider": { "order": ["evil"] } }), "an unknown object at provider"),
            (json!({ "models": ["m/2"] }), "the key models"),
            (json!({ "route": "fallback" }), "the key route"),
            (json!({ "preset": "p" }), "the key preset"),
            (json!({ "enable_search": true }), "the key enable_search"),
            (json!({ "store": true }), "store"),
            (json!({ "notify": url }), "an address at notify"),
            (json!({ "venice_parameters": { "enable_web_search": "on" } }), "venice_parameters.enable_web_search"),
            (user(&json!({ "type": "image_url", "image_url": { "url": url } })), "an address at messages[].content[].image_url.url"),
            (user(&json!({ "type": "image_url", "image_url": url })), "an address at messages[].content[].image_url"),
            (user(&json!({ "type": "file", "file": { "file_data": url } })), "an address at messages[].content[].file.file_data"),
            (user(&json!({ "type": "file", "file": { "file_id": "file-1" } })), "messages[].content[].file.file_id"),
            (user(&json!({ "type": "video_url", "video_url": { "url": url } })), "an address at messages[].content[].video_url.url"),
            (user(&json!({ "type": "document_url", "document_url": url })), "an address at messages[].content[].document_url"),
            (user(&json!({ "type": "new", "media": { "a": 1 } })), "an unknown object at messages[].content[].media"),
            (user(&json!({ "type": "new" })), "the value new at messages[].content[].type"),
        ],
    )
    .await;
}

#[tokio::test]
async fn messages_reach_no_server_search_file_or_container() {
    let url = "https://evil.example/?data";
    refuses_each(
        MESSAGES,
        &[
            (json!({ "mcp_servers": [{ "type": "url", "url": url, "name": "x" }] }), "an unknown list at mcp_servers"),
            (json!({ "tools": [{ "type": "web_search_20250305", "name": "web_search" }] }), "the value web_search at tools[].name"),
            (json!({ "tools": [{ "type": "web_search_20250305", "name": "read" }] }), "the value web_search_20250305 at tools[].type"),
            (json!({ "tools": [{ "type": "code_execution_20250825", "name": "read" }] }), "tools[].type"),
            (json!({ "tools": [{ "name": "bash", "input_schema": {} }] }), "tools[].name"),
            (json!({ "tools": [{ "name": "read", "input_schema": {}, "allowed_callers": ["code_execution_20250825"] }] }), "tools[].allowed_callers"),
            (json!({ "container": "container_1" }), "the key container"),
            (json!({ "context_management": { "edits": [] } }), "an unknown object at context_management"),
            (json!({ "fallbacks": [{ "model": "x" }] }), "the key fallbacks"),
            (user(&json!({ "type": "image", "source": { "type": "url", "url": url } })), "messages[].content[].source.type"),
            (user(&json!({ "type": "document", "source": { "type": "file", "id": "f" } })), "messages[].content[].source.type"),
            (user(&json!({ "type": "image", "source": { "url": url } })), "an address at messages[].content[].source.url"),
            (user(&json!({ "type": "image", "source": { "file_id": "f" } })), "messages[].content[].source.file_id"),
            (user(&json!({ "type": "container_upload", "file_id": "f" })), "the key messages[].content[].file_id"),
            (user(&json!({ "type": "mcp_tool_use", "server_name": "x" })), "messages[].content[].type"),
            (user(&json!({ "type": "tool_result", "content": [{ "type": "image", "source": { "type": "url", "url": url } }] })), "messages[].content[].content[].source.type"),
        ],
    )
    .await;
}

#[tokio::test]
async fn responses_reach_no_server_search_file_or_stored_conversation() {
    let url = "https://evil.example/?data";
    let input = |item: Value| json!({ "input": [item] });
    refuses_each(
        RESPONSES,
        &[
            (json!({ "tools": [{ "type": "mcp" }] }), "the value mcp at tools[].type"),
            (json!({ "tools": [{ "type": "mcp", "server_url": url }] }), "an unknown value at tools[].server_url"),
            (json!({ "tools": [{ "type": "web_search" }] }), "tools[].type"),
            (json!({ "tools": [{ "type": "code_interpreter", "container": { "type": "auto" } }] }), "tools[]"),
            (json!({ "tools": [{ "type": "function", "name": "shell" }] }), "tools[].name"),
            (json!({ "tool_choice": { "type": "mcp", "server_label": "x" } }), "tool_choice.type"),
            (json!({ "previous_response_id": "resp_1" }), "the key previous_response_id"),
            (json!({ "conversation": "conv_1" }), "the key conversation"),
            (json!({ "prompt": { "id": "pmpt_1" } }), "an unknown object at prompt"),
            (json!({ "background": true }), "the key background"),
            (json!({ "store": true }), "store"),
            (json!({ "store": null }), "store"),
            (json!({ "include": ["file_search_call.results"] }), "include[]"),
            (input(json!({ "type": "item_reference", "id": "msg_1" })), "input[].type"),
            (input(json!({ "id": "msg_1" })), "an item without type and role at input[]"),
            (input(json!({ "id": "msg_1", "type": null })), "input[].type"),
            (input(json!({ "type": "mcp_approval_response", "approve": true })), "input[].type"),
            (input(json!({ "role": "user", "content": [{ "type": "input_image", "image_url": url }] })), "an address at input[].content[].image_url"),
            (input(json!({ "role": "user", "content": [{ "type": "input_file", "file_url": url }] })), "an address at input[].content[].file_url"),
            (input(json!({ "role": "user", "content": [{ "type": "input_file", "file_id": "file-1" }] })), "input[].content[].file_id"),
            (input(json!({ "type": "function_call_output", "call_id": "c", "output": [{ "type": "input_image", "image_url": url }] })), "an address at input[].output[].image_url"),
        ],
    )
    .await;
    let way = Way::to(RESPONSES).await;
    let unsaid = json!({ "model": RESPONSES.1, "input": [] }).to_string();
    way.refuses(unsaid, "store").await;
}

#[tokio::test]
async fn google_reaches_no_search_address_code_or_cache() {
    let url = "https://evil.example/?data";
    let part = |part: Value| json!({ "contents": [{ "role": "user", "parts": [part] }] });
    refuses_each(
        GOOGLE,
        &[
            (
                json!({ "tools": [{ "googleSearch": {} }] }),
                "an unknown object at tools[].googleSearch",
            ),
            (
                json!({ "tools": [{ "google_search": {} }] }),
                "an unknown object at tools[].google_search",
            ),
            (
                json!({ "tools": [{ "googleSearch": true }] }),
                "an unknown value at tools[].googleSearch",
            ),
            (
                json!({ "tools": [{ "urlContext": {} }] }),
                "an unknown object at tools[].urlContext",
            ),
            (
                json!({ "tools": [{ "codeExecution": {} }] }),
                "an unknown object at tools[].codeExecution",
            ),
            (
                json!({ "tools": [{ "functionDeclarations": [{ "name": "bash" }] }] }),
                "tools[].functionDeclarations[].name",
            ),
            (
                json!({ "cachedContent": "cachedContents/1" }),
                "the key cachedContent",
            ),
            (
                json!({ "cached_content": "cachedContents/1" }),
                "the key cached_content",
            ),
            (
                part(json!({ "fileData": { "fileUri": url } })),
                "an unknown object at contents[].parts[].fileData",
            ),
            (
                part(json!({ "file_data": { "file_uri": url } })),
                "an unknown object at contents[].parts[].file_data",
            ),
            (
                part(json!({ "executableCode": { "code": "1" } })),
                "an unknown object at contents[].parts[].executableCode",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn cohere_and_vercel_are_held_to_the_same() {
    let url = "https://evil.example/?data";
    refuses_each(
        COHERE,
        &[
            (
                json!({ "connectors": [{ "id": "web-search" }] }),
                "an unknown list at connectors",
            ),
            (
                json!({ "tools": [{ "type": "web_search" }] }),
                "tools[].type",
            ),
        ],
    )
    .await;
    let options = |of: Value| json!({ "providerOptions": of });
    refuses_each(
        VERCEL,
        &[
            (options(json!({ "gateway": { "models": ["openai/gpt-5"] } })), "an unknown list at providerOptions.gateway.models"),
            (options(json!({ "gateway": { "byok": {} } })), "an unknown object at providerOptions.gateway.byok"),
            (options(json!({ "anthropic": { "mcpServers": [] } })), "an unknown list at providerOptions.anthropic.mcpServers"),
            (options(json!({ "openai": { "previousResponseId": "r" } })), "providerOptions.openai.previousResponseId"),
            (json!({ "headers": { "anthropic-beta": "mcp-client-2025-04-04" } }), "the value mcp-client-2025-04-04 at headers.anthropic-beta"),
            (json!({ "headers": { "authorization": "Bearer x" } }), "an unknown value at headers.authorization"),
            (json!({ "headers": { "host": "evil.example" } }), "an unknown value at headers.host"),
            (json!({ "tools": [{ "type": "provider", "name": "read" }] }), "tools[].type"),
            (json!({ "tools": [{ "type": "provider", "id": "openai.web_search", "name": "read" }] }), "an unknown value at tools[].id"),
            (json!({ "prompt": [{ "role": "user", "content": [{ "type": "file", "data": url }] }] }), "an address at prompt[].content[].data"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_key_that_is_written_twice_or_in_disguise_is_refused() {
    let way = Way::to(CHAT).await;
    let model = CHAT.1;
    let tool = r#"{"type":"function","function":{"name":"read"}}"#;
    for (more, why) in [
        (r#""stream":true,"stream":false"#.to_owned(), "the key stream more than once"),
        (r#""stream":true,"stre\u0061m":false"#.to_owned(), "the key stream more than once"),
        (format!(r#""tools":[{tool}],"tools":[]"#), "the key tools more than once"),
        (format!(r#""tools":[{}]"#, tool.replace("\"type\":", "\"type\":\"mcp\",\"t\\u0079pe\":")), "tools[].type"),
        (r#""plu\u0067ins":[{"id":"web"}]"#.to_owned(), "an unknown list at plugins"),
        (r#""PLUGINS":[{"id":"web"}]"#.to_owned(), "an unknown list at PLUGINS"),
        (r#""Tools":[]"#.to_owned(), "Tools"),
        (r#""tools":[{"Type":"mcp"}]"#.to_owned(), "tools[].Type"),
        (
            r#""tools":[{"type":"function","function":{"name":"read","parameters":{"a":1,"\u0061":2}}}]"#.to_owned(),
            "tools[].function.parameters.a more than once",
        ),
    ] {
        way.refuses(format!(r#"{{"model":"{model}","messages":[],{more}}}"#), why).await;
    }
}

#[tokio::test]
async fn a_beta_of_the_provider_that_opencode_does_not_use_is_refused_by_name() {
    let way = Way::to(MESSAGES).await;
    for (betas, named) in [
        ("mcp-client-2025-04-04", "mcp-client-2025-04-04"),
        (
            "structured-outputs-2025-11-13, mcp-client-2025-11-20",
            "mcp-client-2025-11-20",
        ),
        ("files-api-2025-04-14,", "files-api-2025-04-14"),
        ("code-execution-2025-08-25", "code-execution-2025-08-25"),
    ] {
        let request = way
            .asks(way.body(&json!({})))
            .header("anthropic-beta", betas);
        let (status, message) = refused(request).await;
        assert_eq!(status, 403, "{betas}: {message}");
        assert!(message.contains(named), "{betas}: {message}");
    }
    let two = way.asks(way.body(&json!({})));
    let two = two.header("anthropic-beta", "structured-outputs-2025-11-13");
    let (status, message) = refused(two.header("anthropic-beta", "mcp-client-2025-04-04")).await;
    assert_eq!(status, 403, "{message}");
    assert!(way.proxy.got().is_empty());
    let used = "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14";
    let request = way
        .asks(way.body(&json!({})))
        .header("anthropic-beta", used);
    assert_eq!(refused(request).await.0, 502);
}

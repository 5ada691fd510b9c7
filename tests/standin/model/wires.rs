//! One answer of a model in the wire formats of Anthropic, OpenAI's responses, Google and chat completions. Each
//! answer thinks first, because what a model thought comes back in the next request.

use super::script::Call;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// One turn of the model: a thought, then either a call or a text.
pub struct Turn {
    /// Makes ids unique in a session.
    pub number: usize,
    pub call: Option<Call>,
}

const TEXT: &str = "Nothing to report.";
const THOUGHT: &str = "The change is small.";

impl Turn {
    /// In the format that the path asks for.
    pub fn answer(&self, path: &str) -> Response {
        let events = match path.rsplit('/').next() {
            Some("messages") => self.messages(),
            Some("responses") => self.responses(),
            Some("completions") => self.completions(),
            _ => vec![self.generate()],
        };
        let events: String = events.iter().map(event).collect();
        ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
    }

    fn id(&self) -> String {
        format!("call_{}", self.number)
    }

    fn messages(&self) -> Vec<Value> {
        let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
        let (block, delta, stop) = match &self.call {
            Some(call) => (
                json!({ "type": "tool_use", "id": self.id(), "name": call.name, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": call.arguments.to_string() }),
                "tool_use",
            ),
            None => (
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": TEXT }),
                "end_turn",
            ),
        };
        let message = json!({
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant", "model": "m",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        let thinking = json!({ "type": "thinking", "thinking": "", "signature": "" });
        vec![
            json!({ "type": "message_start", "message": message }),
            json!({ "type": "content_block_start", "index": 0, "content_block": thinking }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": THOUGHT } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "c2lnbmVk" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1, "content_block": block }),
            json!({ "type": "content_block_delta", "index": 1, "delta": delta }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": usage }),
            json!({ "type": "message_stop" }),
        ]
    }

    fn responses(&self) -> Vec<Value> {
        let reasoning = format!("rs_{}", self.number);
        let item = format!("item_{}", self.number);
        let thought = |summary: Value| {
            json!({
                "type": "reasoning", "id": reasoning, "summary": summary, "encrypted_content": "ZW5jcnlwdGVk",
            })
        };
        let summary = json!([{ "type": "summary_text", "text": THOUGHT }]);
        let mut events = vec![
            json!({ "type": "response.created", "response": { "id": "resp_1", "created_at": 1, "model": "m" } }),
            json!({ "type": "response.output_item.added", "output_index": 0, "item": thought(json!([])) }),
            json!({ "type": "response.reasoning_summary_part.added", "item_id": reasoning, "summary_index": 0 }),
            json!({
                "type": "response.reasoning_summary_text.delta", "item_id": reasoning, "summary_index": 0,
                "delta": THOUGHT,
            }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": thought(summary) }),
        ];
        let (added, mut delta, done) = self.item(&item);
        delta["item_id"] = json!(item);
        events.extend([
            json!({ "type": "response.output_item.added", "output_index": 1, "item": added }),
            delta,
            json!({ "type": "response.output_item.done", "output_index": 1, "item": done }),
            json!({ "type": "response.completed", "response": { "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
        ]);
        events
    }

    /// What follows the thought: as it is begun, its one piece, and as it is complete.
    fn item(&self, id: &str) -> (Value, Value, Value) {
        let Some(call) = &self.call else {
            let message =
                json!({ "type": "message", "id": id, "role": "assistant", "content": [] });
            let delta = json!({ "type": "response.output_text.delta", "delta": TEXT });
            return (message.clone(), delta, message);
        };
        let item = |arguments: &str, status: &str| {
            json!({
                "type": "function_call", "id": id, "call_id": self.id(), "name": call.name,
                "arguments": arguments, "status": status,
            })
        };
        let arguments = call.arguments.to_string();
        let kind = "response.function_call_arguments.delta";
        let delta = json!({ "type": kind, "output_index": 1, "delta": arguments });
        (
            item("", "in_progress"),
            delta,
            item(&arguments, "completed"),
        )
    }

    fn generate(&self) -> Value {
        let part = match &self.call {
            Some(call) => json!({
                "functionCall": { "name": call.name, "args": call.arguments }, "thoughtSignature": "c2lnbmVk",
            }),
            None => json!({ "text": TEXT }),
        };
        json!({
            "candidates": [{
                "content": { "role": "model", "parts": [{ "text": THOUGHT, "thought": true }, part] },
                "finishReason": "STOP", "index": 0,
            }],
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11 },
        })
    }

    fn completions(&self) -> Vec<Value> {
        let thought = json!({
            "role": "assistant", "content": "", "reasoning_content": THOUGHT, "reasoning": THOUGHT,
            "reasoning_details": [{
                "type": "reasoning.text", "text": THOUGHT, "signature": "c2lnbmVk", "index": 0,
                "format": "anthropic-claude-v1",
            }],
        });
        let (delta, finish) = match &self.call {
            Some(call) => {
                let function =
                    json!({ "name": call.name, "arguments": call.arguments.to_string() });
                let call = json!({ "index": 0, "id": self.id(), "type": "function", "function": function });
                (json!({ "tool_calls": [call] }), "tool_calls")
            }
            None => (json!({ "content": TEXT }), "stop"),
        };
        let chunk = |choices: Value| {
            json!({
                "id": format!("answer-{}", self.number), "object": "chat.completion.chunk", "created": 1,
                "model": "m", "choices": choices,
            })
        };
        let mut usage = chunk(json!([]));
        usage["usage"] = json!({ "prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11 });
        vec![
            chunk(json!([{ "index": 0, "delta": thought, "finish_reason": null }])),
            chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])),
            chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish }])),
            usage,
        ]
    }
}

/// Anthropic names its events, too; the others' readers do not mind.
fn event(data: &Value) -> String {
    match data["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {data}\n\n"),
        None => format!("data: {data}\n\n"),
    }
}

//! The answer's two forms on the wire: streamed, as OpenCode asks for it, and whole.

use super::request::Request;
use super::script::Call;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

pub struct Said {
    /// Makes the ids of the calls unique in a session.
    pub number: usize,
    pub text: String,
    pub calls: Vec<Call>,
    pub prompt_tokens: usize,
    /// Why it ends, where that is not to be told from the calls.
    pub finish: Option<&'static str>,
    /// Whether tokens are counted.
    pub counted: bool,
}

impl Said {
    /// `length`: of the request, in bytes.
    pub fn new(number: usize, text: String, calls: Vec<Call>, length: usize) -> Self {
        Self {
            number,
            text,
            calls,
            prompt_tokens: length / 4,
            finish: None,
            counted: true,
        }
    }

    /// In the form that was asked for.
    pub fn answer(&self, request: &Request) -> Response {
        if request.raw()["stream"] == json!(true) {
            self.streamed()
        } else {
            self.whole()
        }
    }

    fn streamed(&self) -> Response {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        if !self.text.is_empty() {
            deltas.push(json!({ "content": self.text }));
        }
        for (index, call) in self.tool_calls().into_iter().enumerate() {
            let mut delta = call;
            delta["index"] = json!(index);
            deltas.push(json!({ "tool_calls": [delta] }));
        }
        let mut chunks: Vec<Value> = deltas
            .into_iter()
            .map(|delta| json!([{ "index": 0, "delta": delta, "finish_reason": null }]))
            .collect();
        chunks.push(json!([{ "index": 0, "delta": {}, "finish_reason": self.finish() }]));
        let mut sent: Vec<Value> = chunks
            .iter()
            .map(|choices| self.envelope("chat.completion.chunk", choices))
            .collect();
        if self.counted {
            let mut usage = self.envelope("chat.completion.chunk", &json!([]));
            usage["usage"] = self.usage();
            sent.push(usage);
        }
        let lines: Vec<String> = sent.iter().map(|chunk| format!("data: {chunk}")).collect();
        let body = format!("{}\n\ndata: [DONE]\n\n", lines.join("\n\n"));
        ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
    }

    fn whole(&self) -> Response {
        let mut message = json!({ "role": "assistant", "content": self.text });
        if !self.calls.is_empty() {
            message["tool_calls"] = Value::Array(self.tool_calls());
        }
        let choices = json!([{ "index": 0, "message": message, "finish_reason": self.finish() }]);
        let mut body = self.envelope("chat.completion", &choices);
        if self.counted {
            body["usage"] = self.usage();
        }
        axum::Json(body).into_response()
    }

    fn envelope(&self, object: &str, choices: &Value) -> Value {
        json!({
            "id": format!("answer-{}", self.number),
            "object": object,
            "created": 1,
            "model": "scripted",
            "choices": choices,
        })
    }

    fn finish(&self) -> &'static str {
        if let Some(why) = self.finish {
            return why;
        }
        if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }

    fn tool_calls(&self) -> Vec<Value> {
        let with_id = |(index, call): (usize, &Call)| {
            json!({
                "id": format!("call_{}_{index}", self.number),
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments.to_string() },
            })
        };
        self.calls.iter().enumerate().map(with_id).collect()
    }

    fn usage(&self) -> Value {
        let calls: usize = self
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.to_string().len())
            .sum();
        let completion = ((self.text.len() + calls) / 4).max(1);
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": self.prompt_tokens + completion,
        })
    }
}

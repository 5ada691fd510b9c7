//! The errors of refused calls, of REST and of GraphQL.

use super::null_is_empty;
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

/// The body of a refused call. `errors` may hold texts or objects.
#[derive(Debug)]
pub(crate) struct ErrorBody {
    pub message: String,
    pub errors: Vec<String>,
    pub abuse: bool,
}

impl ErrorBody {
    pub(crate) fn parse(body: &str, status: StatusCode) -> Self {
        let json: Value = serde_json::from_str(body).unwrap_or_default();
        let said = json.get("message").and_then(Value::as_str);
        let message = said.map_or_else(
            || {
                status
                    .canonical_reason()
                    .unwrap_or("no reason given")
                    .to_owned()
            },
            one_line,
        );
        let errors = json
            .get("errors")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        Self {
            message,
            errors: errors.iter().map(refusal_words).collect(),
            abuse: errors
                .iter()
                .any(|error| error.get("code").and_then(Value::as_str) == Some("abuse")),
        }
    }
}

fn refusal_words(error: &Value) -> String {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let words = match (error.as_str(), text("message")) {
        (Some(words), _) | (None, Some(words)) => words.to_owned(),
        _ => {
            let place: Vec<&str> = [text("resource"), text("field")]
                .into_iter()
                .flatten()
                .collect();
            format!("{}: {}", place.join("."), text("code").unwrap_or("invalid"))
        }
    };
    one_line(&words)
}

/// GitHub's words inside one of the reviewer's sentences.
fn one_line(text: &str) -> String {
    text.chars()
        .take(300)
        .flat_map(|c| {
            if c.is_control() {
                c.escape_debug().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[derive(Debug, Deserialize)]
pub(crate) struct GraphQlAnswer {
    #[serde(default)]
    pub data: Value,
    #[serde(default, deserialize_with = "null_is_empty")]
    errors: Vec<GraphQlError>,
}

#[derive(Debug, Deserialize)]
struct GraphQlError {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    #[serde(default)]
    code: Value,
    #[serde(default)]
    extensions: Value,
}

/// The type of a rate limit, as GitHub documents it.
pub(crate) const RATE_LIMITED: &str = "RATE_LIMITED";

impl GraphQlError {
    /// The type; for a rate limit always the documented one, because GitHub has other names for it.
    fn kind(&self) -> &str {
        let kind = self.kind.as_deref().unwrap_or_default();
        let codes = [&self.code, &self.extensions["code"]];
        let limited = codes.iter().any(|code| **code == "graphql_rate_limit");
        if limited || kind == "RATE_LIMIT" {
            RATE_LIMITED
        } else {
            kind
        }
    }
}

impl GraphQlAnswer {
    /// Type and message of each.
    pub(crate) fn errors(self) -> Vec<(String, String)> {
        let words = |error: GraphQlError| {
            let message = error.message.as_deref().unwrap_or("no reason given");
            (error.kind().to_owned(), one_line(message))
        };
        self.errors.into_iter().map(words).collect()
    }
}

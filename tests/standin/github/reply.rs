//! Answers in GitHub's form: JSON with its headers, its errors, its pages. Separate, because every route uses them.

use super::state::State;
use serde_json::{Value, json};

pub const FORBIDDEN: &str = "Resource not accessible by integration";
pub const TOO_LONG: &str = "Body is too long (maximum is 65536 characters)";

/// The longest body of a comment or a review.
pub const BODY_CHARACTERS: usize = 65_536;

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![(
                "content-type".into(),
                "application/json; charset=utf-8".into(),
            )],
            body: if status == 204 {
                Vec::new()
            } else {
                body.to_string().into_bytes()
            },
        }
    }

    pub fn error(status: u16, message: &str) -> Self {
        Self::json(
            status,
            &json!({
                "message": message,
                "documentation_url": "https://docs.github.com/rest",
                "status": status.to_string(),
            }),
        )
    }

    pub fn not_found() -> Self {
        Self::error(404, "Not Found")
    }

    /// As GitHub refuses a review: the errors are sentences, and none says which comment is meant.
    pub fn unprocessable(errors: &[&str]) -> Self {
        Self::refused("Unprocessable Entity", &json!(errors))
    }

    /// As GitHub refuses a single comment: the errors are objects.
    pub fn invalid(errors: &Value) -> Self {
        Self::refused("Validation Failed", errors)
    }

    fn refused(message: &str, errors: &Value) -> Self {
        Self::json(
            422,
            &json!({
                "message": message,
                "errors": errors,
                "documentation_url": "https://docs.github.com/rest",
                "status": "422",
            }),
        )
    }

    pub fn with_header(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.into(), value));
        self
    }
}

/// One page of a list, with the `Link` header where there is more than one. GitHub's links name the repository by
/// number, which only a client that follows them notices.
pub fn page(request: &Request, state: &State, items: &[Value]) -> Reply {
    let (repository, base_url) = (state.repository.id, &state.base_url);
    let number = |name: &str, default: usize| {
        let given = request.query(name).and_then(|value| value.parse().ok());
        given.unwrap_or(default).max(1)
    };
    let size = number("per_page", 30).min(state.page_size);
    let current = number("page", 1);
    let last = items.len().div_ceil(size).max(1);
    let slice: Vec<_> = items.iter().skip((current - 1) * size).take(size).collect();
    let reply = Reply::json(200, &json!(slice));
    let rest = request.segments[3..].join("/");
    let others: Vec<_> = request
        .query
        .iter()
        .filter(|(name, _)| name != "page")
        .collect();
    let link = |page: usize, rel: &str| {
        let mut pairs: Vec<String> = others
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.push(format!("page={page}"));
        let query = pairs.join("&");
        format!("<{base_url}/api/v3/repositories/{repository}/{rest}?{query}>; rel=\"{rel}\"")
    };
    let mut links = Vec::new();
    if current > 1 {
        links.push(link(current - 1, "prev"));
    }
    if current < last {
        links.push(link(current + 1, "next"));
        links.push(link(last, "last"));
    }
    if current > 1 {
        links.push(link(1, "first"));
    }
    if links.is_empty() {
        reply
    } else {
        reply.with_header("link", links.join(", "))
    }
}

/// A request as the routes see it: without the prefix, decoded, with JSON for a body.
#[derive(Debug)]
pub struct Request {
    pub method: http::Method,
    /// `repos`, owner, name, …
    pub segments: Vec<String>,
    pub query: Vec<(String, String)>,
    /// Null where there is none.
    pub body: Value,
}

impl Request {
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(one, _)| one == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.body[name].as_str()
    }
}

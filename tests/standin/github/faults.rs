//! Things that go wrong between a client and GitHub, on request. Separate from the routes, because a fault happens
//! before or after an answer, never inside it.

use http::Method;
use serde_json::Value;

#[derive(Debug, Clone)]
pub enum Fault {
    /// This status and body instead of an answer; nothing is done.
    Status(u16, Value),
    /// As `Status`, with headers such as `retry-after`.
    StatusWith(u16, Vec<(&'static str, String)>, Value),
    /// This text with status 200 instead of an answer; nothing is done.
    Raw(String),
    /// The connection closes without an answer; nothing is done.
    Drop,
    /// The request is carried out, and then the connection closes without an answer.
    ApplyThenDrop,
    /// The request is carried out, and then this status and body is the answer: GitHub's 502 after a write.
    ApplyThenStatus(u16, Value),
    /// No answer, and the connection stays; nothing is done.
    Hang,
    /// The request is carried out, and then there is no answer.
    ApplyThenHang,
}

#[derive(Debug)]
pub struct Rule {
    pub method: Method,
    pub path_prefix: String,
    /// Further text that the body must contain: GraphQL has one path for everything.
    pub body_contains: String,
    pub times: usize,
    pub fault: Fault,
}

/// The fault for this request, if one is due; each counts down.
pub fn due(rules: &mut [Rule], method: &Method, path: &str, body: &[u8]) -> Option<Fault> {
    let text = String::from_utf8_lossy(body);
    let rule = rules.iter_mut().find(|rule| {
        rule.times > 0
            && rule.method == method
            && path.starts_with(&rule.path_prefix)
            && text.contains(&rule.body_contains)
    })?;
    rule.times -= 1;
    Some(rule.fault.clone())
}

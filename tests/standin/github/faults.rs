//! Things that go wrong between a client and GitHub, on request. Separate from the routes, because a fault happens
//! before or after an answer, never inside it.

use super::State;
use http::Method;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
    /// The request is carried out, and its answer ends in the middle.
    Halved,
    /// The request is carried out, and answered after this time.
    Late(Duration),
    /// The request is carried out and answered, and in between this happens elsewhere.
    Meanwhile(Act),
}

impl Fault {
    /// The client gets another answer than GitHub's, or none.
    pub fn is_in_the_answer(&self) -> bool {
        !matches!(self, Self::Meanwhile(_) | Self::Late(_))
    }

    /// A rate limit of GraphQL: GitHub answers with status 200, and the headers tell the wait.
    pub fn limited(seconds: &str, error: &Value) -> Self {
        let headers = vec![("retry-after", seconds.to_owned())];
        Self::StatusWith(200, headers, json!({ "errors": [error] }))
    }
}

/// Something that happens while a request is answered.
#[derive(Clone)]
pub struct Act(Arc<dyn Fn(&mut State) + Send + Sync>);

impl Act {
    pub fn new(act: impl Fn(&mut State) + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    pub fn happen(&self, state: &mut State) {
        (self.0)(state);
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Act")
    }
}

#[derive(Debug)]
pub struct Rule {
    pub method: Method,
    pub path_prefix: String,
    /// Further text that the body must contain: GraphQL has one path for everything.
    pub body_contains: String,
    /// So many requests of this kind are left alone first.
    pub after: usize,
    pub times: usize,
    pub struck: usize,
    pub fault: Fault,
}

impl Rule {
    fn is_about(&self, method: &Method, path: &str, body: &str) -> bool {
        self.method == method
            && path.starts_with(&self.path_prefix)
            && body.contains(&self.body_contains)
    }
}

/// The fault for this request, if one is due; each counts down.
pub fn due(rules: &mut [Rule], method: &Method, path: &str, body: &[u8]) -> Option<Fault> {
    let text = String::from_utf8_lossy(body);
    let about = rules
        .iter_mut()
        .filter(|rule| rule.is_about(method, path, &text));
    for rule in about.filter(|rule| rule.times > 0) {
        if rule.after > 0 {
            rule.after -= 1;
            continue;
        }
        rule.times -= 1;
        rule.struck += 1;
        return Some(rule.fault.clone());
    }
    None
}

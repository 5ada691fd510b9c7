//! A tool as data: what the model is told of it, and the function behind it. Generic over what it works on, so that one
//! server offers all of them.

use crate::opencode::ToolName;
use futures_util::FutureExt as _;
use futures_util::future::{self, BoxFuture};
use reviewer_core::review::desk::{Desk, SharedDesk};
use rmcp::model::JsonObject;
use std::fmt;
use std::sync::Arc;

/// The answer, or a refusal that tells the model what to do next.
pub type Answer = Result<String, String>;

/// A tool as the model meets it: `<server>_<name>`. `C` is a handle to what it works on, cheap to clone.
#[derive(Debug)]
pub struct Tool<C: 'static> {
    pub server: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub schema: fn() -> Arc<JsonObject>,
    /// True if this run can do it at all.
    pub is_offered: fn(&C) -> bool,
    pub redaction: Redaction,
    /// A tool that waits for nothing answers with a future that is ready.
    pub call: fn(C, JsonObject) -> BoxFuture<'static, Answer>,
}

/// The point at which the server removes secrets from a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redaction {
    /// Out of the words among the arguments, and out of the answer.
    WordsAndAnswer,
    /// Nowhere. The tool judges its arguments whole, and its answer stands between the fences of the run, whose nonce
    /// is a secret, too.
    None,
}

impl<C> Tool<C> {
    #[must_use]
    pub(crate) fn full_name(&self) -> ToolName {
        ToolName {
            server: self.server,
            name: self.name,
        }
    }
}

/// The answer of a tool that works on the desk. It waits for nothing but its turn at the desk.
pub(crate) fn at_desk(
    desk: &SharedDesk,
    work: impl FnOnce(&mut Desk) -> Answer,
) -> BoxFuture<'static, Answer> {
    let answer = desk.work(work);
    future::ready(answer.unwrap_or_else(not_begun)).boxed()
}

/// The answer where there is no desk yet.
pub(crate) fn not_begun() -> Answer {
    Err("The review has not begun; wait for the first prompt.".into())
}

/// A tool with what it works on. The server knows neither.
pub struct BoundTool {
    pub name: ToolName,
    pub description: &'static str,
    pub schema: Arc<JsonObject>,
    pub redaction: Redaction,
    call: Box<dyn Fn(JsonObject) -> BoxFuture<'static, Answer> + Send + Sync>,
}

impl BoundTool {
    #[must_use]
    pub(crate) fn call(&self, arguments: JsonObject) -> BoxFuture<'static, Answer> {
        (self.call)(arguments)
    }
}

impl fmt::Debug for BoundTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BoundTool({})", self.name)
    }
}

/// The tools of a table that exist with this context.
pub fn bind<C: Clone + Send + Sync>(table: &'static [Tool<C>], context: &C) -> Vec<BoundTool> {
    let offered = table.iter().filter(|tool| (tool.is_offered)(context));
    offered
        .map(|tool| {
            let context = context.clone();
            BoundTool {
                name: tool.full_name(),
                description: tool.description,
                schema: (tool.schema)(),
                redaction: tool.redaction,
                call: Box::new(move |arguments| (tool.call)(context.clone(), arguments)),
            }
        })
        .collect()
}

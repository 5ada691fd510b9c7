//! Parses OpenCode's JSON into the types of this crate. Only fields in use are named, and a missing one is an error
//! only where nothing works without it: the sidecar is another program, with versions of its own.

use reviewer_core::review::sidecar_events::{
    ProviderInfo, SessionId, SidecarEvent, Tokens, ToolState, Turn, TurnError, Usage,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

#[derive(Debug, Deserialize)]
pub(super) struct Health {
    #[serde(default)]
    pub healthy: bool,
    #[serde(default)]
    pub version: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WireTokens {
    input: f64,
    output: f64,
    reasoning: f64,
    cache: WireCache,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WireCache {
    read: f64,
    write: f64,
}

impl From<&WireTokens> for Tokens {
    fn from(wire: &WireTokens) -> Self {
        Self {
            input: whole(wire.input),
            output: whole(wire.output),
            reasoning: whole(wire.reasoning),
            cache_read: whole(wire.cache.read),
            cache_write: whole(wire.cache.write),
        }
    }
}

/// JSON from JavaScript: a count can arrive as a float, and a provider's nonsense as a negative number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and a count below zero is none"
)]
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

#[derive(Debug, Deserialize)]
pub(super) struct Session {
    id: String,
    #[serde(default)]
    tokens: WireTokens,
    #[serde(default)]
    cost: f64,
}

impl Session {
    pub(super) fn id(&self) -> Option<SessionId> {
        SessionId::parse(&self.id)
    }

    pub(super) fn spent(&self) -> (Tokens, f64) {
        ((&self.tokens).into(), self.cost)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WireError {
    name: String,
    data: WireErrorData,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct WireErrorData {
    message: String,
    #[serde(rename = "statusCode")]
    status: Option<u16>,
}

impl From<WireError> for TurnError {
    fn from(wire: WireError) -> Self {
        let message = match wire.data.message.trim() {
            "" => wire.name.clone(),
            message => message.chars().take(2_000).collect(),
        };
        Self {
            name: wire.name,
            message,
            status: wire.data.status,
        }
    }
}

/// One message with its parts; a turn is the assistant's messages that share a parent.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Message {
    info: Info,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Info {
    id: String,
    role: String,
    #[serde(rename = "parentID")]
    parent: String,
    finish: Option<String>,
    tokens: WireTokens,
    cost: f64,
    error: Option<WireError>,
    time: Time,
    /// The agent, by its older name.
    mode: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Time {
    completed: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Part {
    id: String,
    r#type: String,
    #[serde(rename = "callID")]
    call: String,
    text: String,
    tool: String,
    reason: String,
    state: PartState,
    tokens: WireTokens,
    cost: f64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PartState {
    status: String,
    input: Value,
}

/// The sum over the assistant's messages.
pub(super) fn usage(messages: &[Message]) -> Usage {
    let mut usage = Usage::default();
    for message in messages.iter().filter(|m| m.info.role == "assistant") {
        usage.tokens += (&message.info.tokens).into();
        usage.cost += message.info.cost;
        usage.requests += 1;
    }
    usage
}

impl Message {
    /// The prompt that it is, or that it answers.
    pub(super) fn prompt(&self) -> &str {
        if self.info.role == "user" {
            &self.info.id
        } else {
            &self.info.parent
        }
    }

    /// True if nothing follows in its turn.
    fn ends_a_turn(&self) -> bool {
        let finish = self.info.finish.as_deref();
        let goes_on = matches!(finish, Some("tool-calls" | "unknown"));
        self.info.role == "assistant"
            && self.info.time.completed.is_some()
            && (self.info.error.is_some() || finish.is_some_and(|_| !goes_on))
    }
}

/// The last turn, if it is over and answers another prompt than `before`.
pub(super) fn ended_turn(session: &[Message], before: &str) -> Option<Turn> {
    let last = session.last()?.clone();
    let is_new = last.prompt() != before && last.ends_a_turn();
    is_new.then(|| turn(last, since(session, before)))
}

/// Returns the messages after the answers to the prompt `before`.
pub(super) fn since<'a>(messages: &'a [Message], before: &str) -> &'a [Message] {
    let answered = messages.iter().rposition(|m| m.prompt() == before);
    messages
        .get(answered.map_or(0, |at| at + 1)..)
        .unwrap_or_default()
}

/// Rebuilds the events since then from the messages.
pub(super) fn retold(session: &SessionId, messages: &[Message], before: &str) -> Vec<SidecarEvent> {
    since(messages, before)
        .iter()
        .flat_map(|message| message.parts.iter().cloned())
        .map(|part| part_event(session.to_string(), part))
        .filter(|event| *event != SidecarEvent::Other)
        .collect()
}

/// The sessions in which something is under way.
pub(super) type Busy = BTreeMap<String, Value>;

/// The turn that `last` ended, with all its messages. They may answer several prompts: OpenCode puts its own in where it
/// shortens the conversation.
pub(super) fn turn(last: Message, messages: &[Message]) -> Turn {
    let texts: Vec<&str> = last
        .parts
        .iter()
        .filter(|part| part.r#type == "text")
        .map(|part| part.text.as_str())
        .collect();
    Turn {
        text: texts.join("\n"),
        finish: last.info.finish.unwrap_or_default(),
        usage: usage(messages),
        shortened: messages.iter().any(|m| m.info.mode == "compaction"),
        tool_calls: messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter(|part| part.r#type == "tool")
            .count(),
        error: last.info.error.map(TurnError::from),
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Providers {
    all: Vec<Provider>,
    #[serde(default)]
    connected: HashSet<String>,
}

#[derive(Debug, Deserialize)]
struct Provider {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    env: Vec<String>,
    #[serde(default)]
    models: BTreeMap<String, Model>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model {
    limit: Limit,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Limit {
    context: f64,
}

impl From<Providers> for Vec<ProviderInfo> {
    fn from(wire: Providers) -> Self {
        let Providers { all, connected } = wire;
        all.into_iter()
            .map(|provider| ProviderInfo {
                connected: connected.contains(&provider.id),
                id: provider.id,
                name: provider.name,
                env: provider.env,
                models: provider
                    .models
                    .into_iter()
                    .map(|(id, model)| (id, Some(whole(model.limit.context)).filter(|n| *n > 0)))
                    .collect(),
            })
            .collect()
    }
}

/// A permission or a question that waits for a person.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pending {
    pub id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    properties: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    id: String,
    #[serde(rename = "sessionID")]
    session: Option<String>,
    part: Part,
    status: Status,
    error: WireError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    r#type: String,
    attempt: u64,
    message: String,
    next: f64,
}

/// Parses one `data:` of `GET /event`. Unknown events become `Other`.
pub(super) fn event(data: &str) -> SidecarEvent {
    let Ok(event) = serde_json::from_str::<Event>(data) else {
        return SidecarEvent::Other;
    };
    let Ok(of) = serde_json::from_value::<Properties>(event.properties) else {
        return SidecarEvent::Other;
    };
    let session = of.session.clone().unwrap_or_default();
    match event.r#type.as_str() {
        "message.part.updated" => part_event(session, of.part),
        "session.status" if of.status.r#type == "retry" => SidecarEvent::Retrying {
            session,
            attempt: of.status.attempt,
            message: of.status.message,
            at_ms: whole(of.status.next),
        },
        "permission.asked" | "permission.v2.asked" => {
            SidecarEvent::PermissionAsked { id: of.id, session }
        }
        "question.asked" | "question.v2.asked" => {
            SidecarEvent::QuestionAsked { id: of.id, session }
        }
        "session.error" => SidecarEvent::SessionError {
            session: of.session,
            error: of.error.into(),
        },
        "session.idle" => SidecarEvent::Idle { session },
        _ => SidecarEvent::Other,
    }
}

fn part_event(session: String, part: Part) -> SidecarEvent {
    let state = match part.state.status.as_str() {
        "running" => ToolState::Running,
        "completed" => ToolState::Completed,
        "error" => ToolState::Failed,
        _ => ToolState::Pending,
    };
    match part.r#type.as_str() {
        "tool" => SidecarEvent::ToolCall {
            session,
            id: part.call,
            tool: part.tool,
            input: part.state.input.to_string(),
            state,
        },
        "step-finish" => SidecarEvent::Usage {
            session,
            id: part.id,
            finish: part.reason,
            tokens: (&part.tokens).into(),
            cost: part.cost,
        },
        _ => SidecarEvent::Other,
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;

//! The lines of an exported store, as JSON. Frozen: a file can be of an earlier version. States, inputs and effects are the
//! machine's own JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) format: String,
    pub(crate) version: u32,
    /// The random name of the store, by which effects recognise what they did.
    pub(crate) store: String,
    /// The time of the export.
    pub(crate) at: i64,
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Last {
    pub(crate) end: Seal,
}

/// The number of lines before it, and the hash of their bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seal {
    pub(crate) lines: u64,
    pub(crate) sha256: String,
}

/// A line between the first and the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    Agent(AgentLine),
    Token(TokenLine),
    Cell(CellLine),
    Life(Box<LifeLine>),
    /// A delivery from outside, to recognise it when it comes again.
    Delivery(DeliveryLine),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentLine {
    pub(crate) name: String,
    pub(crate) login: Option<String>,
    pub(crate) sealed: Option<String>,
    pub(crate) persona: String,
    pub(crate) created: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TokenLine {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) role: String,
    pub(crate) created: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellLine {
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) text: String,
}

/// A key with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LifeLine {
    pub(crate) key: String,
    pub(crate) version: i64,
    pub(crate) state: Value,
    pub(crate) phase: String,
    pub(crate) changed: i64,
    /// In the order of their numbers, as the two lists below.
    pub(crate) history: Vec<InputLine>,
    pub(crate) effects: Vec<EffectLine>,
    pub(crate) timers: Vec<TimerLine>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct InputLine {
    pub(crate) n: i64,
    pub(crate) at: i64,
    pub(crate) delivery: String,
    pub(crate) input: Value,
    pub(crate) log: Vec<String>,
    pub(crate) phase: String,
}

/// An effect that has not ended. Attempts are counted anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EffectLine {
    pub(crate) seq: u64,
    pub(crate) slow: bool,
    pub(crate) effect: Value,
    pub(crate) created: i64,
}

/// A timer that has not fired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TimerLine {
    pub(crate) seq: u64,
    pub(crate) due: i64,
    pub(crate) input: Value,
    pub(crate) created: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeliveryLine {
    /// With `event:` before it, as in the history.
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) at: i64,
}

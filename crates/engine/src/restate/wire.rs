//! Everything that Restate keeps or carries for us, as JSON: calls, journals, states, and its own answers. Frozen, because a
//! call that waits in the server can be one of an earlier version. States, inputs and effects are the machine's own JSON.

use crate::limits::after;
use crate::machine::Lane;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The names of the objects at the server. A server has one service of ours: who registers last is called.
pub(crate) const PULL: &str = "opencode-reviewer.pull";
pub(crate) const EFFECTS: &str = "opencode-reviewer.effects";
pub(crate) const REGISTRY: &str = "opencode-reviewer.registry";
/// Version, time and phase as a JSON array, for lists. The phase is its last element, which questions rely on.
pub(crate) const LISTED: &str = "listed";

/// The names of values in the object of a pull request: its state; its inputs, and what it waits for, by their numbers.
pub(crate) const KEPT: &str = "kept";
pub(crate) const HISTORY: &str = "history/";
pub(crate) const PENDING: &str = "pending/";

/// The name of the ticket of an effect that waits, in the object of the effects of its pull request.
pub(crate) const TICKET: &str = "ticket";
/// The handler that executes an effect. The other one of that object only wakes it.
pub(crate) const EXECUTE: &str = "execute";

/// An input on its way to a pull request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// With `event:` or `effect:` before it, as in the history.
    pub(crate) id: String,
    pub(crate) input: Value,
    /// Names the call from outside. The answer of another call with the same id names that one, and so tells that this is a duplicate.
    #[serde(default)]
    pub(crate) caller: String,
    /// It was stepped before the store was moved here.
    #[serde(default)]
    pub(crate) known: bool,
}

/// The end of an effect or a timer, on its way to its pull request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) seq: u64,
    /// The input that follows from it.
    pub(crate) input: Option<Value>,
}

/// The answer to a delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) caller: String,
    /// The state after it.
    pub(crate) state: Value,
}

/// The state of a pull request, and what belongs to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The number of inputs that led to the state.
    pub(crate) version: i64,
    pub(crate) state: Value,
    pub(crate) phase: String,
    pub(crate) changed: i64,
    /// The highest number of an effect or a timer.
    pub(crate) last: Option<u64>,
    /// The highest number of a fast effect, or of one that was hurried.
    pub(crate) last_fast: Option<u64>,
    /// The highest number of a slow effect.
    #[serde(default)]
    pub(crate) last_slow: Option<u64>,
    /// The first input that the history still has.
    pub(crate) first: i64,
}

/// One input of a history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) n: i64,
    pub(crate) at: i64,
    pub(crate) delivery: String,
    pub(crate) input: Value,
    pub(crate) log: Vec<String>,
    pub(crate) phase: String,
}

/// A request for inputs of a history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Page {
    /// The number of the last input.
    pub(crate) last: i64,
    pub(crate) most: i64,
}

/// The result of a step. It is journaled, so that another version that repeats the call applies what was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stepped {
    pub(crate) kept: Kept,
    pub(crate) record: Record,
    /// Inputs from here to `kept.first` leave the history.
    pub(crate) drop_from: i64,
    /// In the order of their numbers.
    pub(crate) work: Vec<Work>,
    /// A slow effect, which may wait, became fast.
    #[serde(default)]
    pub(crate) hurries: bool,
}

/// Something that a step wants done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Work {
    Effect(Order),
    Timer {
        seq: u64,
        after_ms: u64,
        input: Value,
    },
}

/// Something that was planned and has not ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    /// The time of its step.
    pub(crate) at: i64,
    pub(crate) work: Work,
}

impl Pending {
    pub(crate) fn seq(&self) -> u64 {
        match &self.work {
            Work::Effect(order) => order.seq,
            Work::Timer { seq, .. } => *seq,
        }
    }

    pub(crate) fn due(&self) -> i64 {
        match &self.work {
            Work::Effect(_) => self.at,
            Work::Timer { after_ms, .. } => after(self.at, *after_ms),
        }
    }
}

/// A part of what another store had for a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Restored {
    pub(crate) records: Vec<Record>,
    /// With the last part.
    pub(crate) kept: Option<Kept>,
    /// In the order of their numbers.
    pub(crate) pending: Vec<Pending>,
}

/// An effect on its way to the world.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) seq: u64,
    pub(crate) slow: bool,
    pub(crate) effect: Value,
}

impl Order {
    pub(crate) fn lane(&self) -> Lane {
        lane(self.slow)
    }
}

pub(crate) fn lane(is_slow: bool) -> Lane {
    if is_slow { Lane::Slow } else { Lane::Fast }
}

/// The answer to an effect that wants to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Turn {
    /// The process of this name has begun an attempt.
    Begun(String),
    /// The effect waits until it is woken, and no longer than this.
    Later { longest_ms: u64 },
}

/// An effect that waits for its turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ticket {
    /// By which it is woken.
    pub(crate) id: String,
    pub(crate) slow: bool,
}

/// The result of an attempt to execute an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// Nothing is left to do but to deliver this.
    Ended { input: Option<Value> },
    /// The attempt failed, and another one follows.
    Again { wait_ms: u64, error: String },
}

/// An agent, a token or the store's name in the registry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The table and the name: `agent/quality`.
    pub(crate) key: String,
    /// One text for each field.
    pub(crate) fields: Value,
}

/// A new value of one field of a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) field: String,
    pub(crate) value: Value,
}

/// A cell in the registry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CellRow {
    pub(crate) version: i64,
    pub(crate) text: String,
}

/// A change of a cell from the version that was seen, 0 where there was none. Without a text it is removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CellSwap {
    pub(crate) key: String,
    pub(crate) seen: i64,
    pub(crate) text: Option<String>,
}

/// An agent as a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AgentRow {
    pub(crate) name: String,
    pub(crate) login: Option<String>,
    pub(crate) sealed: Option<String>,
    pub(crate) persona: String,
    pub(crate) created: i64,
}

/// The store itself as a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoreRow {
    pub(crate) id: String,
}

/// An import as a row, until everything that waits was sent again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ImportRow {
    /// The hash of the file.
    pub(crate) file: String,
    /// All of it is there.
    pub(crate) whole: bool,
}

/// A token of the HTTP API as a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TokenRow {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) role: String,
    pub(crate) created: i64,
}

/// A value in the state of an object, as SQL shows it.
#[derive(Debug, Deserialize)]
pub(crate) struct StateRow {
    pub(crate) key: String,
    pub(crate) value_utf8: String,
}

/// The server's answer to a question in SQL.
#[derive(Debug, Deserialize)]
pub(crate) struct Rows<T> {
    pub(crate) rows: Vec<T>,
}

/// The server's account of an error.
#[derive(Debug, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) message: String,
}

/// The server's answer to a registration.
#[derive(Debug, Deserialize)]
pub(crate) struct Registered {
    pub(crate) id: String,
}

/// The deployments that the server knows.
#[derive(Debug, Deserialize)]
pub(crate) struct Deployments {
    pub(crate) deployments: Vec<Deployment>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Deployment {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) services: Vec<Service>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// The highest one of a name is called.
    #[serde(default)]
    pub(crate) revision: u32,
}

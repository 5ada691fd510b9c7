//! The two sides of the engine: a pure machine that decides, and a world that acts. Separate, because users of the engine
//! write both, and neither knows about SQL.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::future::Future;

/// A pure state machine, one state per key. `step` is total: an input that is stale or unknown changes nothing.
pub trait Machine: Send + Sync + 'static {
    /// Kept in the store as JSON. A key that nobody has seen starts with the default.
    type State: Serialize + DeserializeOwned + Default + Send + Sync + 'static;
    type Input: Serialize + DeserializeOwned + Send + Sync + 'static;
    type Effect: Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The next state, and what is to be done. It runs inside the transaction, so it must be quick.
    fn step(&self, state: &Self::State, input: &Self::Input, now: i64) -> Step<Self>;

    /// The input for an effect that was given up, with its last error.
    fn failed(&self, seq: u64, effect: &Self::Effect, error: &str) -> Self::Input;

    /// The name of a state, for lists and for the history.
    fn phase(&self, state: &Self::State) -> String;
}

/// The outside: the only place that has effects. An effect can be executed twice after a crash, with the same id, so the
/// world recognises what it did already.
pub trait World<M: Machine>: Send + Sync + 'static {
    /// Executes one effect. The input of the answer is delivered in the transaction that ends the effect.
    fn execute(
        &self,
        id: &EffectId,
        effect: M::Effect,
    ) -> impl Future<Output = Result<Option<M::Input>, EffectError>> + Send;

    /// The time in milliseconds for which slow effects of a key are held back, because something that they share with
    /// others runs short; `None`: they may start. It is asked before each of them, and to be held back is no attempt.
    fn holds_back(&self, _key: &str) -> impl Future<Output = Option<u64>> + Send {
        std::future::ready(None)
    }
}

/// The result of a step.
pub struct Step<M: Machine + ?Sized> {
    pub state: M::State,
    pub planned: Vec<Planned<M::Effect, M::Input>>,
    /// True if the key's slow effects that wait become fast, those that are held back, too.
    pub hurries: bool,
    /// Lines for the history.
    pub log: Vec<String>,
}

impl<M: Machine> fmt::Debug for Step<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("planned", &self.planned.len())
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

/// Something that a step wants done. `seq` comes from the state and never repeats for a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Planned<E, I> {
    /// The world executes it. Effects of one key are executed one at a time, in the order of their numbers.
    Effect { seq: u64, effect: E, lane: Lane },
    /// The engine delivers `input` after `after_ms`. Timers wait for nothing else.
    Timer { seq: u64, after_ms: u64, input: I },
}

impl<E, I> Planned<E, I> {
    #[must_use]
    pub fn seq(&self) -> u64 {
        match self {
            Self::Effect { seq, .. } | Self::Timer { seq, .. } => *seq,
        }
    }
}

/// The urgency of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lane {
    #[default]
    Fast,
    /// For work that comes in floods. At most one slow effect starts ahead of a fast one that waits.
    Slow,
}

impl Lane {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Fast => 0,
            Self::Slow => 1,
        }
    }
}

/// The id of an effect, the same after every crash: `{key}/{seq}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EffectId {
    pub key: String,
    pub seq: u64,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.key, self.seq)
    }
}

/// The reason why an effect was not executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    pub message: String,
    /// The wait that the other side asked for; without it, the engine's own backoff.
    pub retry_after_ms: Option<u64>,
    /// Another attempt cannot succeed: the machine gets its `failed` input at once.
    pub permanent: bool,
}

impl EffectError {
    /// An error after which another attempt is made.
    #[must_use]
    pub fn temporary(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            retry_after_ms: None,
            permanent: false,
        }
    }

    /// An error that another attempt would only repeat.
    #[must_use]
    pub fn permanent(message: impl Into<String>) -> Self {
        Self {
            permanent: true,
            ..Self::temporary(message)
        }
    }
}

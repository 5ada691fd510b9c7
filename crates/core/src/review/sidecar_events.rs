//! The parts of a session with the sidecar, in the reviewer's own types. Pure, so that the passes can be decided
//! without a sidecar.

use std::fmt;
use std::ops::AddAssign;

/// A session as OpenCode names it. Only its own answers make one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Refuses what could change the meaning of a path that it becomes part of.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!text.is_empty() && text.chars().all(plain)).then(|| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tokens as the provider counted them. `input` does not contain what was read from its cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub reasoning: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    #[must_use]
    pub fn total(&self) -> u64 {
        [
            self.input,
            self.output,
            self.reasoning,
            self.cache_read,
            self.cache_write,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// The tokens and the cost of model requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub tokens: Tokens,
    /// In US dollars, by the catalogue's prices; 0 for a model that has none there.
    pub cost: f64,
    /// Answers of the model, failed ones included; a retried request counts once.
    pub requests: usize,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.cost += other.cost;
        self.requests += other.requests;
    }
}

/// The end of one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The text of the last answer.
    pub text: String,
    /// The reason why the last answer ended, as OpenCode says it: `stop`, `length`, …; empty when it failed.
    pub finish: String,
    /// Of the whole turn. OpenCode's own answer counts the last model request only.
    pub usage: Usage,
    pub error: Option<TurnError>,
    pub tool_calls: usize,
    /// The conversation grew too long in it, and OpenCode put a summary in the place of what was said.
    pub shortened: bool,
}

/// The reason why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnError {
    /// OpenCode's name for it: `APIError`, `MessageAbortedError`, `ContextOverflowError`, `UnknownError`, …
    pub name: String,
    pub message: String,
    /// The model endpoint's HTTP status. `None` when there was no answer (connection refused) or when an
    /// answer could not be read.
    pub status: Option<u16>,
}

impl TurnError {
    /// The reviewer's name for an endpoint whose answers are not those of a model.
    pub const EMPTY_ANSWERS: &str = "EmptyAnswers";

    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.name == "MessageAbortedError"
    }

    /// The conversation no longer fits into what the model can read.
    #[must_use]
    pub(crate) fn is_overflow(&self) -> bool {
        self.name == "ContextOverflowError"
    }

    /// The provider's filter withheld the answer.
    #[must_use]
    pub(crate) fn is_declined(&self) -> bool {
        self.name == "ContentFilterError"
    }

    /// The answer was cut off by the model's limit of output.
    #[must_use]
    pub(crate) fn is_cut_off(&self) -> bool {
        self.name == "MessageOutputLengthError"
    }

    #[must_use]
    pub fn empty_answers(times: usize) -> Self {
        Self {
            name: Self::EMPTY_ANSWERS.to_owned(),
            message: format!(
                "the model endpoint answered {times} times in a row without finishing an answer; an \
                 OpenAI-compatible endpoint is expected, so check model_base_url (it usually ends in /v1)"
            ),
            status: None,
        }
    }
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{} (HTTP {status})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A provider of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderInfo {
    pub id: String,
    pub name: String,
    /// The variables that would hold its key. Empty for one that only the reviewer's configuration knows.
    pub env: Vec<String>,
    /// OpenCode could call it now: it has a key, or (OpenCode Zen's free models) needs none.
    pub connected: bool,
    /// Model and size of its context; `None` when the catalogue does not know the model.
    pub models: Vec<(String, Option<u64>)>,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolState {
    Pending,
    Running,
    Completed,
    Failed,
}

/// An event in the sidecar while a turn runs.
#[derive(Debug, Clone, PartialEq)]
pub enum SidecarEvent {
    /// The same call is told several times: as it begins, runs and ends.
    ToolCall {
        session: String,
        id: String,
        tool: String,
        /// The arguments, as JSON.
        input: String,
        state: ToolState,
    },
    /// One model request ended. Told again where the sidecar's events were lost.
    Usage {
        session: String,
        id: String,
        finish: String,
        tokens: Tokens,
        cost: f64,
    },
    /// OpenCode asks the model again after an error: five times at most, after 2, 4, 8, 16 and 30 s or
    /// whatever `retry-after` says.
    Retrying {
        session: String,
        attempt: u64,
        message: String,
        /// When it does, in milliseconds since 1970.
        at_ms: u64,
    },
    PermissionAsked {
        id: String,
        session: String,
    },
    QuestionAsked {
        id: String,
        session: String,
    },
    SessionError {
        session: Option<String>,
        error: TurnError,
    },
    Idle {
        session: String,
    },
    Other,
}

impl SidecarEvent {
    /// Returns true if it is about this session, or about none in particular.
    #[must_use]
    pub fn concerns(&self, session: &SessionId) -> bool {
        let of = match self {
            Self::ToolCall { session, .. }
            | Self::Usage { session, .. }
            | Self::Retrying { session, .. }
            | Self::PermissionAsked { session, .. }
            | Self::QuestionAsked { session, .. }
            | Self::Idle { session } => session.as_str(),
            Self::SessionError { session, .. } => session.as_deref().unwrap_or_default(),
            Self::Other => "",
        };
        of.is_empty() || of == session.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_cannot_lead_to_another_route() {
        assert!(SessionId::parse("ses_e1db471efffe2WNSmf08XGc3TI").is_some());
        for odd in ["", "../global", "a/b", "a?b", "a b"] {
            assert_eq!(SessionId::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_event_of_another_session_is_not_heard() {
        let session = SessionId::parse("ses_1").unwrap();
        let told = |of: &str| SidecarEvent::Usage {
            session: of.into(),
            id: "prt_1".into(),
            finish: "stop".into(),
            tokens: Tokens::default(),
            cost: 0.5,
        };
        assert!(told("ses_1").concerns(&session));
        assert!(!told("ses_2").concerns(&session));
        assert!(told("").concerns(&session), "nobody said whose it is");
        assert!(SidecarEvent::Other.concerns(&session));
    }

    #[test]
    fn the_turns_of_a_run_are_paid_for_together() {
        let turn = |input, cost| Usage {
            tokens: Tokens {
                input,
                cache_read: 2 * input,
                ..Tokens::default()
            },
            cost,
            requests: 3,
        };
        let mut both = turn(10, 0.25);
        both += turn(5, 0.5);
        let together = Usage {
            requests: 6,
            ..turn(15, 0.75)
        };
        assert_eq!(both, together);
    }

    #[test]
    fn totals_do_not_overflow() {
        let mut tokens = Tokens {
            input: u64::MAX,
            ..Tokens::default()
        };
        tokens += Tokens {
            input: 1,
            output: 1,
            ..Tokens::default()
        };
        assert_eq!(tokens.total(), u64::MAX);
    }
}

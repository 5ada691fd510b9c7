//! Stops turns that call tools without end. Nobody else breaks a loop: OpenCode lets a model call the same tool for
//! ever, and every call is paid for.

use crate::review::sidecar_events::{SidecarEvent, ToolState};
use std::fmt;

/// The same tool with the same arguments, so many times in a row, gets no other answer.
const SAME_CALLS: usize = 3;
/// Many times what a pass over a large change takes.
pub(crate) const MOST_CALLS: usize = 1_000;
/// After it was told to come to an end.
pub(crate) const FEW_CALLS: usize = 100;

/// The reason why a turn was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    Loop { tool: String },
    TooManyCalls(usize),
}

/// For a person, after "because".
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop { tool } => write!(
                f,
                "it called {tool} with the same arguments {SAME_CALLS} times in a row"
            ),
            Self::TooManyCalls(most) => write!(f, "it made {most} tool calls"),
        }
    }
}

/// The tool calls of one turn.
#[derive(Debug)]
pub struct Watch {
    most: usize,
    calls: usize,
    last: Option<(String, String)>,
    in_a_row: usize,
}

impl Watch {
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            calls: 0,
            last: None,
            in_a_row: 0,
        }
    }

    /// Takes note of an event, each once; returns why the turn must end.
    pub fn heed(&mut self, event: &SidecarEvent) -> Option<Stopped> {
        let SidecarEvent::ToolCall {
            tool,
            input,
            state: ToolState::Completed | ToolState::Failed,
            ..
        } = event
        else {
            return None;
        };
        self.calls += 1;
        let call = (tool.clone(), input.clone());
        self.in_a_row = match &self.last {
            Some(last) if *last == call => self.in_a_row + 1,
            _ => 1,
        };
        self.last = Some(call);
        if self.in_a_row >= SAME_CALLS {
            // Names of tools come from the model.
            let tool = tool.chars().filter(char::is_ascii_graphic).take(60);
            return Some(Stopped::Loop {
                tool: tool.collect(),
            });
        }
        (self.calls >= self.most).then_some(Stopped::TooManyCalls(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: &str) -> SidecarEvent {
        SidecarEvent::ToolCall {
            session: "ses_1".into(),
            id: String::new(),
            tool: "read".into(),
            input: input.into(),
            state: ToolState::Completed,
        }
    }

    #[test]
    fn the_same_call_three_times_in_a_row_is_a_loop() {
        let mut watch = Watch::new(MOST_CALLS);
        for input in ["a", "a", "b", "a", "a"] {
            assert_eq!(watch.heed(&call(input)), None);
        }
        let stopped = watch.heed(&call("a")).unwrap();
        let expected = "it called read with the same arguments 3 times in a row";
        assert_eq!(stopped.to_string(), expected);
    }

    #[test]
    fn a_call_counts_when_it_has_ended() {
        let mut watch = Watch::new(MOST_CALLS);
        for _ in 0..9 {
            let running = SidecarEvent::ToolCall {
                session: "ses_1".into(),
                id: String::new(),
                tool: "read".into(),
                input: "a".into(),
                state: ToolState::Running,
            };
            assert_eq!(watch.heed(&running), None);
        }
    }

    #[test]
    fn calls_without_end_come_to_one() {
        let mut watch = Watch::new(MOST_CALLS);
        let stopped = (0..).find_map(|n| watch.heed(&call(&n.to_string())).map(|why| (n, why)));
        assert_eq!(stopped, Some((999, Stopped::TooManyCalls(1_000))));
    }
}

//! The live line of the log: what the finished turns took, and what the one under way has taken so far.

use crate::actions::Actions;
use crate::review::limits::Used;
use crate::review::session::{SidecarEvent, ToolState, Turn, Usage};

pub(super) struct Progress {
    stage: String,
    settled: Usage,
    running: Usage,
    settled_calls: usize,
    running_calls: usize,
}

impl Progress {
    pub(super) fn new(stage: String, settled: Usage) -> Self {
        Self {
            stage,
            settled,
            running: Usage::default(),
            settled_calls: 0,
            running_calls: 0,
        }
    }

    /// Goes on to another stage with the same account.
    pub(super) fn enter(&mut self, stage: String) {
        self.stage = stage;
    }

    pub(super) fn stage(&self) -> &str {
        &self.stage
    }

    /// Says something about the stage; nothing where there is nothing to say.
    pub(super) fn say(&self, actions: &Actions, what: &str) {
        if !what.is_empty() {
            actions.line(&format!("{}{what}", self.stage));
        }
    }

    /// Takes note of an event, each once.
    pub(super) fn heed(&mut self, event: &SidecarEvent) {
        match event {
            SidecarEvent::ToolCall {
                state: ToolState::Completed | ToolState::Failed,
                ..
            } => {
                self.running_calls += 1;
            }
            SidecarEvent::Usage { tokens, cost, .. } => {
                self.running += Usage {
                    tokens: *tokens,
                    cost: *cost,
                    requests: 1,
                };
            }
            _ => {}
        }
    }

    /// The turn's own account replaces what the events told.
    pub(super) fn settle(&mut self, turn: &Turn) {
        self.settled += turn.usage;
        self.settled_calls += turn.tool_calls;
        self.running = Usage::default();
        self.running_calls = 0;
    }

    /// The turn gives no account; what the events told was spent.
    pub(super) fn break_off(&mut self) {
        self.settled += self.running;
        self.settled_calls += self.running_calls;
        self.running = Usage::default();
        self.running_calls = 0;
    }

    pub(super) fn usage(&self) -> Usage {
        let mut usage = self.settled;
        usage += self.running;
        usage
    }

    pub(super) fn tool_calls(&self) -> usize {
        self.settled_calls + self.running_calls
    }

    /// `used`: by everything so far.
    pub(super) fn line(&self, used: &Used) -> String {
        format!(
            "{} · {} tool calls · {} · ${:.4}",
            self.stage,
            self.tool_calls(),
            used.tokens(),
            used.told.cost
        )
    }
}

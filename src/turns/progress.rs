//! The live line of the log: the stage, its tool calls, and what the session has taken so far.

use crate::actions::Actions;
use reviewer_core::review::limits::Used;
use reviewer_core::review::sidecar_events::{SidecarEvent, ToolState, Turn};

pub(super) struct Progress {
    stage: String,
    settled_calls: usize,
    running_calls: usize,
}

impl Progress {
    pub(super) fn new(stage: String) -> Self {
        Self {
            stage,
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
        if let SidecarEvent::ToolCall {
            state: ToolState::Completed | ToolState::Failed,
            ..
        } = event
        {
            self.running_calls += 1;
        }
    }

    /// The turn's own account replaces what the events told.
    pub(super) fn settle(&mut self, turn: &Turn) {
        self.settled_calls += turn.tool_calls;
        self.running_calls = 0;
    }

    /// The turn gives no account; what the events told was done.
    pub(super) fn break_off(&mut self) {
        self.settled_calls += self.running_calls;
        self.running_calls = 0;
    }

    pub(super) fn tool_calls(&self) -> usize {
        self.settled_calls + self.running_calls
    }

    /// `used`: by the session so far.
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

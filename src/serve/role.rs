//! The parts of a service that a process can be: several share the work.

/// The part of a service that a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes webhooks, answers the HTTP API, and reconciles.
    Front,
    /// Executes effects and runs sessions.
    Worker,
    All,
}

impl Role {
    pub(super) fn is_front(self) -> bool {
        self != Self::Worker
    }

    pub(super) fn is_worker(self) -> bool {
        self != Self::Front
    }
}

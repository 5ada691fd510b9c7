//! The push of a fix: GitHub may show the old head for a moment after it.

use super::life::Life;
use super::{Progress, Session, Task};
use crate::domain::CommitSha;

impl Life<'_> {
    /// The session has pushed this commit.
    pub(super) fn pushed(&mut self, commit: CommitSha) {
        let after = self.state.seq;
        self.log(format!("the fix is pushed as {}", commit.short()));
        if let Some(session) = &mut self.state.session {
            session.progress = Progress::Pushed {
                commit,
                after,
                asked: 0,
            };
        }
    }

    /// True if the head that the facts show is the one before the fix.
    pub(super) fn is_pushed(&self) -> bool {
        let (Some(session), Some(facts)) = (&self.state.session, self.facts()) else {
            return false;
        };
        matches!(session.progress, Progress::Pushed { .. }) && session.head == facts.head
    }

    /// The facts still show the old head: asks a few times more.
    pub(super) fn await_push(&mut self) {
        let (probe, limit) = (self.state.facts_probe, self.policy.ask_again);
        let Some(Session {
            progress:
                Progress::Pushed {
                    commit,
                    after,
                    asked,
                },
            ..
        }) = &mut self.state.session
        else {
            return;
        };
        if probe <= *after {
            return;
        }
        *after = probe;
        *asked += 1;
        if *asked > limit {
            let message = format!("the fix was pushed as {commit}, and GitHub does not show it");
            return self.fail(message, false);
        }
        let at = self.after(self.policy.ask_again_ms);
        self.ask_at(at);
    }

    /// True if the head is the commit of the fix session.
    pub(super) fn is_own_fix(&self, head: &CommitSha) -> bool {
        let session = self.state.session.as_ref();
        session.is_some_and(|session| match &session.progress {
            Progress::Pushed { commit, .. } => {
                matches!(session.task, Task::Fix { .. }) && commit == head
            }
            _ => false,
        })
    }
}

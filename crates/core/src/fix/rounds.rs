//! Rounds: what comes next on a pull request that is reviewed and fixed in turns. One pure decision over the memory and the
//! facts of now, so that a run which goes on and a run which starts anew decide the same. The first rule that applies decides:
//!
//! 1. fixing was stopped or reverted, and not resumed: stopped
//! 2. the head is not reviewed: review
//! 3. nothing of ours or of people is open, the consensus approves, and nothing is left that may be fixed: converged
//! 4. nothing is left that may be fixed: manual intervention
//! 5. somebody asked for this fix, and it was not made yet: fix
//! 6. this head was tried before, a person committed on top of a fix, the head is ours and no report tells of it, or fixes are
//!    made on request only: wait for a command
//! 7. cycles are left: fix; else: at the cap, which is told once
//!
//! Cycles that nobody asked for are at most `max_fix_cycles`, and as many again for each `fix resume`. Each `fix` gives one of
//! its own. So rounds end: every further cycle needs another comment of a person.
//!
//! A service that orders fixes counts them itself, and calls people itself. Its own cap comes first; the run's is a second wall: as
//! many cycles in a row as `max_fix_cycles`, and as many again for each `fix resume`. A person's push begins the row anew, for
//! the service as for the run.

use super::memory::{Memory, Stop};
use super::report::Order;
use crate::domain::{CommentId, CommitSha};
use crate::panel::consensus::Consensus;

/// When fixes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// For a command only.
    OnRequest,
    /// After each review that does not approve.
    Auto,
    /// A service ordered this fix of this head.
    Ordered,
}

/// A `fix` of a person with write access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixCommand {
    pub order: Order,
    /// The thread that it is about; `None`: all open findings.
    pub thread: Option<CommentId>,
}

/// The things that are open on the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWork {
    /// Threads of ours at P2 or above.
    pub findings: usize,
    /// Unresolved conversations of people.
    pub conversations: usize,
    pub consensus: Consensus,
    /// The issues that may be fixed; optional ones only where somebody asks for a fix.
    pub fixable: usize,
}

impl OpenWork {
    #[must_use]
    pub fn is_converged(&self) -> bool {
        let approved = self.consensus == Consensus::Approve && self.fixable == 0;
        self.findings == 0 && self.conversations == 0 && approved
    }
}

/// The facts that a decision needs.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    pub memory: &'a Memory,
    pub mode: Mode,
    pub max_cycles: u32,
    pub head: &'a CommitSha,
    /// The head's commit has the trailer of a fix.
    pub head_is_ours: bool,
    /// The head was reviewed.
    pub reviewed: bool,
    /// The open work, as the last review left it.
    pub open: OpenWork,
    /// The command that this run serves.
    pub command: Option<&'a FixCommand>,
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Review,
    Fix {
        /// The number of the cycle, over the life of the pull request.
        cycle: u32,
        /// The comment that asked for it; `None` where it is due by itself.
        command: Option<u64>,
        /// The only thread to fix.
        only: Option<CommentId>,
    },
    Converged,
    /// Every cycle is used.
    AtCap {
        /// The number of cycles that were granted.
        cycles: u32,
        /// True if people are to be called now: once.
        call: bool,
    },
    /// Open findings are left, and none that may be fixed.
    ManualIntervention,
    WaitsForCommand(Wait),
    Stopped(Stop),
}

/// The reason why a command is needed to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wait {
    #[error("fixes are made on request")]
    OnRequest,
    #[error("a fix of this head was tried already")]
    Tried,
    #[error("somebody committed on top of a fix")]
    PersonOnTop,
    #[error("the head is a commit of the reviewer that no report tells of")]
    UnknownFix,
}

impl Next {
    /// True if the loop goes on by itself.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Review | Self::Fix { .. })
    }
}

/// Decides what comes next.
#[must_use]
pub fn next(now: &Situation<'_>) -> Next {
    if let Some(stop) = now.memory.stop() {
        return Next::Stopped(stop);
    }
    if !now.reviewed {
        return Next::Review;
    }
    if now.open.is_converged() {
        return Next::Converged;
    }
    if now.open.fixable == 0 {
        return Next::ManualIntervention;
    }
    if let Some(command) = now.command.filter(|command| !now.is_served(command)) {
        return Next::Fix {
            cycle: now.memory.next_cycle(),
            command: Some(command.order.comment),
            only: command.thread,
        };
    }
    if let Some(wait) = now.waits() {
        return Next::WaitsForCommand(wait);
    }
    let cycles = now.granted();
    if now.used() < cycles {
        return Next::Fix {
            cycle: now.memory.next_cycle(),
            command: None,
            only: None,
        };
    }
    Next::AtCap {
        cycles,
        call: now.mode != Mode::Ordered && !now.memory.has_escalated(),
    }
}

impl Situation<'_> {
    /// True if a cycle was made for the command.
    fn is_served(&self, command: &FixCommand) -> bool {
        self.memory.serves(CommentId(command.order.comment))
    }

    /// The cycles that were made without a command, and that the pull request did not outrun; of ordered ones, those in a row.
    fn used(&self) -> u32 {
        if self.mode == Mode::Ordered {
            return self.in_a_row();
        }
        let cycles = self.memory.cycles().iter();
        let used = cycles.filter(|cycle| cycle.command.is_none() && !cycle.void);
        let used = used.count();
        u32::try_from(used).unwrap_or(u32::MAX)
    }

    /// The cycles whose commits led to this head without another one between, and those that were tried on it.
    fn in_a_row(&self) -> u32 {
        let cycles = self.memory.cycles();
        let mut head = self.head.as_str();
        let tried = cycles.iter().filter(|cycle| cycle.head == head).count();
        let mut made = 0;
        while let Some(cycle) = cycles.iter().find(|cycle| {
            cycle.was_pushed() && cycle.commit.as_deref() == Some(head) && cycle.head != head
        }) {
            made += 1;
            head = &cycle.head;
            if made == cycles.len() {
                break;
            }
        }
        u32::try_from(tried + made).unwrap_or(u32::MAX)
    }

    /// The cycles that may be made without a command.
    #[must_use]
    pub fn granted(&self) -> u32 {
        let resumes = u32::try_from(self.memory.resumes().len()).unwrap_or(u32::MAX);
        self.max_cycles.saturating_mul(resumes.saturating_add(1))
    }

    fn waits(&self) -> Option<Wait> {
        let cycles = self.memory.cycles();
        let last = cycles.iter().map(|cycle| cycle.at.as_str()).max();
        let resumed = self.memory.resumes().last().map(|order| order.at.as_str());
        // An order to go on covers everything before it.
        let is_resumed = resumed.is_some() && resumed > last;
        if self.mode == Mode::OnRequest {
            return Some(Wait::OnRequest);
        }
        if is_resumed || self.mode == Mode::Ordered {
            return None;
        }
        let head = self.head.as_str();
        if cycles.iter().any(|cycle| cycle.head == head) {
            return Some(Wait::Tried);
        }
        let is_known = self.memory.made(self.head);
        if self.head_is_ours && !is_known {
            return Some(Wait::UnknownFix);
        }
        let was_pushed = cycles.iter().any(super::FixReport::was_pushed);
        (was_pushed && !is_known).then_some(Wait::PersonOnTop)
    }
}

#[cfg(test)]
mod tests;

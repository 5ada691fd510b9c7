//! The life of a pull request in the service: a pure machine. `step` takes the state, an input and the operator's policy, and
//! answers with the next state, numbered effects and lines for the log. It does no I/O and reads no clock.
//!
//! An event wakes, a probe decides: wakes ask for a probe, and the facts that it reads are compared with the state. The other
//! inputs are answers to effects. Each carries the number of its effect, so an answer that comes twice, late or out of order is
//! ignored.
//!
//! Invariants, checked by `tests/` over random interleavings and by an exhaustive search over small worlds:
//!
//! 1. `Effect::Merge` names a head that every required reviewer has approved, at that commit or at one with an identical
//!    change; nothing is `approved` without an approval.
//! 2. Every state that is not terminal waits for an effect in the driver's hands, for a deadline, or for named people
//!    (`explain::wait`).
//! 3. `merged` is final. `closed` is final within its generation; reopening begins the next one.
//! 4. At most one session is under way. A second one for the same generation, head and reviewer follows only a failure, an end
//!    of the first, a quota that kept the first from beginning, or an order of a person.
//! 5. Fix sessions since the last act of a person are at most `max_fix_cycles`, and what people have granted since.
//! 6. Inputs that are duplicated, stale or reordered change nothing: the state follows from the facts and the answers.
//! 7. The number of an effect never repeats, so its id `{key}/{seq}` tells after a crash that it was done already.
//! 8. The state holds names of agents and nothing secret.
//!
//! GitHub's own auto-merge is not bound to a commit: between a push and the `Disarm` that answers it, the required checks of the
//! branch are what keeps GitHub from merging.

mod approvals;
mod diagram;
mod effect;
mod explain;
mod facts;
mod fixing;
mod frozen;
mod goal;
mod input;
mod life;
mod merging;
mod people;
mod policy;
mod probing;
mod quota;
mod retention;
mod reviews;
mod sessions;
mod state;
mod status;
mod step;
#[cfg(test)]
mod tests;

pub use crate::config::lifecycle::{Reviewer, ReviewerKind, Settings};
pub use crate::config::service::Quotas;
pub use diagram::{Edge, FROM_OPEN, TRANSITIONS, mermaid};
pub use effect::{CallReason, Effect, Numbered, Task};
pub use explain::{Explanation, Wait, explain, wait};
pub use facts::{
    Facts, MergeState, Mergeable, OrderFact, PersonaDecision, PullState, ReviewFact, ReviewState,
};
pub use frozen::PullKey;
pub use input::{Command, Decision, Input, MergeAnswer, SessionResult, Timer};
pub use policy::{Account, Agent, Policy};
pub use quota::{Quota, Taken, Used, next_day};
pub use retention::{ENDS, may_forget};
pub use state::{
    AskTimer, Comparison, Escalation, MergeType, Merging, Outcome, PendingWait, Phase, Progress,
    Reminder, Session, State,
};
pub use status::{Status, StatusOutcome, StatusReviewer, StatusWait, status};
pub use step::{LogLine, Transition, step};

/// Milliseconds since 1970.
pub type Millis = i64;

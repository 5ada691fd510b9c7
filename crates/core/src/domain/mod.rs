//! The terms of the product as types. Pure: no I/O, no clock, no serialisation formats.

pub(crate) mod check;
pub mod code;
pub mod diff;
pub mod finding;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod ids;
pub(crate) mod passes;
pub(crate) mod pull;
pub(crate) mod score;
pub(crate) mod target;
pub(crate) mod thread;
mod tool_names;
pub(crate) mod verdict;

pub use check::{Annotation, CheckRunInfo, Conclusion, NamedCheck};
pub use diff::{Anchor, DiffLine, FileDiff, FileStatus, Hunk, LineKind, Objects, Side};
pub use finding::{Argued, Assessment, Category, Contest, Finding, Support, ToolRule};
pub use ids::{
    CommentId, CommitSha, DecidedId, FindingId, Login, PassNumber, PrKey, RepoName, ThreadId,
};
pub use passes::{PASSES, Pass, Passes, Role};
pub use pull::{HeadPull, QueueEntry};
pub use score::{Score, Sensitivity};
pub use target::{PullRef, RepoRef};
pub use thread::{Awaiting, Decider, Reply, Resolution, Standing, Status, Thread, Trust};
pub use tool_names::{TOOL_NAMES, prefixed};
pub use verdict::{Evidence, ReviewDecision, ReviewEvent, Tally, Verdict};

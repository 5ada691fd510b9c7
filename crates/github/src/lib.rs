//! GitHub, as far as the reviewer uses it: one client whose every call has a name, a time limit and a rule about
//! being repeated; and one file per family of calls. Nothing here decides what to say.

mod checks;
mod client;
mod comments;
mod dry_run;
mod error;
mod etag_cache;
mod exchange;
mod once;
mod pace;
mod paging;
mod pulls;
mod queue;
#[cfg(test)]
mod tests;
mod threads;
pub(crate) mod wire;

pub use checks::{CheckOutput, NewCheckRun};
pub use client::GitHub;
pub use comments::{
    IssueComment, NewReview, NewReviewComment, PostedComment, ReactTo, Reaction, Review,
    ReviewComment, ReviewRef,
};
pub use dry_run::DryRun;
pub use error::{ApiError, SetupError};
pub use pulls::{ChangeKind, ChangedFile, CommitInfo, FileAt, Permission, PullRequest, PullState};
pub use threads::{Edit, QUERIES, ReviewThread};

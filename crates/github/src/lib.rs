//! GitHub, as far as the reviewer uses it: one client whose every call has a name, a time limit and a rule about
//! being repeated; and one file per family of calls. Nothing here decides what to say.

mod branches;
mod checks;
mod client;
mod comments;
mod commit_on_branch;
mod dry_run;
mod error;
mod etag_cache;
mod exchange;
mod labels;
mod once;
mod pace;
mod paging;
mod pulls;
mod queue;
mod stacked;
#[cfg(test)]
mod tests;
mod threads;
pub(crate) mod wire;

pub use branches::BranchRules;
pub use checks::{CheckOutput, NewCheckRun};
pub use client::GitHub;
pub use comments::{
    IssueComment, NewReview, NewReviewComment, PostedComment, ReactTo, Reaction, Review,
    ReviewComment, ReviewRef,
};
pub use commit_on_branch::{CommitError, Committed, FileAddition, NewCommit};
pub use dry_run::DryRun;
pub use error::{ApiError, SetupError};
pub use pulls::{ChangeKind, ChangedFile, CommitInfo, FileAt, Permission, PullRequest, PullState};
pub use stacked::{NewPull, PullRef};
pub use threads::{Edit, QUERIES, ReviewThread};

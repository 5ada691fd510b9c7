//! GitHub, as far as the reviewer uses it: one client whose every call has a name, a time limit and a rule about
//! being repeated; and one file per family of calls. Nothing here decides what to say.

mod app;
mod branches;
mod checks;
mod client;
mod closed_pulls;
mod comments;
mod commit_on_branch;
mod deliveries;
mod dry_run;
mod error;
mod etag_cache;
mod exchange;
mod hooks;
mod labels;
mod merging;
mod once;
mod open_pulls;
mod pace;
mod paging;
mod probe;
mod pulls;
mod queue;
mod rate;
mod reviewers;
mod same_change;
mod stacked;
mod surroundings;
#[cfg(test)]
mod tests;
mod threads;
pub(crate) mod wire;

pub use app::{Access, App, AppIdentity, Grant, Installation, InstallationRate};
pub use branches::BranchRules;
pub use checks::{CheckOutput, NewCheckRun};
pub use client::GitHub;
pub use comments::{
    IssueComment, NewReview, NewReviewComment, PostedComment, ReactTo, Reaction, Review,
    ReviewComment, ReviewRef,
};
pub use commit_on_branch::{CommitError, Committed, FileAddition, NewCommit};
pub use deliveries::{FailedDelivery, is_signed};
pub use dry_run::DryRun;
pub use error::{ApiError, SetupError};
pub use merging::{MergeDone, MergeMethod, MergeRefusal};
pub use open_pulls::{InstalledRepository, OpenPull, OpenPulls};
pub use probe::{
    MergeState, Mergeable, Probe, ProbedComment, ProbedReview, ProbedState, ReviewState,
};
pub use pulls::{ChangeKind, ChangedFile, CommitInfo, FileAt, Permission, PullRequest, PullState};
pub use reviewers::ReviewRequest;
pub use stacked::{NewPull, PullRef};
pub use surroundings::Surroundings;
pub use threads::{Edit, QUERIES, ReviewThread};

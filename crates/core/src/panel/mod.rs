//! The panel: several reviewers, one result. Pure: the result is the same for every order in which sessions end.

pub mod claim;
pub mod cluster;
pub mod examination;
pub mod ledger;
pub mod seats;
pub mod votes;
pub mod words;

pub use claim::{Claim, ClaimId};
pub use cluster::{Answer, ClusterNumber, Grouping};
pub use seats::Seat;
pub use votes::{Argument, Joined, Outcome, Verdict, Vote, Withdrawal};

//! The panel: from what reviewers and people say about a change to one result. Pure: the result is the same for every order in
//! which sessions end.

pub mod analysis;
pub mod claim;
pub mod cluster;
pub mod consensus;
pub mod decision;
pub mod examination;
pub mod ledger;
pub mod open_conversations;
pub mod own_reviews;
pub mod review_state;
pub mod seats;
pub mod votes;
pub mod words;

pub use claim::{Claim, ClaimId};
pub use cluster::{Answer, ClusterNumber, Grouping};
pub use seats::Seat;
pub use votes::{Argument, Joined, Outcome, Verdict, Vote, Withdrawal};

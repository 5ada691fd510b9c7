//! The panel: from what reviewers and people say about a change to one result. Pure.

pub mod consensus;
pub mod decision;
pub mod open_conversations;
pub mod own_reviews;
pub mod review_state;

//! What leaves for the pull request: every sentence we say, cleaned of what could do harm, and the outbox that
//! sends it.

pub mod comment;
pub mod outbox;

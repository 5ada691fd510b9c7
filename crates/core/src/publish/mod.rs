//! Every sentence that leaves for the pull request. Pure; the outbox sends them.

pub mod comment;

//! Git objects without a checkout, and the snapshot that the model reads.

pub mod git;
pub mod snapshot;

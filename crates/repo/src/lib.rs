//! Git objects without a checkout, the snapshot that the model reads, and the export that verifies a fix.

pub mod export;
pub mod git;
pub mod snapshot;

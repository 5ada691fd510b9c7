//! What a run says about itself: the verdict with its exit code, the step summary, the report file.

pub mod document;
pub mod sarif;
pub mod summary;
pub mod verdict;

pub use document::Report;

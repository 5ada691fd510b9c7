//! What a run says about itself: the verdict with its exit code, the step summary, the report file, what a
//! terminal shows.

pub mod document;
pub mod dry_run;
pub mod markdown;
pub mod sarif;
pub mod summary;
pub mod table_of_inputs;
pub mod terminal;
mod wrap;

pub use document::Report;

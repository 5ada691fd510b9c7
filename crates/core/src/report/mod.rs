//! Reports of a run: the verdict with its exit code, the step summary, the report file, the page for a terminal.

pub mod code;
pub mod consensus;
pub mod conversations;
pub mod document;
pub mod dry_run;
pub mod events;
pub mod fallbacks;
pub mod findings;
#[cfg(test)]
pub(crate) mod fixture;
pub mod html;
mod last_lines;
pub mod markdown;
pub mod memory;
pub mod reviewers;
pub mod sarif;
pub mod static_analysis;
pub mod summary;
pub mod table_of_inputs;
pub mod table_of_settings;
pub mod terminal;
mod uri;
mod wrap;

pub use document::Report;
pub use last_lines::last_lines;

//! Network and git in, `Facts` out. Nothing is decided here: what a run does follows from the facts in `plan::agenda`.

mod cause;
pub mod change;
pub mod excerpts;
mod facts;
mod file_contents;
pub mod human_reviewers;
pub mod local_change;
mod memory;
mod mentions;
mod prior_reviews;
pub mod pull_request;
pub mod settings;
pub mod web_guard;
pub mod words;

pub use cause::spend_scope;
pub use facts::{Facts, Frame, head_records};
pub use memory::Memory;
pub use mentions::answered_in;

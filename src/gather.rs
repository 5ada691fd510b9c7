//! Network and git in, `Facts` out. Nothing is decided here: what a run does follows from the facts in `plan::agenda`.

mod cause;
pub(crate) mod change;
pub(crate) mod decided;
pub(crate) mod discussion;
pub(crate) mod excerpts;
mod facts;
mod file_contents;
pub(crate) mod human_reviewers;
pub(crate) mod local_change;
mod memory;
mod mentions;
mod prior_reviews;
pub mod pull_request;
pub(crate) mod settings;
pub(crate) mod static_analysis;
pub(crate) mod web_guard;

pub(crate) use cause::spend_scope;
pub(crate) use facts::{Facts, Frame, head_records};
pub use memory::{Memory, Remembered};
pub(crate) use mentions::answered_in;

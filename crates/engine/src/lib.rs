//! A durable state machine per key. An input is stepped in one transaction with everything that follows from it: the new
//! state, its effects, its timers, its history. Effects are executed at least once, with ids that never change; a world that
//! recognises them makes it once. The only crate with SQL: SQLite and PostgreSQL, which differ in `dialect.rs`. With the feature
//! `restate` the states can be in a Restate server instead; `facade.rs` is what users of the engine see of all of them.

#[cfg(test)]
extern crate self as reviewer_engine;

pub mod agents;
mod archive;
mod cells;
pub mod clock;
mod delivery;
mod dialect;
mod engine;
mod error;
mod facade;
mod lanes;
mod limits;
mod location;
mod machine;
mod migrations;
pub mod moving;
mod overview;
mod queue;
mod records;
#[cfg(feature = "restate")]
mod restate;
#[cfg(feature = "restate")]
mod restate_error;
mod retry;
mod run;
pub mod sealed;
mod session;
mod store;
mod tables;
#[cfg(test)]
mod tests;
pub mod tokens;
pub mod virtual_clock;
mod worker;

pub use archive::{FileError, Moved, Source};
pub use cells::{Cell, CellChange};
pub use engine::{Answer, Entry, Filter, Listed, Status};
pub use error::{EngineError, Result};
pub use facade::{Engine, Store};
pub use limits::Limits;
pub use location::with_password;
pub use machine::{EffectError, EffectId, Lane, Machine, Planned, Step, World};
pub use overview::{Recent, Waiting};
pub use queue::Backlog;
#[cfg(feature = "restate")]
pub use restate_error::RestateError;
pub use session::Counts;

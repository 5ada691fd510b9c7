//! The lifecycle service: a second driver of the same engine as the action. It decides when which review or fix runs.

mod accounts;
pub(crate) mod assembly;
mod backend;
mod claims;
mod directory;
mod facts;
mod front;
mod http;
pub(crate) mod known_agents;
#[cfg(test)]
mod lives;
mod machine;
#[cfg(test)]
mod machine_tests;
mod merging;
mod orders;
mod quotas;
mod reconcile;
mod reports;
mod reserve;
mod retention;
mod role;
mod running;
pub(crate) mod secrets;
mod service;
mod sessions;
mod working;
mod world;

pub(crate) use claims::is_in_use;
pub use role::Role;
pub(crate) use running::{Start, run};

//! The lifecycle service: a second driver of the same engine as the action. It decides when which review or fix runs.

mod accounts;
mod assembly;
mod backend;
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
mod reconcile;
mod running;
pub(crate) mod secrets;
mod service;
mod sessions;
mod world;

pub(crate) use running::{Start, run};

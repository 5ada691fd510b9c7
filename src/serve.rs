//! The lifecycle service: a second driver of the same engine as the action. It decides when which review or fix runs.

mod accounts;
mod directory;
mod facts;
#[cfg(test)]
mod lives;
mod machine;
mod merging;
mod reconcile;
mod running;
mod service;
mod sessions;
mod world;

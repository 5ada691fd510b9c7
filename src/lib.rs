//! A senior reviewer for pull requests: a GitHub Action around a managed OpenCode server.
//! `ARCHITECTURE.md` says where things are and what always holds.

pub mod actions;
pub mod commands;
mod gather;
mod host;
pub(crate) mod outbox;
pub mod process_env;
mod run;
mod serve;
pub(crate) mod turns;
pub mod verify;

#[cfg(test)]
#[allow(dead_code, reason = "pages of the dashboard have rules of their own")]
#[path = "../tests/properties/html.rs"]
mod html_property;

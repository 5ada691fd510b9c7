//! A senior reviewer for pull requests: a GitHub Action around a managed OpenCode server.
//! `ARCHITECTURE.md` says where things are and what always holds.

pub mod actions;
pub mod app;
pub mod clock;
pub mod config;
pub mod context;
pub mod domain;
pub mod eval;
pub mod event;
pub mod gateway;
pub mod git;
pub mod github;
mod host;
pub mod opencode;
pub mod outbound;
pub mod plan;
pub mod publish;
pub mod random;
pub mod redact;
pub mod report;
pub mod review;
pub mod sealed;
pub mod snapshot;
pub mod state;
pub mod tools;
pub mod web;

#[cfg(test)]
#[path = "../tests/properties/mod.rs"]
mod properties;

//! The subcommands: each parses what it was given, calls, prints, and returns the exit code.

mod action;
mod closed;
mod config;
mod doctor;
mod fix;
mod init;
mod inputs;
mod local;
mod merge_group;
mod remembered;
mod serve;
mod session;
mod state;
mod target;

pub use action::{action, review};
pub use config::{ConfigOrder, config};
pub use doctor::doctor;
pub use fix::{Half, fix, rounds};
pub use init::{InitOrder, init};
pub use inputs::inputs;
pub use local::{Format, Order, local};
pub use remembered::remembered;
pub use serve::{AgentsOrder, Role, ServeOrder, TokensOrder, serve};
pub use state::{Form, state};
pub use target::{pull_request, pull_request_of_branch, repository};

pub use crate::host::{OrderedSession, Setup};

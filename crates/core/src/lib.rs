//! The pure core: no async, no I/O, no clock, no environment. Its `Cargo.toml` keeps it so.

pub mod authority;
pub mod config;
pub mod context;
pub mod dashboard;
pub mod domain;
pub mod event;
pub mod fix;
pub mod init;
pub mod lifecycle;
pub mod panel;
pub mod plan;
pub mod publish;
pub mod report;
pub mod review;
pub mod session_order;
pub mod state;
pub mod static_analysis;
pub mod verification;

#[cfg(test)]
#[path = "../../../tests/properties/html.rs"]
mod html_property;

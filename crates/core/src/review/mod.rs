//! The review itself: which passes there are, what the model may do in them, and what becomes of its findings.
//! Pure; `turns` drives the sidecar.

pub mod candidate_outcomes;
pub mod deliberation;
pub mod desk;
pub mod fallback;
pub mod ledger;
pub mod limits;
pub mod nudges;
pub mod policy;
pub mod sections;
pub mod session_outcome;
pub mod sidecar_events;
pub mod usage;
pub mod watch;

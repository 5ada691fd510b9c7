//! The engine with a toy machine, on real SQLite files.

mod crashes;
mod deliveries;
mod effects;
mod foreign_rows;
mod interleavings;
mod leases;
#[cfg(feature = "restate")]
mod restate;
mod slow_lane;
mod speed;
mod store;
mod timers;
mod toy;

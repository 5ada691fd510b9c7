//! The engine with a toy machine, on real SQLite files, and where it matters on a real PostgreSQL server.

mod crashes;
mod deliveries;
mod effects;
mod foreign_rows;
mod forgetting;
mod holding_back;
mod interleavings;
mod leases;
mod moving;
mod overview;
#[path = "../tests/engines/ports.rs"]
mod ports;
mod postgres;
#[cfg(feature = "restate")]
mod restate;
mod slow_lane;
mod speed;
mod store;
mod timers;
mod toy;

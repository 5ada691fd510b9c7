//! The engine on a real Restate server. Each story has a server of its own, from the npm package that
//! `tests/engines-restate` pins.

mod crashes;
mod deliveries;
mod effects;
mod lists;
mod redeployments;
mod registry;
mod server;
mod worlds;

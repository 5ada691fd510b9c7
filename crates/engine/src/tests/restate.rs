//! The engine on a real Restate server. Each story has a server of its own, from the npm package that
//! `tests/engines` pins; the variable `ENGINE_TEST_RESTATE` names its executable, or the folder `node_modules`.

mod crashes;
mod deliveries;
mod effects;
mod floods;
mod lists;
mod moving;
mod redeployments;
mod registry;
mod server;
mod worlds;

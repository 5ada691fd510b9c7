//! The parts of the world that no test machine reaches, stood in for behind real HTTP. Separate from the suite,
//! because the demo and the benchmark use them too.
#![allow(
    dead_code,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]

pub mod github;
pub mod model;
pub mod runner;
pub mod serving;
pub mod shop;
pub mod web;
pub mod world;

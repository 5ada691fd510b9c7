//! The parts of the world that no test machine reaches, stood in for behind real HTTP. Separate from the suite,
//! because the demo uses them too.
#![allow(
    dead_code,
    reason = "each binary that includes the stand-ins uses its own part of them"
)]

pub mod github;

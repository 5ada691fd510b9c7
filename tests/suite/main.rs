//! Everything that needs more than one module: one binary, so that it is linked once.

#[path = "../standin/mod.rs"]
mod standin;

mod review;
mod sidecar;
mod standin_github;

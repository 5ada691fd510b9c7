//! The environment that a model runs in: the sidecar with its sandbox, the gateway to its model, the tools that it
//! calls.

pub mod gateway;
pub mod opencode;
pub mod tools;

//! The environment that a model runs in: the sidecar with its sandbox, the gateway to its model, the tools that it
//! calls; and the commands that verify a fix, in the same sandbox.

pub mod gateway;
pub mod opencode;
pub mod tools;
pub mod verify;

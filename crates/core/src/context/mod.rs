//! The context of the prompts: the pull request as the model reads it. Pure; everything foreign goes in between fences
//! that carry a nonce of the run.

pub mod brief;
pub mod coverage;
mod decided;
pub mod division;
pub mod failed_checks;
pub mod ignore;
pub mod intent;
pub mod locks;
pub mod parts;
pub(crate) mod risk;
pub mod rules;
pub mod sensitivity;
pub mod since;
pub mod speakers;
pub mod suspicion;

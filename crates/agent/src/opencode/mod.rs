//! The sidecar: a managed `opencode serve`. It holds no GitHub token and is treated as hostile, because it
//! reads hostile text; so what it is given is decided in one place (`profile`), and what it answers is
//! foreign JSON until `wire` has read it.

mod attend;
pub mod client;
pub mod conversation;

pub mod locate;
mod output;
pub mod premises;
pub mod process;
pub mod profile;
pub mod sandbox;
pub mod supervisor;
mod usage;
mod wire;

pub use attend::Watched;
pub use client::{Client, ClientError};
pub use conversation::{Conversation, Kept};
pub use locate::{find_opencode, find_ripgrep, is_script};
pub use process::{Sidecar, Spec, StartError};
pub use profile::{ModelEndpoint, Profile, ToolEndpoint, ToolName};
pub use reviewer_core::review::session::{
    ProviderInfo, SessionId, SidecarEvent, Tokens, ToolState, Turn, TurnError, Usage,
};
pub use supervisor::{Process, Supervisor};
pub use usage::Quota;

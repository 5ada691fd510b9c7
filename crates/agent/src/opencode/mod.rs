//! The sidecar: a managed `opencode serve`. It holds no GitHub token and is treated as hostile, because it
//! reads hostile text; so what it is given is decided in one place (`profile`), and what it answers is
//! foreign JSON until `wire` has read it.

pub mod client;
pub(crate) mod conversation;
mod prompt;

pub(crate) mod locate;
pub(crate) mod output;
pub mod process;
pub mod profile;
mod providers;
pub(crate) mod resources;
pub mod sandbox;
mod session_name;
pub(crate) mod supervisor;
mod wire;
pub mod workdir;

pub use client::{Client, ClientError};
pub use conversation::{Conversation, Kept};
pub use locate::{find_opencode, find_ripgrep, install_command, is_script};
pub use process::{Sidecar, Spec, StartError};
pub use profile::{Profile, SessionConfig, ToolEndpoint, ToolName};
pub use prompt::Watched;
pub use providers::{DEFAULT_CONTEXT, ModelEndpoint, ModelName};
pub use resources::Quota;
pub use reviewer_core::review::sidecar_events::{
    ProviderInfo, SessionId, SidecarEvent, Tokens, ToolState, Turn, TurnError, Usage,
};
pub use session_name::SessionName;
pub use supervisor::{Process, Supervisor};

//! Everything that needs more than one module: one binary, so that it is linked once. Real OpenCode, real git,
//! real HTTP; GitHub and the model are stood in for.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "tests stop at the first surprise, are an edge, and tell stories"
)]

#[path = "../properties/html.rs"]
mod html_property;
#[path = "../properties/mod.rs"]
mod properties;
#[path = "../standin/mod.rs"]
mod standin;

mod anchors;
mod attacks;
mod closing;
mod commands;
mod containment;
mod decide;
mod deltas;
mod dice;
mod doctor;
mod documents;
mod dry_run;
mod entry;
mod eval;
mod failing_checks;
mod fallback;
mod first_day;
mod fix_command;
mod fixing;
mod fixing_data;
mod fixing_verified;
mod gate;
mod gateway;
mod intent;
mod language;
mod large;
mod life;
mod local;
mod memory;
mod mentions;
mod model_view;
mod module_graph;
mod notices;
mod own_shell;
mod panel;
mod publishing;
mod queue;
mod review;
mod secrets;
mod sections;
mod serve_commands;
mod service;
mod service_github;
mod service_session;
mod settings;
mod shared_head;
mod sidecar;
mod signals;
mod soak;
mod spending;
mod standin_github;
mod static_analysis;
mod together;
mod unseen;
mod verify;
mod walls;
mod watch;
mod web;
mod whole_files;
mod words_in;

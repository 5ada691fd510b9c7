//! Stands in for `opencode serve` where a test is not about OpenCode: the same HTTP API as far as a review uses it, the
//! same configuration, the same model and tools behind the same walls, in milliseconds in place of seconds. Every kind
//! of story that is told with it is told with the real one, too.
//!
//! A program of its own, because the sandbox executes a file and not a thread of the test.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test program that is configured by its environment, as OpenCode is"
)]

mod api;
mod quirks;
mod store;
mod turn;

use serde_json::Value;
use std::sync::Arc;

/// What the reviewer configured, from the variable that OpenCode reads.
#[derive(Debug)]
struct Configuration {
    config: Value,
    password: String,
    port: u16,
}

impl Configuration {
    fn given() -> Self {
        let variable = |name: &str| std::env::var(name).expect(name);
        let mut arguments = std::env::args().skip_while(|argument| argument != "--port");
        let port = arguments.nth(1).expect("--port N");
        Self {
            config: serde_json::from_str(&variable("OPENCODE_CONFIG_CONTENT")).expect("JSON"),
            password: variable("OPENCODE_SERVER_PASSWORD"),
            port: port.parse().expect("the number of a port"),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let given = Configuration::given();
    let address = ("127.0.0.1", given.port);
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.expect("ServeError: the port is taken");
    println!(
        "opencode server listening on http://127.0.0.1:{}",
        given.port
    );
    let router = api::router(Arc::new(api::Server::new(given)));
    axum::serve(listener, router).await.expect("it serves");
}

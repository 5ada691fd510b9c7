//! The service.yml of the measured service. Separate, because a test holds it against the settings that the service knows.

use serde_json::{Value, json};
use std::path::Path;

/// The repository of the stand-in.
pub const SHOP: &str = "octo/shop";

/// The addresses of the stand-ins and of the service itself.
pub struct Address<'a> {
    pub port: u16,
    pub store: &'a Path,
    pub api_url: &'a str,
    pub graphql_url: &'a str,
    pub model_url: &'a str,
}

/// The configuration as JSON, which is YAML.
pub fn configuration(at: &Address<'_>) -> Value {
    json!({
        "listen": format!("127.0.0.1:{}", at.port),
        "store": at.store,
        "github": {
            "account": "quality",
            "api_url": at.api_url,
            "graphql_url": at.graphql_url,
        },
        "repositories": [SHOP],
        "webhook_secret_env": "WEBHOOK_SECRET",
        "master_key_env": "MASTER_KEY",
        "model": "standin/scripted",
        "model_base_url": at.model_url,
        "model_key_env": "MODEL_KEY",
        "log_directory": "logs",
        // Everything here comes from one address.
        "limits": { "requests_per_minute": 1_000_000, "requests_per_minute_per_address": 1_000_000 },
    })
}

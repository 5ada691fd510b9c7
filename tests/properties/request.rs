//! The judge of requests to the model: whatever the sidecar sends is read without a panic, and what passes is one JSON
//! object that names the configured model once, offers functions of the run only, and holds no address to fetch.

use super::draw::Draw;
use reviewer_agent::gateway::{Gateway, Limits, SessionRoute};
use reviewer_agent::opencode::{Profile, SessionName};
use reviewer_agent::tools::review_names;
use reviewer_core::config::ModelChoice;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::sync::LazyLock;

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "{", "}", "[", "]", ":", ",", "\"", "\\", "\\u006d", "\\ud800", "null", "true", "false", "1e999", "-0.5", " ", "\n", "\"model\"",
    "\"model\":\"m-1\"", ",\"model\":\"m-2\"", ",\"\\u006dodel\":\"m-2\"", ",\"MODEL\":\"m-2\"", ",\"stream\":true",
    ",\"store\":false", ",\"store\":true", ",\"tools\":[", "{\"type\":\"function\",\"function\":{\"name\":\"read\"}}",
    "{\"type\":\"mcp\",\"server_url\":\"https://x\"}", "{\"name\":\"read\",\"input_schema\":{}}",
    "{\"type\":\"function\",\"name\":\"read\"}", "\"type\":", "\"function\"", "\"mcp\"", "\"name\":\"bash\"", ",\"messages\":[",
    "{\"role\":\"user\",\"content\":[", "{\"type\":\"image_url\",\"image_url\":", "{\"url\":\"https://x\"}", "\"https://x\"",
    "\"data:image/png;base64,AA\"", "{\"type\":\"text\",\"text\":\"https://x\"}", "]}", "}]", "]}]", ",\"plugins\":[]",
    ",\"input\":[", "\"a\":1", "\"a\":", "{\"a\":1,\"a\":2}", "\u{feff}", "ä", "\u{212a}", "{}", "[]", ",\"previous_response_id\":\"r\"",
];

/// Provider and path; each is another wire format.
const WIRES: [(&str, &str); 3] = [
    ("openrouter", "chat/completions"),
    ("anthropic", "messages"),
    ("openai", "responses"),
];

static ROUTES: LazyLock<[SessionRoute; 3]> = LazyLock::new(|| {
    WIRES.map(|(provider, _)| {
        let model = ModelChoice {
            provider: provider.into(),
            name: "m-1".into(),
            base_url: None,
            key: Some("key".into()),
            context: None,
        };
        let tools = Profile::Reviewer.tools(SessionName::Review(1), &review_names(false, false));
        let gateway = Gateway::new(&[], Limits::default()).expect("a gateway");
        let route = gateway.open("r1", (&model).into(), &"placeholder".into(), &tools);
        route.expect("a route")
    })
});

pub fn hold(bytes: &[u8]) {
    let mut draw = Draw::new(bytes);
    let hostile = draw.text(PIECES);
    let plain = r#"{"model":"m-1","store":false}"#;
    for body in [
        plain.to_owned(),
        hostile.clone(),
        format!("{{\"model\":\"m-1\",\"store\":false{hostile}}}"),
        format!("{{\"model\":\"m-1\",\"store\":false,\"tools\":[{hostile}]}}"),
    ] {
        for (route, (_, path)) in ROUTES.iter().zip(WIRES) {
            let admitted = route.admits(path, body.as_bytes());
            assert!(admitted || body != plain, "{path}");
            if admitted {
                is_harmless(&body);
            }
        }
    }
}

fn is_harmless(body: &str) {
    let pairs: Pairs = serde_json::from_str(body).expect("one JSON object");
    let named = |(key, _): &&(String, Value)| key.eq_ignore_ascii_case("model");
    let models: Vec<&Value> = pairs
        .0
        .iter()
        .filter(named)
        .map(|(_, model)| model)
        .collect();
    assert_eq!(models, [&Value::from("m-1")], "{body}");
    let read: Value = serde_json::from_str(body).expect("JSON");
    for key in ["plugins", "mcp_servers", "previous_response_id"] {
        assert_eq!(read.get(key), None, "{body}");
    }
    assert_ne!(read["store"], true, "{body}");
    for tool in read["tools"].as_array().into_iter().flatten() {
        let kind = &tool["type"];
        let known = kind.is_null() || kind == "function" || kind == "custom";
        assert!(known && tool.get("server_url").is_none(), "{body}");
        assert_ne!(tool["name"], "bash", "{body}");
    }
    for message in read["messages"].as_array().into_iter().flatten() {
        for part in message["content"].as_array().into_iter().flatten() {
            let image = &part["image_url"];
            let url = image.as_str().or_else(|| image["url"].as_str());
            assert!(url.is_none_or(|url| url.starts_with("data:")), "{body}");
        }
    }
}

/// The keys of an object as they stand, those that stand twice included.
struct Pairs(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(PairsOf)
    }
}

struct PairsOf;

impl<'de> Visitor<'de> for PairsOf {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = object.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

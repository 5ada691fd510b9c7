//! The page about the service and its example, held against the code. Separate, because the service has a configuration of its own.

use super::{quoted, rows, section, text};
use reviewer_core::config::service::{SETTINGS, ServiceConfig};
use reviewer_core::event::webhook::{EVENTS, PERMISSIONS};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[path = "../../../bench/service/configuration.rs"]
mod benchmark;

#[test]
fn the_service_that_the_benchmark_measures_takes_its_configuration() {
    let given = benchmark::configuration(&benchmark::Address {
        port: 8787,
        store: Path::new("service.db"),
        api_url: "http://127.0.0.1:1/api/v3",
        graphql_url: "http://127.0.0.1:1/api/graphql",
        model_url: "http://127.0.0.1:2/v1",
    });
    let config = ServiceConfig::parse(&given.to_string());
    let config = config.unwrap_or_else(|wrong| panic!("{wrong:#?}"));
    assert_eq!(config.repositories[0].to_string(), benchmark::SHOP);
}

#[test]
fn the_example_of_the_service_can_be_read_and_has_an_agent_for_each_role() {
    let config = ServiceConfig::parse(&text("examples/service.yml"));
    let config = config.unwrap_or_else(|wrong| panic!("{wrong:#?}"));
    let names: Vec<&str> = config
        .agents
        .iter()
        .map(|agent| agent.name.as_str())
        .collect();
    assert_eq!(names, ["product", "quality", "security"]);
    assert!(config.listen.ip().is_loopback());
}

#[test]
fn the_page_of_the_service_has_every_setting_with_its_default_and_no_other() {
    let page = text("docs/service.md");
    let rows = rows(section(&page, "Configuration"));
    let of_service = rows.iter().take(SETTINGS.len());
    for (row, setting) in of_service.zip(SETTINGS) {
        let default = if setting.default.is_empty() {
            "none"
        } else {
            setting.default
        };
        let expected = [setting.name, default, setting.help].map(|one| one.replace('`', ""));
        let told: Vec<String> = row.iter().map(|cell| cell.replace('`', "")).collect();
        assert_eq!(told, expected);
    }
    let of_repository: Vec<&str> = rows[SETTINGS.len()..]
        .iter()
        .flat_map(|row| quoted(row[0]))
        .collect();
    let schema: Value =
        serde_json::from_str(&text("schema/opencode-reviewer.schema.json")).expect("JSON");
    let known = schema["properties"]["lifecycle"]["properties"].as_object();
    let known: BTreeSet<&str> = known.expect("keys").keys().map(String::as_str).collect();
    assert_eq!(
        of_repository.iter().copied().collect::<BTreeSet<_>>(),
        known
    );
}

#[test]
fn the_manifest_of_the_app_has_the_events_and_permissions_that_check_asks_for() {
    let page = text("docs/service.md");
    let manifest = section(&page, "GitHub App");
    let manifest = manifest.split("```json\n").nth(1).expect("a manifest");
    let manifest = manifest.split("```").next().unwrap_or_default();
    let manifest: Value = serde_json::from_str(manifest).expect("JSON");
    let events = manifest["default_events"].as_array().expect("events");
    let events: Vec<&str> = events.iter().filter_map(Value::as_str).collect();
    assert_eq!(events, EVENTS);
    let permissions = manifest["default_permissions"]
        .as_object()
        .expect("permissions");
    let permissions = permissions.iter();
    let permissions: Vec<(&str, &str)> = permissions
        .map(|(name, access)| (name.as_str(), access.as_str().unwrap_or_default()))
        .collect();
    assert_eq!(permissions, PERMISSIONS);
}

#[test]
fn the_page_of_the_service_has_every_route_and_no_other() {
    let source = text("src/serve/http.rs");
    let routes = source.split(".route(").skip(1);
    let routes = routes.map(|route| {
        let path = route.split('"').nth(1).expect("a path");
        let method = route.split('"').nth(2).expect("a method");
        let method = method.trim_start_matches([',', ' ', '\n']);
        let method = method.split('(').next().unwrap_or_default();
        format!("{} {path}", method.to_uppercase())
    });
    let routes: BTreeSet<String> = routes.collect();
    assert!(routes.len() > 8, "{routes:?}");
    let page = text("docs/service.md");
    let told = rows(section(&page, "HTTP"));
    let told = told.iter().flat_map(|row| quoted(row[0]));
    assert_eq!(told.map(str::to_owned).collect::<BTreeSet<_>>(), routes);
}

#[test]
fn the_table_of_effects_has_every_effect() {
    let effects = text("crates/core/src/lifecycle/effect.rs");
    let effects = effects.split("pub enum Effect {").nth(1).expect("effects");
    let effects = effects.split("\n}\n").next().unwrap_or_default();
    let variants = effects.lines().filter_map(|line| line.strip_prefix("    "));
    let variants = variants.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    let variants = variants.map(|line| {
        let name = line.split([' ', ',', '{']).next().unwrap_or_default();
        match name {
            "Wake" => "timer".to_owned(),
            name => spaced(name),
        }
    });
    let page = text("docs/service.md");
    let told = rows(section(&page, "Effects"));
    let told: Vec<&str> = told.iter().map(|row| row[0]).collect();
    assert_eq!(told, variants.collect::<Vec<_>>());
}

/// `EndSession` as "end session".
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

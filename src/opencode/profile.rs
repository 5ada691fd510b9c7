//! What the sidecar is allowed to do: the one place where permissions are written. Pure, so that a test can
//! hold the real OpenCode against it.

use crate::config::ModelChoice;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::path::Path;

/// Who works in the sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Reads, and says what it found through our tools.
    Reviewer,
}

impl Profile {
    /// The agent's name in OpenCode.
    #[must_use]
    pub fn agent(self) -> &'static str {
        match self {
            Self::Reviewer => "reviewer",
        }
    }

    /// What is allowed; everything else is denied. `list` and `todoread` are names of other versions.
    fn allowed(self) -> &'static [&'static str] {
        match self {
            Self::Reviewer => &[
                "read",
                "grep",
                "glob",
                "list",
                "todowrite",
                "todoread",
                "github_*",
                "submit_*",
            ],
        }
    }
}

/// Our tool server, as the sidecar reaches it.
#[derive(Debug, Clone)]
pub struct ToolEndpoint {
    /// Without a slash at the end.
    pub base_url: String,
    pub bearer: SecretString,
}

/// Agents that OpenCode brings along. They would have `bash` and more; `title` and `summary` would spend
/// model calls. `compaction` stays, as a long session needs it.
const BUILT_IN_AGENTS: [&str; 6] = ["build", "plan", "general", "explore", "title", "summary"];

/// Tool calls wait for GitHub at times, and must not be given up while they do.
const TOOL_TIMEOUT_MS: u64 = 120_000;

/// For a model that no catalogue knows.
const DEFAULT_CONTEXT: u64 = 200_000;
const DEFAULT_OUTPUT: u64 = 32_000;

/// The content of `OPENCODE_CONFIG_CONTENT`. It holds the model key: never log it.
#[must_use]
pub fn config(
    profile: Profile,
    model: &ModelChoice,
    system_prompt: &str,
    tools: &ToolEndpoint,
) -> Value {
    let model_name = format!("{}/{}", model.provider, model.name);
    let mut agents: serde_json::Map<String, Value> = BUILT_IN_AGENTS
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "disable": true })))
        .collect();
    agents.insert(
        profile.agent().to_owned(),
        json!({
            "mode": "primary",
            "description": "Reviews one pull request.",
            "model": model_name,
            "prompt": system_prompt,
            "permission": permissions(profile.allowed()),
        }),
    );
    json!({
        "share": "disabled",
        "autoupdate": false,
        "snapshot": false,
        "model": model_name,
        // Without it a second, cheaper model of the same provider may be called for side work.
        "small_model": model_name,
        "default_agent": profile.agent(),
        "permission": permissions(&[]),
        "agent": agents,
        "mcp": {
            "github": tool_server(tools, "github"),
            "submit": tool_server(tools, "submit"),
        },
        "provider": { model.provider.as_str(): provider(model) },
    })
}

/// OpenCode takes the last rule that matches, so `*` stands first (which it also does in sorted order), and
/// the names that it sets to `ask` by default are denied by name: an `ask` waits for ever without a person.
fn permissions(allowed: &[&str]) -> Value {
    let mut rules = serde_json::Map::new();
    rules.insert("*".to_owned(), json!("deny"));
    for denied in ["doom_loop", "external_directory", "question"] {
        rules.insert(denied.to_owned(), json!("deny"));
    }
    for name in allowed {
        rules.insert((*name).to_owned(), json!("allow"));
    }
    Value::Object(rules)
}

fn tool_server(tools: &ToolEndpoint, name: &str) -> Value {
    json!({
        "type": "remote",
        "url": format!("{}/mcp/{name}", tools.base_url),
        "headers": { "Authorization": format!("Bearer {}", tools.bearer.expose_secret()) },
        "oauth": false,
        "enabled": true,
        "timeout": TOOL_TIMEOUT_MS,
    })
}

fn provider(model: &ModelChoice) -> Value {
    let mut options = serde_json::Map::new();
    if let Some(key) = &model.key {
        options.insert("apiKey".to_owned(), json!(key.expose_secret()));
    }
    let Some(base_url) = &model.base_url else {
        // An empty entry keeps what the catalogue knows of the model, and makes one that it does not
        // know usable.
        return json!({ "options": options, "models": { model.name.as_str(): {} } });
    };
    options.insert("baseURL".to_owned(), json!(base_url));
    json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": model.provider,
        "options": options,
        "models": {
            model.name.as_str(): {
                "name": model.name,
                "tool_call": true,
                "limit": { "context": DEFAULT_CONTEXT, "output": DEFAULT_OUTPUT },
            },
        },
    })
}

/// What the sidecar's environment is made from.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// A scratch home that only this sidecar uses.
    pub home: &'a Path,
    pub rg_dir: Option<&'a Path>,
    /// Where the system's programs are.
    pub path: &'a str,
    pub password: &'a SecretString,
    pub config: &'a Value,
}

const SWITCHES: [&str; 8] = [
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_PURE",
];

/// Every variable of the sidecar's environment, which is otherwise empty.
#[must_use]
pub fn environment(from: Surroundings<'_>) -> Vec<(String, String)> {
    let home = |under: &str| from.home.join(under).to_string_lossy().into_owned();
    let path = match from.rg_dir {
        Some(rg) => format!("{}:{}", rg.display(), from.path),
        None => from.path.to_owned(),
    };
    let named = [
        ("HOME", from.home.to_string_lossy().into_owned()),
        ("XDG_CONFIG_HOME", home(".config")),
        ("XDG_DATA_HOME", home(".local/share")),
        ("XDG_STATE_HOME", home(".local/state")),
        ("XDG_CACHE_HOME", home(".cache")),
        ("TMPDIR", home("tmp")),
        ("PATH", path),
        ("LANG", "C.UTF-8".to_owned()),
        (
            "OPENCODE_SERVER_PASSWORD",
            from.password.expose_secret().to_owned(),
        ),
        ("OPENCODE_CONFIG_CONTENT", from.config.to_string()),
    ];
    named
        .into_iter()
        .chain(SWITCHES.map(|name| (name, "1".to_owned())))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(base_url: Option<&str>) -> ModelChoice {
        ModelChoice {
            provider: "anthropic".into(),
            name: "claude-haiku-4-5".into(),
            base_url: base_url.map(str::to_owned),
            key: Some("key-1".into()),
        }
    }

    fn made(base_url: Option<&str>) -> Value {
        let tools = ToolEndpoint {
            base_url: "http://127.0.0.1:7".into(),
            bearer: "b-1".into(),
        };
        config(Profile::Reviewer, &model(base_url), "You review.", &tools)
    }

    #[test]
    fn nothing_is_ever_asked_and_everything_starts_denied() {
        let config = made(None);
        assert!(!config.to_string().contains("\"ask\""));
        assert_eq!(config["permission"]["*"], "deny");
        let agent = &config["agent"]["reviewer"]["permission"];
        assert_eq!(agent["*"], "deny");
        assert_eq!(agent["read"], "allow");
        assert_eq!(agent["question"], "deny");
        assert_eq!(
            agent.as_object().unwrap().keys().next().unwrap(),
            "*",
            "the last matching rule wins, so the general one comes first"
        );
    }

    #[test]
    fn a_catalogue_model_keeps_its_limits_and_gets_the_key() {
        let provider = &made(None)["provider"]["anthropic"];
        assert_eq!(provider["options"]["apiKey"], "key-1");
        assert_eq!(provider["models"]["claude-haiku-4-5"], json!({}));
        assert_eq!(provider["npm"], Value::Null);
    }

    #[test]
    fn an_endpoint_is_spoken_to_as_openai_compatible() {
        let config = made(Some("http://127.0.0.1:9/v1"));
        let provider = &config["provider"]["anthropic"];
        assert_eq!(provider["npm"], "@ai-sdk/openai-compatible");
        assert_eq!(provider["options"]["baseURL"], "http://127.0.0.1:9/v1");
        assert_eq!(config["model"], "anthropic/claude-haiku-4-5");
        assert_eq!(config["small_model"], config["model"]);
    }

    #[test]
    fn the_environment_is_a_closed_list() {
        let made = made(None);
        let variables = environment(Surroundings {
            home: Path::new("/scratch"),
            rg_dir: Some(Path::new("/rg")),
            path: "/usr/bin:/bin",
            password: &"pw".into(),
            config: &made,
        });
        let value = |name: &str| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("PATH"), Some("/rg:/usr/bin:/bin"));
        assert_eq!(value("XDG_DATA_HOME"), Some("/scratch/.local/share"));
        assert_eq!(value("OPENCODE_DISABLE_PROJECT_CONFIG"), Some("1"));
        let foreign = |(key, _): &&(String, String)| {
            key.contains("TOKEN") || key.starts_with("GITHUB") || key.starts_with("INPUT")
        };
        assert_eq!(variables.iter().find(foreign), None);
        assert_eq!(variables.len(), 10 + SWITCHES.len());
    }
}

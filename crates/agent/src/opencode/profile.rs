//! The permissions of the sidecar: the one place where they are written. Pure, so that a test can hold the real
//! OpenCode against it.

use super::providers::{ModelEndpoint, Reached, Ways};
use super::session_name::SessionName;
use reviewer_core::config::ModelChoice;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// The kind of work that is done in the sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Reads, and says what it found through the reviewer's tools. OpenCode's own web tools stay denied.
    Reviewer,
    /// Reads, and asks the reviewer's tools for its edits. It writes nothing itself.
    Fixer,
}

impl Profile {
    /// The agent's name in OpenCode.
    #[must_use]
    pub fn agent(self) -> &'static str {
        match self {
            Self::Reviewer => "reviewer",
            Self::Fixer => "fixer",
        }
    }

    /// The agent's work in one sentence.
    fn description(self) -> &'static str {
        match self {
            Self::Reviewer => "Reviews one pull request.",
            Self::Fixer => "Fixes what a review of one pull request found.",
        }
    }

    /// The tools of OpenCode that are allowed. `list` is a name of other versions. The list of tasks is not among them: each
    /// request would carry its long description, and the passes are the tasks.
    fn own(self) -> &'static [&'static str] {
        match self {
            Self::Reviewer | Self::Fixer => &["read", "grep", "glob", "list"],
        }
    }

    /// The tools that a session may call, with the reviewer's; everything else is denied.
    #[must_use]
    pub fn tools(self, session: SessionName, ours: &[ToolName]) -> Vec<String> {
        let own = self.own().iter().map(|&name| name.to_owned());
        own.chain(ours.iter().map(|tool| session.tool(*tool)))
            .collect()
    }
}

/// One of the reviewer's tools. OpenCode and the model of the first session call it `<server>_<name>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolName {
    pub server: &'static str,
    pub name: &'static str,
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.server, self.name)
    }
}

/// The tools of a session on the reviewer's server, as the sidecar reaches them.
#[derive(Debug, Clone)]
pub struct ToolEndpoint {
    /// Of the session; each tool server is below it by its name. Without a slash at the end.
    pub base_url: String,
    pub bearer: SecretString,
    pub tools: Vec<ToolName>,
}

/// A session's part of the configuration.
#[derive(Debug, Clone)]
pub struct SessionConfig<'a> {
    pub name: SessionName,
    pub profile: Profile,
    pub model: &'a ModelChoice,
    pub system_prompt: String,
    pub tools: ToolEndpoint,
    pub endpoint: ModelEndpoint,
    /// The model that it may fall back to.
    pub fallback: Option<(&'a ModelChoice, ModelEndpoint)>,
}

impl SessionConfig<'_> {
    fn reached(&self) -> Reached<'_> {
        let fallback = self.fallback.as_ref();
        Reached {
            session: self.name,
            own: (self.model, &self.endpoint),
            fallback: fallback.map(|(model, endpoint)| (*model, endpoint)),
        }
    }
}

/// Agents that OpenCode brings along. They would have `bash` and more; `title` and `summary` would spend
/// model calls. `compaction` stays, as a long session needs it.
const BUILT_IN_AGENTS: [&str; 6] = ["build", "plan", "general", "explore", "title", "summary"];

/// Tool calls wait for GitHub at times, and must not be given up while they do.
const TOOL_TIMEOUT_MS: u64 = 120_000;

/// The content of `OPENCODE_CONFIG_CONTENT`, for the sessions of a run. It holds secrets of the run: never log it.
#[must_use]
pub fn config(first: &SessionConfig<'_>, others: &[SessionConfig<'_>]) -> Value {
    let sessions: Vec<&SessionConfig<'_>> = std::iter::once(first).chain(others).collect();
    let mut agents: serde_json::Map<String, Value> = BUILT_IN_AGENTS
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "disable": true })))
        .collect();
    let mut servers = serde_json::Map::new();
    let ways = Ways::of(sessions.iter().map(|session| session.reached()));
    for session in &sessions {
        let allowed = session.profile.tools(session.name, &session.tools.tools);
        let agent = json!({
            "mode": "primary",
            "description": session.profile.description(),
            "model": ways.model_of(session.name, session.model),
            "prompt": session.system_prompt,
            "permission": permissions(&allowed),
        });
        agents.insert(session.name.agent(session.profile), agent);
        servers.extend(tool_servers(session));
    }
    let model = ways.model_of(first.name, first.model);
    json!({
        "share": "disabled",
        "autoupdate": false,
        "snapshot": false,
        "model": model,
        // Without it a second, cheaper model of the same provider may be called for side work.
        "small_model": model,
        "default_agent": first.name.agent(first.profile),
        "permission": permissions(&[]),
        "agent": agents,
        "mcp": servers,
        "provider": ways.providers(),
    })
}

/// OpenCode takes the last rule that matches, so `*` stands first (which it also does in sorted order), and
/// the names that it sets to `ask` by default are denied by name: without a person, an `ask` never ends.
fn permissions(allowed: &[String]) -> Value {
    let mut rules = serde_json::Map::new();
    rules.insert("*".to_owned(), json!("deny"));
    for denied in ["doom_loop", "external_directory", "question"] {
        rules.insert(denied.to_owned(), json!("deny"));
    }
    for name in allowed {
        rules.insert(name.clone(), json!("allow"));
    }
    Value::Object(rules)
}

/// The rules of a session that add to those of its agent: these tools do not exist in it.
#[must_use]
pub fn denied(tools: &[String]) -> Value {
    let deny = |tool: &String| json!({ "permission": tool, "pattern": "*", "action": "deny" });
    tools.iter().map(deny).collect()
}

/// Each tool server that has a tool of the session, under the session's name of it.
fn tool_servers(session: &SessionConfig<'_>) -> impl Iterator<Item = (String, Value)> {
    let servers = session.tools.tools.iter().map(|tool| tool.server);
    servers.map(|name| {
        let key = format!("{}{name}", session.name.prefix());
        (key, tool_server(&session.tools, name))
    })
}

fn tool_server(tools: &ToolEndpoint, name: &str) -> Value {
    json!({
        "type": "remote",
        "url": format!("{}/{name}", tools.base_url),
        "headers": { "Authorization": format!("Bearer {}", tools.bearer.expose_secret()) },
        "oauth": false,
        "enabled": true,
        "timeout": TOOL_TIMEOUT_MS,
    })
}

/// The inputs for the sidecar's environment.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// A scratch home that only this sidecar uses.
    pub home: &'a Path,
    /// Programs that it may execute.
    pub programs: &'a [PathBuf],
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
    let folders = from.programs.iter().filter_map(|program| program.parent());
    let path: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    let named = [
        ("HOME", from.home.to_string_lossy().into_owned()),
        ("XDG_CONFIG_HOME", home(".config")),
        ("XDG_DATA_HOME", home(".local/share")),
        ("XDG_STATE_HOME", home(".local/state")),
        ("XDG_CACHE_HOME", home(".cache")),
        ("TMPDIR", home("tmp")),
        ("PATH", path.join(":")),
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
            context: None,
        }
    }

    fn made(base_url: Option<&str>) -> Value {
        made_with(&[RECORD], base_url)
    }

    const RECORD: ToolName = ToolName {
        server: "github",
        name: "post_review_comment",
    };

    fn made_with(tools: &[ToolName], base_url: Option<&str>) -> Value {
        config(&session(1, &model(base_url), tools), &[])
    }

    fn session<'a>(number: u8, model: &'a ModelChoice, tools: &[ToolName]) -> SessionConfig<'a> {
        SessionConfig {
            name: SessionName::Review(number),
            profile: Profile::Reviewer,
            model,
            system_prompt: "You review.".into(),
            tools: ToolEndpoint {
                base_url: format!("http://127.0.0.1:7/mcp/r{number}"),
                bearer: format!("b-{number}").into(),
                tools: tools.to_vec(),
            },
            endpoint: ModelEndpoint {
                base_url: format!("http://127.0.0.1:7/model/r{number}"),
                placeholder: format!("placeholder-{number}").into(),
                credential: "x-api-key",
            },
            fallback: None,
        }
    }

    #[test]
    fn each_session_has_its_own_agent_tools_and_way_to_its_model() {
        let (first, other) = (model(None), model(Some("http://127.0.0.1:9/v1")));
        let other = ModelChoice {
            provider: "mine".into(),
            ..other
        };
        let sessions = [session(2, &first, &[RECORD]), session(3, &other, &[RECORD])];
        let made = config(&session(1, &first, &[RECORD]), &sessions);
        let permissions = |agent: &str| made["agent"][agent]["permission"].to_string();
        for (agent, own) in [
            ("reviewer", "\"github_post_review_comment\""),
            ("reviewer-r2", "\"r2_github_post_review_comment\""),
            ("reviewer-r3", "\"r3_github_post_review_comment\""),
        ] {
            let allowed = permissions(agent);
            assert!(allowed.contains(own), "{allowed}");
            assert_eq!(
                allowed.matches("post_review_comment").count(),
                1,
                "{allowed}"
            );
        }
        assert_eq!(
            made["mcp"]["r2_github"]["url"],
            "http://127.0.0.1:7/mcp/r2/github"
        );
        assert_eq!(
            made["mcp"]["r2_github"]["headers"]["Authorization"],
            "Bearer b-2"
        );
        let shared = &made["provider"]["anthropic"];
        assert_eq!(shared["options"], json!({ "apiKey": "none" }));
        let second = &shared["models"]["claude-haiku-4-5@r2"];
        assert_eq!(second["id"], "claude-haiku-4-5");
        assert_eq!(second["provider"]["api"], "http://127.0.0.1:7/model/r2");
        assert_eq!(second["headers"]["x-api-key"], "placeholder-2");
        assert_eq!(
            made["agent"]["reviewer-r2"]["model"],
            "anthropic/claude-haiku-4-5@r2"
        );
        assert_eq!(
            made["agent"]["reviewer-r3"]["model"],
            "mine/claude-haiku-4-5"
        );
        assert_eq!(
            made["provider"]["mine"]["options"]["apiKey"],
            "placeholder-3"
        );
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
    fn a_tool_of_ours_is_allowed_by_its_whole_name() {
        let config = made(None);
        let agent = &config["agent"]["reviewer"]["permission"];
        assert_eq!(agent["github_post_review_comment"], "allow");
        assert_eq!(agent["github_*"], Value::Null);
        let servers: Vec<&String> = config["mcp"].as_object().unwrap().keys().collect();
        assert_eq!(servers, ["github"]);
    }

    #[test]
    fn the_web_is_there_only_where_it_was_asked_for() {
        let web = |name| ToolName {
            server: "web",
            name,
        };
        let with_web = made_with(&[RECORD, web("search"), web("fetch")], None);
        let agent = &with_web["agent"]["reviewer"]["permission"];
        assert_eq!(
            (&agent["web_search"], &agent["web_fetch"]),
            (&json!("allow"), &json!("allow"))
        );
        assert_eq!(
            agent["webfetch"],
            Value::Null,
            "OpenCode's own stays under the general rule"
        );
        assert_eq!(
            with_web["mcp"]["web"]["url"],
            "http://127.0.0.1:7/mcp/r1/web"
        );
        assert!(
            !made(None).to_string().contains("web"),
            "off: not a word of it"
        );
    }

    #[test]
    fn a_catalogue_model_keeps_its_limits_and_is_reached_through_the_gateway() {
        let provider = &made(None)["provider"]["anthropic"];
        assert_eq!(provider["options"]["apiKey"], "placeholder-1");
        assert_eq!(
            provider["options"]["baseURL"],
            "http://127.0.0.1:7/model/r1"
        );
        assert_eq!(provider["models"]["claude-haiku-4-5"], json!({}));
        assert_eq!(provider["npm"], Value::Null);
    }

    #[test]
    fn an_endpoint_is_spoken_to_as_openai_compatible() {
        let config = made(Some("http://127.0.0.1:9/v1"));
        let provider = &config["provider"]["anthropic"];
        assert_eq!(provider["npm"], "@ai-sdk/openai-compatible");
        assert_eq!(
            provider["options"]["baseURL"],
            "http://127.0.0.1:7/model/r1"
        );
        assert_eq!(config["model"], "anthropic/claude-haiku-4-5");
        assert_eq!(config["small_model"], config["model"]);
    }

    #[test]
    fn neither_the_key_nor_its_destination_is_told_to_the_sidecar() {
        for base_url in [None, Some("http://127.0.0.1:9/v1")] {
            let config = made(base_url).to_string();
            assert!(!config.contains("key-1"), "{config}");
            assert!(!config.contains("127.0.0.1:9"), "{config}");
        }
    }

    #[test]
    fn the_environment_is_a_closed_list() {
        let made = made(None);
        let variables = environment(Surroundings {
            home: Path::new("/scratch"),
            programs: &["/rg/rg".into()],
            password: &"pw".into(),
            config: &made,
        });
        let value = |name: &str| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("PATH"), Some("/rg"));
        assert_eq!(value("XDG_DATA_HOME"), Some("/scratch/.local/share"));
        assert_eq!(value("OPENCODE_DISABLE_PROJECT_CONFIG"), Some("1"));
        let foreign = |(key, _): &&(String, String)| {
            key.contains("TOKEN") || key.starts_with("GITHUB") || key.starts_with("INPUT")
        };
        assert_eq!(variables.iter().find(foreign), None);
        assert_eq!(variables.len(), 10 + SWITCHES.len());
    }
}

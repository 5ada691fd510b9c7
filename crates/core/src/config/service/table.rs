//! The table of settings in service.yml. The reader takes its names from here, and a test holds the documentation against it.

/// A setting of service.yml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// With the names of its sections, by dots.
    pub name: &'static str,
    /// The value where none is given; empty: none.
    pub default: &'static str,
    pub help: &'static str,
}

const fn setting(name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        default,
        help,
    }
}

/// All settings, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    setting(
        "listen",
        "127.0.0.1:8787",
        "address and port of the HTTP server",
    ),
    setting(
        "public_url",
        "http:// and `listen`",
        "address under which sessions reach the service; with https, webhooks are expected there, too",
    ),
    setting(
        "store",
        "./opencode-reviewer.db",
        "SQLite file of states, queue, sessions, agents and API tokens, or the address of a server: see [stores](#stores)",
    ),
    setting("github.app.id", "", "id of the GitHub App"),
    setting(
        "github.app.private_key_file",
        "",
        "file with the App's private key, as GitHub made it",
    ),
    setting(
        "github.app.slug",
        "asked from GitHub",
        "name of the App in its address",
    ),
    setting(
        "github.app.fixer",
        "",
        "agent that fixes pull requests of the App itself",
    ),
    setting(
        "github.account",
        "",
        "without an App: the agent whose token reads, calls people, requests reviewers and merges",
    ),
    setting(
        "github.api_url",
        "https://api.github.com",
        "REST address of a GitHub Enterprise Server",
    ),
    setting(
        "github.graphql_url",
        "https://api.github.com/graphql",
        "GraphQL address of a GitHub Enterprise Server",
    ),
    setting(
        "repositories",
        "all of the installation",
        "repositories in scope, as owner/name; required without an App",
    ),
    setting(
        "webhook_secret_file",
        "",
        "file with the secret of the webhook",
    ),
    setting("webhook_secret_env", "", "environment variable with it"),
    setting(
        "master_key_file",
        "",
        "file with the master key that seals tokens: 32 bytes as hexadecimal digits or base64; required without an App",
    ),
    setting("master_key_env", "", "environment variable with it"),
    setting(
        "earlier_master_key_files",
        "",
        "files with earlier master keys, which still open tokens",
    ),
    setting(
        "agents.name",
        "",
        "name of an agent, by which repositories list it as a reviewer",
    ),
    setting(
        "agents.login",
        "",
        "its account on GitHub; only without an App",
    ),
    setting(
        "agents.persona_file",
        "built-in for product, quality and security",
        "file with the text of its persona",
    ),
    setting(
        "max_sessions",
        "2",
        "sessions at the same time; each needs about 0.7 GB",
    ),
    setting(
        "review_minutes",
        "50",
        "deadline of a review session; with an App at most 50, because its tokens last an hour",
    ),
    setting("fix_minutes", "50", "deadline of a fix session; the same"),
    setting(
        "log_directory",
        "./opencode-reviewer-logs",
        "folder with the logs of sessions, below `logs`, kept for 30 days, and their scratch, below `sessions`",
    ),
    setting("model", "", "model that reviews, as provider/name"),
    setting(
        "model_base_url",
        "",
        "OpenAI-compatible endpoint in the provider's place",
    ),
    setting("model_key_file", "", "file with the key of the model"),
    setting("model_key_env", "", "environment variable with it"),
    setting(
        "api_keys_file",
        "",
        "file with keys of further providers, for `fallback_model` below `inputs`: lines provider=key",
    ),
    setting("api_keys_env", "", "environment variable with them"),
    setting(
        "state_key_file",
        "",
        "file with the key that signs the state on pull requests",
    ),
    setting("state_key_env", "", "environment variable with it"),
    setting(
        "inputs",
        "",
        "further inputs of the action for all sessions, by name; no secrets",
    ),
    setting(
        "limits.requests_per_minute",
        "120",
        "requests with one API token",
    ),
    setting(
        "limits.requests_per_minute_per_address",
        "1200",
        "requests of one address; webhooks have no rate",
    ),
    setting("limits.connections", "256", "open connections"),
    setting(
        "limits.sessions_per_author_per_day",
        "300",
        "sessions for the pull requests of one author within a day, UTC; 0: no quota",
    ),
    setting(
        "limits.sessions_per_repository_per_day",
        "1000",
        "sessions for one repository within a day; 0: no quota",
    ),
];

/// The keys that a section takes; the empty section is the whole file.
pub(super) fn keys_of(section: &str) -> impl Iterator<Item = &'static str> + Clone {
    let mut keys: Vec<&'static str> = Vec::new();
    for setting in SETTINGS {
        let below = match section {
            "" => Some(setting.name),
            _ => setting
                .name
                .strip_prefix(section)
                .and_then(|rest| rest.strip_prefix('.')),
        };
        let key = below.map(|below| below.split('.').next().unwrap_or(below));
        keys.extend(key.filter(|key| keys.last() != Some(key)));
    }
    keys.into_iter()
}

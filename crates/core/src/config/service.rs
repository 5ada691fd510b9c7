//! The configuration of the service, service.yml. No secret is in it: files and environment variables are named, and the edge reads
//! them. All mistakes are told at once, each in one sentence.

mod reader;
mod table;
#[cfg(test)]
mod tests;

pub use table::{SETTINGS, Setting};

use super::file::node::Node;
use super::file::unknown;
use super::inputs::Input;
use super::values::{self, InvalidValue};
use crate::domain::{Login, RepoName};
use reader::{Given, Reader};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);
const MOST_AGENTS: usize = 100;
/// Inputs that have a setting of their own, or that the service itself decides.
const OWN_INPUTS: [&str; 6] = [
    "model",
    "model_base_url",
    "review_event",
    "reviewers",
    "fix",
    "dry_run",
];

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

/// The account by which the service acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    App {
        id: u64,
        private_key_file: PathBuf,
        slug: Option<String>,
        /// The agent that fixes pull requests of the App itself.
        fixer: Option<String>,
    },
    /// Agents have accounts of their own; this one reads, requests reviewers and merges.
    Personal { account: String },
}

/// An agent as the file names it. Its token is in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredAgent {
    pub name: String,
    pub login: Option<Login>,
    pub persona_file: Option<PathBuf>,
}

/// Limits of the HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// With one API token.
    pub requests_per_minute: u32,
    pub requests_per_minute_per_address: u32,
    pub connections: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            requests_per_minute: 120,
            requests_per_minute_per_address: 1_200,
            connections: 256,
        }
    }
}

/// Limits of the sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimits {
    pub most: usize,
    pub review: Duration,
    pub fix: Duration,
    pub log_directory: PathBuf,
}

/// The meaning of service.yml.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceConfig {
    pub listen: SocketAddr,
    /// Without a slash at its end.
    pub public_url: String,
    pub store: String,
    pub identity: Identity,
    pub api_url: String,
    pub graphql_url: String,
    /// Empty with an App: all of the installations.
    pub repositories: Vec<RepoName>,
    pub webhook_secret: SecretSource,
    pub master_key: Option<SecretSource>,
    pub earlier_master_keys: Vec<PathBuf>,
    pub agents: Vec<ConfiguredAgent>,
    pub sessions: SessionLimits,
    /// As provider/name.
    pub model: String,
    pub model_base_url: Option<String>,
    pub model_key: Option<SecretSource>,
    pub state_key: Option<SecretSource>,
    /// Lower case; names or addresses without a port.
    pub internal_hosts: Vec<String>,
    /// Further inputs of all sessions.
    pub inputs: BTreeMap<String, String>,
    pub limits: HttpLimits,
}

impl ServiceConfig {
    /// Reads the text of service.yml. `Err`: every mistake, each in one sentence.
    pub fn parse(text: &str) -> Result<Self, Vec<String>> {
        let mut reader = Reader::new(text).map_err(|sentence| vec![sentence])?;
        require(&mut reader);
        let config = read(&mut reader);
        let sentences = reader.sentences();
        match config {
            Some(config) if sentences.is_empty() => Ok(config),
            _ => Err(sentences),
        }
    }

    /// The same with relative paths below the folder of the file.
    #[must_use]
    pub fn below(mut self, folder: &Path) -> Self {
        let join = |path: &mut PathBuf| *path = folder.join(&*path);
        let secrets = [
            &mut self.master_key,
            &mut self.model_key,
            &mut self.state_key,
        ];
        let secrets = secrets.into_iter().flatten();
        for secret in secrets.chain([&mut self.webhook_secret]) {
            if let SecretSource::File(path) = secret {
                join(path);
            }
        }
        if let Identity::App {
            private_key_file, ..
        } = &mut self.identity
        {
            join(private_key_file);
        }
        let personas = self.agents.iter_mut();
        let personas = personas.filter_map(|agent| agent.persona_file.as_mut());
        personas.for_each(join);
        self.earlier_master_keys.iter_mut().for_each(join);
        join(&mut self.sessions.log_directory);
        let store = self.store.strip_prefix("sqlite:").unwrap_or(&self.store);
        self.store = folder.join(store).to_string_lossy().into_owned();
        self
    }
}

/// Complains about settings that every service needs.
fn require(reader: &mut Reader) {
    reader.require(&["model"], "name the model that reviews, as provider/name");
    reader.require(
        &["webhook_secret_file", "webhook_secret_env"],
        "name where the secret of the webhook is",
    );
    if reader.has_section("github.app") {
        let advice = "a GitHub App needs both its id and its private key";
        reader.require(&["github.app.id"], advice);
        reader.require(&["github.app.private_key_file"], advice);
        return;
    }
    reader.require(
        &["github.app", "github.account"],
        "name a GitHub App, or the agent whose token reads and merges",
    );
    reader.require(
        &["repositories"],
        "without a GitHub App every repository is listed, as owner/name",
    );
    reader.require(
        &["master_key_file", "master_key_env"],
        "tokens of agents are sealed with it; `openssl rand -hex 32` makes one",
    );
}

/// `None`: something required is missing or wrong, and the reader knows of it.
fn read(reader: &mut Reader) -> Option<ServiceConfig> {
    let listen = reader.value("listen", address).unwrap_or(LISTEN);
    let public_url = reader.value("public_url", values::base_url);
    let identity = identity(reader);
    let (api_url, graphql_url) = github(reader);
    let (webhook_secret, model) = (
        reader.secret("webhook_secret"),
        reader.value("model", model),
    );
    let store = reader.value("store", store);
    let mut config = ServiceConfig {
        public_url: public_url.unwrap_or_else(|| format!("http://{}", reachable(listen))),
        listen,
        store: store.unwrap_or_else(|| "./opencode-reviewer.db".to_owned()),
        api_url,
        graphql_url,
        repositories: reader.list("repositories", repository),
        webhook_secret: SecretSource::Variable(String::new()),
        master_key: reader.secret("master_key"),
        earlier_master_keys: reader.paths("earlier_master_key_files"),
        agents: agents(reader),
        sessions: sessions(reader),
        model: String::new(),
        model_base_url: reader.value("model_base_url", values::base_url),
        model_key: reader.secret("model_key"),
        state_key: reader.secret("state_key"),
        internal_hosts: reader.list("internal_hosts", host),
        inputs: inputs(reader),
        limits: limits(reader),
        identity: Identity::Personal {
            account: String::new(),
        },
    };
    config.identity = identity?;
    agree(reader, &config);
    config.webhook_secret = webhook_secret?;
    config.model = model?;
    Some(config)
}

fn identity(reader: &mut Reader) -> Option<Identity> {
    let account = reader.text("github.account");
    if !reader.has_section("github.app") {
        let (line, account) = account?;
        return match name(&account) {
            Ok(account) => Some(Identity::Personal { account }),
            Err(refusal) => {
                let problem = refusal.sentence(&account, false);
                reader.problem(line, format!("github.account {problem}"));
                None
            }
        };
    }
    if let Some((line, _)) = account {
        reader.problem(
            line,
            "github.account and github.app are both set; leave one out.",
        );
    }
    let id = reader.value("github.app.id", app_id);
    let private_key_file = reader.path("github.app.private_key_file");
    let slug = reader.value("github.app.slug", name);
    let fixer = reader.value("github.app.fixer", name);
    Some(Identity::App {
        id: id?,
        private_key_file: private_key_file?,
        slug,
        fixer,
    })
}

/// The addresses of REST and GraphQL. Neither follows from the other.
fn github(reader: &mut Reader) -> (String, String) {
    let api = reader.value("github.api_url", values::base_url);
    let graphql = reader.value("github.graphql_url", values::base_url);
    if api.is_some() != graphql.is_some() {
        reader.complain(
            "github.api_url and github.graphql_url belong together; set both, or neither for github.com.",
        );
    }
    (
        api.unwrap_or_else(|| "https://api.github.com".to_owned()),
        graphql.unwrap_or_else(|| "https://api.github.com/graphql".to_owned()),
    )
}

fn agents(reader: &mut Reader) -> Vec<ConfiguredAgent> {
    let Some(value) = reader.take("agents") else {
        return Vec::new();
    };
    let line = value.referenced.line();
    let items = match value.value {
        Node::List(items) if items.len() <= MOST_AGENTS => items,
        _ => {
            let sentence = format!(
                "agents takes a list of at most {MOST_AGENTS} entries, each with name, login and persona_file."
            );
            reader.problem(line, sentence);
            return Vec::new();
        }
    };
    let mut read: Vec<ConfiguredAgent> = Vec::new();
    for item in items {
        let line = item.referenced.line();
        let Some(agent) = agent(reader, item) else {
            continue;
        };
        if read.iter().any(|one| one.name == agent.name) {
            reader.problem(
                line,
                format!("The agent {} stands there twice.", agent.name),
            );
        } else {
            read.push(agent);
        }
    }
    read
}

fn agent(reader: &mut Reader, item: Given) -> Option<ConfiguredAgent> {
    let line = item.referenced.line();
    let mut of_agent = reader.nested("agents", item);
    let agent_name = of_agent.value("name", name);
    let login = of_agent.value("login", login);
    let persona_file = of_agent.path("persona_file");
    let is_right = reader.take_problems(of_agent, "agents");
    if agent_name.is_none() && is_right {
        reader.problem(line, "An agent needs a name.");
    }
    Some(ConfiguredAgent {
        name: agent_name?,
        login,
        persona_file,
    })
}

fn sessions(reader: &mut Reader) -> SessionLimits {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let most = reader.whole("max_sessions", 2, 64);
    SessionLimits {
        most: usize::try_from(most).unwrap_or(2),
        review: minutes(reader.whole("review_minutes", 60, 360)),
        fix: minutes(reader.whole("fix_minutes", 60, 360)),
        log_directory: reader
            .path("log_directory")
            .unwrap_or_else(|| PathBuf::from("./opencode-reviewer-logs")),
    }
}

fn limits(reader: &mut Reader) -> HttpLimits {
    let usual = HttpLimits::default();
    let mut per_minute = |name: &str, default: u32| {
        let number = reader.whole(name, u64::from(default), 1_000_000);
        u32::try_from(number).unwrap_or(default)
    };
    let requests_per_minute = per_minute("limits.requests_per_minute", usual.requests_per_minute);
    let requests_per_minute_per_address = per_minute(
        "limits.requests_per_minute_per_address",
        usual.requests_per_minute_per_address,
    );
    let connections = reader.whole("limits.connections", usual.connections as u64, 100_000);
    HttpLimits {
        requests_per_minute,
        requests_per_minute_per_address,
        connections: usize::try_from(connections).unwrap_or(usual.connections),
    }
}

/// Further inputs of the action, judged as the action judges them.
fn inputs(reader: &mut Reader) -> BTreeMap<String, String> {
    let mut inputs = BTreeMap::new();
    let Some(value) = reader.take("inputs") else {
        return inputs;
    };
    let line = value.referenced.line();
    let Node::Map(entries) = value.value else {
        reader.problem(line, "inputs takes names and values of inputs.");
        return inputs;
    };
    for (key, value) in entries {
        let (name, line) = (key.value.as_str(), key.referenced.line());
        let (input, text) = (Input::named(name), value.value);
        let problem = match (input, &text) {
            (None, _) => unknown(name, own_inputs()),
            (Some(input), _) if !is_free(input) => {
                format!("{name} cannot stand below inputs: it is a secret, or the service sets it.")
            }
            (Some(input), Node::Text(text)) => match input.problem(text) {
                Some(problem) => format!("{name} {problem}"),
                None => {
                    inputs.insert(name.to_owned(), text.clone());
                    continue;
                }
            },
            (Some(_), _) => format!("{name} takes one value."),
        };
        reader.problem(line, problem);
    }
    inputs
}

fn is_free(input: &Input) -> bool {
    !input.secret && !OWN_INPUTS.contains(&input.name)
}

fn own_inputs() -> impl Iterator<Item = &'static str> + Clone {
    let free = super::inputs::INPUTS.iter().filter(|input| is_free(input));
    free.map(|input| input.name)
}

/// Settings that are right by themselves and wrong together.
fn agree(reader: &mut Reader, config: &ServiceConfig) {
    let known = |name: &str| config.agents.iter().any(|agent| agent.name == name);
    match &config.identity {
        Identity::App { .. } => {
            if let Some(agent) = config.agents.iter().find(|agent| agent.login.is_some()) {
                reader.complain(format!(
                    "The agent {} has a login, but agents of a GitHub App have no account of their own; leave it out.",
                    agent.name
                ));
            }
        }
        Identity::Personal { account } => {
            if !config.agents.is_empty() && !known(account) {
                reader.complain(format!(
                    "github.account is {account}, but agents has no agent of this name."
                ));
            }
            let without = config.agents.iter().filter(|agent| agent.login.is_none());
            for agent in without {
                reader.complain(format!(
                    "The agent {} needs a login, because there is no GitHub App.",
                    agent.name
                ));
            }
        }
    }
}

/// The address by which a process of the same machine reaches the server.
fn reachable(listen: SocketAddr) -> SocketAddr {
    match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), listen.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv6Addr::LOCALHOST.into(), listen.port())
        }
        _ => listen,
    }
}

fn address(text: &str) -> Result<SocketAddr, InvalidValue> {
    let expected = "an address with its port, for example 127.0.0.1:8787 or [::1]:8787";
    text.parse().map_err(|_| InvalidValue::new(expected))
}

/// A path. The address of a database server would hold a password.
fn store(text: &str) -> Result<String, InvalidValue> {
    if text.contains("://") {
        return Err(InvalidValue::private("the path of a SQLite file"));
    }
    Ok(text.to_owned())
}

fn repository(text: &str) -> Result<RepoName, InvalidValue> {
    let expected = "repositories as owner/name";
    text.parse().map_err(|_| InvalidValue::new(expected))
}

fn app_id(text: &str) -> Result<u64, InvalidValue> {
    let expected = "the number that GitHub shows as App ID";
    let number = text.parse().ok().filter(|id| *id > 0);
    number.ok_or(InvalidValue::new(expected))
}

fn model(text: &str) -> Result<String, InvalidValue> {
    values::model(text).map(|(provider, name)| format!("{provider}/{name}"))
}

/// The name of an agent, or the slug of an App.
fn name(text: &str) -> Result<String, InvalidValue> {
    let expected = "a name of at most 60 letters, digits, - and _";
    values::is_login(text)
        .then(|| text.to_owned())
        .ok_or(InvalidValue::new(expected))
}

fn login(text: &str) -> Result<Login, InvalidValue> {
    let expected = "a GitHub login";
    values::is_login(text)
        .then(|| Login::new(text))
        .ok_or(InvalidValue::new(expected))
}

fn host(text: &str) -> Result<String, InvalidValue> {
    let expected = "the name or the address of a host, without scheme, port and path";
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_name = !bare.is_empty() && bare.len() <= 253 && bare.chars().all(is_plain);
    let is_host = is_name || bare.parse::<IpAddr>().is_ok();
    is_host
        .then(|| bare.to_ascii_lowercase())
        .ok_or(InvalidValue::new(expected))
}

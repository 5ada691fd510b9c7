//! The configuration of the service, service.yml. No secret is in it: files and environment variables are named, and the edge reads
//! them. All mistakes are told at once, each in one sentence.

mod forms;
mod reader;
mod sections;
mod table;
#[cfg(test)]
mod tests;

pub use table::{SETTINGS, Setting};

use super::{reviewers, values};
use crate::domain::{Login, RepoName};
use forms::{address, model, reachable, repository, store};
use reader::Reader;
use secrecy::SecretString;
use sections::{agents, github, identity, inputs, limits, quotas, sessions};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest session of an App, whose token has to outlive it.
const MOST_OF_APP: Duration = Duration::from_mins(50);
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);

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

/// Sessions that begin within one day, UTC. 0: as many as are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// In all repositories together.
    pub per_author: u32,
    pub per_repository: u32,
}

impl Default for Quotas {
    /// No ordinary team gets there.
    fn default() -> Self {
        Self {
            per_author: 300,
            per_repository: 1_000,
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
    /// The keys of further providers.
    pub api_keys: Option<SecretSource>,
    pub state_key: Option<SecretSource>,
    /// Further inputs of all sessions.
    pub inputs: BTreeMap<String, String>,
    pub limits: HttpLimits,
    pub quotas: Quotas,
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

    /// The same with another store. `Err` is a sentence.
    pub fn with_store(self, store: &str) -> Result<Self, String> {
        match forms::store(store) {
            Ok(store) => Ok(Self { store, ..self }),
            Err(refusal) => Err(format!("--store {}", refusal.sentence(store, false))),
        }
    }

    /// True if several processes can use the store at the same time.
    #[must_use]
    pub fn has_server(&self) -> bool {
        self.store.contains("://")
    }

    /// True where all agents act as one GitHub App.
    #[must_use]
    pub fn is_app(&self) -> bool {
        matches!(self.identity, Identity::App { .. })
    }

    /// The environment variables that hold secrets.
    #[must_use]
    pub fn secret_variables(&self) -> Vec<&str> {
        let further = [
            &self.master_key,
            &self.model_key,
            &self.api_keys,
            &self.state_key,
        ];
        let sources = further.into_iter().flatten().chain([&self.webhook_secret]);
        let variables = sources.filter_map(|source| match source {
            SecretSource::Variable(name) => Some(name.as_str()),
            SecretSource::File(_) => None,
        });
        variables.collect()
    }

    /// The same with relative paths below the folder of the file.
    #[must_use]
    pub fn below(mut self, folder: &Path) -> Self {
        // Messages show the paths, so without a "." in the middle.
        let below = |path: &Path| folder.join(path).components().collect::<PathBuf>();
        let join = |path: &mut PathBuf| *path = below(path);
        let secrets = [
            &mut self.master_key,
            &mut self.model_key,
            &mut self.api_keys,
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
        if !self.has_server() {
            let file = self.store.strip_prefix("sqlite:").unwrap_or(&self.store);
            self.store = below(Path::new(file)).to_string_lossy().into_owned();
        }
        self
    }
}

/// Reads one state key or several, as the input `state_key` does. `Err` continues "The state key …", without the keys.
pub fn state_keys(text: &str) -> Result<Vec<SecretString>, String> {
    values::state_keys(text).map_err(|refusal| refusal.sentence(text, true))
}

/// Reads the keys of further providers, as the input `api_keys` does. `Err` continues "The file or variable with the keys …", without
/// the keys.
pub fn api_keys(text: &str) -> Result<Vec<SecretString>, String> {
    let keys = reviewers::api_keys(text);
    let keys = keys.map_err(|_| "has no lines provider=key, one for each provider.".to_owned());
    Ok(keys?.into_values().collect())
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
        api_keys: reader.secret("api_keys"),
        state_key: reader.secret("state_key"),
        inputs: inputs(reader),
        limits: limits(reader),
        quotas: quotas(reader),
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
            let sessions = &config.sessions;
            let limits = [
                ("review_minutes", sessions.review),
                ("fix_minutes", sessions.fix),
            ];
            for (name, limit) in limits.into_iter().filter(|(_, limit)| *limit > MOST_OF_APP) {
                reader.complain(format!(
                    "{name} is {}, but the tokens of a GitHub App last an hour; give at most {}.",
                    limit.as_secs() / 60,
                    MOST_OF_APP.as_secs() / 60
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

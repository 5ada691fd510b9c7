//! From service.yml, secrets and the store to the parts of a service. Everything that is wrong is told at once, each in a sentence.

use super::accounts::{Accounts, AgentAccount};
use super::running::Parts;
use super::sessions::{Children, Ended};
use super::world::SessionSettings;
use reviewer_core::config::service::{Identity, SecretSource, ServiceConfig};
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Agent, Policy};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::sealed::{KeyRing, MasterKey};
use reviewer_engine::{Limits, Store};
use reviewer_github::{App, GitHub};
use reviewer_system::clock::Clock;
use secrecy::{ExposeSecret, SecretString};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// What the process was started with.
pub(crate) struct Surroundings {
    /// The variables, which hold secrets where the file says so.
    pub variables: Vec<(String, String)>,
    /// The settings of proxies.
    pub network: Vec<(String, String)>,
    pub clock: Clock,
    /// This binary.
    pub program: PathBuf,
}

impl Surroundings {
    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Reads a secret from where the file says it is.
    pub(crate) fn secret(&self, name: &str, source: &SecretSource) -> Result<SecretString, String> {
        let text = match source {
            SecretSource::File(path) => std::fs::read_to_string(path).map_err(|error| {
                format!(
                    "The file {} of {name} cannot be read: {error}.",
                    path.display()
                )
            })?,
            SecretSource::Variable(variable) => self
                .variable(variable)
                .ok_or_else(|| format!("The variable {variable} of {name} is not set."))?
                .to_owned(),
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("The secret {name} is empty."));
        }
        Ok(text.into())
    }

    fn secret_if(
        &self,
        name: &str,
        source: Option<&SecretSource>,
    ) -> Result<Option<SecretString>, String> {
        source.map(|source| self.secret(name, source)).transpose()
    }
}

/// The keys that seal the tokens of agents.
pub(crate) fn key_ring(
    config: &ServiceConfig,
    around: &Surroundings,
) -> Result<Option<KeyRing>, String> {
    let Some(master) = around.secret_if("master_key", config.master_key.as_ref())? else {
        return Ok(None);
    };
    let parse = |text: &SecretString| MasterKey::parse(text).map_err(|error| error.to_string());
    let mut earlier = Vec::new();
    for path in &config.earlier_master_keys {
        let source = SecretSource::File(path.clone());
        earlier.push(parse(&around.secret("earlier_master_keys", &source)?)?);
    }
    Ok(Some(KeyRing::new(parse(&master)?, earlier)))
}

/// An agent, from the file and the store.
#[derive(Debug, Default)]
struct KnownAgent {
    login: Option<Login>,
    token: Option<SecretString>,
    /// `None`: the built-in persona of its name.
    persona: Option<String>,
}

type Agents = HashMap<String, KnownAgent>;

/// The agents with their tokens, by their names.
async fn agents(config: &ServiceConfig, around: &Surroundings) -> Result<Agents, String> {
    let store = Store::open(&config.store)
        .await
        .map_err(|error| error.to_string())?;
    let kept = store.agents().await.map_err(|error| error.to_string());
    store.close().await;
    let ring = key_ring(config, around)?;
    let mut agents = Agents::new();
    for agent in kept? {
        let token = match (&agent.token, &ring) {
            (Some(sealed), Some(ring)) => Some(
                ring.open(&agent.name, sealed)
                    .map_err(|error| error.to_string())?,
            ),
            _ => None,
        };
        let known = KnownAgent {
            login: agent.login.as_deref().map(Login::new),
            token,
            persona: Some(agent.persona).filter(|text| !text.is_empty()),
        };
        agents.insert(agent.name, known);
    }
    for named in &config.agents {
        let entry = agents.entry(named.name.clone()).or_default();
        if named.login.is_some() {
            entry.login.clone_from(&named.login);
        }
        if let Some(path) = &named.persona_file {
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!(
                    "The persona {} of {} cannot be read: {error}.",
                    path.display(),
                    named.name
                )
            })?;
            entry.persona = Some(text);
        }
    }
    Ok(agents)
}

/// The parts of the service, its child processes, and the ends of these.
pub(crate) struct Assembled {
    pub parts: Parts,
    pub children: Arc<Children>,
    pub ends: mpsc::UnboundedReceiver<Ended>,
    pub webhook_secret: SecretString,
}

/// Puts a service together from its configuration.
pub(crate) async fn assemble(
    config: &ServiceConfig,
    around: &Surroundings,
) -> Result<Assembled, String> {
    let agents = agents(config, around).await?;
    let webhook_secret = around.secret("webhook_secret", &config.webhook_secret)?;
    let (accounts, account) = accounts(config, around, &agents).await?;
    let login = match &account {
        Account::Personal { login } | Account::App { login } => login.clone(),
    };
    let settings = settings(config, around, &agents)?;
    let policy = policy(config, &agents, account);
    let (sender, ends) = mpsc::unbounded_channel();
    let data = config.sessions.log_directory.clone();
    let children = Children::new(
        &data,
        around.program.clone(),
        environment(config, around),
        config.sessions.most,
        sender,
    );
    let children = Arc::new(children.map_err(|error| {
        format!("The folder {} cannot be used: {error}.", data.display())
    })?);
    Ok(Assembled {
        parts: Parts {
            store: config.store.clone(),
            policy,
            limits: Limits::default(),
            clock: Arc::new(SystemClock::default()),
            accounts,
            login,
            settings,
            starter: Arc::clone(&children) as _,
            repositories: config.repositories.clone(),
        },
        children,
        ends,
        webhook_secret,
    })
}

async fn accounts(
    config: &ServiceConfig,
    around: &Surroundings,
    agents: &Agents,
) -> Result<(Accounts, Account), String> {
    match &config.identity {
        Identity::App {
            id,
            private_key_file,
            ..
        } => {
            let source = SecretSource::File(private_key_file.clone());
            let key = around.secret("github.app.private_key_file", &source)?;
            let app = App::new(
                &config.api_url,
                &config.graphql_url,
                *id,
                &key,
                around.clock,
                &around.network,
            );
            let app = app.map_err(|error| error.to_string())?;
            let identity = app.identity().await.map_err(|error| error.to_string())?;
            let account = Account::App {
                login: identity.login,
            };
            Ok((Accounts::App { app: Box::new(app) }, account))
        }
        Identity::Personal { account } => {
            let with_tokens = agents.iter().filter_map(|(name, agent)| {
                let account = AgentAccount {
                    login: agent.login.clone()?,
                    token: agent.token.clone()?,
                };
                Some((name.clone(), account))
            });
            let with_tokens: HashMap<String, AgentAccount> = with_tokens.collect();
            let own = with_tokens.get(account).ok_or_else(|| {
                format!(
                    "The agent {account} of github.account has no token; add it by `serve agents add {account}`."
                )
            })?;
            let github = GitHub::new(
                &config.api_url,
                &config.graphql_url,
                &own.token,
                around.clock,
                &around.network,
            );
            let github = github.map_err(|error| error.to_string())?;
            let login = own.login.clone();
            let accounts = Accounts::Personal {
                account: Arc::new(github),
                agents: with_tokens,
            };
            Ok((accounts, Account::Personal { login }))
        }
    }
}

fn settings(
    config: &ServiceConfig,
    around: &Surroundings,
    agents: &Agents,
) -> Result<SessionSettings, String> {
    let mut inputs: BTreeMap<String, SecretString> = config
        .inputs
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    inputs.insert("model".into(), config.model.as_str().into());
    if let Some(url) = &config.model_base_url {
        inputs.insert("model_base_url".into(), url.as_str().into());
    }
    if let Some(key) = around.secret_if("model_key", config.model_key.as_ref())? {
        inputs.insert("opencode_api_key".into(), key);
    }
    inputs.insert("fix".into(), "on_request".into());
    let state_key = match &config.state_key {
        Some(source) => around.secret("state_key", source)?,
        None => derived_state_key(config, around)?,
    };
    Ok(SessionSettings {
        url: config.public_url.clone(),
        inputs,
        state_key,
        personas: agents
            .iter()
            .map(|(name, agent)| (name.clone(), agent.persona.clone()))
            .collect(),
        mention: "review-my-code-bot".to_owned(),
    })
}

/// The key by which sessions sign, where none is given: from the master key, or from the secret of the webhook.
fn derived_state_key(
    config: &ServiceConfig,
    around: &Surroundings,
) -> Result<SecretString, String> {
    use sha2::{Digest as _, Sha256};
    let source = match &config.master_key {
        Some(source) => around.secret("master_key", source)?,
        None => around.secret("webhook_secret", &config.webhook_secret)?,
    };
    let mut hash = Sha256::new();
    hash.update(b"opencode-reviewer state key\0");
    hash.update(source.expose_secret().as_bytes());
    Ok(data_encoding::HEXLOWER.encode(&hash.finalize()).into())
}

fn policy(config: &ServiceConfig, agents: &Agents, account: Account) -> Policy {
    let is_app = matches!(account, Account::App { .. });
    let mut known: Vec<Agent> = agents
        .iter()
        .filter(|(_, agent)| is_app || agent.token.is_some())
        .map(|(name, agent)| Agent {
            name: name.clone(),
            login: agent.login.clone().filter(|_| !is_app),
        })
        .collect();
    known.sort_by(|one, other| one.name.cmp(&other.name));
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let fixer = match &config.identity {
        Identity::App { fixer, .. } => fixer.clone(),
        Identity::Personal { .. } => None,
    };
    Policy {
        fixer,
        review_deadline_ms: ms(config.sessions.review),
        fix_deadline_ms: ms(config.sessions.fix),
        ..Policy::new(known, account)
    }
}

/// The environment of sessions: no secret, and nothing that only concerns the service.
fn environment(config: &ServiceConfig, around: &Surroundings) -> Vec<(String, String)> {
    const KEPT: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "RUST_BACKTRACE"];
    let is_kept = |name: &str| {
        KEPT.contains(&name)
            || name.starts_with("OPENCODE_REVIEWER_")
            || name.starts_with("SSL_CERT_")
            || name.to_ascii_lowercase().ends_with("_proxy")
    };
    let kept = around.variables.iter().filter(|(name, _)| is_kept(name));
    let mut environment: Vec<(String, String)> = kept.cloned().collect();
    environment.push(("GITHUB_API_URL".into(), config.api_url.clone()));
    environment.push(("GITHUB_GRAPHQL_URL".into(), config.graphql_url.clone()));
    environment.push(("GITHUB_SERVER_URL".into(), server_url(&config.api_url)));
    environment
}

/// The address of the pages and of git, from that of the interface.
fn server_url(api: &str) -> String {
    let api = api.trim_end_matches('/');
    match api {
        "https://api.github.com" => "https://github.com".to_owned(),
        other => other.trim_end_matches("/api/v3").to_owned(),
    }
}

/// The folder that relative paths of the configuration are below.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|path| !path.as_os_str().is_empty());
    parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

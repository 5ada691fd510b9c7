//! From service.yml, secrets and the store to the parts of a service. Everything that is wrong is told at once, each in a sentence.

use super::accounts::{Accounts, AgentAccount};
use super::known_agents::{KnownAgent, known_agents};
use super::role::Role;
use super::running::Parts;
use super::secrets;
use super::sessions::{Children, Ended};
use super::world::SessionSettings;
use crate::host;
use reviewer_core::config::inputs::RawInputs;
use reviewer_core::config::service::{self, Identity, ServiceConfig};
use reviewer_core::domain::Login;
use reviewer_core::lifecycle::{Account, Agent, Policy};
use reviewer_engine::clock::SystemClock;
use reviewer_engine::{EngineError, Limits, Store};
use reviewer_github::{App, GitHub};
use reviewer_system::clock::Clock;
use reviewer_text::capital::full_sentence;
use secrecy::{ExposeSecret as _, SecretString};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// The surroundings of the process: variables, network, clock, binary.
pub(crate) struct Surroundings {
    /// The variables, which hold secrets where the file says so.
    pub variables: Vec<(String, String)>,
    /// The settings of proxies.
    pub network: Vec<(String, String)>,
    pub clock: Clock,
    /// This binary.
    pub program: PathBuf,
}

/// The agents, and their tokens in the clear by their names.
struct Agents {
    known: Vec<KnownAgent>,
    tokens: HashMap<String, SecretString>,
    /// The name of the store that they are from.
    store: String,
}

async fn agents(config: &ServiceConfig, around: &Surroundings) -> Result<Agents, Vec<String>> {
    let told = |error: EngineError| vec![full_sentence(&error.to_string())];
    let address = secrets::store(config, &around.variables);
    let store = Store::open(address.expose_secret()).await;
    let store = store.map_err(told)?;
    let (stored, id) = (store.agents().await, store.id().await);
    store.close().await;
    let known = known_agents(config, &stored.map_err(told)?)?;
    let ring = secrets::key_ring(config, &around.variables).map_err(|why| vec![why])?;
    let mut tokens = HashMap::new();
    let mut wrong = Vec::new();
    for agent in &known {
        if let (Some(sealed), Some(ring)) = (&agent.token, &ring) {
            match ring.open(&agent.name, sealed) {
                Ok(token) => drop(tokens.insert(agent.name.clone(), token)),
                Err(error) => wrong.push(full_sentence(&error.to_string())),
            }
        }
    }
    if wrong.is_empty() {
        let store = id.map_err(told)?;
        Ok(Agents {
            known,
            tokens,
            store,
        })
    } else {
        Err(wrong)
    }
}

/// The parts of the service, its child processes, and the ends of these.
pub(crate) struct Assembled {
    pub parts: Parts,
    pub children: Arc<Children>,
    pub ends: mpsc::UnboundedReceiver<Ended>,
    pub webhook_secret: SecretString,
    /// Everything that no line of the log may show.
    pub secrets: Vec<SecretString>,
}

/// Puts a service together from its configuration.
pub(crate) async fn assemble(
    config: &ServiceConfig,
    around: &Surroundings,
    role: Role,
) -> Result<Assembled, Vec<String>> {
    let agents = agents(config, around).await?;
    let one = |why: String| vec![why];
    let webhook_secret = secrets::read(&config.webhook_secret, &around.variables).map_err(one)?;
    let (accounts, account) = accounts(config, around, &agents).await.map_err(one)?;
    let login = match &account {
        Account::Personal { login } | Account::App { login } => login.clone(),
    };
    let settings = settings(config, around, &agents).map_err(one)?;
    let policy = policy(config, &agents, account);
    let mut hidden: Vec<SecretString> = agents.tokens.values().cloned().collect();
    hidden.push(webhook_secret.clone());
    hidden.extend(secrets::store_password(&around.variables));
    hidden.extend(settings.state_keys.iter().cloned());
    hidden.extend(settings.inputs.get("opencode_api_key").cloned());
    if let Some(keys) = settings.inputs.get("api_keys") {
        let keys = service::api_keys(keys.expose_secret());
        hidden.extend(keys.unwrap_or_default());
    }
    let (sender, ends) = mpsc::unbounded_channel();
    let data = &config.sessions.log_directory;
    let environment = environment(config, around);
    let (program, store) = (around.program.clone(), agents.store.clone());
    let children = Children::new(data, program, environment, store, sender);
    if role.is_worker() {
        let unusable = |error| {
            let data = data.display();
            vec![format!("The folder {data} cannot be used: {error}.")]
        };
        children.make_folders().map_err(unusable)?;
    }
    let children = Arc::new(children);
    Ok(Assembled {
        parts: Parts {
            store: store_of(&secrets::store(config, &around.variables), role),
            policy,
            limits: Limits::default(),
            clock: Arc::new(SystemClock::default()),
            accounts,
            login,
            settings,
            quotas: config.quotas,
            starter: Arc::clone(&children) as _,
            most_sessions: match role {
                Role::Front => 0,
                Role::Worker | Role::All => config.sessions.most,
            },
            repositories: config.repositories.clone(),
        },
        children,
        ends,
        webhook_secret,
        secrets: hidden,
    })
}

/// The store as this process opens it. A Restate server calls workers, not fronts.
fn store_of(address: &SecretString, role: Role) -> SecretString {
    let store = address.expose_secret();
    if role != Role::Front || !store.starts_with("restate://") {
        return address.clone();
    }
    let (server, query) = store.split_once('?').unwrap_or((store, ""));
    let is_kept = |part: &&str| {
        !part.is_empty() && !part.starts_with("listen=") && !part.starts_with("advertise=")
    };
    let parts = query.split('&').filter(is_kept).chain(["listen=none"]);
    format!("{server}?{}", parts.collect::<Vec<_>>().join("&")).into()
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
            let key = secrets::read_file(private_key_file)?;
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
            let accounts = Accounts::App {
                app: Box::new(app),
                redelivered: Mutex::default(),
            };
            Ok((accounts, account))
        }
        Identity::Personal { account } => {
            let with_tokens = agents.known.iter().filter_map(|agent| {
                let account = AgentAccount {
                    login: agent.login.clone()?,
                    token: agents.tokens.get(&agent.name)?.clone(),
                };
                Some((agent.name.clone(), account))
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

/// The inputs of all sessions that service.yml gives, with the models and their keys.
pub(crate) fn models(
    config: &ServiceConfig,
    vars: &[(String, String)],
) -> Result<BTreeMap<String, SecretString>, String> {
    let mut inputs: BTreeMap<String, SecretString> = config
        .inputs
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    inputs.insert("model".into(), config.model.as_str().into());
    if let Some(url) = &config.model_base_url {
        inputs.insert("model_base_url".into(), url.as_str().into());
    }
    if let Some(source) = &config.model_key {
        let key = secrets::read(source, vars)?;
        inputs.insert("opencode_api_key".into(), key);
    }
    if let Some(keys) = secrets::api_keys(config, vars)? {
        inputs.insert("api_keys".into(), keys);
    }
    other_model(&inputs)?;
    Ok(inputs)
}

fn settings(
    config: &ServiceConfig,
    around: &Surroundings,
    agents: &Agents,
) -> Result<SessionSettings, String> {
    let mut inputs = models(config, &around.variables)?;
    for (name, value) in [("fix", "on_request"), ("fix_delivery", "push")] {
        inputs.insert(name.into(), value.into());
    }
    // Findings of other agents are the service's own, and agents are not people.
    let logins = agents.known.iter().filter_map(|agent| agent.login.as_ref());
    let logins: Vec<&str> = logins.map(Login::as_str).collect();
    if !logins.is_empty() {
        inputs.insert("trusted_bots".into(), logins.join(", ").into());
    }
    let state_keys = secrets::state_keys(config, &around.variables)?;
    Ok(SessionSettings {
        url: config.public_url.clone(),
        inputs,
        state_keys,
        personas: agents
            .known
            .iter()
            .map(|agent| {
                let persona = Some(agent.persona.clone()).filter(|text| !text.is_empty());
                (agent.name.clone(), persona)
            })
            .collect(),
        mention: mention(config),
    })
}

/// Complains about a model to fall back to that cannot be asked: each session would end before it begins.
fn other_model(inputs: &BTreeMap<String, SecretString>) -> Result<(), String> {
    let mut given = RawInputs::default();
    for name in [
        "model",
        "model_base_url",
        "opencode_api_key",
        "api_keys",
        "fallback_model",
    ] {
        if let Some(value) = inputs.get(name) {
            given.set(name, value.expose_secret());
        }
    }
    let problems = host::problems_of_fallback(&given);
    if problems.is_empty() {
        return Ok(());
    }
    let told = problems.join(" ");
    Err(told.replace(
        "to api_keys.",
        "to what api_keys_file or api_keys_env names.",
    ))
}

/// The name by which people address the service.
fn mention(config: &ServiceConfig) -> String {
    let mut inputs = RawInputs::default();
    if let Some(given) = config.inputs.get("mention") {
        inputs.set("mention", given);
    }
    inputs.mention()
}

fn policy(config: &ServiceConfig, agents: &Agents, account: Account) -> Policy {
    let is_app = matches!(account, Account::App { .. });
    let known = agents.known.iter();
    let known = known.map(|agent| Agent {
        name: agent.name.clone(),
        login: agent.login.clone().filter(|_| !is_app),
    });
    let known: Vec<Agent> = known.collect();
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
    const KEPT: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "OPENCODE_BIN"];
    let is_kept = |name: &str| {
        KEPT.contains(&name)
            || name.starts_with("OPENCODE_REVIEWER_")
            || name.starts_with("SSL_CERT_")
            || name.to_ascii_lowercase().ends_with("_proxy")
    };
    let secrets = config.secret_variables();
    let kept = around.variables.iter();
    let kept = kept.filter(|(name, _)| is_kept(name) && !secrets.contains(&name.as_str()));
    let mut environment: Vec<(String, String)> = kept.cloned().collect();
    environment.push(("GITHUB_API_URL".into(), config.api_url.clone()));
    environment.push(("GITHUB_GRAPHQL_URL".into(), config.graphql_url.clone()));
    environment.push(("GITHUB_SERVER_URL".into(), server_url(&config.api_url)));
    environment
}

/// The address of the pages and of git, from that of the interface.
pub(super) fn server_url(api: &str) -> String {
    let api = api.trim_end_matches('/');
    match api {
        "https://api.github.com" => "https://github.com".to_owned(),
        other => other.trim_end_matches("/api/v3").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_is_not_called_by_a_restate_server() {
        let base = "github: { account: quality }\nrepositories: [octo/shop]\nmodel: a/b\nwebhook_secret_env: HOOK\nmaster_key_env: KEY\n";
        for (store, front) in [
            ("restate://a:1", "restate://a:1?listen=none"),
            (
                "restate://a:1?admin=http://a:2&listen=0.0.0.0:3&advertise=http://b:3",
                "restate://a:1?admin=http://a:2&listen=none",
            ),
            ("postgres://me@a/b", "postgres://me@a/b"),
        ] {
            let config = ServiceConfig::parse(&format!("{base}store: {store}\n"));
            let config = config.expect("a configuration");
            let address = SecretString::from(config.store);
            assert_eq!(store_of(&address, Role::Front).expose_secret(), front);
            assert_eq!(store_of(&address, Role::Worker).expose_secret(), store);
        }
    }

    #[test]
    fn a_secret_of_the_service_is_in_no_environment_of_a_session() {
        let config = ServiceConfig::parse(
            "github: { account: quality }\nrepositories: [octo/shop]\nmodel: a/b\nwebhook_secret_env: OPENCODE_REVIEWER_HOOK\nmaster_key_env: OPENCODE_REVIEWER_KEY\n",
        );
        let names = ["OPENCODE_REVIEWER_HOOK", "OPENCODE_REVIEWER_KEY", "PATH"];
        let around = Surroundings {
            variables: names.map(|name| (name.into(), "value".into())).to_vec(),
            network: Vec::new(),
            clock: Clock::scaled(1.0),
            program: PathBuf::new(),
        };
        let given = environment(&config.expect("a configuration"), &around);
        let kept: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        let kept = kept.into_iter().filter(|name| names.contains(name));
        assert_eq!(kept.collect::<Vec<_>>(), ["PATH"]);
    }
}

//! `serve check`: tries everything that the service needs, and says for each whether it is right or what to do.

use super::{Place, sentence};
use crate::host::Failure;
use crate::serve::assembly;
use crate::serve::known_agents::{KnownAgent, known_agents};
use crate::serve::secrets;
use reviewer_core::config::service::{Identity, SecretSource};
use reviewer_core::domain::{Login, RepoName};
use reviewer_core::event::hooks::{self, Line};
use reviewer_engine::Store;
use reviewer_engine::sealed::KeyRing;
use reviewer_github::{ApiError, App, AppIdentity, GitHub, Installation};
use secrecy::SecretString;

/// The lines of a check, and whether one of them says what to do.
struct Lines<'a> {
    place: &'a Place<'a>,
    wrong: usize,
}

impl Lines<'_> {
    fn ok(&self, what: &str) {
        self.place.setup.actions.answer(&format!("ok     {what}"));
    }

    /// Only a person can tell whether it is right.
    fn look(&self, what: &str) {
        self.place.setup.actions.answer(&format!("look   {what}"));
    }

    fn tell(&mut self, line: &Line) {
        match line {
            Line::Right(what) => self.ok(what),
            Line::Wrong(what) => self.wrong(what),
            Line::Look(what) => self.look(what),
        }
    }

    fn wrong(&mut self, what: &str) {
        self.wrong += 1;
        self.place.setup.actions.answer(&format!("wrong  {what}"));
    }

    /// The value, or a line that says why there is none.
    fn take<T>(&mut self, done: Result<T, impl ToString>) -> Option<T> {
        done.map_err(|error| self.wrong(&error.to_string())).ok()
    }
}

pub(super) async fn check(place: &Place<'_>) -> Result<(), Failure> {
    let mut lines = Lines { place, wrong: 0 };
    lines.ok("The configuration can be read.");
    let config = &place.config;
    let named = [
        ("webhook secret", Some(&config.webhook_secret)),
        ("model key", config.model_key.as_ref()),
    ];
    for (name, source) in named {
        source_check(&mut lines, name, source);
    }
    api_keys(&mut lines);
    state_keys(&mut lines);
    let keys = lines.take(secrets::key_ring(config, place.vars)).flatten();
    if let Some(store) = opened(&mut lines).await {
        let agents = agents(&mut lines, &store).await;
        match &config.identity {
            Identity::App { .. } => app(&mut lines).await,
            Identity::Personal { account } => {
                personal(&mut lines, account, &agents, keys.as_ref()).await;
            }
        }
        store.close().await;
    }
    match lines.wrong {
        0 => Ok(()),
        1 => Err(Failure::new(
            "The service is not ready: one line says what to do.",
        )),
        count => Err(Failure::new(format!(
            "The service is not ready: {count} lines say what to do."
        ))),
    }
}

fn source_check(lines: &mut Lines<'_>, name: &str, source: Option<&SecretSource>) {
    let Some(source) = source else {
        return;
    };
    if lines
        .take(secrets::read(source, lines.place.vars))
        .is_some()
    {
        lines.ok(&format!("The {name} can be read."));
    }
}

fn api_keys(lines: &mut Lines<'_>) {
    let place = lines.place;
    let keys = lines.take(secrets::api_keys(&place.config, place.vars));
    if keys.flatten().is_some() {
        lines.ok("The keys of further providers can be read.");
    }
    let falls_back = place.config.inputs.contains_key("fallback_model");
    let has_keys = lines.wrong == 0;
    if falls_back
        && has_keys
        && lines
            .take(assembly::models(&place.config, place.vars))
            .is_some()
    {
        lines.ok("The model to fall back to can be asked.");
    }
}

fn state_keys(lines: &mut Lines<'_>) {
    let place = lines.place;
    if place.config.state_key.is_some()
        && lines
            .take(secrets::state_keys(&place.config, place.vars))
            .is_some()
    {
        lines.ok("The state key can be read.");
    }
}

async fn opened(lines: &mut Lines<'_>) -> Option<Store> {
    let opened = lines.place.store().await;
    let store = lines.take(opened.map_err(|Failure(told)| told.join(" ")))?;
    lines.ok(&format!(
        "The store {} can be used.",
        lines.place.config.store
    ));
    match store.tokens().await {
        Ok(tokens) if tokens.is_empty() => {
            lines.ok("There is no API token yet; `serve tokens add` makes one.");
        }
        Ok(tokens) => lines.ok(&format!("API tokens: {}.", tokens.len())),
        Err(error) => lines.wrong(&error.to_string()),
    }
    Some(store)
}

async fn agents(lines: &mut Lines<'_>, store: &Store) -> Vec<KnownAgent> {
    let stored = store.agents().await.map_err(sentence);
    let stored = lines.take(stored.map_err(|Failure(told)| told.join(" ")));
    match known_agents(&lines.place.config, &stored.unwrap_or_default()) {
        Ok(known) => known,
        Err(told) => {
            for sentence in &told {
                lines.wrong(sentence);
            }
            Vec::new()
        }
    }
}

/// Asks GitHub who each token is.
async fn personal(
    lines: &mut Lines<'_>,
    account: &str,
    agents: &[KnownAgent],
    keys: Option<&KeyRing>,
) {
    let Some(keys) = keys else {
        return;
    };
    let mut of_account = None;
    for agent in agents {
        let Some(github) = github(lines, agent, keys) else {
            continue;
        };
        let login = identity(lines, agent, &github).await;
        if agent.name == account {
            of_account = login.map(|login| (github, login));
        }
    }
    match of_account {
        Some((github, login)) => repositories(lines, &github, &login).await,
        None => lines.wrong(&format!(
            "The account {account} has no token that works; add the agent with `serve agents add {account}`, or rotate its token."
        )),
    }
}

/// A client with the agent's token.
fn github(lines: &mut Lines<'_>, agent: &KnownAgent, keys: &KeyRing) -> Option<GitHub> {
    let name = &agent.name;
    let Some(sealed) = &agent.token else {
        lines.wrong(&format!(
            "The agent {name} has no token; add it with `serve agents add {name}`."
        ));
        return None;
    };
    let token = lines.take(keys.open(name, sealed))?;
    if keys.is_outdated(sealed) {
        lines.ok(&format!(
            "The token of {name} is sealed with an earlier master key; rotate it before that key goes."
        ));
    }
    let made = client(lines.place, &token);
    lines.take(made)
}

fn client(place: &Place<'_>, token: &SecretString) -> Result<GitHub, reviewer_github::SetupError> {
    let (config, setup) = (&place.config, place.setup);
    let (api, graphql) = (&config.api_url, &config.graphql_url);
    GitHub::new(api, graphql, token, setup.clock, &setup.environment.network)
}

async fn identity(lines: &mut Lines<'_>, agent: &KnownAgent, github: &GitHub) -> Option<Login> {
    let name = &agent.name;
    let found = github.viewer().await;
    let found = found.map_err(|error| format!("The token of {name} was not taken: {error}"));
    let found = lines.take(found)?;
    match &agent.login {
        Some(login) if *login == found => {
            lines.ok(&format!("The agent {name} is {found} on GitHub."));
            Some(found)
        }
        _ => {
            let expected = agent.login.as_ref().map_or("nobody", Login::as_str);
            lines.wrong(&format!(
                "The token of {name} is of {found}, not of {expected}; rotate it, or correct the login."
            ));
            None
        }
    }
}

/// The account has to write where it requests reviewers and merges.
async fn repositories(lines: &mut Lines<'_>, github: &GitHub, login: &Login) {
    for repo in &lines.place.config.repositories {
        match github.permission(repo, login).await {
            Ok(permission) if permission.may_write() => {
                lines.ok(&format!("{login} can write to {repo}."));
            }
            Ok(_) => lines.wrong(&format!(
                "{login} cannot write to {repo}; give the account the role Write there."
            )),
            Err(error) => lines.wrong(&format!("{repo} cannot be asked for: {error}")),
        }
        webhooks(lines, github, repo).await;
    }
}

/// Without an App every repository has a webhook of its own.
async fn webhooks(lines: &mut Lines<'_>, github: &GitHub, repo: &RepoName) {
    let public_url = &lines.place.config.public_url;
    let told = match github.hooks(repo).await {
        Ok(found) => hooks::of_repository(repo, &found, public_url),
        Err(ApiError::Forbidden { .. } | ApiError::NotFound { .. }) => {
            vec![hooks::unseen(repo, public_url)]
        }
        Err(error) => {
            let told = format!("The webhooks of {repo} cannot be looked at: {error}");
            return lines.wrong(&told);
        }
    };
    for line in &told {
        lines.tell(line);
    }
}

async fn app(lines: &mut Lines<'_>) {
    let (config, setup) = (&lines.place.config, lines.place.setup);
    let Identity::App {
        id,
        private_key_file,
        slug,
        ..
    } = &config.identity
    else {
        return;
    };
    let Some(key) = lines.take(secrets::read_file(private_key_file)) else {
        return;
    };
    let (api, graphql) = (&config.api_url, &config.graphql_url);
    let network = &setup.environment.network;
    let made = App::new(api, graphql, *id, &key, setup.clock, network);
    let Some(app) = lines.take(made) else {
        return;
    };
    let Some(found) = lines.take(app.identity().await) else {
        return;
    };
    let login = &found.login;
    match slug {
        Some(slug) if Login::new(&format!("{slug}[bot]")) != *login => lines.wrong(&format!(
            "The App {id} is {login} on GitHub, not {slug}; correct github.app.slug."
        )),
        _ => lines.ok(&format!("The App {id} is {login} on GitHub.")),
    }
    registration(lines, &found);
    app_webhook(lines, &app).await;
    installed(lines, &app).await;
}

/// The events and the permissions of the App.
fn registration(lines: &mut Lines<'_>, app: &AppIdentity) {
    let missing = hooks::missing_events(&app.events);
    if missing.is_empty() {
        lines.ok("The App is subscribed to every event that it needs.");
    } else {
        lines.wrong(&format!(
            "The App is not subscribed to {}; tick them in its settings, below Permissions & events.",
            missing.join(", ")
        ));
    }
    let missing = hooks::missing_permissions(&app.permissions);
    if missing.is_empty() {
        lines.ok("The App asks for every permission that it needs.");
    } else {
        lines.wrong(&format!(
            "The App lacks the permissions {}; give them in its settings, below Permissions & events.",
            missing.join(", ")
        ));
    }
}

/// The webhook of the App, and whether what it sends arrives.
async fn app_webhook(lines: &mut Lines<'_>, app: &App) {
    let Some(hook) = lines.take(app.hook().await) else {
        return;
    };
    for line in &hooks::of_app(&hook, &lines.place.config.public_url) {
        lines.tell(line);
    }
    if let Some(attempts) = lines.take(app.recent_attempts().await) {
        lines.tell(&hooks::deliveries(&attempts));
    }
}

async fn installed(lines: &mut Lines<'_>, app: &App) {
    let config = &lines.place.config;
    for repo in &config.repositories {
        if lines.take(app.installation_of(repo).await).is_some() {
            lines.ok(&format!("The App is installed in {repo}."));
        }
    }
    match lines.take(app.installations().await) {
        Some(all) if all.is_empty() => {
            lines.wrong("The App is installed nowhere; install it from its page on GitHub.");
        }
        Some(all) => {
            lines.ok(&format!("Installations of the App: {}.", all.len()));
            for one in &all {
                installation(lines, one);
            }
        }
        None => {}
    }
}

/// Tells the owner of an installation what to do.
fn installation(lines: &mut Lines<'_>, one: &Installation) {
    let name = match &one.account {
        Some(account) => format!("The installation of {account}"),
        None => format!("The installation {}", one.id),
    };
    if one.suspended {
        lines.wrong(&format!(
            "{name} is suspended; its owner lifts that on GitHub, below Settings, GitHub Apps."
        ));
    }
    let missing = hooks::missing_permissions(&one.permissions);
    if !missing.is_empty() {
        lines.wrong(&format!(
            "{name} has not accepted the permissions {}; its owner does so on GitHub, below Settings, GitHub Apps.",
            missing.join(", ")
        ));
    }
}

//! `serve agents`: who reviews and fixes. Tokens come from standard input or a prompt, are sealed, and are never shown.
#![expect(clippy::disallowed_methods, reason = "edge: reads a persona")]

use super::{Place, check_name, listed, no_such, now_ms, sentence};
use crate::host::Failure;
use crate::process_env::STANDARD_INPUT;
use crate::serve::secrets;
use console::Term;
use reviewer_engine::agents::Agent;
use reviewer_engine::sealed::Sealed;
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// The work that `serve agents` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentsOrder {
    Add {
        name: String,
        login: Option<String>,
        persona_file: Option<PathBuf>,
    },
    List,
    Remove {
        name: String,
    },
    Rotate {
        name: String,
    },
}

pub(super) async fn agents(place: &Place<'_>, order: &AgentsOrder) -> Result<(), Failure> {
    let store = place.store().await?;
    match order {
        AgentsOrder::Add {
            name,
            login,
            persona_file,
        } => {
            let agent = new_agent(place, name, login.as_deref(), persona_file.as_deref())?;
            store.add_agent(&agent).await.map_err(sentence)?;
        }
        AgentsOrder::Rotate { name } => {
            if place.config.is_app() {
                return Err(of_app());
            }
            let agents = store.agents().await.map_err(sentence)?;
            if !agents.iter().any(|agent| agent.name == *name) {
                return Err(no_such("agent", name));
            }
            let token = sealed_token(place, name)?;
            if !store.rotate_agent(name, &token).await.map_err(sentence)? {
                return Err(no_such("agent", name));
            }
        }
        AgentsOrder::Remove { name } => {
            if !store.remove_agent(name).await.map_err(sentence)? {
                return Err(no_such("agent", name));
            }
        }
        AgentsOrder::List => {
            let agents = store.agents().await.map_err(sentence)?;
            let rows: Vec<String> = agents.iter().map(row).collect();
            place
                .setup
                .actions
                .answer(&listed(&rows, "No agents in the store."));
        }
    }
    store.close().await;
    if *order != AgentsOrder::List {
        let restart = "Done. A running service knows the agents of its start, so restart it.";
        place.setup.actions.line(restart);
    }
    Ok(())
}

fn row(agent: &Agent) -> String {
    let login = agent.login.as_deref().unwrap_or("-");
    let token = match &agent.token {
        Some(token) => format!("sealed by {}", token.key_id()),
        None => "no token".to_owned(),
    };
    format!("{:<24} {login:<24} {token}", agent.name)
}

fn of_app() -> Failure {
    Failure::new("Agents of a GitHub App have neither logins nor tokens; the App's key is used.")
}

fn new_agent(
    place: &Place<'_>,
    name: &str,
    login: Option<&str>,
    persona_file: Option<&Path>,
) -> Result<Agent, Failure> {
    check_name(name)?;
    let persona = persona_file.map(|path| {
        std::fs::read_to_string(path).map_err(|error| {
            let shown = path.display();
            Failure::new(format!("The persona {shown} cannot be read: {error}."))
        })
    });
    let persona = persona.transpose()?.unwrap_or_default();
    let mut agent = Agent {
        name: name.to_owned(),
        login: None,
        token: None,
        persona,
        created: now_ms(),
    };
    if place.config.is_app() {
        return match login {
            Some(_) => Err(of_app()),
            None => Ok(agent),
        };
    }
    let mut configured = place.config.agents.iter();
    let configured = configured.find(|agent| agent.name == name);
    let configured = configured.and_then(|agent| agent.login.as_ref());
    let login = login.map(str::to_owned);
    let login = login.or_else(|| configured.map(ToString::to_string));
    agent.login = Some(login.ok_or_else(|| {
        Failure::new("The agent needs its account on GitHub; name it with --login.")
    })?);
    agent.token = Some(sealed_token(place, name)?);
    Ok(agent)
}

/// The token that was given, sealed for the agent.
fn sealed_token(place: &Place<'_>, name: &str) -> Result<Sealed, Failure> {
    let keys = secrets::key_ring(&place.config, place.vars).map_err(Failure::new)?;
    let keys = keys.ok_or_else(|| Failure::new("The configuration names no master key."))?;
    let token = token(place, name)?;
    keys.seal(name, &token).map_err(sentence)
}

fn token(place: &Place<'_>, name: &str) -> Result<SecretString, Failure> {
    let mut vars = place.vars.iter();
    let given = vars.find(|(key, _)| key == STANDARD_INPUT);
    let text = match given {
        Some((_, text)) => text.clone(),
        None => prompted(name)?,
    };
    let text = text.trim();
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_plain {
        return Err(Failure::new(
            "There is no token; give it on one line with --token-stdin, or type it where it is asked for.",
        ));
    }
    Ok(SecretString::from(text))
}

/// Asks for the token on the terminal, without showing it.
fn prompted(name: &str) -> Result<String, Failure> {
    let terminal = Term::stderr();
    let asked = terminal.write_str(&format!("Token of {name}: "));
    let typed = asked.and_then(|()| terminal.read_secure_line());
    typed.map_err(|error| Failure::new(format!("The token cannot be asked for: {error}.")))
}

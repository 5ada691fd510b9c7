//! The agents of a service: those of service.yml, with what the store has of them, and those of the store alone.
#![expect(
    clippy::disallowed_methods,
    reason = "edge: reads the files of personas"
)]

use reviewer_core::config::service::ServiceConfig;
use reviewer_core::domain::Login;
use reviewer_engine::agents::Agent;
use reviewer_engine::sealed::Sealed;

/// Personas that every service knows.
pub(crate) const BUILT_IN: [&str; 3] = ["product", "quality", "security"];

/// An agent that can be dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownAgent {
    pub name: String,
    /// `None` with a GitHub App.
    pub login: Option<Login>,
    /// `None` with a GitHub App, and where no token was added yet.
    pub token: Option<Sealed>,
    /// Empty: the built-in one of its name, or none.
    pub persona: String,
}

/// The agents in the order of service.yml, then those of the store alone. With a GitHub App the built-in personas are always there.
/// `Err`: every mistake in one sentence.
pub(crate) fn known_agents(
    config: &ServiceConfig,
    stored: &[Agent],
) -> Result<Vec<KnownAgent>, Vec<String>> {
    let is_app = config.is_app();
    let (mut known, mut wrong) = (Vec::<KnownAgent>::new(), Vec::new());
    for configured in &config.agents {
        let mut agent = KnownAgent {
            name: configured.name.clone(),
            login: configured.login.clone(),
            token: None,
            persona: String::new(),
        };
        if let Some(path) = &configured.persona_file {
            match std::fs::read_to_string(path) {
                Ok(persona) => agent.persona = persona,
                Err(error) => wrong.push(format!(
                    "The persona of the agent {} cannot be read from {}: {error}.",
                    agent.name,
                    path.display()
                )),
            }
        }
        known.push(agent);
    }
    for row in stored {
        wrong.extend(add(&mut known, row, is_app));
    }
    if is_app {
        for name in BUILT_IN {
            if !known.iter().any(|agent| agent.name == name) {
                known.push(KnownAgent {
                    name: name.to_owned(),
                    login: None,
                    token: None,
                    persona: String::new(),
                });
            }
        }
    }
    if wrong.is_empty() {
        return Ok(known);
    }
    Err(wrong)
}

/// Adds what the store has of an agent; the sentence says where it does not agree with service.yml.
fn add(known: &mut Vec<KnownAgent>, row: &Agent, is_app: bool) -> Option<String> {
    let login = row.login.as_deref().map(Login::new).filter(|_| !is_app);
    let token = row.token.clone().filter(|_| !is_app);
    let Some(agent) = known.iter_mut().find(|agent| agent.name == row.name) else {
        known.push(KnownAgent {
            name: row.name.clone(),
            login,
            token,
            persona: row.persona.clone(),
        });
        return None;
    };
    if agent.persona.is_empty() {
        agent.persona.clone_from(&row.persona);
    }
    agent.token = token;
    let (given, stored) = (agent.login.clone(), login?);
    let given = given.filter(|given| *given != stored)?;
    Some(format!(
        "The agent {} has the login {given} in service.yml and {stored} in the store; correct the file, or remove the agent and add it again.",
        row.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSONAL: &str = "github: { account: quality }\nrepositories: [octo/shop]\nwebhook_secret_env: A\nmaster_key_env: B\nmodel: a/b\n";
    const APP: &str =
        "github: { app: { id: 1, private_key_file: k } }\nwebhook_secret_env: A\nmodel: a/b\n";

    fn config(text: &str) -> ServiceConfig {
        ServiceConfig::parse(text).unwrap_or_else(|wrong| panic!("{wrong:?}"))
    }

    fn row(name: &str, login: &str) -> Agent {
        Agent {
            name: name.to_owned(),
            login: Some(login.to_owned()),
            token: None,
            persona: "Looks closely.".to_owned(),
            created: 0,
        }
    }

    #[test]
    fn agents_of_the_file_come_first_and_those_of_the_store_are_added() {
        let config = config(&format!(
            "{PERSONAL}agents: [{{ name: quality, login: octo-q }}]\n"
        ));
        let stored = [row("legal", "octo-l"), row("quality", "octo-q")];
        let known = known_agents(&config, &stored).expect("agents");
        let names: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["quality", "legal"]);
        assert_eq!(known[0].persona, "Looks closely.");
    }

    #[test]
    fn two_logins_of_one_agent_are_a_mistake() {
        let config = config(&format!(
            "{PERSONAL}agents: [{{ name: quality, login: octo-q }}]\n"
        ));
        let wrong = known_agents(&config, &[row("quality", "other")]).expect_err("a mistake");
        assert!(
            wrong[0].contains("octo-q in service.yml and other in the store"),
            "{wrong:?}"
        );
    }

    #[test]
    fn an_app_has_the_built_in_personas_and_no_accounts() {
        let known = known_agents(&config(APP), &[row("quality", "octo-q")]).expect("agents");
        let names: Vec<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names, ["quality", "product", "security"]);
        assert!(known.iter().all(|agent| agent.login.is_none()));
    }
}

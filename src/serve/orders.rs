//! The orders of sessions. Separate from the world, because an order is made when the session's turn has come: a token of an App
//! lasts an hour, and a session may wait longer than that.

use super::accounts::Accounts;
use super::directory::Directory;
use super::sessions::{Ordered, SessionId};
use super::world::SessionSettings;
use reviewer_core::config::Persona;
use reviewer_core::domain::CommitSha;
use reviewer_core::lifecycle::Task;
use reviewer_core::session_order::SessionOrder;
use reviewer_engine::EffectError;
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that orders are made of.
#[derive(Clone)]
pub(crate) struct Orders {
    pub accounts: Arc<Accounts>,
    pub directory: Arc<Directory>,
    pub settings: Arc<SessionSettings>,
}

/// A session to order.
pub(crate) struct Wanted {
    pub id: SessionId,
    pub task: Task,
    pub agent: String,
    pub head: CommitSha,
    pub folder: PathBuf,
    /// The token by which its messages are believed.
    pub secret: SecretString,
}

impl Orders {
    /// The order and the arguments of a session that starts now.
    pub(crate) async fn order(self, wanted: Wanted) -> Result<Ordered, EffectError> {
        let Wanted { id, task, .. } = &wanted;
        let place = self.accounts.place(id.key, &self.directory).await?;
        let fixes = matches!(task, Task::Fix { .. });
        let token = self
            .accounts
            .session_token(&wanted.agent, &place, &self.directory, fixes)
            .await?;
        let (url, name, number) = (&self.settings.url, &place.name, id.key.number);
        let order = SessionOrder {
            dispatch: id.dispatch,
            callback_url: format!("{url}/pr/{name}/{number}/session"),
            callback_token: wanted.secret.expose_secret().to_owned(),
            head: wanted.head.to_string(),
            folder: wanted.folder.display().to_string(),
            service: Some(std::process::id()),
            reviewer: self.persona(task, &wanted.agent),
            check_runs: self.accounts.is_app(),
            shared_account: self.accounts.is_app(),
            is_last: matches!(task, Task::Review { is_last: true, .. }),
            inputs: self.inputs(&token),
        };
        let command = if fixes { "fix" } else { "review" };
        let (repo, number) = (name.to_string(), number.to_string());
        let arguments = [command, "--repo", &repo, "--pr", &number, "--session"];
        Ok(Ordered {
            arguments: arguments.map(str::to_owned).to_vec(),
            order,
        })
    }

    fn persona(&self, task: &Task, agent: &str) -> Option<Persona> {
        let Task::Review { can_escalate, .. } = task else {
            return None;
        };
        Some(Persona {
            name: agent.to_owned(),
            text: self.settings.personas.get(agent).cloned().flatten(),
            can_escalate: can_escalate.clone(),
        })
    }

    fn inputs(&self, token: &SecretString) -> BTreeMap<String, String> {
        let settings = &self.settings;
        let given = settings.inputs.iter();
        let given = given.map(|(name, value)| (name.clone(), value.expose_secret().to_owned()));
        let keys: Vec<&str> = settings
            .state_keys
            .iter()
            .map(ExposeSecret::expose_secret)
            .collect();
        let own = [
            ("github_token", token.expose_secret()),
            ("state_key", &keys.join("\n")),
            ("review_event", "decide"),
            ("mention", settings.mention.as_str()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        given.chain(own).collect()
    }
}

//! A conversation with a model: one of the sidecar's sessions, which outlives the process that it began in. Separate from
//! the supervisor, because several of them share one process, and each has to find out for itself what a restart left of it.

use super::client::{Client, ClientError};
use super::providers::ModelName;
use super::supervisor::{Process, Supervisor};
use reviewer_core::review::sidecar_events::SessionId;
use std::sync::Arc;

/// Which conversation goes on after a sidecar was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The same, but for the step that was under way.
    Session,
    /// None: the new session knows nothing.
    Nothing,
}

#[derive(Debug)]
pub struct Conversation {
    supervisor: Arc<Supervisor>,
    /// The process that it was last held in.
    process: Arc<Process>,
    /// Speaks to this process as the conversation's agent.
    client: Client,
    title: String,
    /// Tools that the model is not shown.
    hidden: Vec<String>,
    session: Option<SessionId>,
}

impl Conversation {
    /// Opens a session in which this agent answers, without the hidden tools. A sidecar that is gone by now is replaced.
    pub async fn open(
        supervisor: &Arc<Supervisor>,
        agent: &str,
        title: &str,
        hidden: Vec<String>,
    ) -> Result<Self, String> {
        let process = supervisor.process();
        let mut opened = Self {
            supervisor: Arc::clone(supervisor),
            client: process.client().as_agent(agent),
            process,
            title: title.to_owned(),
            hidden,
            session: None,
        };
        match opened.renew().await {
            Ok(()) => Ok(opened),
            Err(ClientError::Unreachable { .. }) => opened.recover().await.map(|_| opened),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Opens a session beside this one, which knows nothing of it and hides other tools.
    pub async fn beside(&self, hidden: Vec<String>) -> Result<Self, ClientError> {
        let process = self.supervisor.process();
        let mut opened = Self {
            supervisor: Arc::clone(&self.supervisor),
            client: process.client().speaking_as(&self.client),
            process,
            title: self.title.clone(),
            hidden,
            session: None,
        };
        opened.renew().await?;
        Ok(opened)
    }

    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The session that it is held in, unless none could be opened.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Returns true if nothing was said in the session, as far as the sidecar knows.
    pub async fn is_blank(&self) -> bool {
        let Some(session) = &self.session else {
            return true;
        };
        let last = self.client.last_prompt(session).await;
        last.unwrap_or_default().is_empty()
    }

    /// From here on another model answers, which is shown all that was said.
    pub fn go_on_with(&mut self, model: ModelName) {
        self.client.ask_model(model);
    }

    /// Another session in place of the one that was.
    pub async fn renew(&mut self) -> Result<(), ClientError> {
        self.session = None;
        let (client, hidden) = (&self.client, &self.hidden);
        self.session = Some(client.create_session_without(hidden, &self.title).await?);
        Ok(())
    }

    /// Waits until the process is of no more use, and says why.
    pub async fn lost(&self) -> String {
        self.process.lost().await
    }

    /// Returns why the process is of no more use, if it is; a moment is given to one whose connection has just broken.
    pub async fn is_lost(&self) -> Option<String> {
        self.process.is_lost().await
    }

    /// Goes on in another process than the one that was lost.
    pub async fn recover(&mut self) -> Result<Kept, String> {
        let mut why = None;
        loop {
            let replaced = self.supervisor.replace(&self.process).await;
            let process = replaced.map_err(|none| why.take().unwrap_or(none))?;
            match self.resume(process).await {
                Ok(kept) => return Ok(kept),
                Err(error) => why = Some(error.to_string()),
            }
        }
    }

    /// Moves to the process that another session has started meanwhile, if one has. Where that fails, the next prompt
    /// does, too, and says so.
    pub async fn follow(&mut self) {
        let process = self.supervisor.process();
        if !process.is(&self.process)
            && let Err(error) = self.resume(process).await
        {
            tracing::debug!("no session in the new process: {error}");
        }
    }

    /// Goes on in this process, in the same session where it is known.
    async fn resume(&mut self, process: Arc<Process>) -> Result<Kept, ClientError> {
        self.client = process.client().speaking_as(&self.client);
        self.process = process;
        if !self.is_blank().await {
            return Ok(Kept::Session);
        }
        self.renew().await?;
        Ok(Kept::Nothing)
    }
}

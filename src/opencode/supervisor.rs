//! Keeps a sidecar and one session alive: notices when the process has ended or answers nobody, and starts another
//! one in the same home, where OpenCode finds its sessions again. Separate from the process, which is one of several.

use super::client::{Client, ClientError};
use super::process::{Sidecar, Spec, StartError};
use super::sandbox::Confinement;
use super::session::SessionId;
use crate::clock::Clock;
use std::time::Duration;

/// How often a run replaces its sidecar. One that dies again and again dies of what it is asked.
pub const MOST_RESTARTS: usize = 2;
/// So many times in a row it is asked for its health in vain; together with the pauses 25 s.
const MISSES: u32 = 5;
const HEALTH_PAUSE: Duration = Duration::from_secs(1);
const HEALTH_LIMIT: Duration = Duration::from_secs(4);
/// However short a test makes its waits: a process needs some time to answer.
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);

/// Which conversation goes on after a sidecar was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The same, but for the step that was under way.
    Session,
    /// None: the new session knows nothing.
    Nothing,
}

#[derive(Debug)]
pub struct Keeper {
    spec: Spec,
    clock: Clock,
    sidecar: Sidecar,
    /// How many took its place.
    restarts: usize,
    title: String,
    session: Option<SessionId>,
}

impl Keeper {
    pub async fn start(spec: Spec, clock: Clock) -> Result<Self, StartError> {
        Ok(Self {
            sidecar: Sidecar::start(&spec, &clock).await?,
            spec,
            clock,
            restarts: 0,
            title: String::new(),
            session: None,
        })
    }

    #[must_use]
    pub fn client(&self) -> &Client {
        self.sidecar.client()
    }

    #[must_use]
    pub fn confinement(&self) -> &Confinement {
        self.sidecar.confinement()
    }

    #[must_use]
    pub fn restarts(&self) -> usize {
        self.restarts
    }

    /// The session that is kept, once one was opened.
    #[must_use]
    pub fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Opens the session. A sidecar that is gone by now is replaced.
    pub async fn open(&mut self, title: &str) -> Result<(), String> {
        title.clone_into(&mut self.title);
        match self.renew().await {
            Ok(()) => Ok(()),
            Err(ClientError::Unreachable { .. }) => self.replace().await.map(drop),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether nothing was said in the session, as far as the sidecar knows.
    pub async fn is_blank(&self) -> bool {
        let Some(session) = &self.session else {
            return true;
        };
        let last = self.client().last_prompt(session).await;
        last.unwrap_or_default().is_empty()
    }

    /// Another session in place of the one that was.
    pub async fn renew(&mut self) -> Result<(), ClientError> {
        self.session = None;
        self.session = Some(self.client().create_session(&self.title).await?);
        Ok(())
    }

    /// Leaves the session for another one. It is kept for `take_up`.
    pub fn set_aside(&mut self) -> Option<SessionId> {
        self.session.take()
    }

    /// Goes on in a session that was set aside.
    pub fn take_up(&mut self, session: Option<SessionId>) {
        self.session = session;
    }

    /// Waits until the sidecar is of no more use, and says why.
    pub async fn lost(&self) -> String {
        tokio::select! {
            how = self.sidecar.exited() => format!("OpenCode ended ({how})"),
            () = self.unresponsive() => "OpenCode did not answer any more".to_owned(),
        }
    }

    /// Why it is of no more use, if it is; a moment is given to one whose connection has just broken.
    pub async fn is_lost(&self) -> Option<String> {
        let how = self.sidecar.ended().await?;
        Some(format!("OpenCode ended ({how})"))
    }

    /// Starts another one in its place, as often as a run may.
    pub async fn replace(&mut self) -> Result<Kept, String> {
        let mut why = None;
        while self.restarts < MOST_RESTARTS {
            self.restarts += 1;
            self.sidecar.kill().await;
            match self.started_again().await {
                Ok(kept) => return Ok(kept),
                Err(error) => why = Some(error),
            }
        }
        Err(why.unwrap_or_else(|| format!("it was restarted {MOST_RESTARTS} times already")))
    }

    async fn started_again(&mut self) -> Result<Kept, String> {
        let sidecar = Sidecar::start(&self.spec, &self.clock).await;
        self.sidecar = sidecar.map_err(|error| error.to_string())?;
        if !self.is_blank().await {
            return Ok(Kept::Session);
        }
        let renewed = self.renew().await;
        renewed.map_err(|error| error.to_string())?;
        Ok(Kept::Nothing)
    }

    pub async fn stop(self) {
        self.sidecar.stop().await;
    }

    /// Waits until it was asked for its health in vain several times in a row. Once says nothing: it may be busy.
    async fn unresponsive(&self) {
        let limit = self.clock.shortened(HEALTH_LIMIT).max(SHORTEST_LIMIT);
        let mut missed = 0;
        while missed < MISSES {
            tokio::time::sleep(HEALTH_PAUSE).await;
            missed = match self.client().health(limit).await {
                Ok(_) => 0,
                Err(_) => missed + 1,
            };
        }
    }
}

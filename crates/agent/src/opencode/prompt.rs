//! One prompt, and what is done beside it while it is answered: events are heard, whatever waits for a person is
//! rejected, and an end that nobody told of is noticed. No single sign is trusted: the stream of events may be lost
//! or have gaps, and the call itself may never be answered although the turn is over.

use super::client::{Client, ClientError};
use super::wire;
use futures_util::StreamExt;
use reviewer_core::review::sidecar_events::{SessionId, SidecarEvent, Turn, TurnError};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc::{self, Sender};

/// The number of times that OpenCode may repeat a request because an answer did not finish, before the turn is ended.
/// It would go on for ever, several times a second.
const UNFINISHED_ANSWERS: usize = 3;
/// The pause between two looks for requests that wait for a person, stream or not.
const PENDING_PAUSE: Duration = Duration::from_millis(500);
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
const IDLE_PAUSE: Duration = Duration::from_secs(2);
/// A prompt is not held up for the stream of events.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The number of events of a turn that are remembered, so that none counts twice. A hostile sidecar could send them
/// without end.
const MOST_HEARD: usize = 100_000;

/// The end of a prompt that was watched.
#[derive(Debug)]
pub enum Watched<S> {
    Turn(Turn),
    /// The one who watched ended it.
    Stopped(S),
}

impl Client {
    /// One prompt and everything that the model does about it. It has no deadline of its own: the caller sets one and
    /// calls `abort`.
    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<Turn, ClientError> {
        let nothing = |_: &SidecarEvent| None::<std::convert::Infallible>;
        match self.prompt_watched(session, text, nothing).await? {
            Watched::Turn(turn) => Ok(turn),
            Watched::Stopped(never) => match never {},
        }
    }

    /// The same; `heed` is told what happens, and ends the turn by returning something.
    pub async fn prompt_watched<S>(
        &self,
        session: &SessionId,
        text: &str,
        mut heed: impl FnMut(&SidecarEvent) -> Option<S>,
    ) -> Result<Watched<S>, ClientError> {
        let before = self.last_prompt(session).await?;
        let (tell, mut told) = mpsc::channel(64);
        let mut listening = pin!(self.listen(session, &before, &tell));
        // Heard from its beginning, if that is to be had.
        let connected = tokio::time::timeout(CONNECT_LIMIT, async {
            tokio::select! {
                () = &mut listening => None,
                first = told.recv() => first,
            }
        });
        let _first = connected.await;
        let mut rejecting = pin!(self.reject_what_waits());
        let mut unnoticed = pin!(self.ended_unnoticed(session, &before));
        let mut answer = pin!(self.ask(session, text));
        let mut unfinished = 0;
        let mut heard = HashSet::new();
        loop {
            tokio::select! {
                last = &mut answer => {
                    let (last, messages) = (last?, self.messages(session).await?);
                    let turn = wire::turn(last, wire::since(&messages, &before));
                    return Ok(Watched::Turn(turn));
                }
                turn = &mut unnoticed => return Ok(Watched::Turn(turn)),
                () = &mut listening => {}
                () = &mut rejecting => {}
                Some(event) = told.recv() => {
                    // Every session's events come in one stream.
                    if !event.concerns(session) {
                        continue;
                    }
                    if heard.len() < MOST_HEARD && key(&event).is_some_and(|key| !heard.insert(key)) {
                        continue;
                    }
                    if let Some(stop) = heed(&event) {
                        self.give_up(session).await;
                        return Ok(Watched::Stopped(stop));
                    }
                    unfinished = counted(unfinished, &event, session);
                    if unfinished >= UNFINISHED_ANSWERS {
                        self.give_up(session).await;
                        let error = TurnError::empty_answers(unfinished);
                        return Ok(Watched::Turn(self.failed(session, &before, error).await?));
                    }
                }
            }
        }
    }

    /// Hears the events, for ever. Where the stream is down, the session's own messages tell the same, later.
    async fn listen(&self, session: &SessionId, before: &str, tell: &Sender<SidecarEvent>) {
        let mut lost = false;
        loop {
            let events = self.events().await;
            if lost {
                let messages = self.messages(session).await.unwrap_or_default();
                for event in wire::retold(session, &messages, before) {
                    let _nobody = tell.send(event).await;
                }
            }
            if let Ok(events) = events {
                let mut events = pin!(events);
                while let Some(event) = events.next().await {
                    let _nobody = tell.send(event).await;
                }
            }
            lost = true;
            tokio::time::sleep(RECONNECT_PAUSE).await;
        }
    }

    /// Nobody is there to answer, so whatever asks is told no, for ever. By asking, because an event can be lost.
    async fn reject_what_waits(&self) {
        loop {
            for id in self.pending_permissions().await.unwrap_or_default() {
                tracing::warn!("OpenCode asked for a permission; rejected");
                if let Err(error) = self.reject_permission(&id).await {
                    tracing::warn!(%error, "the permission could not be rejected");
                }
            }
            for id in self.pending_questions().await.unwrap_or_default() {
                tracing::warn!("OpenCode asked a question; rejected");
                if let Err(error) = self.reject_question(&id).await {
                    tracing::warn!(%error, "the question could not be rejected");
                }
            }
            tokio::time::sleep(PENDING_PAUSE).await;
        }
    }

    /// Waits until the session rests and holds the answer, twice in a row: the call may just be about to say so.
    async fn ended_unnoticed(&self, session: &SessionId, before: &str) -> Turn {
        let mut rested = false;
        loop {
            tokio::time::sleep(IDLE_PAUSE).await;
            if !matches!(self.is_busy(session).await, Ok(false)) {
                rested = false;
                continue;
            }
            let messages = self.messages(session).await.unwrap_or_default();
            match wire::ended_turn(&messages, before) {
                Some(turn) if rested => return turn,
                ended => rested = ended.is_some(),
            }
        }
    }

    async fn give_up(&self, session: &SessionId) {
        if let Err(error) = self.abort(session).await {
            tracing::debug!("the turn could not be aborted: {error:#}");
        }
    }

    async fn failed(
        &self,
        session: &SessionId,
        before: &str,
        error: TurnError,
    ) -> Result<Turn, ClientError> {
        let messages = self.messages(session).await?;
        Ok(Turn {
            text: String::new(),
            finish: String::new(),
            usage: wire::usage(wire::since(&messages, before)),
            error: Some(error),
            tool_calls: 0,
            shortened: false,
        })
    }
}

/// Returns a key that is equal for events that are the same, by which one is known that was told before a gap in the
/// stream.
fn key(event: &SidecarEvent) -> Option<u64> {
    let (id, state) = match event {
        SidecarEvent::ToolCall { id, state, .. } => (id, Some(*state)),
        SidecarEvent::Usage { id, .. } => (id, None),
        _ => return None,
    };
    (!id.is_empty()).then(|| {
        let mut hasher = DefaultHasher::new();
        (id, state).hash(&mut hasher);
        hasher.finish()
    })
}

/// Counts the answers in a row that did not finish, given one more event.
fn counted(unfinished: usize, event: &SidecarEvent, session: &SessionId) -> usize {
    match event {
        SidecarEvent::Usage {
            session: of,
            finish,
            ..
        } if of == session.as_str() => {
            if finish == "unknown" {
                unfinished + 1
            } else {
                0
            }
        }
        _ => unfinished,
    }
}

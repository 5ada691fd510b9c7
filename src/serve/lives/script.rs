//! Sessions by a script, in the place of child processes: they act on GitHub as their agents do, and leave what child processes
//! leave in their folders.

use super::github::pushing::Wanted;
use super::plan::Mid;
use super::repository::{AGENTS, BRANCH, CODER, identity};
use super::stage::Stage;
use crate::serve::sessions::{Ended, Launch, SessionId, Starter};
use reviewer_core::domain::ReviewDecision;
use reviewer_core::lifecycle::{Effect, Task};
use reviewer_core::session_order::{
    RESULT_FILE, SessionCost, SessionEvent, SessionMessage, SessionOutcome,
};
use reviewer_engine::clock::Clock as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::{fs, io};

pub(super) struct Script(pub Weak<Stage>);

impl Script {
    fn stage(&self) -> io::Result<Arc<Stage>> {
        self.0.upgrade().ok_or_else(|| io::Error::other("the end"))
    }
}

impl Starter for Script {
    fn start(&self, launch: Launch) -> io::Result<()> {
        let stage = self.stage()?;
        let folder = self.folder(&launch.id)?;
        let mut memory = stage.memory();
        let known = memory.sessions.get(&launch.id);
        if known.is_some_and(|session| !session.is_finished()) {
            return Ok(());
        }
        note(&folder, &launch)?;
        let id = launch.id.clone();
        if !memory.dispatches.contains(&id.dispatch) {
            memory.dispatches.push(id.dispatch);
        }
        let hold = stage.clock.hold();
        let player = Arc::clone(&stage);
        let session = tokio::spawn(async move {
            player.play(launch, &folder).await;
            drop(hold);
        });
        memory.sessions.insert(id, session);
        Ok(())
    }

    fn end(&self, id: &SessionId) {
        let Ok(stage) = self.stage() else { return };
        if let Some(session) = stage.memory().sessions.remove(id) {
            session.abort();
        }
        stage.children().clear(id);
    }

    fn count(&self) -> usize {
        self.stage()
            .map_or(0, |stage| stage.memory().sessions.len())
    }

    fn folder(&self, id: &SessionId) -> io::Result<PathBuf> {
        self.stage()?.children().folder(id)
    }
}

/// Writes what a child process's folder holds for a start after a crash.
fn note(folder: &Path, launch: &Launch) -> io::Result<()> {
    let file = folder.join("launch.json");
    let before = fs::read(&file).ok();
    let before = before.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let starts = before.map_or(0, |one| one["starts"].as_u64().unwrap_or(0)) + 1;
    let launched = json!({ "id": launch.id, "effect": launch.effect, "starts": starts });
    fs::write(file, launched.to_string())
}

/// The end of a session.
enum Said {
    Message(SessionEvent),
    /// It died without a word.
    Nothing,
}

fn done(result: SessionOutcome) -> Said {
    let cost = SessionCost::default();
    Said::Message(SessionEvent::Finished { result, cost })
}

fn failed(error: impl Into<String>) -> Said {
    Said::Message(SessionEvent::Failed {
        error: error.into(),
        retry_after_ms: None,
        cost: SessionCost::default(),
    })
}

impl Stage {
    async fn play(self: &Arc<Self>, launch: Launch, folder: &Path) {
        let Launch {
            id, effect, order, ..
        } = launch;
        let ordered = order.await.expect("an order");
        let message = |event| SessionMessage {
            dispatch: id.dispatch,
            event,
        };
        let session = format!("run-{}", id.dispatch);
        self.call_back(message(SessionEvent::Started { session }))
            .await;
        let said = self.work(&effect, &ordered.order.head).await;
        let said = match said {
            Said::Message(event) => {
                let message = message(event);
                let bytes = serde_json::to_vec(&message).expect("a message is JSON");
                fs::write(folder.join(RESULT_FILE), bytes).expect("the folder is there");
                self.call_back(message.clone()).await;
                Ok(message)
            }
            Said::Nothing => Err("The session ended without a result.".to_owned()),
        };
        self.pause(500).await;
        let mut epoch = self.epoch.subscribe();
        if let Some(service) = self.service() {
            let ended = Ended {
                id: id.clone(),
                said,
            };
            tokio::select! {
                biased;
                _ = epoch.changed() => return,
                taken = service.take_end(ended) => taken.expect("the store takes an end"),
            }
            self.children().clear(&id);
        }
    }

    async fn pause(&self, ms: i64) {
        let until = self.clock.now_ms() + ms;
        self.clock.sleep_until(until).await;
    }

    async fn work(self: &Arc<Self>, effect: &Effect, ordered: &str) -> Said {
        let Effect::Dispatch {
            dispatch,
            task,
            head,
            agent,
            ..
        } = effect
        else {
            return failed("no task");
        };
        let (ordinal, head) = (self.ordinal(head.as_str()), head.as_str());
        let name = match task {
            Task::Review { .. } => format!("review of {agent} at {ordinal}"),
            Task::Fix { .. } => format!("fix at {ordinal}"),
        };
        let current = self.head();
        if current != head && !self.has_acted(*dispatch) {
            return failed(format!("The session was ordered for {ordered:.7}."));
        }
        let attempt = {
            let mut memory = self.memory();
            let attempts = memory.attempts.entry(name.clone()).or_default();
            if !attempts.contains(dispatch) {
                attempts.push(*dispatch);
            }
            attempts.iter().position(|one| one == dispatch).unwrap_or(0)
        };
        let long = self.plan.dice(&format!("length of {name}")).below(600_000);
        let half = i64::try_from(long / 2).unwrap_or(0) + 1_000;
        self.pause(half).await;
        self.interrupt(*dispatch);
        self.pause(half).await;
        let mut dice = self.plan.dice(&format!("failures of {name}"));
        let failures = if self.plan.story.fails && dice.one_in(2) {
            1 + dice.count(4)
        } else {
            0
        };
        if attempt < failures {
            self.tell(format!("{name} fails"));
            return failed("The model did not answer.");
        }
        let said = match task {
            Task::Review { can_escalate, .. } => {
                self.post_review(*dispatch, agent, head, &name, can_escalate)
            }
            Task::Fix { .. } => self.push_fix(*dispatch, head, &name),
        };
        self.pump();
        let mut dice = self.plan.dice(&format!("death {attempt} of {name}"));
        if self.plan.story.vanishes && dice.one_in(3) {
            self.tell(format!("{name} dies after its act"));
            return Said::Nothing;
        }
        self.pause(1_000).await;
        said
    }

    /// Somebody acts in the middle of a session, once.
    fn interrupt(self: &Arc<Self>, dispatch: u64) {
        let mids: Vec<Mid> = {
            let mut memory = self.memory();
            let position = memory.dispatches.iter().position(|one| *one == dispatch);
            let number = position.map_or(0, |at| at as u64 + 1);
            if !memory.mids.insert(number) {
                return;
            }
            let planned = self.plan.story.mid.iter();
            planned
                .filter(|one| one.0 == number)
                .map(|one| one.1)
                .collect()
        };
        for mid in mids {
            self.happen(mid);
        }
    }

    /// True if the session has left its mark on GitHub before it was started again.
    fn has_acted(&self, dispatch: u64) -> bool {
        let mark = mark(dispatch);
        self.github.with(|state| {
            let posted = state.reviews.iter().any(|one| one.body.contains(&mark));
            let log = state.git.ask(&["log", "--format=%B", BRANCH]);
            posted || log.is_some_and(|log| log.contains(&mark))
        })
    }

    fn post_review(
        self: &Arc<Self>,
        dispatch: u64,
        agent: &str,
        head: &str,
        name: &str,
        can_escalate: &[String],
    ) -> Said {
        let mut dice = self.plan.dice(&format!("decision: {name}"));
        let approves = !dice.one_in(self.plan.story.strict);
        let escalations = if dice.one_in(3) {
            can_escalate.to_vec()
        } else {
            Vec::new()
        };
        let (decision, status) = if approves {
            (ReviewDecision::Approved, "APPROVED")
        } else {
            (ReviewDecision::ChangesRequested, "CHANGES_REQUESTED")
        };
        if !self.has_acted(dispatch) {
            let tags = escalations.iter();
            let tags: Vec<String> = tags
                .map(|one| format!("<!-- escalate: {one} -->"))
                .collect();
            let tags = tags.join("\n");
            let body = format!("Reviewed. {}\n{tags}", mark(dispatch));
            let account = AGENTS.iter().find(|one| one.0 == agent);
            let login = account.map_or(agent, |one| one.1);
            self.tell(format!("{name}: {status} {escalations:?}"));
            self.github.with(|state| {
                state.add_review(self.key.number, login, &body, status, head);
            });
        }
        done(SessionOutcome::Reviewed {
            decision,
            comment: "Reviewed.".into(),
            escalations,
        })
    }

    fn push_fix(self: &Arc<Self>, dispatch: u64, head: &str, name: &str) -> Said {
        if self.plan.dice(&format!("fix: {name}")).one_in(8) {
            return done(SessionOutcome::NothingFixed {
                why: "there is nothing to change".into(),
            });
        }
        if self.has_acted(dispatch) {
            let commit = self.fix_commit(dispatch);
            return done(SessionOutcome::Fixed { commit });
        }
        let fix = Wanted {
            branch: BRANCH,
            expected_head: head,
            message: format!("Fix. {}", mark(dispatch)),
            additions: vec![("fix.txt".into(), format!("{name}\n").into_bytes())],
            deletions: Vec::new(),
        };
        let author = identity(CODER);
        let pushed = self
            .github
            .with(|state| state.commit_on_branch(&author, &fix));
        match pushed {
            Ok(commit) => {
                self.tell(format!("{name}: pushed {commit:.7}"));
                self.pushed(&commit);
                done(SessionOutcome::Fixed { commit })
            }
            Err((_, words)) => failed(words),
        }
    }

    fn fix_commit(&self, dispatch: u64) -> String {
        let mark = mark(dispatch);
        let found = self.github.with(|state| {
            let found = [
                "log",
                "--format=%H",
                "--fixed-strings",
                "--grep",
                &mark,
                BRANCH,
            ];
            state.git.ask(&found)
        });
        found.unwrap_or_default().trim().to_owned()
    }
}

fn mark(dispatch: u64) -> String {
    format!("(session {dispatch})")
}

//! Sessions by a script, in the place of child processes: they act on GitHub as their agents do, and leave what child processes
//! leave in their folders.

use super::github::pushing::Wanted;
use super::personas::{Decided, Persona, run_of};
use super::plan::Mid;
use super::repository::{AGENTS, BRANCH, CODER, app, identity};
use super::stage::Stage;
use crate::serve::sessions::{Ended, Launch, SessionId, Starter};
use reviewer_core::domain::ReviewDecision;
use reviewer_core::lifecycle::{Effect, Task};
use reviewer_core::session_order::{
    RESULT_FILE, SessionCost, SessionEvent, SessionMessage, SessionOrder, SessionOutcome,
};
use reviewer_engine::clock::Clock as _;
use serde_json::json;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

pub(super) struct Script(pub Weak<Stage>);

impl Starter for Script {
    fn start(&self, launch: Launch) {
        let Some(stage) = self.0.upgrade() else {
            return;
        };
        let folder = self.folder(&launch.id);
        fs::create_dir_all(&folder).expect("a folder");
        let mut memory = stage.memory();
        let id = launch.id.clone();
        let owned = json!({ "id": id }).to_string();
        fs::write(folder.join("owner.json"), owned).expect("the folder is there");
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
    }

    fn end(&self, id: &SessionId) {
        let Some(stage) = self.0.upgrade() else {
            return;
        };
        if let Some(session) = stage.memory().sessions.remove(id) {
            session.abort();
        }
        stage.children().clear(id);
    }

    fn running(&self) -> Vec<SessionId> {
        let Some(stage) = self.0.upgrade() else {
            return Vec::new();
        };
        let memory = stage.memory();
        let sessions = memory.sessions.iter();
        let running = sessions.filter(|(_, session)| !session.is_finished());
        running.map(|(id, _)| id.clone()).collect()
    }

    fn folder(&self, id: &SessionId) -> PathBuf {
        let stage = self.0.upgrade();
        stage.map_or_else(PathBuf::new, |stage| stage.children().folder(id))
    }

    fn log(&self, _id: &SessionId) -> String {
        String::new()
    }
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

fn reviewed(decided: Decided) -> Said {
    let decision = if decided.approves {
        ReviewDecision::Approved
    } else {
        ReviewDecision::ChangesRequested
    };
    done(SessionOutcome::Reviewed {
        decision,
        comment: "Reviewed.".into(),
        escalations: decided.escalations,
    })
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
        let message = |event| SessionMessage {
            dispatch: id.dispatch,
            event,
        };
        let said = match order.await {
            Ok(ordered) => {
                let order = &ordered.order;
                let tokens = [&order.callback_token, &order.inputs["github_token"]];
                self.memory().secrets.extend(tokens.map(Clone::clone));
                let session = run_of(id.dispatch);
                self.call_back(message(SessionEvent::Started { session }))
                    .await;
                self.work(&effect, &ordered.order).await
            }
            Err(error) => failed(error.message),
        };
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
                said: Some(said),
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

    async fn work(self: &Arc<Self>, effect: &Effect, order: &SessionOrder) -> Said {
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
            return failed(format!("The session was ordered for {:.7}.", order.head));
        }
        let persona = if self.plan.story.app && matches!(task, Task::Review { .. }) {
            match Persona::begin(self, order).await {
                Ok(persona) => Some(persona),
                Err(error) => return failed(error.to_string()),
            }
        } else {
            None
        };
        let attempt = self.attempt(*dispatch, &name);
        if self.toil(*dispatch, &name, attempt).await.is_break() {
            return failed("The model did not answer.");
        }
        let said = match task {
            Task::Review { can_escalate, .. } => {
                let decided = self.decision(&name, can_escalate);
                if let Some(persona) = &persona {
                    if let Err(error) = persona.decide(&decided).await {
                        return failed(error.to_string());
                    }
                } else {
                    self.post_review(*dispatch, (agent, head), &name, &decided);
                }
                reviewed(decided)
            }
            Task::Fix { .. } => {
                if self.plan.story.app {
                    self.assert_rights(order, true);
                }
                self.push_fix(*dispatch, head, &name)
            }
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

    /// The sessions of this name before this one.
    fn attempt(&self, dispatch: u64, name: &str) -> usize {
        let mut memory = self.memory();
        let attempts = memory.attempts.entry(name.to_owned()).or_default();
        if !attempts.contains(&dispatch) {
            attempts.push(dispatch);
        }
        let own = attempts.iter().position(|one| *one == dispatch);
        own.unwrap_or(0)
    }

    /// The time that a session takes, and what happens meanwhile. Breaks if the model fails.
    async fn toil(self: &Arc<Self>, dispatch: u64, name: &str, attempt: usize) -> ControlFlow<()> {
        let long = self.plan.dice(&format!("length of {name}")).below(600_000);
        let half = i64::try_from(long / 2).unwrap_or(0) + 1_000;
        self.pause(half).await;
        self.interrupt(dispatch);
        self.pause(half).await;
        let mut dice = self.plan.dice(&format!("failures of {name}"));
        let failures = if self.plan.story.fails && dice.one_in(2) {
            1 + dice.count(4)
        } else {
            0
        };
        if attempt < failures {
            self.tell(format!("{name} fails"));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
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
        let (mark, run) = (mark(dispatch), run_of(dispatch));
        let run = format!("\"run\":\"{run}\"");
        self.github.with(|state| {
            let mut bodies = state.reviews.iter().map(|one| &one.body);
            let posted = bodies.any(|body| body.contains(&mark) || body.contains(&run));
            let log = state.git.ask(&["log", "--format=%B", BRANCH]);
            posted || log.is_some_and(|log| log.contains(&mark))
        })
    }

    /// The decision of the review with this name, and whom it calls.
    fn decision(&self, name: &str, can_escalate: &[String]) -> Decided {
        let mut dice = self.plan.dice(&format!("decision: {name}"));
        let approves = !dice.one_in(self.plan.story.strict);
        let escalations = if dice.one_in(3) {
            can_escalate.to_vec()
        } else {
            Vec::new()
        };
        Decided {
            approves,
            escalations,
        }
    }

    /// Reviews with an account of its own.
    fn post_review(
        self: &Arc<Self>,
        dispatch: u64,
        (agent, head): (&str, &str),
        name: &str,
        decided: &Decided,
    ) {
        if self.has_acted(dispatch) {
            return;
        }
        let status = if decided.approves {
            "APPROVED"
        } else {
            "CHANGES_REQUESTED"
        };
        let tags = decided.escalations.iter();
        let tags = tags.map(|one| format!("<!-- escalate: {one} -->"));
        let tags = tags.collect::<Vec<_>>().join("\n");
        let body = format!("Reviewed. {}\n{tags}", mark(dispatch));
        let account = AGENTS.iter().find(|one| one.0 == agent);
        let login = account.map_or(agent, |one| one.1);
        self.tell(format!("{name}: {status} {:?}", decided.escalations));
        self.github.with(|state| {
            state.add_review(self.key.number, login, &body, status, head);
        });
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
        let author = if self.plan.story.app {
            app()
        } else {
            identity(CODER)
        };
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

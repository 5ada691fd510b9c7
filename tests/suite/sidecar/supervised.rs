//! Several sessions in one supervised process, with the quick sidecar: they speak at the same time, and when the process is
//! lost it is replaced once, and each of them goes on.

use super::workshop::{Workshop, endpoint};
use crate::standin::model::{Answer, Model, Request};
use crate::walls::program;
use crate::watch::signal;
use nix::sys::signal::Signal;
use reviewer_agent::opencode::{Conversation, Kept, SidecarEvent, Spec, Supervisor, Turn, Watched};
use reviewer_system::clock::Clock;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longer than the sidecar's events take.
const EVENTS: Duration = Duration::from_millis(200);

/// Everything that the session was asked, after a look at a file.
fn recall(request: &Request) -> Answer {
    if request.step() == 0 {
        return Answer::call("read", json!({ "filePath": "a.rs" }));
    }
    // What happened so far is told by then.
    std::thread::sleep(EVENTS);
    let asked = request.messages().iter();
    let asked = asked.filter(|message| message["role"] == "user");
    let asked: Vec<&str> = asked.filter_map(|one| one["content"].as_str()).collect();
    Answer::text(&asked.join(", "))
}

struct Stage {
    workshop: Workshop,
    model: Model,
    /// While it is set, the model does not answer.
    stalls: Arc<AtomicBool>,
    supervisor: Arc<Supervisor>,
    sessions: [Conversation; 2],
}

impl Stage {
    async fn set() -> Self {
        let stalls = Arc::new(AtomicBool::default());
        let stalled = Arc::clone(&stalls);
        let model = Model::start(move |request| {
            if stalled.load(Ordering::Relaxed) {
                return Answer::Stall;
            }
            recall(request)
        });
        let workshop = Workshop::open().await;
        let spec = Spec {
            executable: program("sidecar"),
            ..workshop.spec(&endpoint(model.url()))
        };
        let supervisor = Supervisor::start(spec, Clock::scaled(1.0)).await.unwrap();
        let open =
            async |title| Conversation::open(&supervisor, "reviewer", title, Vec::new()).await;
        Self {
            sessions: [open("One").await.unwrap(), open("Two").await.unwrap()],
            workshop,
            model,
            stalls,
            supervisor,
        }
    }

    /// Both are asked at the same time.
    async fn ask(&self, words: [&str; 2]) -> [Turn; 2] {
        let [one, two] = &self.sessions;
        let (one, two) = tokio::join!(asked(one, words[0]), asked(two, words[1]));
        [one, two]
    }

    fn kill(&self) {
        signal(self.workshop.dir.path(), Signal::SIGKILL);
    }
}

/// A turn in which nothing of another session is heard.
async fn asked(conversation: &Conversation, words: &str) -> Turn {
    let session = conversation.session().unwrap();
    let mut answers = 0;
    let heed = |event: &SidecarEvent| {
        assert!(event.concerns(session), "{event:?} in {session}");
        answers += usize::from(matches!(event, SidecarEvent::Usage { .. }));
        None::<()>
    };
    let watched = conversation.client().prompt_watched(session, words, heed);
    let Watched::Turn(turn) = watched.await.unwrap() else {
        panic!("nobody stopped it");
    };
    // The last may come after the end.
    let heard = turn.usage.requests - 1..=turn.usage.requests;
    assert!(heard.contains(&answers), "{answers}, {turn:?}");
    turn
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_of_one_process_each_have_their_own_turn() {
    let stage = Stage::set().await;
    let turns = stage.ask(["alpha", "beta"]).await;
    assert_eq!(turns.each_ref().map(|turn| &*turn.text), ["alpha", "beta"]);
    for turn in turns {
        assert_eq!((turn.tool_calls, turn.usage.requests), (1, 2), "{turn:?}");
    }
    stage.supervisor.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_under_two_turns_is_replaced_once_and_both_go_on() {
    let mut stage = Stage::set().await;
    stage.ask(["alpha", "beta"]).await;
    stage.stalls.store(true, Ordering::Relaxed);
    let before = stage.model.requests().len();
    let [one, two] = &stage.sessions;
    let prompt = |of: &Conversation| {
        let (client, session) = (of.client().clone(), of.session().unwrap().clone());
        tokio::spawn(async move { client.prompt(&session, "gamma").await })
    };
    let (first, second) = (prompt(one), prompt(two));
    while stage.model.requests().len() < before + 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stage.kill();
    assert!(first.await.unwrap().is_err() && second.await.unwrap().is_err());
    for conversation in &stage.sessions {
        let why = conversation.is_lost().await.unwrap();
        assert!(why.contains("SIGKILL"), "{why}");
    }
    let [one, two] = &mut stage.sessions;
    let kept = tokio::join!(one.recover(), two.recover());
    assert_eq!(kept, (Ok(Kept::Session), Ok(Kept::Session)));
    assert_eq!(stage.supervisor.restarts(), 1);
    stage.stalls.store(false, Ordering::Relaxed);
    let turns = stage.ask(["delta", "epsilon"]).await;
    let texts = turns.each_ref().map(|turn| &*turn.text);
    assert_eq!(texts, ["alpha, gamma, delta", "beta, gamma, epsilon"]);
    stage.supervisor.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_rested_moves_to_the_new_process_by_itself() {
    let mut stage = Stage::set().await;
    stage.ask(["alpha", "beta"]).await;
    let [one, two] = &mut stage.sessions;
    two.follow().await;
    assert_eq!(stage.supervisor.restarts(), 0, "there is nothing to follow");
    signal(stage.workshop.dir.path(), Signal::SIGKILL);
    assert_eq!(one.recover().await, Ok(Kept::Session));
    two.follow().await;
    assert!(!two.is_blank().await);
    let turns = stage.ask(["gamma", "delta"]).await;
    let texts = turns.each_ref().map(|turn| &*turn.text);
    assert_eq!(texts, ["alpha, gamma", "beta, delta"]);
    assert_eq!(stage.supervisor.restarts(), 1);
    stage.supervisor.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_replaced_twice_for_all_sessions_together() {
    let mut stage = Stage::set().await;
    stage.ask(["alpha", "beta"]).await;
    for restarts in 1..=2 {
        stage.kill();
        let [one, two] = &mut stage.sessions;
        assert_eq!(one.recover().await, Ok(Kept::Session));
        assert_eq!(two.recover().await, Ok(Kept::Session));
        assert_eq!(stage.supervisor.restarts(), restarts);
    }
    stage.kill();
    for conversation in &mut stage.sessions {
        let why = conversation.recover().await.unwrap_err();
        assert_eq!(why, "it was restarted 2 times already");
    }
}

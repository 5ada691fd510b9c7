//! Another version of the machine, at the same address and at another one.

use super::server::{Running, Server, close, deliver, free_port, limits, open, seen, state, until};
use super::worlds::Gated;
use crate::restate_error::RestateError;
use crate::tests::toy::{Input, Mouth, Sum, Toy, Words, answer, say};
use crate::{EffectError, EffectId, Engine, EngineError, Machine, Planned, Step, World};
use std::sync::Arc;

/// The next version: it counts by tens.
#[derive(Debug)]
struct Newer;

impl Machine for Newer {
    type State = Sum;
    type Input = Input;
    type Effect = Words;

    fn step(&self, state: &Sum, input: &Input, now: i64) -> Step<Self> {
        let Step {
            mut state,
            planned,
            hurries,
            log,
        } = Toy.step(state, input, now);
        if matches!(input, Input::Said(_)) {
            state.total += 9;
        }
        Step {
            state,
            planned,
            hurries,
            log,
        }
    }

    fn failed(&self, seq: u64, effect: &Words, error: &str) -> Input {
        Toy.failed(seq, effect, error)
    }

    fn phase(&self, state: &Sum) -> String {
        Toy.phase(state)
    }
}

struct Says;

impl World<Newer> for Says {
    async fn execute(&self, _: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        Ok(Some(answer(words)))
    }
}

#[tokio::test]
async fn other_code_at_the_same_address_goes_on_with_what_is_under_way() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = server.store(free_port());
    let engine = open(&store, Toy, limits()).await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    deliver(&engine, "1/7", "a", say("hello")).await;
    seen(&engine, "1/7", 2).await;
    deliver(&engine, "1/7", "b", say("wait")).await;
    let later = Input::Later {
        after_ms: 2_000,
        add: 100,
    };
    deliver(&engine, "1/7", "c", later).await;
    until("the effect has begun", async || world.has_begun("wait")).await;
    close(engine, running).await;

    let engine = open(&store, Newer, limits()).await;
    let running = Running::start(&engine, &Arc::new(Says));
    seen(&engine, "1/7", 6).await;
    assert_eq!(state(&engine, "1/7").await.total, 1 + 10 + 100);
    close(engine, running).await;
}

#[tokio::test]
async fn a_version_at_another_address_takes_over_and_the_earlier_one_is_removed() {
    let Some(server) = Server::start() else {
        return;
    };
    let earlier = server.open().await;
    let world = Arc::new(Gated::new());
    let of_earlier = Running::start(&earlier, &world);
    deliver(&earlier, "1/7", "a", say("wait")).await;
    until("the effect has begun", async || world.has_begun("wait")).await;

    let engine = open(&server.store(free_port()), Newer, limits()).await;
    let running = Running::start(&engine, &Arc::new(Says));
    deliver(&engine, "1/8", "b", say("hello")).await;
    seen(&engine, "1/8", 2).await;
    assert_eq!(
        state(&engine, "1/8").await.total,
        10,
        "new calls are new code's"
    );
    engine.purge().await.unwrap();
    // The earlier process still has an effect, so it is still called.
    world.open();
    seen(&engine, "1/7", 2).await;
    assert_eq!(world.begun(), ["wait"]);
    until("one version", async || {
        engine.purge().await.unwrap();
        server.deployments().await == 1
    })
    .await;
    close(earlier, of_earlier).await;
    close(engine, running).await;
}

/// An earlier version, which reads no `Add`.
#[derive(Debug)]
struct Earlier;

impl Machine for Earlier {
    type State = Sum;
    type Input = Said;
    type Effect = Words;

    fn step(&self, state: &Sum, input: &Said, now: i64) -> Step<Self> {
        let Said::Said(text) = input;
        let Step { state, log, .. } = Toy.step(state, &Input::Said(text.clone()), now);
        Step {
            state,
            planned: Vec::new(),
            hurries: false,
            log,
        }
    }

    fn failed(&self, _: u64, _: &Words, error: &str) -> Said {
        Said::Said(error.to_owned())
    }

    fn phase(&self, state: &Sum) -> String {
        Toy.phase(state)
    }
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
enum Said {
    Said(String),
}

#[tokio::test]
async fn an_input_of_a_later_version_waits_for_it_and_other_keys_go_on() {
    let Some(server) = Server::start() else {
        return;
    };
    let store = server.store(free_port());
    let engine = open(&store, Toy, limits()).await;
    let running = Running::start(&engine, &Arc::new(Mouth::default()));
    let later = Input::Later {
        after_ms: 1_000,
        add: 5,
    };
    deliver(&engine, "1/7", "a", later).await;
    close(engine, running).await;

    let engine = open(&store, Earlier, limits()).await;
    until("the timer is tried", async || server.retries().await > 0).await;
    let hello = || Said::Said("hello".to_owned());
    deliver(&engine, "1/8", "b", hello()).await;
    assert_eq!(state(&engine, "1/8").await.seen, ["said hello"]);
    assert_eq!(state(&engine, "1/7").await.seen, ["later"]);
    Arc::into_inner(engine).unwrap().close().await;

    let engine = open(&store, Toy, limits()).await;
    seen(&engine, "1/7", 2).await;
    assert_eq!(state(&engine, "1/7").await.total, 5);
}

/// A machine with a defect: it gives the same number again and again.
#[derive(Debug)]
struct Repeats;

impl Machine for Repeats {
    type State = Sum;
    type Input = Input;
    type Effect = Words;

    fn step(&self, state: &Sum, input: &Input, now: i64) -> Step<Self> {
        let Step { state, log, .. } = Toy.step(state, input, now);
        let planned = match input {
            Input::Say(words) => vec![Planned::Effect {
                seq: 1,
                effect: words.clone(),
                lane: crate::Lane::Fast,
            }],
            _ => Vec::new(),
        };
        Step {
            state,
            planned,
            hurries: false,
            log,
        }
    }

    fn failed(&self, seq: u64, effect: &Words, error: &str) -> Input {
        Toy.failed(seq, effect, error)
    }

    fn phase(&self, state: &Sum) -> String {
        Toy.phase(state)
    }
}

#[tokio::test]
async fn a_repeated_number_is_refused_and_the_key_goes_on() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = open(&server.store(free_port()), Repeats, limits()).await;
    deliver(&engine, "1/7", "a", say("once")).await;
    let refused = engine.deliver("1/7", "b", &say("twice")).await;
    let told = refused.unwrap_err().to_string();
    assert!(
        told.contains("gave the number of the effect 1/7/1 twice"),
        "{told}"
    );
    deliver(&engine, "1/7", "c", Input::Add(1)).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say once", "add 1"]);
}

#[tokio::test]
async fn an_unsigned_server_is_refused_where_a_key_is_named() {
    let Some(server) = Server::start() else {
        return;
    };
    drop(server.open().await);
    let key = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";
    let store = format!("{}&identity={key}", server.store(free_port()));
    let clock = Arc::new(crate::clock::SystemClock::default());
    let error = Engine::open(&store, Toy, limits(), clock)
        .await
        .unwrap_err();
    let told = error.to_string();
    assert!(
        told.contains("to a registration") && told.contains("401"),
        "{told}"
    );
}

#[tokio::test]
async fn a_taken_address_is_told() {
    let Some(server) = Server::start() else {
        return;
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let store = server.store(taken.local_addr().unwrap().port());
    let clock = Arc::new(crate::clock::SystemClock::default());
    let error = Engine::open(&store, Toy, limits(), clock)
        .await
        .unwrap_err();
    let is_told = matches!(
        error,
        EngineError::Restate(RestateError::NotListening { .. })
    );
    assert!(is_told, "{error}");
}

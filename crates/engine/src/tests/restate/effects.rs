use super::server::{Running, Server, close, deliver, limits, open, seen, state, until};
use super::worlds::Gated;
use crate::tests::restate::server::free_port;
use crate::tests::toy::{Input, Mouth, Toy, Words, answer, say};
use crate::{EffectError, EffectId, Limits, World};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn busy(times: usize) -> Vec<EffectError> {
    vec![EffectError::temporary("busy"); times]
}

fn mouth(errors: &[(&str, Vec<EffectError>)]) -> Arc<Mouth> {
    let errors = errors.iter().cloned();
    let errors = errors.map(|(text, errors)| (text.to_owned(), errors));
    Arc::new(Mouth {
        errors: Mutex::new(errors.collect::<BTreeMap<_, _>>()),
        ..Mouth::default()
    })
}

#[tokio::test]
async fn effects_of_a_key_are_executed_in_order_also_while_one_is_repeated() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let asked = EffectError {
        retry_after_ms: Some(500),
        ..EffectError::temporary("asked to wait")
    };
    let mouth = mouth(&[("a", vec![asked]), ("c", busy(2))]);
    for text in ["a", "b", "c", "d"] {
        deliver(&engine, "1/7", text, say(text)).await;
    }
    let running = Running::start(&engine, &mouth);
    seen(&engine, "1/7", 8).await;
    assert_eq!(mouth.texts(), ["a", "a", "b", "c", "c", "c", "d"]);
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen[4..], ["said a", "said b", "said c", "said d"]);
    close(engine, running).await;
}

#[tokio::test]
async fn the_machine_learns_of_an_effect_that_was_given_up() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let gone = vec![EffectError::permanent("gone")];
    let mouth = mouth(&[("hello", busy(9)), ("never", gone)]);
    let running = Running::start(&engine, &mouth);
    deliver(&engine, "1/7", "a", say("hello")).await;
    deliver(&engine, "1/8", "b", say("never")).await;
    seen(&engine, "1/7", 2).await;
    seen(&engine, "1/8", 2).await;
    let tries = |text: &str| mouth.texts().iter().filter(|said| *said == text).count();
    assert_eq!((tries("hello"), tries("never")), (5, 1));
    let failed = |text: &str| format!("failed: {text}");
    assert_eq!(state(&engine, "1/7").await.seen[1], failed("busy"));
    assert_eq!(state(&engine, "1/8").await.seen[1], failed("gone"));
    close(engine, running).await;
}

#[tokio::test]
async fn an_effect_that_panics_is_given_up_as_well() {
    struct Panics;
    impl World<Toy> for Panics {
        async fn execute(&self, _: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
            assert!(words.text != "defect", "a defect");
            Ok(Some(answer(words)))
        }
    }
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let running = Running::start(&engine, &Arc::new(Panics));
    deliver(&engine, "1/7", "a", say("defect")).await;
    deliver(&engine, "1/7", "b", say("hello")).await;
    seen(&engine, "1/7", 4).await;
    let seen = state(&engine, "1/7").await.seen;
    let given_up = "failed: the attempt ended without an answer";
    assert_eq!(seen[2..], [given_up, "said hello"]);
    close(engine, running).await;
}

#[tokio::test]
async fn status_and_deliveries_do_not_wait_for_an_effect_that_runs() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    deliver(&engine, "1/7", "a", say("wait")).await;
    until("the effect has begun", async || world.has_begun("wait")).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say wait"]);
    deliver(&engine, "1/7", "b", Input::Add(3)).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say wait", "add 3"]);
    assert_eq!(engine.backlog().await.unwrap().effects, 1);
    world.open();
    seen(&engine, "1/7", 3).await;
    close(engine, running).await;
}

#[tokio::test]
async fn effects_wait_for_a_world_and_outlive_its_end() {
    let Some(server) = Server::start() else {
        return;
    };
    let engine = server.open().await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    deliver(&engine, "1/7", "a", say("wait")).await;
    until("the effect has begun", async || world.has_begun("wait")).await;
    running.stop().await;
    world.open();
    deliver(&engine, "1/7", "b", say("hello")).await;
    let mouth = Arc::new(Mouth::default());
    let running = Running::start(&engine, &mouth);
    seen(&engine, "1/7", 4).await;
    assert_eq!(mouth.texts(), ["wait", "hello"]);
    close(engine, running).await;
}

#[tokio::test]
async fn a_slow_effect_with_a_fast_one_behind_it_waits_for_no_slow_place() {
    let Some(server) = Server::start() else {
        return;
    };
    let limits = Limits {
        slow_at_once: 1,
        ..limits()
    };
    let engine = open(&server.store(free_port()), Toy, limits).await;
    let world = Arc::new(Gated::new());
    let running = Running::start(&engine, &world);
    let slow = |text: &str| {
        Input::Say(Words {
            text: text.to_owned(),
            slow: true,
            then: 0,
        })
    };
    deliver(&engine, "1/1", "a", slow("wait")).await;
    until("the place is taken", async || world.has_begun("wait")).await;
    deliver(&engine, "1/2", "b", slow("patient")).await;
    deliver(&engine, "1/3", "c", slow("urgent")).await;
    deliver(&engine, "1/3", "d", say("fast")).await;
    seen(&engine, "1/3", 4).await;
    assert_eq!(world.begun(), ["wait", "urgent", "fast"]);
    world.open();
    seen(&engine, "1/2", 2).await;
    close(engine, running).await;
}

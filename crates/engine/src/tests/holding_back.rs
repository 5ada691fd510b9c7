//! Slow effects that the world holds back: they wait, they are tried as often as others, and nothing else waits for them.

use super::toy::{Input, Mouth, Place, Running, Toy, Words, deliver, limits, say, settle};
use crate::clock::Clock;
use crate::{EffectError, EffectId, Limits, World};
use std::sync::Arc;

/// Holds the keys of one repository back until a time.
struct Reserve {
    mouth: Arc<Mouth>,
    repository: &'static str,
    until: i64,
}

impl World<Toy> for Reserve {
    async fn execute(&self, id: &EffectId, words: Words) -> Result<Option<Input>, EffectError> {
        self.mouth.execute(id, words).await
    }

    async fn holds_back(&self, key: &str) -> Option<u64> {
        let now = self.mouth.clock.as_ref()?.now_ms();
        let wait = u64::try_from(self.until - now).ok()?;
        (wait > 0 && key.starts_with(self.repository)).then_some(wait)
    }
}

const HOUR: i64 = 3_600_000;

fn world(place: &Place) -> Arc<Reserve> {
    Arc::new(Reserve {
        mouth: place.mouth(),
        repository: "1/",
        until: place.clock.now_ms() + HOUR,
    })
}

fn slow(text: &str) -> Input {
    Input::Say(Words {
        text: text.to_owned(),
        slow: true,
        then: 0,
    })
}

/// One attempt for each effect.
fn once() -> Limits {
    Limits {
        attempts: 1,
        ..limits()
    }
}

#[tokio::test]
async fn what_is_held_back_starts_when_its_time_has_come_and_nothing_else_waits() {
    let place = Place::new();
    let world = world(&place);
    let engine = place.open_with(once()).await;
    deliver(&engine, "1/7", "a", slow("held")).await;
    deliver(&engine, "2/7", "b", slow("other")).await;
    deliver(&engine, "1/8", "c", say("fast")).await;
    settle(engine, &world, &place.clock).await;
    let begin = world.until - HOUR;
    let said = world.mouth.said.lock().unwrap().clone();
    let mut texts: Vec<(&str, i64)> = said.iter().map(|one| (one.1.as_str(), one.2)).collect();
    texts.sort_unstable();
    let expected = [("fast", begin), ("held", world.until), ("other", begin)];
    assert_eq!(texts, expected);
}

#[tokio::test]
async fn an_input_that_hurries_ends_the_wait_of_its_key_alone() {
    let place = Place::new();
    let world = world(&place);
    let engine = place.open_with(once()).await;
    for key in ["1/7", "1/8"] {
        deliver(&engine, key, &format!("slow {key}"), slow(key)).await;
    }
    let running = Running::start(&engine, &world);
    let hold = place.clock.hold();
    place.clock.sleep_until(world.until - HOUR / 2).await;
    deliver(&engine, "1/8", "hurry", Input::Add(1)).await;
    drop((engine, hold));
    place.clock.settled().await;
    running.stop().await;
    assert_eq!(world.mouth.texts(), ["1/8", "1/7"]);
    assert_eq!(world.mouth.times(), [world.until - HOUR / 2, world.until]);
}

#[tokio::test]
async fn to_be_held_back_is_no_attempt_and_outlives_a_restart() {
    let place = Place::new();
    let world = world(&place);
    let later = Arc::new(Reserve {
        mouth: Arc::clone(&world.mouth),
        until: world.until + HOUR,
        ..*world
    });
    let engine = place.open_with(once()).await;
    deliver(&engine, "1/7", "a", slow("held")).await;
    let running = Running::start(&engine, &world);
    drop(engine);
    let hold = place.clock.hold();
    place.clock.sleep_until(world.until - 1).await;
    running.kill().await;
    drop(hold);
    assert!(world.mouth.texts().is_empty());
    settle(place.open_with(once()).await, &later, &place.clock).await;
    assert_eq!(world.mouth.times(), [later.until]);
    let engine = place.open().await;
    let history = engine.history("1/7", 9).await.unwrap();
    let words: Vec<&String> = history.iter().flat_map(|entry| &entry.log).collect();
    assert_eq!(words, ["say held", "said held"]);
}

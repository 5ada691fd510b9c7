use super::toy::{Input, Mouth, Place, Toy, Words, deliver, limits, say, settle, state};
use crate::clock::Clock;
use crate::{EffectError, EffectId, Limits, World};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn with_errors(place: &Place, text: &str, mut errors: Vec<EffectError>) -> Arc<Mouth> {
    errors.reverse();
    Arc::new(Mouth {
        errors: Mutex::new(BTreeMap::from([(text.to_owned(), errors)])),
        clock: Some(place.clock.clone()),
        ..Mouth::default()
    })
}

#[tokio::test]
async fn the_answer_of_an_effect_is_an_input() {
    let place = Place::new();
    let engine = place.open().await;
    let words = Words {
        text: "again".to_owned(),
        slow: false,
        then: 3,
    };
    deliver(&engine, "1/7", "a", Input::Say(words)).await;
    let mouth = place.mouth();
    settle(engine, &mouth, &place.clock).await;
    assert_eq!(mouth.texts(), ["again"; 4]);
    let engine = place.open().await;
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen.last().unwrap(), "said again");
    assert_eq!(engine.backlog().await.unwrap().effects, 0);
}

#[tokio::test]
async fn a_failed_attempt_is_repeated_after_a_wait_that_doubles() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let start = place.clock.now_ms();
    let asked = EffectError {
        retry_after_ms: Some(30_000),
        ..EffectError::temporary("asked to wait")
    };
    let busy = || EffectError::temporary("busy");
    let mouth = with_errors(&place, "hello", vec![busy(), busy(), asked]);
    settle(engine, &mouth, &place.clock).await;
    let waits: Vec<i64> = mouth.times().iter().map(|at| at - start).collect();
    assert_eq!(waits, [0, 1_000, 3_000, 33_000]);
    let engine = place.open().await;
    assert_eq!(
        state(&engine, "1/7").await.seen,
        ["say hello", "said hello"]
    );
}

#[tokio::test]
async fn the_machine_learns_of_an_effect_that_was_given_up() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    deliver(&engine, "1/8", "b", say("never")).await;
    let errors = vec![EffectError::temporary("busy"); 9];
    let mouth = with_errors(&place, "hello", errors);
    let gone = vec![EffectError::permanent("gone")];
    mouth
        .errors
        .lock()
        .unwrap()
        .insert("never".to_owned(), gone);
    settle(engine, &mouth, &place.clock).await;
    let tries = |text: &str| mouth.texts().iter().filter(|said| *said == text).count();
    assert_eq!((tries("hello"), tries("never")), (5, 1));
    let engine = place.open().await;
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen, ["say hello", "failed: busy"]);
    let seen = state(&engine, "1/8").await.seen;
    assert_eq!(seen, ["say never", "failed: gone"]);
}

#[tokio::test]
async fn an_effect_that_is_not_answered_is_given_up_as_well() {
    struct Panics;
    impl World<Toy> for Panics {
        async fn execute(&self, _: &EffectId, _: Words) -> Result<Option<Input>, EffectError> {
            panic!("a defect");
        }
    }
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let start = place.clock.now_ms();
    settle(engine, &Arc::new(Panics), &place.clock).await;
    assert_eq!(place.clock.now_ms() - start, 5 * 60_000, "five leases");
    let engine = place.open().await;
    let seen = state(&engine, "1/7").await.seen;
    assert_eq!(seen[1], "failed: the attempt ended without an answer");
}

/// Notes which effects run at the same time.
#[derive(Debug)]
struct Crowd {
    clock: crate::virtual_clock::VirtualClock,
    inside: Mutex<BTreeMap<String, u64>>,
    most: Mutex<usize>,
    order: Mutex<BTreeMap<String, Vec<u64>>>,
}

impl World<Toy> for Crowd {
    async fn execute(&self, id: &EffectId, _: Words) -> Result<Option<Input>, EffectError> {
        {
            let mut inside = self.inside.lock().unwrap();
            let other = inside.insert(id.key.clone(), id.seq);
            assert_eq!(other, None, "two effects of {} at once", id.key);
            let mut most = self.most.lock().unwrap();
            *most = inside.len().max(*most);
            let mut order = self.order.lock().unwrap();
            order.entry(id.key.clone()).or_default().push(id.seq);
        }
        // Longer than a lease, so that heartbeats are needed.
        self.clock.sleep_until(self.clock.now_ms() + 200_000).await;
        self.inside.lock().unwrap().remove(&id.key);
        Ok(None)
    }
}

#[tokio::test]
async fn a_key_has_one_effect_at_a_time_and_keys_do_not_wait_for_each_other() {
    let place = Place::new();
    let limits = Limits {
        at_once: 5,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    for n in 0..24 {
        deliver(&engine, &format!("1/{}", n % 8), &format!("d{n}"), say("x")).await;
    }
    let crowd = Arc::new(Crowd {
        clock: place.clock.clone(),
        inside: Mutex::default(),
        most: Mutex::default(),
        order: Mutex::default(),
    });
    settle(engine, &crowd, &place.clock).await;
    assert_eq!(*crowd.most.lock().unwrap(), 5);
    let order = crowd.order.lock().unwrap().clone();
    assert_eq!(order.len(), 8);
    assert!(order.values().all(|seqs| *seqs == [1, 2, 3]), "{order:?}");
}

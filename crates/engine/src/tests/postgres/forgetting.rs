//! A key that is removed by one process while another one delivers to it.

use super::{WAITING, open, shared, until};
use crate::Limits;
use crate::delivery::{Delivery, apply};
use crate::records;
use crate::tests::toy::{Input, deliver, limits, state};

/// A key is removed as soon as its last change is over.
fn at_once() -> Limits {
    Limits {
        inbox_ms: 0,
        ..limits()
    }
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn an_input_on_its_way_keeps_its_key() {
    let server = shared().await;
    let store = server.empty().await;
    let (engine, other) = (open(&store, at_once()).await, open(&store, at_once()).await);
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    let mut session = engine.store.begin().await.unwrap();
    let now = engine.now(&mut session).await.unwrap();
    let delivery = Delivery {
        key: "1/7",
        id: "event:b".to_owned(),
        input: &Input::Add(2),
        now,
    };
    let stepped = apply(&mut session, &engine.machine, &delivery).await;
    assert!(stepped.unwrap().is_some());
    let forgetting = tokio::spawn(async move { other.forget("1/7", 1).await.unwrap() });
    until(&engine.store, WAITING).await;
    session.commit().await.unwrap();
    assert!(!forgetting.await.unwrap());
    assert_eq!(state(&engine, "1/7").await.total, 3);
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn an_input_that_meets_a_removal_begins_the_key_anew() {
    let server = shared().await;
    let store = server.empty().await;
    let (engine, other) = (open(&store, at_once()).await, open(&store, at_once()).await);
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    let mut session = engine.store.begin().await.unwrap();
    let now = engine.now(&mut session).await.unwrap() + 1;
    let forgotten = records::forget(&mut session, ("1/7", 1), now, &at_once()).await;
    assert!(forgotten.unwrap());
    let delivering = tokio::spawn(async move { deliver(&other, "1/7", "b", Input::Add(2)).await });
    until(&engine.store, WAITING).await;
    session.commit().await.unwrap();
    assert!(!delivering.await.unwrap().duplicate);
    assert_eq!(state(&engine, "1/7").await.total, 2);
    let history = engine.history("1/7", 9).await.unwrap();
    assert_eq!(history.len(), 1);
}

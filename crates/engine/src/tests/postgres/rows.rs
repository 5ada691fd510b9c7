use super::{open, shared};
use crate::agents::Agent;
use crate::store::Store;
use crate::tests::toy::{Input, deliver, limits, say};
use crate::tokens::{ApiToken, Role, TokenHash};
use crate::{Backlog, Filter, Limits, Recent};
use secrecy::SecretString;

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn agents_and_tokens_are_rows_as_in_a_file() {
    let server = shared().await;
    let store = Store::open(&server.empty().await).await.unwrap();
    let persona = |name: &str| Agent {
        name: name.to_owned(),
        login: None,
        token: None,
        persona: "Reads tests first.".to_owned(),
        created: 5,
    };
    for name in ["quality", "Product"] {
        store.add_agent(&persona(name)).await.unwrap();
    }
    assert!(store.add_agent(&persona("quality")).await.is_err());
    let listed = store.agents().await.unwrap();
    assert_eq!(listed, [persona("Product"), persona("quality")]);
    assert!(store.remove_agent("Product").await.unwrap());
    let token = ApiToken {
        name: "dashboard".to_owned(),
        hash: TokenHash::new(&SecretString::from("first")),
        role: Role::Operate,
        created: 5,
    };
    store.add_token(&token).await.unwrap();
    assert!(store.add_token(&token).await.is_err());
    let found = store.token(&token.hash).await.unwrap();
    assert_eq!(found, Some(token));
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn keys_are_listed_in_the_order_of_a_file() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    for key in ["1/b", "1/A", "1/a", "1/B"] {
        deliver(&engine, key, key, Input::Add(-1)).await;
    }
    let page = Filter {
        phase: Some("owing".to_owned()),
        after: "1/A".to_owned(),
        most: 2,
    };
    let listed = engine.list(&page).await.unwrap();
    let keys: Vec<String> = listed.into_iter().map(|one| one.key).collect();
    assert_eq!(keys, ["1/B", "1/a"]);
    assert_eq!(engine.phases().await.unwrap(), [("owing".to_owned(), 4)]);
    assert_eq!(engine.backlog().await.unwrap(), Backlog::default());
    let wanted = Recent {
        phase: Some("owing".to_owned()),
        before: None,
        most: 3,
    };
    let newest = engine.recent(&wanted).await.unwrap();
    assert_eq!(newest.len(), 3);
    let end = newest.last().map(|one| (one.changed, one.key.clone()));
    let rest = Recent {
        before: end,
        ..wanted
    };
    let rest = engine.recent(&rest).await.unwrap();
    let keys: Vec<String> = newest
        .iter()
        .chain(&rest)
        .map(|one| one.key.clone())
        .collect();
    assert_eq!(keys.len(), 4);
    assert_eq!(engine.states(&keys).await.unwrap().len(), 4);
    assert!(engine.waiting("1/a", 5).await.unwrap().is_empty());
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn old_deliveries_and_the_oldest_inputs_are_purged() {
    let server = shared().await;
    let limits = Limits {
        history: 3,
        ..limits()
    };
    let engine = open(&server.empty().await, limits).await;
    for n in 0..5 {
        deliver(&engine, "1/7", &format!("d{n}"), Input::Add(1)).await;
    }
    let mut session = engine.store.session().await.unwrap();
    let old = sqlx::query("UPDATE inbox SET at = 0 WHERE delivery = 'event:d0'");
    assert_eq!(session.execute(old).await.unwrap(), 1);
    drop(session);
    assert_eq!(engine.purge().await.unwrap(), 3, "one delivery, two inputs");
    let again = deliver(&engine, "1/7", "d1", Input::Add(1)).await;
    assert!(again.duplicate);
    let again = deliver(&engine, "1/7", "d0", Input::Add(1)).await;
    assert!(!again.duplicate);
    assert!(engine.replay("1/7").await.unwrap().is_none());
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_history_of_large_inputs_is_told_by_its_last_ones() {
    let server = shared().await;
    let limits = Limits {
        history_bytes: 10_000,
        ..limits()
    };
    let engine = open(&server.empty().await, limits).await;
    for n in 0..9 {
        deliver(&engine, "1/7", &format!("d{n}"), say(&"x".repeat(4_000))).await;
    }
    let history = engine.history("1/7", 100).await.unwrap();
    let numbers: Vec<i64> = history.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [7, 8, 9]);
    assert!(engine.replay("1/7").await.unwrap().is_some());
}

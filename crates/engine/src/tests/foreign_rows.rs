//! Rows that another version wrote, and this one cannot read.

use super::toy::{Input, Place, ToyEngine, deliver, limits, say, settle, state};
use crate::{Backlog, Limits};
use sqlx::{AssertSqlSafe, Row};

const FOREIGN: &str = r#"{"of": "another version"}"#;

async fn overwrite(engine: &ToyEngine, table_and_field: (&str, &str), key: &str) {
    let (table, field) = table_and_field;
    let mut session = engine.store.session().await.unwrap();
    let text = format!("UPDATE {table} SET {field} = $1 WHERE key = $2");
    let query = sqlx::query(AssertSqlSafe(text.as_str()));
    let changed = session.execute(query.bind(FOREIGN).bind(key));
    assert_eq!(changed.await.unwrap(), 1);
}

/// The tasks that wait, with their errors.
async fn waiting(engine: &ToyEngine) -> Vec<(String, String)> {
    let mut session = engine.store.session().await.unwrap();
    let rows = session.all(sqlx::query("SELECT key, error FROM task ORDER BY key"));
    let rows = rows.await.unwrap();
    rows.iter()
        .map(|row| (row.get("key"), row.get("error")))
        .collect()
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_set_aside_and_the_other_keys_go_on() {
    let place = Place::new();
    // What is set aside stays so, and the clock comes to rest.
    let aside = Limits {
        longest_backoff_ms: u64::MAX,
        ..limits()
    };
    let engine = place.open_with(aside).await;
    let later = |after_ms| Input::Later { after_ms, add: 1 };
    deliver(&engine, "1/1", "a", later(1_000)).await;
    deliver(&engine, "1/2", "b", later(1_000)).await;
    deliver(&engine, "1/3", "c", say("state")).await;
    deliver(&engine, "1/4", "d", say("work")).await;
    deliver(&engine, "1/5", "e", later(2_000)).await;
    deliver(&engine, "1/5", "f", say("fine")).await;
    overwrite(&engine, ("pull", "state"), "1/1").await;
    overwrite(&engine, ("task", "work"), "1/2").await;
    overwrite(&engine, ("pull", "state"), "1/3").await;
    overwrite(&engine, ("task", "work"), "1/4").await;
    settle(engine, &place.mouth(), &place.clock).await;

    let engine = place.open().await;
    let seen = state(&engine, "1/5").await.seen;
    assert_eq!(seen, ["later", "say fine", "said fine", "add 1"]);
    let waiting = waiting(&engine).await;
    let expected = [
        ("1/1", "the state of 1/1 in the store cannot be read"),
        ("1/2", "a timer of 1/2 in the store cannot be read"),
        ("1/3", "the state of 1/3 in the store cannot be read"),
        ("1/4", "an effect of 1/4 in the store cannot be read"),
    ];
    assert_eq!(waiting.len(), expected.len(), "{waiting:?}");
    for ((key, error), (of, begin)) in waiting.iter().zip(expected) {
        assert!(key == of && error.starts_with(begin), "{key}: {error}");
    }
    let Backlog {
        effects, timers, ..
    } = engine.backlog().await.unwrap();
    assert_eq!((effects, timers), (2, 2));
}

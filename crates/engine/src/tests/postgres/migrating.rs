use super::{open, shared};
use crate::EngineError;
use crate::location::Location;
use crate::migrations::MIGRATIONS;
use crate::store::Store;
use crate::tests::toy::{deliver, limits, say, state};
use futures_util::future::join_all;
use sqlx::Row;

/// A second version. Executed twice, it would fail.
const NEXT: &str = "CREATE TABLE note (key TEXT PRIMARY KEY, phase TEXT NOT NULL);
    INSERT INTO note SELECT key, phase FROM pull;
    ALTER TABLE pull ADD COLUMN note TEXT NOT NULL DEFAULT 'none'";

async fn connect(store: &str, migrations: &[&'static str]) -> crate::Result<Store> {
    Store::connect(Location::parse(store).unwrap(), None, migrations).await
}

/// Opens a store with several processes at the same time.
async fn together(store: &str, migrations: &[&'static str]) {
    for opened in join_all((0..8).map(|_| connect(store, migrations))).await {
        opened.unwrap().close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make engine-test installs the server"]
async fn processes_that_start_at_once_migrate_once() {
    let server = shared().await;
    let store = server.empty().await;
    together(&store, MIGRATIONS).await;
    let engine = open(&store, limits()).await;
    deliver(&engine, "1/7", "a", say("hello")).await;

    let newer = [MIGRATIONS, &[NEXT]].concat();
    together(&store, &newer).await;
    // The older process goes on, and no other older one is let in.
    deliver(&engine, "1/8", "b", say("hello")).await;
    let error = Store::open(&store).await.unwrap_err();
    assert!(matches!(error, EngineError::Newer { .. }), "{error:?}");
    let mut session = engine.store.session().await.unwrap();
    let query = sqlx::query("SELECT key, note FROM pull WHERE key IN (SELECT key FROM note)");
    let rows = session.all(query).await.unwrap();
    let rows: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.get("key"), row.get("note")))
        .collect();
    assert_eq!(rows, [("1/7", "none")]);
    assert_eq!(state(&engine, "1/7").await.seen, ["say hello"]);
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_migration_that_fails_leaves_the_store_as_it_was() {
    let server = shared().await;
    let store = server.empty().await;
    let engine = open(&store, limits()).await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let broken = [
        MIGRATIONS,
        &["DELETE FROM pull", "ALTER TABLE nothing ADD COLUMN x TEXT"],
    ];
    assert!(connect(&store, &broken.concat()).await.is_err());
    let engine = open(&store, limits()).await;
    assert_eq!(state(&engine, "1/7").await.seen, ["say hello"]);
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn texts_are_compared_byte_by_byte_whatever_the_database_prefers() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    let mut session = engine.store.session().await.unwrap();
    let query = sqlx::query(
        "SELECT COUNT(*) AS others FROM information_schema.columns
         WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'",
    );
    let row = session.optional(query).await.unwrap().unwrap();
    assert_eq!(row.get::<i64, _>("others"), 0);
    let words = sqlx::query("SELECT CAST(1 AS BIGINT) AS one WHERE 'a' < 'B'");
    let preferred = session.optional(words).await.unwrap();
    assert!(preferred.is_some(), "this database prefers another order");
}

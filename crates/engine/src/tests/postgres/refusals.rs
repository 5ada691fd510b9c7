use super::{open, shared};
use crate::store::Store;
use crate::tests::toy::{Input, deliver, limits};

async fn refused(store: &str) -> String {
    let error = Store::open(store).await.map(drop).unwrap_err();
    let text = error.to_string();
    for secret in ["correct", "horse", "guess", "secret"] {
        assert!(!text.contains(secret), "{text}");
    }
    text
}

/// Checks the beginning and the end of an error: what was wrong, and what to do.
fn says(text: &str, begin: &str, end: &str) {
    assert!(text.starts_with(begin), "{text}");
    assert!(text.ends_with(end), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_server_that_cannot_be_reached_is_named() {
    let nobody = refused("postgres://me:secret@127.0.0.1:1/life").await;
    says(
        &nobody,
        "the server of the store postgres://me:***@127.0.0.1:1/life cannot be reached (Connection refused",
        "check the host and the port, and that PostgreSQL accepts connections there",
    );
    let unknown = refused("postgres://me:secret@no-such-host.invalid/life").await;
    says(
        &unknown,
        "the server of the store postgres://me:***@no-such-host.invalid/life cannot be reached (",
        "accepts connections there",
    );
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_wrong_password_and_an_unknown_user_are_refused() {
    let server = shared().await;
    let end = "check the user and the password in the address, and pg_hba.conf of the server";
    for user in ["postgres", "nobody-here"] {
        let text = refused(&server.address(user, "guess", "postgres")).await;
        says(&text, "the server of the store postgres://", end);
        let said = format!("refuses the user (password authentication failed for user \"{user}\")");
        assert!(text.contains(&said), "{text}");
    }
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_missing_database_is_named() {
    let server = shared().await;
    let text = refused(&server.owned("no_such")).await;
    says(
        &text,
        "the database of the store postgres://",
        "does not exist (database \"no_such\" does not exist); create it with CREATE DATABASE, or name another one",
    );
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_user_needs_rights_for_tables_only_until_they_are_there() {
    let server = shared().await;
    let owned = server.empty().await;
    let database = owned.rsplit('/').next().unwrap();
    server
        .execute(database, "CREATE ROLE guest LOGIN PASSWORD 'secret'")
        .await;
    let guest = server.address("guest", "secret", database);
    let text = refused(&guest).await;
    says(
        &text,
        "the user of the store postgres://guest:***@",
        "lacks a right (permission denied for schema public); make the user the owner of the database, or GRANT CREATE ON SCHEMA public",
    );
    Store::open(&owned).await.unwrap().close().await;
    let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest";
    server.execute(database, grant).await;
    let engine = open(&guest, limits()).await;
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    drop(engine);
    server
        .execute(
            database,
            "ALTER ROLE guest SET default_transaction_read_only = on; UPDATE meta SET value = '0'",
        )
        .await;
    let text = refused(&guest).await;
    says(
        &text,
        "the server of the store postgres://guest:***@",
        "name the primary server, not a standby",
    );
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_server_without_tls_is_refused_where_the_address_asks_for_it() {
    let server = shared().await;
    let text = refused(&format!("{}?sslmode=require", server.owned("postgres"))).await;
    says(
        &text,
        "the server of the store postgres://",
        "set sslmode and sslrootcert in the address to what the server offers",
    );
}

#![expect(clippy::disallowed_methods, reason = "tests make files of their own")]

use super::toy::{Input, Place, Toy, close, deliver, limits, say, settle, state};
use crate::EngineError;
use crate::agents::Agent;
use crate::clock::SystemClock;
use crate::engine::Engine;
use crate::location::{Location, with_password};
use crate::migrations::MIGRATIONS;
use crate::sealed::{KeyRing, MasterKey};
use crate::store::Store;
use crate::tokens::{ApiToken, Role, TokenHash};
use secrecy::{ExposeSecret, SecretString};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

async fn refused(store: &str) -> EngineError {
    let clock = Arc::new(SystemClock::default());
    let opened = Engine::open(store, Toy, limits(), clock).await;
    opened.map(drop).unwrap_err()
}

#[tokio::test]
async fn a_second_service_on_a_file_is_refused_when_it_starts() {
    let place = Place::new();
    let engine = place.open().await;
    let error = refused(&place.name()).await;
    assert!(matches!(error, EngineError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains("in use by another process"));
    // A command may change rows meanwhile.
    assert!(place.rows().await.agents().await.unwrap().is_empty());
    close(engine).await;
    place.open().await;
}

#[tokio::test]
async fn a_second_service_on_another_name_of_the_file_is_refused() {
    let place = Place::new();
    let engine = place.open().await;
    let link = place.file().with_extension("link");
    std::os::unix::fs::symlink(place.file(), &link).unwrap();
    let error = refused(&format!("sqlite:{}", link.display())).await;
    assert!(matches!(error, EngineError::InUse { .. }), "{error:?}");
    close(engine).await;
}

#[tokio::test]
async fn a_file_that_another_program_writes_is_in_use() {
    let place = Place::new();
    close(place.open().await).await;
    let other = place.rows().await;
    let _writing = other.begin().await.unwrap();
    let error = refused(&place.name()).await;
    assert!(matches!(error, EngineError::InUse { .. }), "{error:?}");
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_left_alone() {
    let place = Place::new();
    let engine = place.open().await;
    let newer = sqlx::query("UPDATE meta SET value = '99'");
    let mut session = engine.store.session().await.unwrap();
    assert_eq!(session.execute(newer).await.unwrap(), 1);
    drop(session);
    close(engine).await;
    let error = refused(&place.name()).await.to_string();
    assert!(
        error.contains("schema 99, and this version knows 3"),
        "{error}"
    );
}

#[tokio::test]
async fn a_store_that_cannot_be_written_says_so_when_it_is_opened() {
    let place = Place::new();
    let missing = place.folder.path().join("none").join("life.db");
    let error = refused(missing.to_str().unwrap()).await;
    assert!(
        matches!(error, EngineError::NotWritable { .. }),
        "{error:?}"
    );
    let folder = place.folder.path().to_str().unwrap();
    let error = Store::open(folder).await.map(drop).unwrap_err();
    assert!(
        matches!(error, EngineError::NotWritable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let place = Place::new();
    let text = "a file of somebody else, longer than the head of a database: ".repeat(9);
    std::fs::write(place.file(), &text).unwrap();
    let error = refused(&place.name()).await;
    assert!(
        matches!(error, EngineError::NotADatabase { .. }),
        "{error:?}"
    );
    assert_eq!(std::fs::read_to_string(place.file()).unwrap(), text);
}

#[test]
fn a_password_is_added_to_the_address_of_a_server_that_has_none() {
    let with = |store: &str| {
        let added = with_password(store, &SecretString::from("p@ss/w:rd"));
        added.expose_secret().to_owned()
    };
    let escaped = "postgres://me:p%40ss%2Fw%3Ard@host/db?sslmode=require";
    assert_eq!(with("postgres://me@host/db?sslmode=require"), escaped);
    for other in [
        "postgres://me:own@host/db",
        "postgres://me@host/db?password=own",
        "/var/lib/life.db",
        "restate://host:1",
        "postgres://",
    ] {
        assert_eq!(with(other), other);
    }
}

#[tokio::test]
async fn an_unknown_store_is_refused_without_its_password() {
    for store in ["mysql://me:secret@host/db", "sqlite:", ""] {
        let error = refused(store).await;
        assert!(
            matches!(error, EngineError::UnknownStore { .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    let error = refused("postgres://me:secret@host/db?sslmode=verify-ca").await;
    assert!(matches!(error, EngineError::NoTls { .. }), "{error:?}");
    let location = Location::parse("postgres://me:secret@host/db?password=secret&sslmode=require");
    let location = location.unwrap();
    assert_eq!(
        location.name,
        "postgres://me:***@host/db?password=***&sslmode=require"
    );
    assert!(!format!("{location:?}").contains("secret"));
}

#[tokio::test]
async fn the_files_of_a_store_are_their_owners_only() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    let mut names = Vec::new();
    for file in std::fs::read_dir(place.folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.path().display());
        names.push(file.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(
        names,
        ["life.db", "life.db-lock", "life.db-shm", "life.db-wal"]
    );
}

#[tokio::test]
async fn a_path_with_any_characters_is_one_file() {
    let place = Place::new();
    let path = place.folder.path().join("a b?c=d%20#é.db");
    let store = Store::open(path.to_str().unwrap()).await.unwrap();
    store.close().await;
    assert!(path.is_file());
}

#[tokio::test]
async fn every_commit_of_a_file_is_durable() {
    let place = Place::new();
    let engine = place.open().await;
    let mut session = engine.store.session().await.unwrap();
    let row = session.optional(sqlx::query("PRAGMA synchronous")).await;
    let full: i64 = sqlx::Row::try_get(&row.unwrap().unwrap(), 0).unwrap();
    assert_eq!(full, 2);
}

#[tokio::test]
async fn a_filled_store_is_brought_to_a_newer_schema() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    close(engine).await;
    let newer = [
        MIGRATIONS,
        &["ALTER TABLE pull ADD COLUMN note TEXT NOT NULL DEFAULT 'none'"],
    ];
    let migrated = connect(&place, &newer.concat()).await.unwrap();
    let mut session = migrated.session().await.unwrap();
    let query = sqlx::query("SELECT note, state FROM pull WHERE key = '1/7'");
    let row = session.optional(query).await.unwrap().unwrap();
    let (note, state): (String, String) = (
        sqlx::Row::try_get(&row, "note").unwrap(),
        sqlx::Row::try_get(&row, "state").unwrap(),
    );
    assert_eq!(note, "none");
    assert!(state.contains("say hello"), "{state}");
    drop(session);
    migrated.close().await;
    let error = refused(&place.name()).await;
    assert!(matches!(error, EngineError::Newer { .. }), "{error:?}");
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_store_as_it_was() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    close(engine).await;
    let broken = [
        MIGRATIONS,
        &["DELETE FROM task", "ALTER TABLE nothing ADD COLUMN x TEXT"],
    ];
    assert!(connect(&place, &broken.concat()).await.is_err());
    let mouth = place.mouth();
    settle(place.open().await, &mouth, &place.clock).await;
    assert_eq!(mouth.texts(), ["hello"]);
}

#[tokio::test]
async fn a_command_does_not_migrate_below_a_running_service() {
    let place = Place::new();
    let engine = place.open().await;
    let newer = [MIGRATIONS, &["ALTER TABLE pull ADD COLUMN note TEXT"]];
    let error = connect(&place, &newer.concat()).await.unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error:?}");
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    assert_eq!(state(&engine, "1/7").await.total, 1);
}

async fn connect(place: &Place, migrations: &[&'static str]) -> crate::Result<Store> {
    Store::connect(Location::parse(&place.name()).unwrap(), None, migrations).await
}

fn ring() -> KeyRing {
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32)));
    KeyRing::new(key.unwrap(), Vec::new())
}

#[tokio::test]
async fn agents_are_kept_with_sealed_tokens() {
    let place = Place::new();
    let (store, ring) = (place.rows().await, ring());
    let token = SecretString::from("ghp_first");
    let agent = Agent {
        name: "quality".to_owned(),
        login: Some("octocat".to_owned()),
        token: Some(ring.seal("quality", &token).unwrap()),
        persona: "Reads tests first.".to_owned(),
        created: 5,
    };
    let persona = Agent {
        name: "product".to_owned(),
        login: None,
        token: None,
        ..agent.clone()
    };
    store.add_agent(&agent).await.unwrap();
    store.add_agent(&persona).await.unwrap();
    let error = store.add_agent(&agent).await.unwrap_err().to_string();
    assert!(error.contains("already an agent named quality"), "{error}");
    let second = ring.seal("quality", &SecretString::from("ghp_second"));
    let second = second.unwrap();
    assert!(store.rotate_agent("quality", &second).await.unwrap());
    assert!(!store.rotate_agent("nobody", &second).await.unwrap());
    let listed = store.agents().await.unwrap();
    assert_eq!(listed[0], persona);
    let opened = ring.open("quality", listed[1].token.as_ref().unwrap());
    assert_eq!(opened.unwrap().expose_secret(), "ghp_second");
    assert!(store.remove_agent("product").await.unwrap());
    assert!(!store.remove_agent("product").await.unwrap());
    store.close().await;
    let bytes = std::fs::read(place.file()).unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    assert!(has(b"octocat") && !has(b"ghp_"));
}

#[tokio::test]
async fn api_tokens_are_found_by_their_hash() {
    let place = Place::new();
    let store = place.rows().await;
    let (first, second) = (SecretString::from("first"), SecretString::from("second"));
    let token = ApiToken {
        name: "dashboard".to_owned(),
        hash: TokenHash::new(&first),
        role: Role::Read,
        created: 5,
    };
    store.add_token(&token).await.unwrap();
    assert!(store.add_token(&token).await.is_err());
    let found = store.token(&TokenHash::new(&first)).await.unwrap();
    assert_eq!(found.as_ref(), Some(&token));
    let hash = TokenHash::new(&second);
    assert!(store.rotate_token("dashboard", &hash).await.unwrap());
    assert_eq!(store.token(&TokenHash::new(&first)).await.unwrap(), None);
    assert_eq!(store.tokens().await.unwrap(), [ApiToken { hash, ..token }]);
    assert!(store.remove_token("dashboard").await.unwrap());
    assert!(store.tokens().await.unwrap().is_empty());
}

//! Stores that move from file to file. The suite over all engines has the other pairs.

use super::toy::{Input, Place, Words, close, deliver, limits, say, settle, state};
use crate::agents::Agent;
use crate::moving::{export, import};
use crate::sealed::{KeyRing, MasterKey};
use crate::tokens::{ApiToken, Role, TokenHash};
use crate::{CellChange, EngineError, Limits, Moved};
use secrecy::SecretString;
use std::io::{self, Cursor, Write};

fn slow(text: &str) -> Input {
    Input::Say(Words {
        text: text.to_owned(),
        slow: true,
        then: 0,
    })
}

/// A store with something of everything, whose service was stopped.
async fn filled() -> (Place, String) {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", Input::Add(4)).await;
    let later = Input::Later {
        after_ms: 5_000,
        add: 9,
    };
    deliver(&engine, "1/7", "b", later).await;
    deliver(&engine, "1/8", "c", slow("hello")).await;
    deliver(&engine, "1/8", "d", say("next")).await;
    let id = engine.store.id().await.unwrap();
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32)));
    let ring = KeyRing::new(key.unwrap(), Vec::new());
    let sealed = ring.seal("quality", &SecretString::from("ghp_secret"));
    let agent = Agent {
        name: "quality".to_owned(),
        login: Some("octocat".to_owned()),
        token: Some(sealed.unwrap()),
        persona: "Reads tests first.".to_owned(),
        created: 5,
    };
    engine.store.add_agent(&agent).await.unwrap();
    let token = ApiToken {
        name: "dash".to_owned(),
        hash: TokenHash::new(&SecretString::from("of the API")),
        role: Role::Operate,
        created: 6,
    };
    engine.store.add_token(&token).await.unwrap();
    let change = CellChange::Add("running");
    engine.store.change_cell("session/1", change).await.unwrap();
    close(engine).await;
    (place, id)
}

async fn exported(place: &Place) -> (Vec<u8>, Moved) {
    let mut bytes = Vec::new();
    let moved = export(&place.name(), &mut bytes).await.unwrap();
    (bytes, moved)
}

#[tokio::test]
async fn everything_goes_on_in_another_file_as_if_nothing_had_happened() {
    let (from, id) = filled().await;
    let (bytes, moved) = exported(&from).await;
    let expected = Moved {
        lives: 2,
        effects: 2,
        timers: 1,
        agents: 1,
        tokens: 1,
        cells: 1,
        deliveries: 4,
    };
    assert_eq!(moved, expected);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains("ghp_secret") && !text.contains("of the API"));

    let to = Place::new();
    let imported = import(&to.name(), &mut Cursor::new(bytes.clone())).await;
    assert_eq!(imported.unwrap(), expected);
    let lines = |bytes: Vec<u8>| -> Vec<String> {
        let text = String::from_utf8(bytes).unwrap();
        // The head has the time of the export, and the seal its hash.
        let lines = text.lines().map(str::to_owned).skip(1);
        lines.filter(|line| !line.starts_with("{\"end\"")).collect()
    };
    assert_eq!(lines(exported(&to).await.0), lines(bytes));

    let engine = to.open().await;
    assert_eq!(engine.store.id().await.unwrap(), id);
    assert!(deliver(&engine, "1/7", "a", Input::Add(4)).await.duplicate);
    let mouth = to.mouth();
    settle(engine, &mouth, &to.clock).await;
    let engine = to.open().await;
    assert_eq!(state(&engine, "1/7").await.total, 13);
    let seen = state(&engine, "1/8").await.seen;
    assert_eq!(seen, ["say hello", "say next", "said hello", "said next"]);
    assert_eq!(engine.replay("1/8").await.unwrap().unwrap().seen, seen);
}

#[tokio::test]
async fn a_store_with_a_service_is_neither_exported_nor_filled() {
    let (from, _) = filled().await;
    let (bytes, _) = exported(&from).await;
    let engine = from.open().await;
    let error = export(&from.name(), &mut Vec::new()).await.unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error}");
    close(engine).await;
    let to = Place::new();
    let engine = to.open().await;
    let refused = import(&to.name(), &mut Cursor::new(bytes.clone())).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, EngineError::InUse { .. }), "{error}");
    close(engine).await;
    // It was started and had nothing to do.
    import(&to.name(), &mut Cursor::new(bytes)).await.unwrap();
}

#[tokio::test]
async fn a_store_that_is_not_empty_keeps_what_it_has() {
    let (from, _) = filled().await;
    let (bytes, _) = exported(&from).await;
    let to = Place::new();
    let engine = to.open().await;
    deliver(&engine, "2/1", "z", Input::Add(1)).await;
    close(engine).await;
    let error = import(&to.name(), &mut Cursor::new(bytes)).await;
    let told = error.unwrap_err().to_string();
    let expected = "is not empty (pull requests: 1, deliveries: 1); name an empty one";
    assert!(told.contains(expected), "{told}");
    let engine = to.open().await;
    assert_eq!(state(&engine, "2/1").await.total, 1);
    assert!(engine.status("1/7").await.unwrap().is_none());
}

#[tokio::test]
async fn a_file_that_is_not_whole_makes_no_store() {
    let (from, _) = filled().await;
    let (mut bytes, _) = exported(&from).await;
    bytes.truncate(bytes.len() - 10);
    let to = Place::new();
    let error = import(&to.name(), &mut Cursor::new(bytes)).await;
    let error = error.unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert!(!to.file().exists());
}

#[tokio::test]
async fn a_store_that_is_not_there_is_not_made_by_an_export() {
    let place = Place::new();
    let error = export(&place.name(), &mut Vec::new()).await.unwrap_err();
    assert!(matches!(error, EngineError::Nothing { .. }), "{error}");
    assert!(!place.file().exists());
}

/// A disk that is full after so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_full_disk_ends_an_export_with_a_sentence() {
    let (from, _) = filled().await;
    let told = export(&from.name(), &mut Full(300))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        told.contains("the file cannot be read or written: "),
        "{told}"
    );
}

#[tokio::test]
async fn a_history_that_was_shortened_stays_so() {
    let place = Place::new();
    let short = Limits {
        history: 3,
        ..limits()
    };
    let engine = place.open_with(short).await;
    for n in 0..9 {
        deliver(&engine, "1/7", &format!("d{n}"), Input::Add(n)).await;
    }
    engine.purge().await.unwrap();
    close(engine).await;
    let to = Place::new();
    let (bytes, _) = exported(&place).await;
    import(&to.name(), &mut Cursor::new(bytes)).await.unwrap();
    let engine = to.open_with(short).await;
    let entries = engine.history("1/7", 100).await.unwrap();
    assert_eq!(
        entries.iter().map(|one| one.n).collect::<Vec<_>>(),
        [7, 8, 9]
    );
    assert_eq!(state(&engine, "1/7").await.total, 36);
    assert_eq!(engine.replay("1/7").await.unwrap(), None);
}

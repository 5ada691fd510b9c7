//! Stores that move: half of a sequence on one engine, the rest on another, as if nothing had happened.

use crate::memory::Memory;
use crate::model::{Dice, Plan};
#[cfg(feature = "restate")]
use crate::restate::Restate;
use crate::sql::{Postgres, Sqlite};
use crate::stage::{Stage, limits};
use crate::subject::{Node, Subject};
use crate::table::Choice;
use reviewer_engine::agents::Agent;
use reviewer_engine::moving::{export, import};
use reviewer_engine::sealed::{KeyRing, MasterKey};
use reviewer_engine::tokens::{ApiToken, Role, TokenHash};
use reviewer_engine::{EngineError, Store};
use secrecy::SecretString;
use serde_json::Value;
use std::io::Cursor;
use std::time::Duration;

const CELL: &str = "session/1";

/// Moves a store to each engine that takes part, its own kind included.
pub(crate) async fn to_all<S: Subject>(from: &S, choice: &Choice) {
    let mut seed = choice.first();
    let mut next = || {
        seed += 1;
        seed
    };
    if choice.has(Sqlite::NAME) {
        to(from, &Sqlite::start().await.unwrap(), next()).await;
    }
    if choice.has(Postgres::NAME) {
        to(from, &Postgres::start().await.unwrap(), next()).await;
    }
    #[cfg(feature = "restate")]
    if choice.has(Restate::NAME) {
        to(from, &Restate::start().await.unwrap(), next()).await;
    }
    assert_ne!(S::NAME, Memory::NAME);
}

async fn to<S: Subject, T: Subject>(from: &S, other: &T, seed: u64) {
    let mut dice = Dice::new(seed);
    let plan = Plan::draw(&mut dice, 16);
    let (first, second) = plan.inputs.split_at(plan.inputs.len() / 2);

    let stage = Stage::<S>::set(from, limits()).await;
    stage.deliver_all(first).await;
    assert!(stage.node(0).change_cell(CELL, 0, Some("waits")).await);
    assert!(stage.node(0).change_cell(CELL, 1, Some("runs")).await);
    let agent = agent();
    let rows = Store::open(&stage.store).await.unwrap();
    let id = rows.id().await.unwrap();
    rows.add_agent(&agent).await.unwrap();
    rows.add_token(&token()).await.unwrap();
    rows.close().await;
    // Something has ended, something has not.
    let working = stage.work();
    tokio::time::sleep(Duration::from_millis(dice.below(60))).await;
    stage.stop(working).await;
    let (folder, old) = stage.leave().await;
    let (file, moved) = exported(&old).await;
    from.remove(&old).await;

    let new = other.empty().await;
    let imported = import(&new, &mut Cursor::new(&file)).await;
    assert_eq!(imported.unwrap(), moved, "{} to {}", S::NAME, T::NAME);
    let again = import(&new, &mut Cursor::new(&file)).await.unwrap_err();
    assert!(matches!(again, EngineError::NotEmpty { .. }), "{again}");
    let (file_again, _) = exported(&new).await;
    let (told, expected) = (lines(&file_again), lines(&file));
    assert_eq!(told.len(), expected.len(), "{} to {}", S::NAME, T::NAME);
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected, "{} to {}", S::NAME, T::NAME);
    }

    let stage = Stage::<T>::at(new.clone(), folder, limits()).await;
    let rows = Store::open(&new).await.unwrap();
    assert_eq!(rows.id().await.unwrap(), id);
    assert_eq!(rows.agents().await.unwrap(), [agent]);
    assert_eq!(rows.tokens().await.unwrap(), [token()]);
    rows.close().await;
    assert_eq!(stage.node(0).cell(CELL).await, Some((2, "runs".to_owned())));
    let working = stage.work();
    for given in first {
        let answer = stage
            .node(1)
            .deliver(&given.key, &given.id, &given.input)
            .await;
        assert_eq!(answer, Ok(true), "{} to {}: {given:?}", S::NAME, T::NAME);
    }
    stage.deliver_all(second).await;
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&plan.inputs, 0).await;
    stage.close().await;
    other.remove(&new).await;
}

async fn exported(store: &str) -> (Vec<u8>, reviewer_engine::Moved) {
    let mut file = Vec::new();
    let moved = export(store, &mut file).await.unwrap();
    (file, moved)
}

/// Everything that a file says about a store. The times of the export and of deliveries are the engine's own.
fn lines(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut lines: Vec<Value> = lines
        .filter(|line: &Value| line.get("end").is_none())
        .map(|mut line| {
            for place in ["/at", "/delivery/at"] {
                line.pointer_mut(place).map(Value::take);
            }
            line
        })
        .collect();
    lines.sort_by_key(ToString::to_string);
    lines
}

fn agent() -> Agent {
    let key = MasterKey::parse(&SecretString::from("ab".repeat(32)));
    let ring = KeyRing::new(key.unwrap(), Vec::new());
    let token = ring.seal("quality", &SecretString::from("ghp_secret"));
    Agent {
        name: "quality".to_owned(),
        login: Some("octocat".to_owned()),
        token: Some(token.unwrap()),
        persona: "Reads tests first: \"always\".".to_owned(),
        created: 5,
    }
}

fn token() -> ApiToken {
    ApiToken {
        name: "dash".to_owned(),
        hash: TokenHash::new(&SecretString::from("of the API")),
        role: Role::Operate,
        created: 6,
    }
}

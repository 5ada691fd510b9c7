//! Stores of earlier versions, filled as those versions filled them: this one brings them to its schema, however many processes open
//! them at once, and everything in them goes on.

use crate::model::Given;
use crate::stage::{Stage, limits};
use crate::subject::{Node, Subject};
use crate::toy::{Input, Sum, Words, say};
use reviewer_engine::Store;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe, Connection};
use std::path::Path;
use std::sync::Arc;

const KEYS: usize = 40;

/// Fills a store of each earlier version, and goes on with it.
pub(crate) async fn of_earlier_versions<S: Subject>(subject: &S) {
    let migrations = migrations();
    for version in 1..migrations.len() {
        goes_on(subject, &migrations[..version]).await;
    }
}

/// The statements of all versions, in their order.
fn migrations() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let read = |version: u32| std::fs::read_to_string(folder.join(format!("{version}.sql"))).ok();
    let all: Vec<String> = (1..).map_while(read).collect();
    assert_eq!(all.len(), std::fs::read_dir(&folder).unwrap().count());
    all
}

async fn goes_on<S: Subject>(subject: &S, migrations: &[String]) {
    let store = subject.empty().await;
    let inputs: Vec<Given> = (0..KEYS).flat_map(inputs).collect();
    fill(&store, migrations).await;

    let folder = Arc::new(tempfile::tempdir().unwrap());
    let stage = Stage::<S>::at(store.clone(), folder, limits()).await;
    for given in &inputs {
        let answer = stage
            .node(1)
            .deliver(&given.key, &given.id, &given.input)
            .await;
        assert_eq!(answer, Ok(true), "{given:?}");
    }
    assert!(stage.node(0).change_cell("session/1", 0, Some("new")).await);
    let working = stage.work();
    stage.settled().await;
    stage.stop(working).await;
    stage.judge(&inputs, 0).await;
    let rows = Store::open(&store).await.unwrap();
    assert_eq!(rows.id().await.unwrap(), "0a1b2c");
    let (agents, tokens) = (rows.agents().await.unwrap(), rows.tokens().await.unwrap());
    assert_eq!(
        (agents[0].name.as_str(), agents[0].login.as_deref()),
        ("quality", Some("octocat"))
    );
    assert_eq!(tokens[0].name, "dash");
    rows.close().await;
    stage.close().await;
    subject.remove(&store).await;
}

/// A sentence to be said, and a timer.
fn inputs(key: usize) -> [Given; 2] {
    let given = |what: &str, input| Given {
        key: format!("1/{key}"),
        id: format!("{what}{key}"),
        input,
    };
    let later = Input::Later {
        after_ms: 1_000,
        add: 5,
    };
    [given("say", say("a")), given("later", later)]
}

/// Writes what the version of these migrations wrote: both inputs were stepped, the sentence was not said, and the timer is overdue.
async fn fill(store: &str, migrations: &[String]) {
    sqlx::any::install_default_drivers();
    let is_postgres = store.starts_with("postgres");
    let address = if is_postgres {
        store.to_owned()
    } else {
        format!("sqlite://{store}?mode=rwc")
    };
    let mut connection = AnyConnection::connect(&address).await.unwrap();
    let meta = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)".to_owned();
    for statements in [&meta].into_iter().chain(migrations) {
        let statements = if is_postgres {
            statements.replace(" TEXT", " TEXT COLLATE \"C\"")
        } else {
            statements.clone()
        };
        let done = sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection);
        done.await.unwrap();
    }
    let meta =
        sqlx::query("INSERT INTO meta (name, value) VALUES ('schema', $1), ('store', '0a1b2c')");
    insert(&mut connection, meta.bind(migrations.len().to_string())).await;
    let agent = sqlx::query(
        "INSERT INTO agent (name, login, sealed, persona, created) VALUES ('quality', 'octocat', NULL, '', 5)",
    );
    insert(&mut connection, agent).await;
    let token = sqlx::query(
        "INSERT INTO token (name, hash, role, created) VALUES ('dash', '00ff', 'read', 5)",
    );
    insert(&mut connection, token).await;
    for key in 0..KEYS {
        fill_key(&mut connection, key).await;
    }
    connection.close().await.unwrap();
}

/// Long ago, but the inbox keeps its rows for days.
fn then() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_millis()).unwrap() - 60_000
}

async fn fill_key(connection: &mut AnyConnection, number: usize) {
    let (key, at) = (format!("1/{number}"), then());
    let words = ["say a", "later"];
    let state = Sum {
        next: 2,
        total: 0,
        seen: words.map(str::to_owned).to_vec(),
    };
    let pull = sqlx::query(
        "INSERT INTO pull (key, version, state, phase, changed) VALUES ($1, 2, $2, 'solvent', $3)",
    );
    let state = serde_json::to_string(&state).unwrap();
    insert(connection, pull.bind(key.clone()).bind(state).bind(at)).await;
    for ((n, given), word) in (1_i64..).zip(inputs(number)).zip(words) {
        let delivery = format!("event:{}", given.id);
        let inbox = sqlx::query("INSERT INTO inbox (delivery, key, at) VALUES ($1, $2, $3)");
        insert(
            connection,
            inbox.bind(delivery.clone()).bind(key.clone()).bind(at),
        )
        .await;
        let history = sqlx::query(
            "INSERT INTO history (key, n, at, delivery, input, log, phase) VALUES ($1, $2, $3, $4, $5, $6, 'solvent')",
        );
        let input = serde_json::to_string(&given.input).unwrap();
        let log = serde_json::to_string(&[word]).unwrap();
        let history = history.bind(key.clone()).bind(n).bind(at).bind(delivery);
        insert(connection, history.bind(input).bind(log)).await;
    }
    let said = Words {
        text: "a".to_owned(),
        slow: false,
        then: 0,
    };
    let planned = [
        (1_i64, 0_i64, serde_json::to_string(&said).unwrap()),
        (2, 1, serde_json::to_string(&Input::Add(5)).unwrap()),
    ];
    for (seq, timer, work) in planned {
        let task = sqlx::query(
            "INSERT INTO task (id, key, seq, timer, lane, work, created, due, attempt, owner, error)
             VALUES ($1, $2, $3, $4, 0, $5, $6, $7, 0, '', '')",
        );
        let task = task
            .bind(format!("{key}/{seq}"))
            .bind(key.clone())
            .bind(seq);
        let task = task.bind(timer).bind(work).bind(at);
        insert(connection, task.bind(at + 1_000 * timer)).await;
    }
}

async fn insert(connection: &mut AnyConnection, statement: Query<'_, Any, AnyArguments>) {
    assert!(statement.execute(connection).await.unwrap().rows_affected() > 0);
}

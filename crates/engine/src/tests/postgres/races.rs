use super::{WAITING, open, shared, until};
use crate::limits::after;
use crate::machine::Lane;
use crate::queue::{self, Lease, Task};
use crate::session::Session;
use crate::tests::toy::{Input, ToyEngine, answer, deliver, limits, say, state};
use crate::worker::done;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Mutex;

async fn take(engine: &ToyEngine, session: &mut Session, most: usize) -> Vec<Task> {
    with(engine, &engine.lease_statement, session, most).await
}

async fn with(
    engine: &ToyEngine,
    statement: &str,
    session: &mut Session,
    most: usize,
) -> Vec<Task> {
    let now = engine.now(session).await.unwrap();
    let lease = Lease {
        statement,
        owner: &engine.owner,
        now,
        until: after(now, 60_000),
    };
    lease.take(session, Lane::Fast, most).await.unwrap()
}

fn ids(tasks: &[Task]) -> Vec<String> {
    tasks.iter().map(|task| task.id.to_string()).collect()
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn nobody_waits_for_a_lease_that_another_process_is_taking() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    deliver(&engine, "1/7", "a", say("first")).await;
    deliver(&engine, "1/7", "b", say("second")).await;
    deliver(&engine, "1/8", "c", say("other")).await;
    let mut other = engine.store.begin().await.unwrap();
    let first = take(&engine, &mut other, 1).await;
    assert_eq!(ids(&first), ["1/7/1"]);
    let mut session = engine.store.session().await.unwrap();
    assert_eq!(ids(&take(&engine, &mut session, 9).await), ["1/8/1"]);
    other.commit().await.unwrap();
    assert!(take(&engine, &mut session, 9).await.is_empty());

    let mut other = engine.store.begin().await.unwrap();
    assert!(queue::remove(&mut other, &first[0]).await.unwrap());
    assert!(take(&engine, &mut session, 9).await.is_empty());
    other.commit().await.unwrap();
    assert_eq!(ids(&take(&engine, &mut session, 9).await), ["1/7/2"]);
}

/// The acts of other processes between the snapshot of a lease statement and the first row that it locks.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    Leased,
    Ended,
    GivenBack,
}

/// The statement waits for a lock of the test after its snapshot was taken, and then goes on with what it saw.
async fn late(meanwhile: Meanwhile) -> Vec<(String, i64)> {
    let server = shared().await;
    let store = server.empty().await;
    let (engine, slow) = (open(&store, limits()).await, open(&store, limits()).await);
    deliver(&engine, "1/7", "a", say("first")).await;
    deliver(&engine, "1/7", "b", say("second")).await;
    let mut gate = engine.store.begin().await.unwrap();
    gate.script("SELECT pg_advisory_xact_lock(7)")
        .await
        .unwrap();
    let late = tokio::spawn(async move {
        let waits =
            "t.timer = 0 AND (SELECT COUNT(*) FROM (SELECT pg_advisory_xact_lock(7)) gate) = 1
               AND NOT EXISTS";
        let statement =
            slow.lease_statement
                .replacen("t.timer = 0\n               AND NOT EXISTS", waits, 1);
        assert_ne!(statement, slow.lease_statement);
        let mut session = slow.store.session().await.unwrap();
        with(&slow, &statement, &mut session, 9).await
    });
    until(&engine.store, WAITING).await;
    let mut session = engine.store.session().await.unwrap();
    let first = take(&engine, &mut session, 9).await;
    assert_eq!(ids(&first), ["1/7/1"]);
    match meanwhile {
        Meanwhile::Leased => {}
        Meanwhile::Ended => assert!(queue::remove(&mut session, &first[0]).await.unwrap()),
        Meanwhile::GivenBack => {
            assert!(
                queue::postpone(&mut session, &first[0], 0, "")
                    .await
                    .unwrap()
            );
        }
    }
    gate.commit().await.unwrap();
    let taken = late.await.unwrap();
    taken
        .iter()
        .map(|task| (task.id.to_string(), task.attempt))
        .collect()
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_lease_statement_with_an_old_snapshot_takes_nothing_that_it_must_not() {
    assert_eq!(late(Meanwhile::Leased).await, []);
    // The second effect may begin now, but this snapshot still has the first one before it.
    assert_eq!(late(Meanwhile::Ended).await, []);
    let again = [("1/7/1".to_owned(), 2)];
    assert_eq!(late(Meanwhile::GivenBack).await, again);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "make engine-test installs the server"]
async fn processes_that_lease_at_the_same_time_share_the_effects_in_their_order() {
    let server = shared().await;
    let store = server.empty().await;
    let engine = open(&store, limits()).await;
    for n in 0..120 {
        deliver(
            &engine,
            &format!("1/{}", n % 40),
            &format!("d{n}"),
            say("x"),
        )
        .await;
    }
    let taken: Arc<Mutex<BTreeMap<String, Vec<u64>>>> = Arc::default();
    let workers = (0..6).map(|_| {
        let (engine, taken) = (Arc::clone(&engine), Arc::clone(&taken));
        tokio::spawn(async move {
            loop {
                let mut session = engine.store.session().await.unwrap();
                let tasks = take(&engine, &mut session, 4).await;
                assert!(tasks.len() <= 4, "{tasks:?}");
                for task in tasks {
                    let mut taken = taken.lock().await;
                    taken
                        .entry(task.id.key.clone())
                        .or_default()
                        .push(task.id.seq);
                    drop(taken);
                    assert!(queue::remove(&mut session, &task).await.unwrap());
                }
                if engine.backlog().await.unwrap().effects == 0 {
                    return;
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let taken = taken.lock().await;
    assert_eq!(taken.len(), 40);
    assert!(taken.values().all(|seqs| *seqs == [1, 2, 3]), "{taken:?}");
}

/// The planner is free to choose. Here it is led to join the rows one by one with what is to be leased.
#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_lease_statement_takes_no_more_than_it_may_whatever_the_planner_chooses() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    for n in 0..30 {
        deliver(&engine, &format!("1/{n}"), &format!("d{n}"), say("x")).await;
    }
    let mut session = engine.store.session().await.unwrap();
    session
        .script(
            "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_hashagg = off; SET enable_sort = off;
             SET enable_material = off; SET enable_memoize = off; SET enable_indexscan = off; SET enable_bitmapscan = off;
             SET enable_indexonlyscan = off",
        )
        .await
        .unwrap();
    let mut all = 0;
    for _ in 0..6 {
        let taken = take(&engine, &mut session, 4).await.len();
        assert!(taken <= 4, "{taken} taken");
        all += taken;
    }
    assert_eq!(all, 24);
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_heartbeat_that_comes_after_the_task_was_given_back_does_not_lease_it_again() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    deliver(&engine, "1/7", "a", say("first")).await;
    let mut session = engine.store.session().await.unwrap();
    let task = take(&engine, &mut session, 9).await.remove(0);
    assert!(queue::heartbeat(&mut session, &task, 5).await.unwrap());
    let given_back = queue::postpone(&mut session, &task, 0, "busy").await;
    assert!(given_back.unwrap());
    let late = queue::heartbeat(&mut session, &task, i64::MAX).await;
    assert!(!late.unwrap());
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_deadlock_is_survived() {
    let server = shared().await;
    let store = server.empty().await;
    let engine = open(&store, limits()).await;
    deliver(&engine, "1/7", "a", Input::Add(1)).await;
    let mut other = engine.store.begin().await.unwrap();
    // The other transaction never looks for deadlocks, so the engine's is the one that is ended.
    other
        .script("SET LOCAL deadlock_timeout = '1h'; SELECT key FROM pull FOR UPDATE")
        .await
        .unwrap();
    let delivering = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { deliver(&engine, "1/7", "b", Input::Add(1)).await }
    });
    until(&engine.store, WAITING).await;
    other
        .script("INSERT INTO inbox (delivery, key, at) VALUES ('event:b', '1/7', 0)")
        .await
        .unwrap();
    drop(other);
    let answer = delivering.await.unwrap();
    assert!(!answer.duplicate, "the other transaction was rolled back");
    assert_eq!(state(&engine, "1/7").await.total, 2);
    let mut session = engine.store.session().await.unwrap();
    let question = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    drop(session.script("SELECT pg_stat_clear_snapshot()").await);
    until(&engine.store, question).await;
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn a_serialization_failure_is_survived() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    // A sequence does not go back with its transaction, so only the first three attempts fail.
    let mut session = engine.store.session().await.unwrap();
    session
        .script(
            "CREATE SEQUENCE attempts;
             CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('attempts') <= 3 THEN RAISE SQLSTATE '40001'; END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER fail BEFORE INSERT ON history FOR EACH ROW EXECUTE FUNCTION fail()",
        )
        .await
        .unwrap();
    drop(session);
    let answer = deliver(&engine, "1/7", "a", Input::Add(3)).await;
    assert!(!answer.duplicate);
    assert_eq!(state(&engine, "1/7").await.total, 3);
}

#[tokio::test]
#[ignore = "make engine-test installs the server"]
async fn an_outcome_and_an_input_that_hurries_its_key_lock_in_one_order() {
    let server = shared().await;
    let engine = open(&server.empty().await, limits()).await;
    deliver(&engine, "1/7", "a", say("first")).await;
    let mut session = engine.store.session().await.unwrap();
    let task = take(&engine, &mut session, 1).await.remove(0);
    let now = engine.now(&mut session).await.unwrap();
    // An input has locked the key. It is the one that a deadlock would end.
    let mut input = engine.store.begin().await.unwrap();
    input
        .script("SET LOCAL deadlock_timeout = '1ms'")
        .await
        .unwrap();
    let lock = sqlx::query(input.dialect.lock_key);
    input.optional(lock.bind("1/7").bind(now)).await.unwrap();
    let ending = {
        let engine = Arc::clone(&engine);
        let outcome = answer(serde_json::from_str(&task.work).unwrap());
        tokio::spawn(async move { done(&engine, &task, Some(outcome)).await })
    };
    until(&engine.store, WAITING).await;
    queue::hurry(&mut input, "1/7", now).await.unwrap();
    input.commit().await.unwrap();
    ending.await.unwrap().unwrap();
    assert!(take(&engine, &mut session, 9).await.is_empty());
}

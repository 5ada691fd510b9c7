use super::toy::{Input, Place, ToyEngine, deliver, say};
use crate::{CellChange, Recent, Waiting};

/// The keys of a page, and the end after which the next one begins.
async fn page(
    engine: &ToyEngine,
    phase: Option<&str>,
    before: Option<(i64, String)>,
) -> (Vec<String>, Option<(i64, String)>) {
    let wanted = Recent {
        phase: phase.map(str::to_owned),
        before,
        most: 2,
    };
    let listed = engine.recent(&wanted).await.unwrap();
    let end = listed.last().map(|one| (one.changed, one.key.clone()));
    (listed.into_iter().map(|one| one.key).collect(), end)
}

/// All pages, one after the other.
async fn pages(engine: &ToyEngine, phase: Option<&str>) -> Vec<String> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let (keys, end) = page(engine, phase, before).await;
        if keys.is_empty() {
            return all;
        }
        all.extend(keys);
        before = end;
    }
}

#[tokio::test]
async fn the_keys_that_changed_last_come_first_page_by_page() {
    let place = Place::new();
    let engine = place.open().await;
    // The clock stands still, so some of them have one time.
    for (n, amount) in [(1, 5), (2, -5), (3, 5), (4, -5), (5, 5)] {
        deliver(
            &engine,
            &format!("1/{n}"),
            &format!("d{n}"),
            Input::Add(amount),
        )
        .await;
    }
    assert_eq!(
        pages(&engine, None).await,
        ["1/5", "1/4", "1/3", "1/2", "1/1"]
    );
    assert_eq!(pages(&engine, Some("owing")).await, ["1/4", "1/2"]);
    assert!(pages(&engine, Some("' OR 1 = 1")).await.is_empty());
}

#[tokio::test]
async fn many_states_and_cells_are_one_question_each() {
    let place = Place::new();
    let engine = place.open().await;
    for n in 1..=3 {
        deliver(&engine, &format!("1/{n}"), &format!("d{n}"), Input::Add(n)).await;
        let name = format!("spent/1/{n}");
        let added = engine.store.change_cell(&name, CellChange::Add("x")).await;
        assert!(added.unwrap());
    }
    let keys = ["1/3", "1/1", "1/9", "it's"].map(str::to_owned);
    let before = engine.counts().statements;
    let mut states = engine.states(&keys).await.unwrap();
    states.sort_by(|one, other| one.0.cmp(&other.0));
    let states: Vec<(String, i64)> = states
        .into_iter()
        .map(|(key, one)| (key, one.state.total))
        .collect();
    assert_eq!(states, [("1/1".to_owned(), 1), ("1/3".to_owned(), 3)]);
    let names = ["spent/1/2", "spent/1/9", "it's"].map(str::to_owned);
    let cells = engine.store.cells_named(&names).await.unwrap();
    assert_eq!(cells.len(), 1);
    assert_eq!((cells[0].name.as_str(), cells[0].version), ("spent/1/2", 1));
    assert_eq!(engine.counts().statements - before, 2);
    assert!(engine.states(&[]).await.unwrap().is_empty());
    assert!(engine.store.cells_named(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_waits_for_a_key_is_told_in_its_order() {
    let place = Place::new();
    let engine = place.open().await;
    deliver(&engine, "1/7", "a", say("hello")).await;
    let later = Input::Later {
        after_ms: 60_000,
        add: 1,
    };
    deliver(&engine, "1/7", "b", later).await;
    deliver(&engine, "1/8", "c", say("hello")).await;
    let waiting = engine.waiting("1/7", 10).await.unwrap();
    let told: Vec<(u64, bool)> = waiting.iter().map(|one| (one.seq, one.is_timer)).collect();
    assert_eq!(told, [(1, false), (2, true)]);
    let [effect, timer]: [Waiting; 2] = waiting.try_into().unwrap();
    assert!(effect.work.contains("hello"), "{}", effect.work);
    assert_eq!((effect.attempts, effect.due), (Some(0), None));
    assert_eq!(
        (timer.due, timer.attempts),
        (Some(timer.created + 60_000), None)
    );
    assert_eq!(engine.waiting("1/7", 1).await.unwrap().len(), 1);
}

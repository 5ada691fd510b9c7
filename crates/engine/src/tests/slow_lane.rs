use super::toy::{Input, Place, Words, deliver, limits, say, settle};
use crate::Limits;

fn slow(text: &str) -> Input {
    Input::Say(Words {
        text: text.to_owned(),
        slow: true,
        then: 0,
    })
}

#[tokio::test]
async fn a_flood_in_the_slow_lane_starts_one_effect_per_fast_one() {
    let place = Place::new();
    let limits = Limits {
        at_once: 1,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    for n in 0..12 {
        deliver(&engine, &format!("1/{n}"), &format!("s{n}"), slow("slow")).await;
    }
    for n in 0..4 {
        deliver(&engine, &format!("2/{n}"), &format!("f{n}"), say("fast")).await;
    }
    let mouth = place.mouth();
    settle(engine, &mouth, &place.clock).await;
    let texts = mouth.texts();
    assert_eq!(texts.len(), 16);
    let mut ahead = 0;
    for (n, text) in texts.iter().enumerate() {
        let fast_wait = texts[n..].iter().any(|text| text == "fast");
        ahead = if text == "slow" { ahead + 1 } else { 0 };
        assert!(!fast_wait || ahead <= 1, "{texts:?}");
    }
    assert_eq!(texts[0], "fast", "the older slow ones do not go first");
}

#[tokio::test]
async fn a_fast_effect_does_not_wait_behind_the_slow_lane_for_its_own_key() {
    let place = Place::new();
    let limits = Limits {
        at_once: 1,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    for n in 0..6 {
        deliver(&engine, &format!("1/{n}"), &format!("s{n}"), slow("slow")).await;
    }
    deliver(&engine, "1/5", "f", say("fast")).await;
    let mouth = place.mouth();
    settle(engine, &mouth, &place.clock).await;
    let texts = mouth.texts();
    let place = texts.iter().position(|text| text == "fast").unwrap();
    // The slow one of its own key, at most one of another key for each of the two.
    assert!(place <= 3, "{texts:?}");
}

#[tokio::test]
async fn an_input_that_hurries_makes_the_waiting_effect_of_its_key_fast() {
    let place = Place::new();
    let limits = Limits {
        at_once: 1,
        ..limits()
    };
    let engine = place.open_with(limits).await;
    for n in 0..6 {
        let key = format!("1/{n}");
        deliver(&engine, &key, &format!("s{n}"), slow(&format!("slow {n}"))).await;
    }
    deliver(&engine, "1/5", "a", Input::Add(1)).await;
    let mouth = place.mouth();
    settle(engine, &mouth, &place.clock).await;
    let texts = mouth.texts();
    let place = texts.iter().position(|text| text == "slow 5").unwrap();
    assert!(place <= 1, "{texts:?}");
    assert_eq!(texts.len(), 6);
}

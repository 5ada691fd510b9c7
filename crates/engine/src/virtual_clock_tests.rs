use super::*;

#[tokio::test]
async fn the_clock_jumps_to_the_earliest_deadline_when_everybody_sleeps() {
    let clock = VirtualClock::new(100);
    let (one, two) = (clock.clone(), clock.clone());
    let holds = (clock.hold(), clock.hold());
    let late = tokio::spawn(async move {
        one.sleep_until(5_000).await;
        let now = one.now_ms();
        drop(holds.0);
        now
    });
    let early = tokio::spawn(async move {
        two.sleep_until(300).await;
        let now = two.now_ms();
        drop(holds.1);
        now
    });
    assert_eq!(early.await.unwrap(), 300);
    assert_eq!(late.await.unwrap(), 5_000);
    clock.settled().await;
}

#[tokio::test]
async fn the_clock_stands_still_while_somebody_works() {
    let clock = VirtualClock::new(0);
    let (working, sleeping) = (clock.hold(), clock.hold());
    let sleeper = clock.clone();
    let asleep = tokio::spawn(async move {
        sleeper.sleep_until(10).await;
        drop(sleeping);
    });
    tokio::task::yield_now().await;
    assert_eq!(clock.now_ms(), 0);
    drop(working);
    asleep.await.unwrap();
    assert_eq!(clock.now_ms(), 10);
}

#[tokio::test]
async fn a_sleep_that_is_given_up_is_work_again() {
    let clock = VirtualClock::new(0);
    let (_me, other) = (clock.hold(), clock.hold());
    {
        let mut sleep = clock.sleep_until(50);
        tokio::select! {
            biased;
            () = &mut sleep => panic!("the other one works"),
            () = std::future::ready(()) => {}
        }
    }
    drop(other);
    assert_eq!(clock.now_ms(), 0);
}

#[tokio::test]
async fn a_clock_that_is_moved_by_hand_wakes_whom_it_passes() {
    let clock = VirtualClock::new(0);
    let (_busy, hold) = (clock.hold(), clock.hold());
    let sleeper = clock.clone();
    let asleep = tokio::spawn(async move {
        let _hold = hold;
        sleeper.sleep_until(10).await;
        sleeper.now_ms()
    });
    tokio::task::yield_now().await;
    clock.advance(25);
    assert_eq!(asleep.await.unwrap(), 25);
}

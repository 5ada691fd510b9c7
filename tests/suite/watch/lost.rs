//! Sidecars that are killed, stopped, deaf or forgetful, with the quick one.

use super::{complete, incomplete, once, quick, reviews, signal};
use crate::dice::Dice;
use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::standin::model::{Answer, Call, Script};
use crate::standin::world::World;
use http::Method;
use nix::sys::signal::Signal;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// A world without a model, and where to find its sidecar.
fn world() -> (World, PathBuf) {
    let world = World::shop(Script::new());
    let temporary = world.temporary();
    (world, temporary)
}

fn call(name: &str) -> Vec<Call> {
    vec![Call::new(name, json!({}))]
}

#[test]
fn o3_a_sidecar_that_is_killed_is_replaced_and_the_session_goes_on() {
    let (world, at) = world();
    let kill = once(move || signal(&at, Signal::SIGKILL));
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| vec![post(layer_bypassed(7))])
        .pass(2, kill)
        .pass(2, |request| {
            let prompt = request.last_user();
            assert!(prompt.starts_with("OpenCode was restarted"), "{prompt}");
            assert!(prompt.contains("new-2 src/ui/cart.ts"), "{prompt}");
            assert!(
                !request.is_first(),
                "the conversation is the one that it was"
            );
            Vec::new()
        });
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    let warnings = ran.annotations("warning").join("\n");
    assert!(
        warnings.contains("signal: 9 (SIGKILL)")
            && warnings
                .contains("in pass 2 of 4. It was started again, and went on in the same session."),
        "{warnings}"
    );
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_without_its_memory_the_pass_begins_anew_and_nothing_is_said_twice() {
    let (world, at) = world();
    let kill = once(move || signal(&at, Signal::SIGKILL));
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| vec![post(layer_bypassed(7))])
        .pass(2, |_| call("sidecar_forget"))
        .pass(2, kill)
        .pass(3, |request| {
            let first = request.messages()[1]["content"].to_string();
            assert!(first.contains("# The pull request"), "the whole brief");
            assert!(first.contains("new-2 src/ui/cart.ts"), "what is staged");
            Vec::new()
        });
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    assert!(ran.log.contains("went on in a new session"), "{}", ran.log);
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_killed_before_the_first_answer_is_stored_the_model_is_told_of_no_conversation_above() {
    let (world, at) = world();
    let kill = once(move || signal(&at, Signal::SIGKILL));
    let script = Script::new().pass(1, kill).pass(2, |request| {
        let prompts: Vec<String> = request.messages()[1..]
            .iter()
            .map(|message| message["content"].to_string())
            .collect();
        assert!(
            prompts[0].contains("# The pull request"),
            "the whole brief: {prompts:#?}"
        );
        assert!(
            prompts[0].contains("nothing of that conversation is left"),
            "{prompts:#?}"
        );
        let claims = |prompt: &&String| prompt.contains("The conversation above is yours");
        assert_eq!(prompts.iter().find(claims), None);
        Vec::new()
    });
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "clean");
    assert!(ran.log.contains("went on in a new session"), "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_what_a_lost_session_took_counts_with_what_the_new_one_takes() {
    let (world, at) = world();
    let kill = once(move || {
        // What happened so far is told by then.
        std::thread::sleep(Duration::from_millis(200));
        signal(&at, Signal::SIGKILL);
    });
    let script = Script::new()
        .pass(3, |_| call("sidecar_forget"))
        .pass(3, kill);
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "clean");
    assert!(ran.log.contains("went on in a new session"), "{}", ran.log);
    // The stand-in counts a token for four bytes. Only the answer that the process died of was never heard.
    let requests = world.model.requests();
    let tokens = requests.iter().map(|request| request.to_string().len() / 4);
    let tokens: Vec<usize> = tokens.collect();
    let unheard = tokens.iter().max().unwrap();
    let least = u64::try_from(tokens.iter().sum::<usize>() - unheard).unwrap();
    let report = ran.report.unwrap();
    let told = report["tokens"].as_u64().unwrap();
    assert!(told >= least, "{told} of at least {least}: {tokens:?}");
    let passes = report["passes"].as_array().unwrap().iter();
    let passes: u64 = passes.filter_map(|pass| pass["tokens"].as_u64()).sum();
    assert_eq!(passes, told);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_one_that_dies_again_and_again_leaves_an_incomplete_review_with_what_was_finished() {
    let (world, at) = world();
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    world.model.becomes(move |request| {
        if request.pass() == Some(2) {
            signal(&at, Signal::SIGKILL);
        }
        script(request)
    });
    let ran = world.run(&quick(&world));
    incomplete(&ran, "Pass 2 of 4 failed: OpenCode ended (signal: 9");
    let reason = ran.annotations("error")[0];
    assert!(
        reason.ends_with("and it was restarted 2 times already."),
        "{reason}"
    );
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    let body = review["body"].as_str().unwrap();
    assert!(body.contains("was not completed"), "{body}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_one_that_hangs_is_replaced() {
    let (world, _) = world();
    let mut hung = false;
    let script = Script::new().pass(1, move |_| {
        if std::mem::replace(&mut hung, true) {
            return Vec::new();
        }
        call("sidecar_hang")
    });
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "clean");
    assert!(
        ran.log.contains("OpenCode did not answer any more"),
        "{}",
        ran.log
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_one_that_hangs_when_its_pass_is_done_is_replaced_before_the_next_begins() {
    let (world, _) = world();
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let mut hung = false;
    world.model.becomes(move |request| {
        let submitted = request.last_result();
        let submitted = submitted.is_some_and(|result| result.contains("Pass 1"));
        if submitted && !std::mem::replace(&mut hung, true) {
            return Answer::calls(call("sidecar_hang"));
        }
        script(request)
    });
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    let told = "OpenCode did not answer any more, in pass 1 of 4. It was started again, and went on in the same session.";
    assert!(ran.annotations("warning").contains(&told), "{}", ran.log);
    assert_eq!(reviews(&world), 1);
    world.finish();
}

#[test]
fn o8_what_waits_for_a_person_is_rejected_although_no_event_tells_of_it() {
    let (world, _) = world();
    let script = Script::new()
        .pass(1, |_| call("sidecar_lose_events"))
        .pass(1, |_| call("sidecar_ask_permission"))
        .pass(1, |request| {
            let last = request.last_result().unwrap();
            assert_eq!(last, "The permission was rejected.");
            Vec::new()
        });
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "clean");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_a_turn_is_over_when_the_session_says_so_although_the_prompt_is_never_answered() {
    let (world, _) = world();
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| call("sidecar_never_answer"));
    world.model.becomes(script.into_behaviour());
    let ran = world.run(&quick(&world));
    complete(&ran, "findings");
    assert_eq!(reviews(&world), 1);
    world.finish();
}

/// The sidecar is killed some milliseconds after one of the requests of a run, or up to three of them.
fn killed_at_random(seed: u64) {
    let (world, at) = world();
    let mut dice = Dice::new(seed);
    let kills = 1 + dice.below(3);
    let moments: Vec<(u64, u64)> = (0..kills)
        .map(|_| (dice.below(14), dice.below(40)))
        .collect();
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| vec![post(layer_bypassed(7))])
        .into_behaviour();
    let mut requests = 0;
    world.model.becomes(move |request| {
        for (_, delay) in moments.iter().filter(|(at, _)| *at == requests) {
            let (at, delay) = (at.clone(), Duration::from_millis(*delay));
            std::thread::spawn(move || {
                std::thread::sleep(delay);
                signal(&at, Signal::SIGKILL);
            });
        }
        requests += 1;
        script(request)
    });
    let ran = world.run(&quick(&world));
    let submitted = ran.report.as_ref().map_or(0, |report| {
        let passes = report["passes"].as_array().unwrap().iter();
        passes.filter(|pass| pass["finished"] == true).count()
    });
    let posted = world
        .github
        .count(&Method::POST, "/repos/octo/shop/pulls/1/reviews");
    let told = format!(
        "seed {seed}: {submitted} passes, {posted} reviews\n{}",
        ran.log
    );
    match ran.status() {
        "findings" => {
            assert_eq!((submitted, posted), (4, 1), "{told}");
            assert_eq!(comments(&world.github.expect_review()).len(), 2, "{told}");
        }
        "incomplete" => {
            assert!(submitted < 4 && posted <= 1, "{told}");
            assert_eq!(ran.code, Some(2), "{told}");
            if posted == 1 {
                world.github.expect_review();
            }
        }
        _ => panic!("{told}"),
    }
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn o3_killed_at_twenty_points_it_is_never_green_without_a_review_nor_says_anything_twice() {
    for seed in 1..=20 {
        killed_at_random(seed);
    }
}

#[test]
fn o1_killed_before_the_first_prompt_it_is_replaced_as_well() {
    let (world, at) = world();
    let watched = world.watch(&quick(&world), &["action"], move |line| {
        if line.contains("sandbox") {
            signal(&at, Signal::SIGKILL);
        }
    });
    complete(&watched, "clean");
    world.github.expect_check_run();
    world.finish();
}

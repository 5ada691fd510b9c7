//! Large pull requests: requests, memory, and files that nobody can show. `sections.rs` has those that no session holds.

use crate::review::{lost_page, post};
use crate::standin::github::Change;
use crate::standin::model::Script;
use crate::standin::world::{Ran, World};
use serde_json::Value;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

fn names(report: &Value) -> Vec<&str> {
    let left_out = report["left_out"].as_array().expect("a list").iter();
    left_out
        .map(|name| name.as_str().expect("a name"))
        .collect()
}

#[test]
fn many_files_and_comments_are_read_in_as_many_requests_as_there_are_pages() {
    let file = |number: usize| Change::write(&format!("src/part{number}.ts"), "let one = 1;\n");
    let changes: Vec<Change> = (0..420).map(file).collect();
    let world = World::with(&changes, Script::new().into_behaviour());
    for _ in 0..10 {
        let place = ("src/page.ts", 8);
        let root = world
            .github
            .remark(world.pull, "writer", place, "Is this so?");
        for reply in 1..40 {
            world.github.reply(root, "dev", &format!("Reply {reply}."));
        }
    }
    let ran = world.run(&world.opened().quick());
    assert_eq!(ran.status(), "clean", "{}", ran.log);
    let asked = world.github.requests();
    let asked = asked
        .iter()
        .filter(|(_, route, _)| !route.contains(".git/"));
    // Of files, comments, reviews (each reply is one), conversations.
    let pages = 5 + 4 + 4 + 1;
    let asked = asked.count();
    assert!(asked <= pages + 20, "{asked} requests for {pages} pages");
    world.github.expect_check_run();
    world.finish();
}

/// A hundred people have spoken in threads of their own, and a few in ours.
#[test]
fn a_thousand_comments_of_a_hundred_people_are_read_in_few_more_requests_than_there_are_pages() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))])).quick();
    world.review();
    world.github.take_writes();
    let ours = world.github.comments()[0].id;
    for who in ["dev", "writer", "reader0"] {
        world.github.reply(ours, who, "Is it?");
    }
    let place = ("src/page.ts", 8);
    for thread in 0..50 {
        let who = |number: usize| format!("reader{}", number % 100);
        let root = world
            .github
            .remark(world.pull, &who(thread), place, "Is this so?");
        for reply in 1..20 {
            let who = who(thread * 19 + reply);
            world.github.reply(root, &who, &format!("Reply {reply}."));
        }
    }
    world.github.forget_requests();
    let ran = world.review();
    assert_eq!(ran.status(), "findings", "{}", ran.log);
    // GitHub does not count what has not changed since the request before.
    let asked = world.github.requests();
    let asked = asked
        .iter()
        .filter(|(_, route, status)| *status != 304 && !route.contains(".git/"));
    let (comments, reviews, threads) = world.github.with(|state| {
        (
            state.comments.len(),
            state.reviews.len(),
            state.threads.len(),
        )
    });
    let lists = [comments, reviews, threads].map(|length| length.div_ceil(100));
    // One page each of files, commits and the conversation.
    let pages = lists.iter().sum::<usize>() + 3;
    let asked: Vec<&str> = asked.map(|(_, route, _)| route.as_str()).collect();
    assert!(
        asked.len() <= pages + 20,
        "{} for {pages} pages: {asked:#?}",
        asked.len()
    );
    world.github.take_writes();
    world.finish();
}

/// The most memory that our process has had, in MB, and what it left behind.
fn peak(world: &World) -> (Ran, u64) {
    let (started, ids) = channel();
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        let id: u32 = ids.recv().expect("the process");
        while ids.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Timeout) {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak = peak.max(kilobytes.unwrap_or(0) / 1000);
        }
        peak
    });
    let ended = started.clone();
    let ran = world.run_watched(&world.opened().quick(), move |id| {
        started.send(id).expect("a watcher");
    });
    drop(ended);
    (ran, watch.join().expect("the watcher"))
}

/// Each packs to a few kilobytes. Together they would take gigabytes, if a line were a string.
#[test]
fn files_that_git_packs_to_nothing_take_little_memory_and_are_not_called_reviewed() {
    let rows = "\n".repeat(500_000);
    let wide: Vec<u8> = "x\n"
        .repeat(250_000)
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let base = [Change::write("old/rows.txt", "y\n".repeat(1_000_000))];
    let mut changes = vec![
        Change::write("data/empty.txt", "\n".repeat(4_000_000)),
        Change::write("data/line.json", "x".repeat(20_000_000)),
        Change::write("data/package-lock.json", "1,".repeat(3_000_000)),
        Change::write("data/wide.txt", wide),
        Change::remove("old/rows.txt"),
    ];
    let more = (0..8).map(|number| Change::write(&format!("data/more{number}.txt"), rows.clone()));
    changes.extend(more);
    let world = World::settled(&base, &changes, Script::new().into_behaviour());
    let (ran, peak) = peak(&world);
    ran.ended(2, "incomplete");
    let report = ran.report.as_ref().expect("a report");
    let names = names(report);
    for path in [
        "data/empty.txt",
        "data/line.json",
        "old/rows.txt",
        "data/more7.txt",
    ] {
        let expected = format!("{path} (too large to be read)");
        assert!(names.contains(&expected.as_str()), "{path}: {names:?}");
    }
    assert!(
        names.iter().all(|name| !name.starts_with("src/")),
        "{names:?}"
    );
    assert!((10..=256).contains(&peak), "{peak} MB");
    world.github.expect_check_run();
    world.finish();
}

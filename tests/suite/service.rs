//! The lifecycle service as people run it: `serve` with its store, signed webhooks in, reviews, fixes and merges out. Sessions are
//! child processes.

use crate::dice::Dice;
use crate::fixing::{CEIL, FLOOR};
use crate::standin::github::{Change, State, Write};
use crate::standin::model::{Answer, Model};
use crate::standin::serving::{self, Server, Serving};
use crate::standin::world::World;
use serde_json::json;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

/// Quality finds the lost page, and calls security once it is fixed; the author's agent fixes.
fn world() -> World {
    serving::world(crate::fixing::script(9), CEIL)
}

/// A service with a pull request that was just opened.
fn opened(world: World) -> Serving {
    let serving = Serving::on(world);
    serving.open();
    serving
}

fn until(serving: &mut Serving, state: &str) {
    if let Err(other) = serving.reach(state, |_| true) {
        panic!("{other}: {:#}\n{}", serving.asks("history"), serving.log());
    }
}

/// Changes requested by quality, fixed by the author's agent, approved by quality and by security, merged; each once.
fn judge(serving: &Serving) {
    let status = serving.asks("status");
    assert_eq!(status["mergeType"], "auto", "{status:#}");
    let outcomes = status["reviewOutcomes"]
        .as_array()
        .expect("outcomes")
        .iter();
    let decided: Vec<(&str, &str)> = outcomes
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            (text("reviewer"), text("decision"))
        })
        .collect();
    let expected = [
        ("quality", "changes_requested"),
        ("quality", "approved"),
        ("security", "approved"),
    ];
    assert_eq!(decided, expected, "{status:#}");
    judge_writes(serving);
}

/// The dashboard tells the whole life.
fn judge_pages(serving: &Serving) {
    let list = serving.page("/ui?state=merged");
    let place = format!("/ui/pr/{}/{}", serving.repository, serving.world.pull);
    assert!(list.contains(&format!("href=\"{place}\"")), "{list}");
    assert!(list.contains("4 sessions"), "{list}");
    let page = serving.page(&place);
    for words in [
        "The service has merged it.",
        "Quality requested changes",
        "Author fixed it in",
        "Quality approved and called security",
        "Security approved",
        "End of its log",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

/// Each act once.
fn judge_writes(serving: &Serving) {
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    let expected = [
        "REQUEST_CHANGES",
        "commit by dev",
        "dismissal",
        "APPROVE",
        "APPROVE",
        "merge by quality-agent",
    ];
    assert_eq!(told, expected, "{writes:#?}\n{}", serving.log());
    let show = |state: &mut State| state.git.must(&["show", "main:src/page.ts"]);
    assert!(serving.world.github.with(show).contains(CEIL));
}

fn lives(world: World) {
    let mut serving = opened(world);
    until(&mut serving, "merged");
    judge(&serving);
    judge_pages(&serving);
    serving.finish();
}

/// The same life with a service that dies at times drawn from a seed; with every second one also when a session has ended, and
/// while it recovers from that.
fn lives_with_deaths(seed: u64) {
    let mut dice = Dice::new(seed);
    // The first draws of small seeds are small.
    for _ in 0..8 {
        dice.below(2);
    }
    let mut serving = opened(world().quick());
    println!("seed {seed}");
    if seed.is_multiple_of(2) {
        serving.dies_as_a_session_ends(Duration::from_millis(dice.below(400)));
    }
    for _ in 0..=dice.below(3) {
        serving.deliver_for(Duration::from_millis(dice.below(2_500)));
        serving.dies();
    }
    until(&mut serving, "merged");
    judge(&serving);
    serving.finish();
}

/// The acts that move a life.
fn told_of(write: &Write) -> Option<String> {
    match write {
        Write::Review { json, .. } => json["event"].as_str().map(str::to_owned),
        Write::Commit { by, .. } => Some(format!("commit by {by}")),
        Write::Merge { by, .. } => Some(format!("merge by {by}")),
        Write::Dismissal { .. } => Some("dismissal".to_owned()),
        _ => None,
    }
}

#[test]
fn a_pull_request_lives_from_its_opening_to_its_merge() {
    lives(world().quick());
}

#[test]
fn a_service_that_is_killed_goes_on_with_nothing_lost_and_nothing_doubled() {
    for seed in 1..=2 {
        lives_with_deaths(seed);
    }
}

#[test]
#[ignore = "takes minutes: make soak SERVE=1"]
fn twenty_lives_with_child_processes() {
    for seed in 1..=20 {
        lives_with_deaths(seed);
    }
}

#[test]
fn a_service_that_has_lost_its_store_rebuilds_the_life_and_repeats_nothing() {
    let mut serving = opened(world().quick());
    // Quality has asked for a change, and the author's agent is at it or done.
    until(&mut serving, "fixing");
    serving.loses_its_store();
    until(&mut serving, "merged");
    judge_writes(&serving);
    serving.finish();
}

#[test]
fn a_life_that_began_in_one_store_ends_in_another_with_nothing_lost_and_nothing_doubled() {
    let mut serving = opened(world().quick());
    until(&mut serving, "fixing");
    serving.moves_to_file();
    until(&mut serving, "merged");
    judge(&serving);
    serving.finish();
}

#[test]
fn a_webhook_that_is_delivered_twice_counts_once() {
    let mut serving = opened(world().quick());
    let delivered = serving.deliver();
    assert!(!delivered.is_empty());
    until(&mut serving, "merged");
    let inputs = |serving: &Serving| -> Vec<String> {
        let history = serving.asks("history?most=1000");
        let entries = history["entries"].as_array().expect("a history").iter();
        let ids = entries.map(|entry| entry["delivery"].as_str().unwrap_or_default().to_owned());
        ids.filter(|id| delivered.iter().any(|one| id.contains(&one.guid)))
            .collect()
    };
    let before = inputs(&serving);
    assert!(!before.is_empty());
    let statuses = serving.replay(&delivered);
    assert!(statuses.iter().all(|status| *status == 202), "{statuses:?}");
    assert_eq!(inputs(&serving), before);
    judge(&serving);
    serving.finish();
}

#[test]
fn a_repository_that_is_renamed_keeps_the_lives_of_its_pull_requests() {
    let mut serving = opened(world().quick());
    until(&mut serving, "reviewing");
    serving.world.github.rename("octo/store", "dev");
    serving.repository = "octo/store".to_owned();
    until(&mut serving, "merged");
    judge(&serving);
    // Whoever takes the old name has no life here.
    serving.world.github.take_name("octo/shop");
    serving.repository = "octo/shop".to_owned();
    assert_eq!(serving.state(), "");
    serving.finish();
}

#[test]
fn an_app_reviews_as_personas_waits_for_the_author_and_merges() {
    let mut serving = Serving::as_app(world().quick());
    serving.open();
    until(&mut serving, "fixing");
    let status = serving.asks("status");
    assert!(status["waitsFor"].to_string().contains("dev"), "{status:#}");
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    assert_eq!(told, ["REQUEST_CHANGES"], "{writes:#?}");
    // The author fixes it.
    let (github, pull) = (&serving.world.github, serving.world.pull);
    let head = github.pull(pull, |pull| pull.head.sha.clone());
    let page = github.with(|state| state.git.must(&["show", &format!("{head}:src/page.ts")]));
    let fixed = Change::write("src/page.ts", page.replace(FLOOR, CEIL));
    let commit = github.commit("search", &[&head], &[fixed]);
    github.push(pull, &commit);
    github.with(|state| state.announce_synchronize(pull, &head));
    until(&mut serving, "merged");
    let status = serving.asks("status");
    assert_eq!(status["mergeType"], "auto", "{status:#}");
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    assert_eq!(
        told,
        ["dismissal", "COMMENT", "APPROVE", "merge by reviewer[bot]"],
        "{writes:#?}"
    );
    serving.finish();
}

#[test]
fn a_person_overrules_a_finding_and_the_agent_looks_at_the_same_head_again() {
    let mut serving = Serving::as_app(world().quick());
    serving.open();
    until(&mut serving, "fixing");
    let (github, pull) = (&serving.world.github, serving.world.pull);
    let head = github.pull(pull, |pull| pull.head.sha.clone());
    github.permit("lead", "write");
    let root = github.threads()[0].root;
    github.resolve_thread(root, "lead");
    github.comment(pull, "lead", "@review-my-code-bot review");
    until(&mut serving, "merged");
    let now = serving
        .world
        .github
        .pull(pull, |pull| pull.head.sha.clone());
    assert_eq!(now, head);
    let writes = serving.world.github.take_writes();
    let told: Vec<String> = writes.iter().filter_map(told_of).collect();
    assert_eq!(
        told,
        [
            "REQUEST_CHANGES",
            "dismissal",
            "APPROVE",
            "merge by reviewer[bot]"
        ],
        "{writes:#?}"
    );
    serving.finish();
}

#[test]
fn what_is_over_the_quota_of_a_day_waits_until_an_operator_or_a_writer_asks_for_it() {
    let limits = [("sessions_per_author_per_day", 1)];
    let mut serving = Serving::limited(world().quick(), &limits);
    serving.open();
    // Quality's review was the session of the day.
    until(&mut serving, "fixing");
    let waits = |serving: &mut Serving| {
        let explained = serving.asks("explain");
        let what = explained["waitsFor"]["what"].as_str().unwrap_or_default();
        let waits = what.starts_with("the quota of dev (1 session a day)");
        assert!(
            !waits || explained["waitsFor"]["until"].is_i64(),
            "{explained:#}"
        );
        waits
    };
    assert!(serving.until(waits), "{}", serving.log());
    serving.retries();
    // The fix is another head.
    let head = |serving: &Serving| {
        serving
            .world
            .github
            .pull(serving.world.pull, |pull| pull.head.sha.clone())
    };
    let before = head(&serving);
    assert!(serving.until(|serving| head(serving) != before && waits(serving)));
    serving.world.github.permit("lead", "write");
    let order = "@review-my-code-bot review";
    serving
        .world
        .github
        .comment(serving.world.pull, "lead", order);
    until(&mut serving, "merged");
    judge(&serving);
    serving.finish();
}

#[test]
fn settings_that_point_the_model_at_an_internal_address_are_refused_and_the_operator_s_model_reviews()
 {
    let inside = TcpListener::bind("127.0.0.1:0").expect("an internal address");
    inside.set_nonblocking(true).expect("no wait");
    let address = inside.local_addr().expect("its port");
    let settings = format!("model_base_url: http://{address}/v1\n");
    let settings = Change::write(".github/opencode-reviewer.yml", settings);
    let script = crate::fixing::script(9).into_behaviour();
    let mut serving = opened(World::settled(&[settings], &[], script).quick());
    until(&mut serving, "approved");
    let asked = inside.accept().map(|_| ()).expect_err("nobody connects");
    assert_eq!(asked.kind(), ErrorKind::WouldBlock);
    let sentence = "model_base_url is set in the workflow only, as an input of the action.";
    assert!(serving.log().contains(sentence), "{}", serving.log());
    assert!(!serving.world.model.requests().is_empty());
    serving.world.github.take_writes();
    serving.finish();
}

#[test]
fn where_the_model_cannot_be_used_another_provider_s_model_lives_the_same_life_with_its_own_key() {
    const KEY_OF_OTHER: &str = "other-key-0123456789";
    // By name on this machine, so that a proxy can stand in for it.
    let provider = "privatemode-ai";
    let other = Model::start(serving::behaviour(crate::fixing::script(9), CEIL));
    let nothing = json!({ "error": { "message": "Insufficient Balance", "code": "payment" } });
    let world = serving::with_model(move |_| Answer::status(402, nothing.clone())).quick();
    let proxy = other.url().trim_end_matches("/v1").to_owned();
    let (fallback, keys) = (
        format!("{provider}/third"),
        format!("{provider}={KEY_OF_OTHER}\n"),
    );
    let mut serving = Serving::falling_back(world, &fallback, &keys, &proxy);
    serving.open();
    until(&mut serving, "merged");
    judge(&serving);
    let bearer = format!("Bearer {KEY_OF_OTHER}");
    let headers = other.headers();
    assert!(!headers.is_empty());
    assert!(headers.iter().all(|one| one["authorization"] == bearer));
    assert!(!serving.log().contains(KEY_OF_OTHER));
    serving.finish();
}

#[test]
fn the_same_life_with_the_real_opencode() {
    lives(world());
}

/// Two fronts and two workers share a store, and the worker that runs the first session is killed.
fn loses_a_worker(kind: &str) {
    let server = Server::start(kind).expect("a server");
    let mut serving = Serving::together(world(), &server);
    serving.open();
    assert!(serving.until(Serving::worker_dies), "{}", serving.log());
    until(&mut serving, "merged");
    judge(&serving);
    // On a front that runs no session.
    judge_pages(&serving);
    let told = serving.asks("sessions");
    let sessions = told["sessions"].as_array().expect("sessions");
    // Two reviews by quality, a fix, and a review by security, found from a front that ran none of them.
    assert_eq!(sessions.len(), 4, "{told:#}");
    for session in sessions {
        assert!(session["ended"].is_number(), "{session:#}");
        assert!(!session["log"].as_str().unwrap_or_default().is_empty());
    }
    serving.finish();
}

/// The store dies with its server, and its lives are read from GitHub into another one.
fn rebuilds(kind: &str) {
    let servers = [(); 2].map(|()| Server::start(kind).expect("a server"));
    let mut serving = Serving::at(world().quick(), &servers[0]);
    serving.open();
    until(&mut serving, "fixing");
    serving.loses_its_server(&servers[1]);
    until(&mut serving, "merged");
    judge_writes(&serving);
    serving.finish();
}

#[test]
#[ignore = "make engine-test installs the server"]
fn on_postgres_a_lost_store_is_rebuilt() {
    rebuilds("postgres");
}

#[test]
#[ignore = "make engine-test installs the server"]
fn on_restate_a_lost_store_is_rebuilt() {
    rebuilds("restate");
}

#[test]
#[ignore = "make engine-test installs the server"]
fn on_servers_a_life_goes_on_that_moves_from_a_file_to_postgres_to_restate() {
    let servers = ["postgres", "restate"].map(|kind| Server::start(kind).expect("a server"));
    let mut serving = opened(world().quick());
    for (server, state) in servers.iter().zip(["reviewing", "fixing"]) {
        until(&mut serving, state);
        serving.moves(&server.address, &server.password);
    }
    until(&mut serving, "merged");
    judge(&serving);
    serving.finish();
}

#[test]
#[ignore = "make engine-test installs the server"]
fn on_postgres_a_worker_that_is_killed_loses_nothing() {
    loses_a_worker("postgres");
}

#[test]
#[ignore = "make engine-test installs the server"]
fn on_restate_a_worker_that_is_killed_loses_nothing() {
    loses_a_worker("restate");
}

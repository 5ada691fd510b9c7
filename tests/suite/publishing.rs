//! The way from the desk to the pull request when GitHub, the network or other people get in between: everything that a
//! finished review found is said exactly once, or named where it is missing.

use crate::review::{comments, finding, layer_bypassed, lost_page, post};
use crate::standin::github::{Change, Fault, GitHub, State, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::shop;
use crate::standin::world::{KEY, Ran, World};
use http::Method;
use reviewer_core::domain::PrKey;
use reviewer_core::state::check_mark::{self, Place};
use reviewer_core::state::signature::Keys;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

/// Three findings in three files.
fn three() -> Script {
    let sql = shop::line_of("src/orders.ts", "LIKE");
    Script::new().pass(1, move |_| {
        let text = "A search without text returns every order.";
        vec![
            post(lost_page(7)),
            post(layer_bypassed(7)),
            post(finding("src/orders.ts", sql, 7, text)),
        ]
    })
}

fn review(world: &World) -> Ran {
    world.run(&world.opened().quick())
}

const REVIEWS: &str = "/repos/octo/shop/pulls/1/reviews";

fn bad_gateway() -> Value {
    json!({ "message": "Server Error" })
}

/// What people see: the files of all inline comments, sorted.
fn said(github: &GitHub) -> Vec<String> {
    let mut files: Vec<String> = github.comments().into_iter().map(|one| one.path).collect();
    files.sort();
    files
}

const ALL: [&str; 3] = ["src/orders.ts", "src/page.ts", "src/ui/cart.ts"];

/// One review with all three, and a verdict that says so.
fn said_once(world: World, ran: &Ran) {
    ran.ended(0, "findings");
    assert_eq!(said(&world.github), ALL);
    assert_eq!(comments(&world.github.expect_review()).len(), 3);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn g6_a_review_whose_answer_was_lost_is_looked_for_and_not_sent_again() {
    for fault in [
        Fault::ApplyThenDrop,
        Fault::ApplyThenStatus(502, bad_gateway()),
    ] {
        let world = World::shop(three());
        world.github.on(Method::POST, REVIEWS, 1, fault);
        let ran = review(&world);
        said_once(world, &ran);
    }
}

#[test]
fn g6_a_review_that_never_arrived_is_sent_again() {
    for fault in [Fault::Drop, Fault::Status(503, bad_gateway())] {
        let world = World::shop(three());
        world.github.on(Method::POST, REVIEWS, 2, fault);
        let ran = review(&world);
        said_once(world, &ran);
    }
}

#[test]
fn g5_a_write_waits_for_a_rate_limit_in_any_disguise() {
    let retry = vec![("retry-after", "7".to_owned())];
    let abuse = json!({
        "message": "Validation Failed",
        "errors": [{ "resource": "PullRequestReview", "code": "abuse", "field": "base" }],
    });
    let secondary = json!({ "message": "You have exceeded a secondary rate limit." });
    for fault in [
        Fault::StatusWith(429, retry, json!({ "message": "slow down" })),
        Fault::Status(403, secondary),
        Fault::Status(422, abuse),
    ] {
        let world = World::shop(three());
        world.github.on(Method::POST, REVIEWS, 1, fault);
        let ran = review(&world);
        said_once(world, &ran);
    }
}

#[test]
fn g5_a_question_by_graphql_waits_for_a_rate_limit_by_any_name() {
    let named = json!({ "type": "RATE_LIMITED", "message": "API rate limit exceeded." });
    let coded = json!({
        "type": "RATE_LIMIT",
        "code": "graphql_rate_limit",
        "message": "API rate limit already exceeded for user ID 1.",
    });
    for error in [named, coded] {
        let world = World::shop(three());
        let limit = Fault::limited("7", &error);
        world.github.on(Method::POST, "/graphql", 1, limit);
        let ran = review(&world);
        said_once(world, &ran);
    }
}

#[test]
fn g9_a_page_of_html_in_place_of_an_answer_is_asked_again() {
    let world = World::shop(three());
    let page = "<html>Bad gateway</html>";
    let comments = "/repos/octo/shop/pulls/1/comments";
    world
        .github
        .on(Method::GET, comments, 2, Fault::Raw(page.into()));
    let ran = review(&world);
    said_once(world, &ran);
}

#[test]
fn g1_a_token_that_expires_while_the_model_works_leaves_the_findings_in_report_and_summary() {
    let world = World::shop(three());
    let expired = json!({ "message": "Bad credentials" });
    world
        .github
        .on(Method::POST, REVIEWS, 9, Fault::Status(401, expired));
    let ran = review(&world);
    ran.ended(2, "incomplete");
    assert_eq!(said(&world.github), Vec::<String>::new());
    let report = ran.report.expect("a report");
    let fates: Vec<&Value> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["fate"])
        .collect();
    assert_eq!(fates, ["unpublished"; 3]);
    assert!(ran.summary.contains("(not published)"), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}

/// GitHub has another diff of this file than we have, as it happens with renames and whitespace.
fn refuses(world: &World, path: &'static str) {
    world.github.with(|state| state.refused.push(path.into()));
}

#[test]
fn g4_one_anchor_that_github_refuses_moves_alone_and_the_others_stay() {
    let world = World::shop(three());
    let line = shop::line_of("src/page.ts", "Math.floor");
    let refused = format!("src/page.ts:{line}");
    world.github.with(|state| state.refused.push(refused));
    let ran = review(&world);
    ran.ended(0, "findings");
    let review = world.github.expect_review();
    let placed = comments(&review);
    assert_eq!(placed.len(), 3);
    let moved = placed
        .iter()
        .find(|one| one["path"] == "src/page.ts")
        .unwrap();
    assert_ne!(moved["line"], line);
    let body = moved["body"].as_str().unwrap();
    assert!(
        body.contains(&format!("This is about `src/page.ts:{line}`")),
        "{body}"
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn g4_a_file_that_takes_no_line_gets_a_comment_as_a_whole_in_the_same_review() {
    let world = World::shop(three());
    refuses(&world, "src/page.ts");
    let ran = review(&world);
    ran.ended(0, "findings");
    let posted = comments(&world.github.expect_review());
    let file = posted.iter().find(|one| one["subject_type"] == "file");
    assert_eq!(file.expect("a comment on a file")["path"], "src/page.ts");
    assert_eq!(posted.len(), 3);
    assert_eq!(said(&world.github), ALL);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn g4_a_draft_of_a_person_is_left_alone_and_nothing_is_lost() {
    let world = World::shop(three());
    refuses(&world, "src/page.ts");
    let draft = world.github.review(
        world.pull,
        "github-actions[bot]",
        "PENDING",
        "My own thoughts.",
    );
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let kept = world
        .github
        .with(|state| state.reviews.iter().any(|one| one.id == draft.id));
    assert!(kept, "a draft that is not ours was deleted");
    world.github.take_writes();
    world.finish();
}

#[test]
fn g12_after_a_push_what_still_stands_is_posted_on_the_reviewed_commit_and_the_rest_is_named() {
    let world = World::shop(Script::new());
    let reviewed = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let page = Change::write("src/page.ts", "export const page = 1;\n");
    let next = world.github.commit("search", &[&reviewed], &[page]);
    let github = world.github.handle();
    let pull = world.pull;
    let script = three().pass(4, move |_| {
        github.push(pull, &next);
        vec![]
    });
    world.model.becomes(script.into_behaviour());
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let posted = world.github.expect_review();
    assert_eq!(posted["commit_id"], reviewed.as_str());
    assert_eq!(comments(&posted).len(), 2, "{posted}");
    let named = "Not posted at src/page.ts:8, because the head moved";
    assert!(
        ran.log.contains(named) && ran.summary.contains(named),
        "{}",
        ran.log
    );
    world.github.expect_check_run();
    // The code of the third is gone by now; whether the new one is right is for the review of the new head.
    world.model.becomes(Script::new().into_behaviour());
    let ran = after_the_push(&world, &reviewed);
    ran.ended(0, "findings");
    assert_eq!(said(&world.github).len(), 2, "{}", ran.log);
    let dropped = "as its code at src/page.ts:8 has changed since";
    assert!(ran.summary.contains(dropped), "{}", ran.summary);
    world.github.take_writes();
    world.finish();
}

/// The run that the push causes.
fn after_the_push(world: &World, before: &str) -> Ran {
    let payload = events::synchronize_event(&world.github, world.pull, before);
    world.run(&world.workflow("pull_request", payload).quick())
}

#[test]
fn g12_after_a_force_push_nothing_is_posted_and_the_next_run_says_it_all() {
    let world = World::shop(Script::new());
    let reviewed = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let base = world
        .github
        .with(|state| state.git.commit_of("main"))
        .unwrap();
    let next = world.github.commit("search", &[&base], &shop::changes());
    let github = world.github.handle();
    let pull = world.pull;
    let script = three().pass(4, move |_| {
        github.push(pull, &next);
        vec![]
    });
    world.model.becomes(script.into_behaviour());
    let ran = review(&world);
    ran.ended(2, "incomplete");
    assert_eq!(said(&world.github), Vec::<String>::new());
    assert_eq!(
        ran.log.matches("because the head moved").count(),
        3,
        "{}",
        ran.log
    );
    world.github.expect_check_run();
    world.model.becomes(Script::new().into_behaviour());
    let asked = world.model.requests().len();
    let ran = after_the_push(&world, &reviewed);
    assert_eq!(world.model.requests().len(), asked, "the same change");
    said_once(world, &ran);
}

#[test]
fn g10_what_another_run_said_meanwhile_is_not_said_again() {
    let world = World::shop(three());
    review(&world);
    let first: Vec<Write> = world.github.take_writes();
    assert_eq!(said(&world.github), ALL);
    // A second run began before the first had said anything, and sees its comments only at the end.
    let hidden = world.github.with(|state| {
        state.check_runs.clear();
        let hidden = (
            std::mem::take(&mut state.comments),
            std::mem::take(&mut state.threads),
        );
        (hidden, std::mem::take(&mut state.reviews))
    });
    let github = world.github.handle();
    let mut hidden = Some(hidden);
    let script = three().pass(4, move |_| {
        let ((comments, threads), reviews) = hidden.take().expect("once");
        github.with(|state| {
            state.comments = comments;
            state.threads = threads;
            state.reviews = reviews;
        });
        vec![]
    });
    world.model.becomes(script.into_behaviour());
    let ran = review(&world);
    ran.ended(0, "findings");
    assert_eq!(said(&world.github), ALL, "nothing twice");
    assert!(!first.is_empty());
    let second = world.github.take_writes();
    let reviews = second
        .iter()
        .filter(|write| matches!(write, Write::Review { .. }));
    assert_eq!(reviews.count(), 0, "{second:?}");
    world.finish();
}

/// What the check run of another run for this pull request says.
fn lease_of(world: &World, head: &str) -> (String, String) {
    let keys = Keys::derive(&[], Some(&SecretString::from(KEY)), "octo/shop");
    let pr = PrKey {
        repo: "octo/shop".parse().unwrap(),
        number: world.pull,
    };
    let place = Place {
        head: head.parse().unwrap(),
        base_ref: "main".into(),
        merge_base: head.parse().unwrap(),
    };
    let text = check_mark::render(&pr, &place.head, "4710.1", &keys);
    (place.external_id("4710.1", pr.number), text.expect("a key"))
}

#[test]
fn g10_of_two_runs_on_one_head_the_later_waits_and_repeats_nothing() {
    let world = std::sync::Arc::new(World::shop(three()));
    let head = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    // The first run has begun elsewhere: its check is in progress, and stays so until its review is there.
    let (external, lease) = lease_of(&world, &head);
    let holder = world
        .github
        .with(|state| state.hold_as(&head, &external, Some(lease)));
    let github = world.github.handle();
    let waiting = std::sync::Arc::clone(&world);
    let later = std::thread::spawn(move || review(&waiting));
    let started = std::time::Instant::now();
    while world.github.count(
        &Method::GET,
        &format!("/repos/octo/shop/commits/{head}/check-runs"),
    ) < 4
    {
        assert!(
            started.elapsed().as_secs() < 60,
            "it does not look for its turn"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(
        world.model.requests().is_empty(),
        "the model is not asked meanwhile"
    );
    github.with(|state| state.let_go(holder));
    let ran = later.join().expect("the run");
    assert!(
        ran.log.contains("Another run reviews this head"),
        "{}",
        ran.log
    );
    ran.ended(0, "findings");
    assert_eq!(said(&world.github), ALL);
    world.github.take_writes();
    std::sync::Arc::into_inner(world)
        .expect("the last")
        .finish();
}

#[test]
fn g10_of_two_runs_for_one_reply_the_later_waits_and_looks_again() {
    let world = std::sync::Arc::new(World::shop(three()));
    review(&world);
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let head = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    // A reply in a thread causes two events, so two runs begin.
    let objection = world.github.reply(root, "dev", "That is on purpose.");
    let name = "pull_request_review_comment";
    let payload = events::comment_event(name, &world.github, world.pull, objection.id);
    let workflow = world.workflow(name, payload).quick();
    let (external, lease) = lease_of(&world, &head);
    let holder = world
        .github
        .with(|state| state.hold_as(&head, &external, Some(lease)));
    let asked = world.model.requests().len();
    world.github.forget_requests();
    let waiting = std::sync::Arc::clone(&world);
    let later = std::thread::spawn(move || waiting.run(&workflow));
    let looks = format!("/repos/octo/shop/commits/{head}/check-runs");
    while world.github.count(&Method::GET, &looks) < 4 && !later.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Meanwhile the discussion comes to its end elsewhere.
    world.github.permit("lead", "write");
    world.github.resolve_thread(root, "lead");
    world.github.with(|state| state.let_go(holder));
    let ran = later.join().expect("the run");
    assert!(
        ran.log.contains("Another run reviews this head"),
        "{}",
        ran.log
    );
    ran.ended(0, "findings");
    assert_eq!(
        world.model.requests().len(),
        asked,
        "it judged what it had read"
    );
    world.github.expect_check_run();
    std::sync::Arc::into_inner(world)
        .expect("the last")
        .finish();
}

#[test]
fn g2_a_concession_whose_reply_was_refused_is_said_by_the_next_run() {
    let world = World::shop(three());
    review(&world);
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let objection = world.github.reply(root, "dev", "That is on purpose.");
    let name = "pull_request_review_comment";
    let payload = events::comment_event(name, &world.github, world.pull, objection.id);
    let workflow = world.workflow(name, payload).quick();
    let concession =
        json!({ "thread_id": root.to_string(), "body": "Right.", "is_concession": true });
    let script = Script::new()
        .threads(move |_| vec![Call::new("github_reply_to_thread", concession.clone())]);
    world.model.becomes(script.into_behaviour());
    let replies = format!("/repos/octo/shop/pulls/1/comments/{root}/replies");
    let refusal = json!({ "message": "Resource not accessible by integration" });
    world
        .github
        .on(Method::POST, &replies, 1, Fault::Status(403, refusal));
    // The conversation is closed by now, and nobody knows why.
    assert_eq!(world.run(&workflow).code, Some(2));
    assert!(world.github.threads()[0].is_resolved);
    let ran = world.run(&workflow);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    let comments = world.github.comments();
    let replies: Vec<&str> = comments
        .iter()
        .filter(|one| one.in_reply_to_id == Some(root) && one.id != objection.id)
        .map(|one| one.body.as_str())
        .collect();
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert!(
        replies[0].starts_with("✅ **Issue Resolved**"),
        "{replies:?}"
    );
    world.github.take_writes();
    world.finish();
}

/// The run after one that could not post: it asks the model nothing.
fn posts_what_is_owed(world: &World) -> Ran {
    world.github.with(State::clear_faults);
    world.model.becomes(Script::new().into_behaviour());
    let asked = world.model.requests().len();
    let ran = review(world);
    assert_eq!(world.model.requests().len(), asked, "{}", ran.log);
    ran
}

#[test]
fn g3_what_a_finished_review_could_not_post_is_posted_by_the_next_run_without_the_model() {
    let world = World::shop(three());
    let refusal = json!({ "message": "Resource not accessible by integration" });
    let refused = Fault::Status(403, refusal);
    world.github.on(Method::POST, REVIEWS, 99, refused);
    let ran = review(&world);
    ran.ended(2, "incomplete");
    assert_eq!(said(&world.github), Vec::<String>::new());
    world.github.take_writes();
    let ran = posts_what_is_owed(&world);
    said_once(world, &ran);
}

#[test]
fn a_stranger_who_causes_the_next_run_has_it_posted_and_pays_for_nothing_else() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    review(&world);
    let root = world.github.comments()[0].id;
    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let words = Change::write("NOTES.md", "Words.\n");
    let head = world.github.commit("search", &[&before], &[words]);
    world.github.push(world.pull, &head);
    let cart = Script::new().pass(1, |_| vec![post(layer_bypassed(7))]);
    world.model.becomes(cart.into_behaviour());
    let refusal = json!({ "message": "Resource not accessible by integration" });
    let refused = Fault::Status(403, refusal);
    world.github.on(Method::POST, REVIEWS, 99, refused);
    after_the_push(&world, &before).ended(2, "incomplete");
    world.github.with(State::clear_faults);
    // The author waits for an answer, and a stranger has the next word.
    world.github.reply(root, "dev", "That is on purpose.");
    world.github.permit("stranger", "read");
    let remark = world.github.reply(root, "stranger", "I like it.");
    let name = "pull_request_review_comment";
    let payload = events::comment_event(name, &world.github, world.pull, remark.id);
    let asked = world.model.requests().len();
    let ran = world.run(&world.workflow(name, payload).quick());
    ran.ended(0, "findings");
    assert_eq!(world.model.requests().len(), asked, "{}", ran.log);
    assert!(said(&world.github).contains(&"src/ui/cart.ts".to_owned()));
    world.github.take_writes();
    world.finish();
}

#[test]
fn g11_what_a_run_was_about_to_post_when_its_machine_was_lost_is_posted_by_the_next() {
    let world = World::shop(three());
    world.github.on(Method::POST, REVIEWS, 1, Fault::Hang);
    let mut child = world.start(&world.opened().quick());
    let started = std::time::Instant::now();
    while world.github.count(&Method::POST, REVIEWS) == 0 {
        assert!(started.elapsed().as_secs() < 60, "it never came so far");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("kill -9");
    child.wait().expect("its end");
    // Nobody is left to remove its folders.
    for folder in world.left_over() {
        std::fs::remove_dir_all(folder).expect("a folder of the run");
    }
    world.github.with(|state| state.rest(8));
    let ran = posts_what_is_owed(&world);
    ran.ended(0, "findings");
    assert_eq!(said(&world.github), ALL);
    world.github.take_writes();
    world.finish();
}

#[test]
fn g2_a_check_that_a_run_could_not_conclude_is_concluded_by_a_later_one() {
    let world = World::shop(three());
    let refusal = json!({ "message": "Resource not accessible by integration" });
    let checks = "/repos/octo/shop/check-runs/";
    world
        .github
        .on(Method::PATCH, checks, 9, Fault::Status(403, refusal));
    review(&world);
    world.github.with(State::clear_faults);
    world.github.with(|state| state.rest(2));
    let ran = review(&world);
    ran.ended(0, "findings");
    let concluded = world.github.with(|state| {
        let runs = state.check_runs.iter();
        runs.map(|run| run.conclusion.clone()).collect::<Vec<_>>()
    });
    assert_eq!(
        concluded,
        [Some("cancelled".to_owned()), Some("success".to_owned())]
    );
    assert_eq!(said(&world.github), ALL, "nothing twice");
    world.github.take_writes();
    world.finish();
}

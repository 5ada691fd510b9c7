//! Findings on whole files, which take no comment on a line: part of the one review, and never lost nor said twice.

mod at_once;

use crate::review::{comments, finding, lost_page, post};
use crate::standin::github::{Act, Change, Fault, GitHub, Identity, State, Write, events};
use crate::standin::model::Script;
use crate::standin::world::{Ran, World};
use http::Method;
use serde_json::{Value, json};

const REVIEWS: &str = "/repos/octo/shop/pulls/1/reviews";
/// What is done with one review, such as submitting it.
const A_REVIEW: &str = "/repos/octo/shop/pulls/1/reviews/";
const ADD: &str = "addPullRequestReviewThread";
const FILES: [&str; 2] = ["icon.png", "logo.png"];

fn forbidden() -> Value {
    let message = "Resource not accessible by integration";
    json!({ "data": { ADD: null }, "errors": [{ "type": "FORBIDDEN", "message": message }] })
}

/// A finding on a line, and one on each of two pictures.
fn script(score: u64) -> Script {
    let mut found = vec![post(lost_page(score))];
    found.extend(FILES.map(|file| post(finding(file, 1, 7, "It is not licensed for this use."))));
    Script::new().pass(1, move |_| found.clone())
}

fn world(score: u64) -> World {
    let changes = FILES.map(|file| Change::write(file, b"\x89PNG\0\0\0\x01binary".to_vec()));
    World::with(&changes, script(score).into_behaviour()).quick()
}

/// The places of the comments that people see.
fn places(world: &World) -> Vec<String> {
    let comments = world.github.comments().into_iter();
    let mut places: Vec<String> = comments
        .map(|one| match one.line {
            Some(line) => format!("{}:{line}", one.path),
            None => one.path,
        })
        .collect();
    places.sort();
    places
}

const ALL: [&str; 3] = ["icon.png", "logo.png", "src/page.ts:8"];

fn drafts(github: &GitHub) -> usize {
    github.with(|state| {
        let reviews = state.reviews.iter();
        reviews.filter(|one| one.state == "PENDING").count()
    })
}

/// One review with everything, tracked and linked to.
fn said_at_once(world: World, ran: &Ran) {
    ran.ended(0, "findings");
    assert_eq!(places(&world), ALL, "{}", ran.log);
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 3, "{review}");
    let body = review["body"].as_str().unwrap();
    assert!(
        body.starts_with("### 3 findings") && body.contains("\"kind\":\"manifest\""),
        "{body}"
    );
    let report = ran.report.as_ref().expect("a report");
    for one in report["findings"].as_array().unwrap() {
        let url = one["url"].as_str().unwrap_or_default();
        assert!(url.contains("#discussion_r"), "{one}");
    }
    assert_eq!(drafts(&world.github), 0);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn findings_on_lines_and_on_whole_files_are_one_review() {
    let world = world(7);
    let ran = world.review();
    said_at_once(world, &ran);
}

#[test]
fn an_answer_that_is_lost_doubles_nothing() {
    let bad_gateway = || json!({ "message": "Server Error" });
    for fault in [
        Fault::ApplyThenDrop,
        Fault::ApplyThenStatus(502, bad_gateway()),
        Fault::Drop,
    ] {
        for step in ["draft", "comment", "submit"] {
            let world = world(7);
            let github = &world.github;
            match step {
                "draft" => github.on(Method::POST, REVIEWS, 1, fault.clone()),
                "comment" => github.on_graphql(ADD, 1, fault.clone()),
                _ => github.on(Method::POST, A_REVIEW, 1, fault.clone()),
            }
            let ran = world.review();
            said_at_once(world, &ran);
        }
    }
}

/// What people are told of besides the review.
fn said_beside(world: &World) -> Vec<String> {
    let writes = world.github.take_writes().into_iter();
    let beside = writes.filter_map(|write| match write {
        Write::Comment { json, .. } => Some(json["path"].as_str()?.to_owned()),
        _ => None,
    });
    beside.collect()
}

#[test]
fn where_github_takes_no_comment_on_a_file_into_a_review_it_stands_beside_it() {
    let unknown =
        "InputObject 'AddPullRequestReviewThreadInput' doesn't accept argument 'subjectType'";
    let older = json!({ "errors": [{ "message": unknown }] });
    let nothing = json!({ "data": { ADD: { "thread": null } } });
    for (answer, times) in [(older, 2), (nothing, 2), (forbidden(), 1)] {
        let world = world(7);
        world
            .github
            .on_graphql(ADD, times, Fault::Status(200, answer));
        let ran = world.review();
        ran.ended(0, "findings");
        assert_eq!(places(&world), ALL, "{}", ran.log);
        let review = world.github.expect_review();
        assert_eq!(comments(&review).len(), 3 - times, "{review}");
        let mut beside = said_beside(&world);
        beside.sort();
        let files = if times == 2 {
            FILES.to_vec()
        } else {
            vec![beside[0].as_str()]
        };
        assert_eq!(beside, files);
        assert!(
            ran.log.contains("it is a comment of its own"),
            "{}",
            ran.log
        );
        assert_eq!(drafts(&world.github), 0);
        world.finish();
    }
}

#[test]
fn where_a_file_takes_no_comment_at_all_the_finding_is_in_the_text() {
    let world = world(7);
    let refused = Fault::Status(200, forbidden());
    world.github.on_graphql(ADD, 2, refused);
    let invalid = json!({ "message": "Validation Failed" });
    let comments_of = "/repos/octo/shop/pulls/1/comments";
    world
        .github
        .on(Method::POST, comments_of, 9, Fault::Status(422, invalid));
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(places(&world), ["src/page.ts:8"]);
    let review = world.github.expect_review();
    let body = review["body"].as_str().unwrap();
    for file in FILES {
        assert!(body.contains(&format!(" · `{file}`")), "{body}");
    }
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_draft_that_a_run_left_tells_nobody_anything_and_the_next_run_says_it_once() {
    let world = world(7);
    // The token expires between the last comment of the draft and its end.
    let expired = || Fault::Status(401, json!({ "message": "Bad credentials" }));
    world.github.on(Method::POST, A_REVIEW, 9, expired());
    world.github.on(Method::DELETE, A_REVIEW, 9, expired());
    let ran = world.review();
    ran.ended(2, "incomplete");
    assert_eq!((places(&world).len(), drafts(&world.github)), (0, 1));
    world.github.expect_check_run();
    world.github.with(State::clear_faults);
    let again = world.review();
    said_at_once(world, &again);
}

/// A run was cut off after it made a draft.
fn with_draft_left() -> World {
    let world = world(7);
    let expired = || Fault::Status(401, json!({ "message": "Bad credentials" }));
    world.github.on(Method::POST, A_REVIEW, 9, expired());
    world.github.on(Method::DELETE, A_REVIEW, 9, expired());
    world.review().ended(2, "incomplete");
    world.github.expect_check_run();
    world.github.with(State::clear_faults);
    world
}

#[test]
fn a_draft_is_no_review_for_a_run_that_has_nothing_to_say() {
    let world = with_draft_left();
    // The developer takes everything back that the findings were about.
    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let changes = FILES.map(Change::remove);
    let page = Change::write("src/page.ts", "export const page = 1;\n");
    let head = world
        .github
        .commit("search", &[&before], &[&changes[..], &[page]].concat());
    world.github.push(world.pull, &head);
    world.model.becomes(Script::new().into_behaviour());
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&world.workflow("pull_request", payload));
    ran.ended(0, "clean");
    assert_eq!((places(&world).len(), drafts(&world.github)), (0, 0));
    world.github.take_writes();
    world.finish();
}

#[test]
fn beside_a_draft_that_a_run_left_people_are_answered() {
    let world = with_draft_left();
    world.github.permit("writer", "write");
    let root = world
        .github
        .remark(world.pull, "writer", ("src/page.ts", 8), "Why down?");
    let asked = world
        .github
        .reply(root, "writer", "@review-my-code-bot help");
    let event = "pull_request_review_comment";
    let payload = events::comment_event(event, &world.github, world.pull, asked.id);
    world
        .run(&world.workflow(event, payload))
        .ended(0, "skipped");
    let (place, _) = world.github.expect_reply();
    assert_eq!((place, drafts(&world.github)), (root, 0));
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_draft_that_disappears_is_no_review_and_nothing_is_lost() {
    let world = world(7);
    // Another run of the same account clears up.
    let clears = Act::new(|state| {
        state.reviews.retain(|one| one.state != "PENDING");
        let kept: Vec<u64> = state.reviews.iter().map(|one| one.id).collect();
        state.comments.retain(|one| kept.contains(&one.review_id));
        state.threads.clear();
    });
    let github = &world.github;
    github.on_graphql(ADD, 1, Fault::Meanwhile(clears));
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(places(&world), ALL, "{}", ran.log);
    assert_eq!(drafts(&world.github), 0);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_line_that_github_refuses_is_on_its_file_in_the_same_review() {
    let world = world(7);
    let refuse = |state: &mut State| state.refused.push("src/page.ts".into());
    world.github.with(refuse);
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(places(&world), ["icon.png", "logo.png", "src/page.ts"]);
    assert_eq!(comments(&world.github.expect_review()).len(), 3);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_judgement_is_made_where_the_draft_is_submitted() {
    let world = world(9);
    let mut workflow = world.opened();
    let decide = ("review_event".to_owned(), "decide".to_owned());
    workflow.inputs.extend([decide]);
    world.run(&workflow).ended(0, "blocking");
    let review = world.github.expect_review();
    assert_eq!(review["event"], "REQUEST_CHANGES");
    assert_eq!(comments(&review).len(), 3);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_judgement_that_github_refuses_is_a_comment() {
    let world = world(9);
    let refusal = json!({ "message": "Validation Failed", "errors": ["Can not request changes on your own pull request"] });
    let refused = Fault::Status(422, refusal);
    world.github.on(Method::POST, A_REVIEW, 1, refused);
    let mut workflow = world.opened();
    let decide = ("review_event".to_owned(), "decide".to_owned());
    workflow.inputs.extend([decide]);
    world.run(&workflow).ended(0, "blocking");
    let review = world.github.expect_review();
    assert_eq!(review["event"], "COMMENT");
    assert_eq!(
        (places(&world), drafts(&world.github)),
        (ALL.map(str::to_owned).to_vec(), 0)
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn after_a_push_the_review_is_of_the_commit_that_was_reviewed() {
    let world = world(7);
    let reviewed = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let more = Change::write("src/more.ts", "export {};\n");
    let next = world.github.commit("search", &[&reviewed], &[more]);
    let (github, pull) = (world.github.handle(), world.pull);
    let script = script(7).pass(4, move |_| {
        github.push(pull, &next);
        vec![]
    });
    world.model.becomes(script.into_behaviour());
    let ran = world.review();
    let review = world.github.expect_review();
    assert_eq!(review["commit_id"], reviewed.as_str(), "{}", ran.log);
    let comments = world.github.comments();
    assert_eq!(comments.len(), 3);
    assert!(
        comments
            .iter()
            .all(|one| one.original_commit_id == reviewed)
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_dry_run_prints_one_review_and_drafts_none() {
    let world = world(7);
    let mut workflow = world.opened();
    workflow.inputs.insert("dry_run".into(), "true".into());
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    for file in FILES {
        let heading = format!("Comment of the review on the file {file}:");
        assert!(ran.log.contains(&heading), "{}", ran.log);
    }
    assert_eq!(ran.log.matches("Review of ").count(), 1, "{}", ran.log);
    assert_eq!((places(&world).len(), drafts(&world.github)), (0, 0));
    world.finish();
}

#[test]
fn a_token_of_an_app_does_the_same() {
    let world = world(7);
    let permissions = ["contents:read", "pull-requests:write", "checks:write"];
    let app = Identity::app("reviewer", &permissions);
    world.github.token(GitHub::TOKEN, app);
    let ran = world.review();
    said_at_once(world, &ran);
}

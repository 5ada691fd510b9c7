//! Changes that no session holds: each section has a session of its own, and all of them make one review.

use crate::panel::body_with;
use crate::review::{comments, finding, lost_page, post};
use crate::spending::head;
use crate::standin::github::{Change, Fault, State, events};
use crate::standin::model::panel::panel;
use crate::standin::model::{Answer, Call, Request, Script};
use crate::standin::world::{Ran, Workflow, World};
use http::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// About 36,000 bytes of diff.
fn module(number: usize) -> String {
    let line = |line: usize| format!("export const value{line} = load({number}, {line});\n");
    (0..600).map(line).collect()
}

pub(crate) fn path(number: usize) -> String {
    match number {
        108 | 109 => format!("src/login/form{number}.ts"),
        100 => "docs/page100.md".to_owned(),
        _ => format!("src/part{number}.ts"),
    }
}

const MODULES: std::ops::Range<usize> = 100..110;

/// The modules, which no session holds together.
pub(crate) fn changes() -> Vec<Change> {
    let change = |number| Change::write(&path(number), module(number));
    MODULES.map(change).collect()
}

fn world(model: impl FnMut(&Request) -> Answer + Send + 'static) -> World {
    World::with(&changes(), model)
}

/// With a model that can be shown about three modules in a session.
pub(crate) fn small(mut workflow: Workflow) -> Workflow {
    let context = ("model_context".to_owned(), "60000".to_owned());
    workflow.inputs.extend([context]);
    workflow
}

/// The same with about six.
fn medium(mut workflow: Workflow) -> Workflow {
    let context = ("model_context".to_owned(), "110000".to_owned());
    workflow.inputs.extend([context]);
    workflow
}

fn review(world: &World) -> Ran {
    world.run(&small(world.opened().quick()))
}

fn report(ran: &Ran) -> &Value {
    ran.report.as_ref().expect("a report")
}

pub(crate) fn sections(ran: &Ran) -> &[Value] {
    let sections = report(ran)["sections"].as_array();
    sections.map_or(&[], Vec::as_slice)
}

fn reasons(ran: &Ran) -> String {
    report(ran)["reasons"].to_string()
}

fn left_out(ran: &Ran) -> Vec<&str> {
    let names = report(ran)["left_out"].as_array().expect("a list");
    names.iter().filter_map(Value::as_str).collect()
}

/// A finding in the first line of a module that the prompt shows.
fn first_of(request: &Request, score: u64) -> Vec<Call> {
    let prompt = request.last_user();
    let shown = MODULES.filter(|number| prompt.contains(&format!("load({number}, 0)")));
    let own = shown.take(1).map(|number| {
        let text = format!("Module {number} is loaded before the account is known.");
        post(finding(&path(number), 1, score, &text))
    });
    own.collect()
}

/// In every section a finding of its own, and the same one in all of them.
fn reviewer() -> Script {
    Script::new().pass(1, |request| {
        let mut calls = first_of(request, 7);
        if request.part() == 1 {
            calls.push(post(lost_page(7)));
        }
        calls
    })
}

/// The model's requests of each section, 0 for those of none.
fn requests(world: &World, section: u32) -> Vec<Request> {
    let all = world.model.requests().into_iter().map(Request::new);
    all.filter(|request| request.section() == section).collect()
}

#[test]
fn every_line_stands_in_a_prompt_of_its_section_and_all_sections_make_one_review() {
    let world = world(reviewer().into_behaviour());
    let ran = review(&world);
    ran.ended(0, "findings");
    let sections = sections(&ran);
    assert!((3..=5).contains(&sections.len()), "{sections:#?}");
    assert!(left_out(&ran).is_empty(), "{:?}", left_out(&ran));
    let files: u64 = sections
        .iter()
        .filter_map(|one| one["files"].as_u64())
        .sum();
    let told = format!("Reviewing {files} files of octo/shop#");
    assert!(
        ran.log.contains(&told),
        "every file is in one section: {}",
        ran.log
    );
    for (number, section) in (1..).zip(sections) {
        assert_eq!(section["section"], number);
        assert_eq!(section["reviewed"], true, "{section}");
        assert_eq!(section["passes"], json!([1, 2, 3, 4]));
        let prompts: String = requests(&world, number)
            .iter()
            .map(Request::last_user)
            .collect();
        let own: Vec<usize> = MODULES
            .filter(|module| prompts.contains(&format!("load({module}, 0)")))
            .collect();
        for module in own {
            assert!(
                prompts.contains(&format!("load({module}, 599)")),
                "{module}"
            );
            let riskiest = path(module).starts_with("src/login/");
            assert!(!riskiest || number == 1, "the riskiest come first");
        }
    }
    let shown: String = world
        .model
        .requests()
        .iter()
        .map(Value::to_string)
        .collect();
    for module in MODULES {
        assert!(shown.contains(&format!("load({module}, 599)")), "{module}");
    }
    // The same defect is said once, and so is what each section found.
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), sections.len() + 1, "{said:#?}");
    body_with(&said, "The last page is lost.");
    // One consolidation saw all of them, and no diff.
    let last = requests(&world, 0);
    let prompt = last.first().expect("a consolidation").last_user();
    assert!(prompt.contains("Consolidation of all "), "{prompt}");
    assert_eq!(prompt.matches("is loaded before").count(), sections.len());
    assert_eq!(prompt.matches("The last page is lost.").count(), 1);
    assert!(!prompt.contains("export const"), "{prompt}");
    let whole = format!("{} sections", sections.len());
    assert!(ran.summary.contains(&whole), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}

/// `make bench` reviews as many as GitHub lists.
#[test]
fn six_hundred_files_are_reviewed_whole_in_few_more_requests_than_there_are_pages() {
    let file = |number: usize| {
        let line = |line: usize| {
            format!(
                "export const value{line} = load(\"{number}\", {line}); // entry {line} of module {number}\n"
            )
        };
        let text: String = (1..=34).map(line).collect();
        Change::write(&format!("src/module{}/file{number}.ts", number % 50), text)
    };
    let changes: Vec<Change> = (1..=600).map(file).collect();
    let script = Script::new().pass(1, |request| {
        let shown = request.last_user().contains("load(\"1\", 1)");
        let text = "Module 1 is loaded before the account is known.";
        let found = || post(finding("src/module1/file1.ts", 1, 7, text));
        shown.then(found).into_iter().collect()
    });
    let world = World::with(&changes, script.into_behaviour());
    let ran = world.run(&world.opened().quick());
    ran.ended(0, "findings");
    assert!(left_out(&ran).is_empty(), "{:?}", left_out(&ran));
    let lines: u64 = sections(&ran)
        .iter()
        .filter_map(|one| one["lines"].as_u64())
        .sum();
    assert!(lines >= 20_400, "{lines}");
    let asked = world.github.requests();
    let asked = asked
        .iter()
        .filter(|(_, route, _)| !route.contains(".git/"));
    let asked: Vec<&str> = asked.map(|(_, route, _)| route.as_str()).collect();
    // Of the files.
    let pages = 7;
    assert!(
        asked.len() <= pages + 20,
        "{} requests for {pages} pages: {asked:#?}",
        asked.len()
    );
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), 1, "{said:#?}");
    body_with(&said, "Module 1 is loaded before the account is known.");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_section_that_is_never_submitted_is_named_with_its_files_and_the_others_are_published() {
    let mut honest = reviewer().into_behaviour();
    let world = world(move |request| match (request.section(), request.pass()) {
        (2, Some(2)) => Answer::text("I would rather not."),
        _ => honest(request),
    });
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let of = sections(&ran).len();
    let why = format!(
        "Section 2 of {of} was not reviewed to the end. Pass 2 of 4 was never submitted by the model"
    );
    assert!(reasons(&ran).contains(&why), "{}", reasons(&ran));
    let reviewed: Vec<bool> = sections(&ran)
        .iter()
        .map(|section| section["reviewed"] == true)
        .collect();
    let expected: Vec<bool> = (1..=of).map(|number| number != 2).collect();
    assert_eq!(reviewed, expected);
    assert_eq!(sections(&ran)[1]["passes"], json!([1]));
    let names = left_out(&ran);
    let marked = format!("(section 2 of {of} was not reviewed to the end)");
    assert!(
        names.iter().all(|name| name.ends_with(&marked)),
        "{names:?}"
    );
    let files = sections(&ran)[1]["files"].as_u64();
    assert_eq!(names.len() as u64, files.expect("a number"));
    // Its first pass was submitted, so what it found counts.
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), of + 1, "{said:#?}");
    // The record does not call the head reviewed.
    let asked = world.model.requests().len();
    review(&world).ended(2, "incomplete");
    assert!(world.model.requests().len() > asked);
    world.github.take_writes();
    world.finish();
}

#[test]
fn sections_that_the_budget_does_not_reach_are_named() {
    let world = world(reviewer().into_behaviour());
    let mut workflow = small(world.opened().quick());
    let most = ("max_tokens".to_owned(), "200000".to_owned());
    workflow.inputs.extend([most]);
    let ran = world.run(&workflow);
    ran.ended(2, "incomplete");
    assert!(
        reasons(&ran).contains("max_tokens of 200"),
        "{}",
        reasons(&ran)
    );
    let unreviewed = sections(&ran).iter().filter(|one| one["reviewed"] != true);
    let files: u64 = unreviewed.filter_map(|one| one["files"].as_u64()).sum();
    assert_eq!(left_out(&ran).len() as u64, files);
    assert!(files > 0);
    world.github.take_writes();
    world.finish();
}

#[test]
fn what_could_not_be_posted_is_posted_by_a_run_that_does_not_reach_its_section() {
    let mut honest = reviewer().into_behaviour();
    let world = world(move |request| match (request.section(), request.pass()) {
        (2, Some(2)) => Answer::text("I would rather not."),
        _ => honest(request),
    });
    let down = Fault::Status(403, json!({ "message": "Not now." }));
    let reviews = "/repos/octo/shop/pulls/1/reviews";
    world.github.on(Method::POST, reviews, 9, down);
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let of = sections(&ran).len();
    assert!(of > 3, "more than begin at once");
    world.github.take_writes();
    world.github.with(State::clear_faults);
    let mut workflow = small(world.opened().quick());
    let most = ("max_tokens".to_owned(), "1000".to_owned());
    workflow.inputs.extend([most]);
    let ran = world.run(&workflow);
    ran.ended(2, "incomplete");
    assert!(sections(&ran)[of - 1]["passes"] == json!([]));
    assert_eq!(comments(&world.github.expect_review()).len(), of + 1);
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_sidecar_that_dies_takes_its_own_section_along_and_no_other() {
    let mut honest = reviewer().into_behaviour();
    let world = world(move |request| match (request.section(), request.pass()) {
        // As often as it is started again.
        (2, Some(2)) => Answer::call("sidecar_exit", json!({})),
        _ => honest(request),
    });
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let of = sections(&ran).len();
    let why = format!("Section 2 of {of} was not reviewed to the end. Pass 2 of 4 failed: ");
    assert!(reasons(&ran).contains(&why), "{}", reasons(&ran));
    let warnings = ran.annotations("warning");
    let restarted = warnings
        .iter()
        .filter(|one| one.contains("It was started again"));
    let restarted: Vec<_> = restarted.collect();
    assert!(!restarted.is_empty(), "{warnings:#?}");
    assert!(
        restarted.iter().all(|one| one.starts_with("Section 2: ")),
        "{restarted:#?}"
    );
    let reviewed = sections(&ran).iter().filter(|one| one["reviewed"] == true);
    assert_eq!(reviewed.count(), of - 1);
    assert_eq!(comments(&world.github.expect_review()).len(), of + 1);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_model_that_cannot_be_used_is_one_failure_and_no_section_after_the_first_ones_asks() {
    let error = json!({ "error": { "message": "Incorrect API key", "code": "invalid_api_key" } });
    let world = world(move |_| Answer::status(401, error.clone()));
    let ran = review(&world);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    assert_eq!(ran.status(), "error", "{}", ran.log);
    assert!(
        world.model.requests().len() <= 3,
        "as many as begin at once"
    );
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_consolidation_that_is_never_submitted_leaves_the_findings_and_an_incomplete_review() {
    let mut honest = reviewer().into_behaviour();
    let world = world(move |request| {
        if request.is_of_all_sections() {
            Answer::text("They all look fine.")
        } else {
            honest(request)
        }
    });
    let ran = review(&world);
    ran.ended(2, "incomplete");
    let why = "The consolidation of all sections was not finished. Pass 4 of 4 was never submitted";
    assert!(reasons(&ran).contains(why), "{}", reasons(&ran));
    assert!(left_out(&ran).is_empty());
    let of = sections(&ran).len();
    assert_eq!(comments(&world.github.expect_review()).len(), of + 1);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_push_after_a_large_review_is_reviewed_by_what_is_new_in_one_session() {
    let world = world(reviewer().into_behaviour());
    review(&world).ended(0, "findings");
    world.github.take_writes();
    let before = head(&world);
    let asked = world.model.requests().len();
    let more = [Change::write(
        "src/more.ts",
        "export const more = load(7);\n",
    )];
    let new = world.github.commit("search", &[&before], &more);
    world.github.push(world.pull, &new);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&small(world.workflow("pull_request", payload).quick()));
    ran.ended(0, "findings");
    assert!(sections(&ran).is_empty(), "one session was enough");
    let since = &world.model.requests()[asked..];
    let first = since[0].to_string();
    assert!(first.contains("export const more"), "{first}");
    assert!(!first.contains("load(105, 300)"), "{first}");
    world.github.take_writes();
    world.finish();
}

#[test]
fn each_of_several_reviewers_reviews_every_section() {
    let own = |text: &'static str, score: u64| {
        Script::new().pass(1, move |request| {
            let is_first = request.section() == 1 && request.part() == 1;
            let found = || post(finding(&path(108), 3, score, text));
            is_first.then(found).into_iter().collect()
        })
    };
    let general = own("The form is sent before it is checked.", 7);
    let security = own("The form is sent before it is checked.", 7);
    let world = world(panel(vec![general, security]));
    let mut workflow = medium(world.opened());
    let two = ("reviewers".to_owned(), "2".to_owned());
    workflow.inputs.extend([two]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    for section in sections(&ran) {
        assert_eq!(section["passes"], json!([1, 2, 3, 4]), "{section}");
    }
    let passes = report(&ran)["passes"].as_array().expect("passes");
    let seats: BTreeSet<(u64, &str)> = passes
        .iter()
        .filter_map(|pass| Some((pass["section"].as_u64()?, pass["reviewer"].as_str()?)))
        .collect();
    assert_eq!(seats.len(), 2 * sections(&ran).len(), "{seats:?}");
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), 1, "{said:#?}");
    world.github.expect_check_run();
    world.finish();
}

/// The same with the real OpenCode, whose sessions, tools and prompts are the model's view.
#[test]
fn sections_are_reviewed_by_the_real_opencode_one_beside_the_other() {
    let world = world(reviewer().into_behaviour());
    let ran = world.run(&medium(world.opened()));
    ran.ended(0, "findings");
    let of = sections(&ran).len();
    assert!((2..=3).contains(&of), "{of}");
    for number in 1..=u32::try_from(of).unwrap() {
        let own = requests(&world, number);
        let first = own.first().expect("a request");
        let yours = format!("yours is section {number} of {of}");
        assert!(first.last_user().contains(&yours));
        let tools = first.tools();
        assert!(
            tools.contains(&"submit_pass_results".to_owned()),
            "{tools:?}"
        );
    }
    assert_eq!(comments(&world.github.expect_review()).len(), of + 1);
    world.github.expect_check_run();
    world.finish();
}

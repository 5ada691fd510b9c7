//! Several reviewers on one pull request: what each of them may do, and what people see of it.

mod unfinished;

use crate::review::{comments, finding, layer_bypassed, lost_page, post};
use crate::standin::github::{Change, events};
use crate::standin::model::panel::{listed, of_behaviours, panel, reviewer, verdict};
use crate::standin::model::{Answer, Call, Model, Request, Script};
use crate::standin::shop;
use crate::standin::world::{KEY, Ran, Workflow, World};
use serde_json::{Value, json};
use std::time::Duration;

fn with_reviewers(world: &World, reviewers: &str) -> Ran {
    let mut workflow = world.opened();
    let reviewers = ("reviewers".to_owned(), reviewers.to_owned());
    workflow.inputs.extend([reviewers]);
    world.run(&workflow)
}

const FOLLOWED: &str = "I followed the scenario through the code.";

/// A reviewer that confirms everything it is asked about, except what holds one of these words.
fn examines(
    script: Script,
    refutes: &'static [(&'static str, &'static str, &'static str)],
) -> Script {
    script.pass(4, move |request| {
        let judged = listed(request).into_iter().map(|(name, text)| {
            let against = refutes.iter().find(|(word, _, _)| text.contains(word));
            match against {
                Some((_, file, quote)) => verdict(&name, "refute", FOLLOWED, Some((*file, *quote))),
                None => verdict(&name, "confirm", FOLLOWED, None),
            }
        });
        judged.collect()
    })
}

pub fn body_with<'a>(comments: &'a [Value], words: &str) -> &'a str {
    let mut bodies = comments.iter().filter_map(|one| one["body"].as_str());
    bodies
        .find(|body| body.contains(words))
        .unwrap_or_else(|| panic!("no comment says {words:?}: {comments:#?}"))
}

#[test]
fn one_comment_for_each_cause_and_every_single_voice_is_verified() {
    let name = shop::line_of("src/page.ts", "const d =");
    let misnamed = finding(
        "src/page.ts",
        name,
        6,
        "The constant d is never used again.",
    );
    let general = Script::new().pass(1, move |_| vec![post(lost_page(7)), post(misnamed.clone())]);
    let quality = Script::new().pass(2, |_| vec![post(layer_bypassed(8))]);
    let security = Script::new().pass(3, |_| vec![post(lost_page(8))]);
    let against: &[_] = &[("never used", "src/page.ts", "Math.floor(count / size)")];
    let scripts = [general, quality, security].map(|script| examines(script, against));
    let world = World::with(&[], panel(scripts.into()));
    let ran = with_reviewers(&world, "3");
    ran.ended(0, "findings");
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), 2, "{said:#?}");
    let shared = body_with(&said, "The last page is lost.");
    assert!(shared.contains("8/10"), "the highest score: {shared}");
    assert!(
        shared.contains("Raised independently by 2 of 3 reviewers: general, security."),
        "{shared}"
    );
    let single = body_with(&said, "past the service layer");
    assert!(
        single.contains("Raised by quality, 1 of 3 reviewers. Verified by "),
        "{single}"
    );
    world.github.expect_check_run();
    world.finish();
}

/// Findings of three reviewers at one place that block, and what the second says to it.
fn on_a_blocking_finding(verdict: &'static [(&str, &str, &str)]) -> World {
    let general = Script::new().pass(1, |_| vec![post(lost_page(9))]);
    let quality = examines(Script::new(), verdict);
    let security = examines(Script::new(), &[]);
    World::with(&[], panel(vec![general, quality, security]))
}

#[test]
fn what_blocks_and_is_refuted_by_one_stands_with_both_arguments() {
    let world = on_a_blocking_finding(&[("last page", "src/page.ts", "Math.floor(count / size)")]);
    let ran = with_reviewers(&world, "3");
    ran.ended(0, "blocking");
    let said = comments(&world.github.expect_review());
    let body = body_with(&said, "The last page is lost.");
    let contested = "**Contested**: raised by general, refuted by quality. It stands until somebody with write access closes this conversation.";
    assert!(body.contains(contested), "{body}");
    assert!(
        body.contains("- For, security: I followed the scenario through the code."),
        "{body}"
    );
    assert!(body.contains("`Math.floor(count / size)`"), "{body}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_refutation_without_a_quote_of_the_code_counts_for_nothing() {
    let world = on_a_blocking_finding(&[("last page", "src/page.ts", "Math.ceil(count / size)")]);
    let ran = with_reviewers(&world, "3");
    ran.ended(0, "blocking");
    let said = comments(&world.github.expect_review());
    let body = body_with(&said, "The last page is lost.");
    assert!(!body.contains("Contested"), "{body}");
    assert!(body.contains("Verified by security."), "{body}");
    let refused = "The quote is not code of that file.";
    let seen = world
        .model
        .requests()
        .iter()
        .any(|request| request.to_string().contains(refused));
    assert!(seen, "the reviewer was told");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_reviewer_that_does_not_finish_is_named_and_what_it_found_counts() {
    let general = Script::new().pass(1, |_| vec![post(lost_page(7))]);
    let quality = Script::new().pass(1, |_| vec![post(layer_bypassed(8))]);
    let scripts = vec![general, quality.never_submits(3), Script::new()];
    let world = World::with(&[], panel(scripts));
    let ran = with_reviewers(&world, "3");
    ran.ended(2, "incomplete");
    let why = "The reviewer quality did not finish. Pass 3 of 4 was never submitted by the model";
    assert!(ran.summary.contains(why), "{}", ran.summary);
    let said = comments(&world.github.expect_review());
    body_with(&said, "The last page is lost.");
    body_with(&said, "past the service layer");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["consensus"]["conclusion"], Value::Null);
    let finished: Vec<&Value> = report["reviewers"]
        .as_array()
        .expect("reviewers")
        .iter()
        .map(|one| &one["finished"])
        .collect();
    assert_eq!(finished, [true, false, true]);
    world.github.expect_check_run();
    world.finish();
}

/// A catalogue provider whose address is on this machine by name, so that a proxy can stand in for it.
const SECOND: &str = "privatemode-ai";

#[test]
fn each_reviewer_reaches_its_own_provider_with_its_own_key_and_model() {
    let scripts = vec![Script::new(), Script::new(), Script::new()];
    let world = World::with(&[], panel(scripts));
    let second = Model::start(panel(vec![Script::new(), Script::new(), Script::new()]));
    let mut workflow = world.opened();
    let given = [
        (
            "reviewers",
            format!("general, quality=standin/other, security={SECOND}/third"),
        ),
        ("api_keys", format!("{SECOND}=second-key-0123456789")),
    ];
    workflow
        .inputs
        .extend(given.map(|(name, value)| (name.to_owned(), value)));
    let address = second.url().trim_end_matches("/v1").to_owned();
    workflow.variables.extend([
        ("HTTP_PROXY".to_owned(), address),
        ("NO_PROXY".to_owned(), "127.0.0.1".to_owned()),
    ]);
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    let asked = |model: &Model| {
        let (requests, headers) = (model.requests(), model.headers());
        let mut asked: Vec<(usize, String, String)> = requests
            .into_iter()
            .zip(headers)
            .map(|(request, headers)| {
                let name = request["model"].as_str().unwrap_or_default().to_owned();
                let key = headers["authorization"]
                    .to_str()
                    .unwrap_or_default()
                    .to_owned();
                (reviewer(&Request::new(request)), name, key)
            })
            .collect();
        asked.sort();
        asked.dedup();
        asked
    };
    let own = format!("Bearer {KEY}");
    assert_eq!(
        asked(&world.model),
        [
            (1, "scripted".to_owned(), own.clone()),
            (2, "other".to_owned(), own)
        ]
    );
    let other = "Bearer second-key-0123456789".to_owned();
    assert_eq!(asked(&second), [(3, "third".to_owned(), other)]);
    let masked = "::add-mask::second-key-0123456789\n";
    assert_eq!(ran.log.matches("second-key-0123456789").count(), 1);
    assert!(ran.log.contains(masked), "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_provider_that_refuses_one_reviewer_is_named_and_the_others_go_on() {
    let general = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let refused = |_: &Request| Answer::status(401, json!({ "error": { "message": "wrong key" } }));
    let world = World::with(
        &[],
        of_behaviours(vec![Box::new(general), Box::new(refused)]),
    );
    let ran = with_reviewers(&world, "2");
    ran.ended(2, "incomplete");
    assert!(
        ran.summary.contains("The reviewer quality did not finish."),
        "{}",
        ran.summary
    );
    assert!(
        ran.summary.contains("wrong key (HTTP 401)"),
        "{}",
        ran.summary
    );
    let said = comments(&world.github.expect_review());
    body_with(&said, "The last page is lost.");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn the_order_in_which_reviewers_end_changes_nothing() {
    let bodies = [[0, 150], [150, 0]].map(|delays| {
        let scripts = [
            Script::new().pass(1, |_| vec![post(lost_page(7))]),
            Script::new().pass(1, |_| vec![post(lost_page(8)), post(layer_bypassed(7))]),
        ];
        let scripts = scripts.map(|script| examines(script, &[]));
        let mut behaviour = panel(scripts.into());
        let world = World::with(&[], move |request| {
            std::thread::sleep(Duration::from_millis(delays[reviewer(request) - 1]));
            behaviour(request)
        });
        with_reviewers(&world, "2").ended(0, "findings");
        let said = comments(&world.github.expect_review());
        let visible = |one: &Value| {
            let body = one["body"].as_str().unwrap_or_default();
            let text = body.split("\n---\n").next().unwrap_or_default().to_owned();
            (one["path"].clone(), one["line"].clone(), text)
        };
        let said: Vec<_> = said.iter().map(visible).collect();
        world.github.expect_check_run();
        world.finish();
        said
    });
    assert_eq!(bodies[0].len(), 2, "{bodies:#?}");
    assert_eq!(bodies[0], bodies[1]);
}

#[test]
fn a_reviewer_cannot_call_the_tools_of_another() {
    // The first reviewer ends the pass of the second, and withdraws its finding.
    let general = |request: &Request| match (request.pass(), request.step()) {
        (Some(1), 0) => Answer::calls(vec![
            Call::new(
                "r2_submit_pass_results",
                json!({ "pass_number": 1, "summary": "Stolen.", "has_blocking_issues": false }),
            ),
            Call::new(
                "r2_github_resolve_thread",
                json!({ "thread_id": "new-1", "reason": "No." }),
            ),
        ]),
        (Some(pass), 0 | 1) => Answer::call(
            "submit_pass_results",
            json!({ "pass_number": pass, "summary": "Done.", "has_blocking_issues": false }),
        ),
        _ => Answer::text("Done."),
    };
    let quality = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let mut behaviours = of_behaviours(vec![
        Box::new(|_: &Request| Answer::text("")),
        Box::new(quality),
    ]);
    let world = World::with(&[], move |request| match reviewer(request) {
        1 => general(request),
        _ => behaviours(request),
    });
    let ran = with_reviewers(&world, "2");
    ran.ended(0, "findings");
    let said = comments(&world.github.expect_review());
    body_with(&said, "The last page is lost.");
    assert!(!ran.summary.contains("Stolen."), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn one_reviewer_alone_is_what_it_always_was() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    let ran = with_reviewers(&world, "1");
    ran.ended(0, "findings");
    let requests = world.model.requests();
    let prompts = |request: &Value| Request::new(request.clone()).is_first();
    assert_eq!(
        requests.iter().filter(|one| prompts(one)).count(),
        1,
        "one session"
    );
    for request in &requests {
        let request = request.to_string();
        assert!(
            !request.contains("finding_verdict") && !request.contains("r2_"),
            "{request}"
        );
        assert!(
            !request.contains("panel") && !request.contains("other reviewers"),
            "{request}"
        );
    }
    let said = comments(&world.github.expect_review());
    assert!(!said[0].to_string().contains("Raised by"), "{said:#?}");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["reviewers"], json!([]));
    assert_eq!(report["consensus"], Value::Null);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn wrong_reviewers_are_told_all_at_once_before_anything_is_asked() {
    let world = World::shop(Script::new()).quick();
    let mut workflow = world.opened();
    let given = [
        ("reviewers", "speed, general, general"),
        ("api_keys", "nonsense"),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    workflow.inputs.extend(given);
    let ran = world.run(&workflow);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    let errors = ran.annotations("error").join("\n");
    assert!(
        errors.contains(": speed is no reviewer, general stands there twice."),
        "{errors}"
    );
    assert!(
        errors.contains(
            "Input api_keys has a value that cannot be used; expected lines provider=key"
        ),
        "{errors}"
    );
    let mut keyless = world.opened();
    let reviewer = (
        "reviewers".to_owned(),
        "general, security=openai/gpt-5".to_owned(),
    );
    keyless.inputs.extend([reviewer]);
    keyless.inputs.remove("model_base_url");
    keyless
        .inputs
        .insert("model".into(), "anthropic/claude-sonnet-4-5".into());
    let ran = world.run(&keyless);
    let errors = ran.annotations("error").join("\n");
    assert!(
        errors.contains(
            "The reviewer security uses the provider openai, which needs a key; add a line openai=… with it to api_keys."
        ),
        "{errors}"
    );
    assert_eq!(world.model.requests().len(), 0);
    world.finish();
}

#[test]
fn a_fix_of_what_blocks_is_confirmed_by_a_second_reviewer_with_its_own_model() {
    let first = [
        Script::new().pass(1, |_| vec![post(lost_page(9))]),
        Script::new(),
    ];
    let world = World::with(&[], panel(first.map(|script| examines(script, &[])).into()));
    let reviewers = "general, quality=standin/other";
    with_reviewers(&world, reviewers).ended(0, "blocking");
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let asked = world.model.requests().len();
    let claims = Script::new().threads(move |_| {
        let fixed = json!({ "file": "src/page.ts" });
        let arguments =
            json!({ "thread_id": root.to_string(), "reason": "It is fixed.", "fixed_by": fixed });
        vec![Call::new("github_resolve_thread", arguments)]
    });
    let second = Script::new().finds_fixed(true);
    world.model.becomes(panel(vec![claims, second]));
    let github = &world.github;
    let before = github.with(|state| state.pulls[&world.pull].head.sha.clone());
    let head = github.commit("search", &[&before], &[shop::fixed()]);
    github.push(world.pull, &head);
    let payload = events::synchronize_event(github, world.pull, &before);
    let mut workflow = world.workflow("pull_request", payload);
    let reviewers = ("reviewers".to_owned(), reviewers.to_owned());
    workflow.inputs.extend([reviewers]);
    world.run(&workflow).ended(0, "clean");
    let requests = world.model.requests().split_off(asked);
    let checks = requests.iter().filter(|request| {
        let prompt = Request::new((*request).clone()).last_user();
        prompt.starts_with("A check of fixes.")
    });
    let models: Vec<&str> = checks
        .filter_map(|request| request["model"].as_str())
        .collect();
    assert!(!models.is_empty(), "nobody checked");
    assert!(models.iter().all(|model| *model == "other"), "{models:?}");
    let threads = world.github.threads();
    assert!(threads[0].is_resolved, "{threads:#?}");
    world.github.take_writes();
    world.finish();
}

#[test]
fn a_person_s_open_conversation_counts_in_the_consensus_of_a_panel() {
    let first = Script::new().weighs(|_| Some("P0"));
    let world = World::with(&[], panel(vec![first, Script::new(), Script::new()]));
    world.github.permit("writer", "write");
    let line = shop::line_of("src/page.ts", "Math.floor");
    let place = ("src/page.ts", u64::from(line));
    let words = "This loses the last page.";
    world.github.remark(world.pull, "writer", place, words);
    let ran = with_reviewers(&world, "3");
    ran.ended(0, "clean");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["consensus"]["conclusion"], "needs_major_work");
    let line = "**Consensus: needs major work** (rule 1: 1 finding of P0 stands, from an open conversation of people).";
    assert!(ran.summary.contains(line), "{}", ran.summary);
    world.github.expect_check_run();
    world.finish();
}

/// The run after a push with these changes.
fn pushed(world: &World, changes: &[Change]) -> Workflow {
    let github = &world.github;
    let before = github.with(|state| state.pulls[&world.pull].head.sha.clone());
    let head = github.commit("search", &[&before], changes);
    github.push(world.pull, &head);
    let payload = events::synchronize_event(github, world.pull, &before);
    world.workflow("pull_request", payload)
}

#[test]
fn a_problem_that_is_back_is_reopened_whichever_reviewer_sees_it() {
    let finds = || Script::new().pass(1, |_| vec![post(lost_page(8))]);
    let world = World::shop(finds());
    let opened = world.opened().quick();
    world.run(&opened).ended(0, "findings");
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let resolves = Script::new().threads(move |_| {
        let fixed = json!({ "file": "src/page.ts" });
        let arguments =
            json!({ "thread_id": root.to_string(), "reason": "It is fixed.", "fixed_by": fixed });
        vec![Call::new("github_resolve_thread", arguments)]
    });
    world.model.becomes(resolves.into_behaviour());
    let fixed = pushed(&world, &[shop::fixed()]).quick();
    world.run(&fixed).ended(0, "clean");
    world.github.take_writes();
    world.model.becomes(panel(vec![Script::new(), finds()]));
    let back = [Change::write("src/page.ts", shop::head_of("src/page.ts"))];
    let mut workflow = pushed(&world, &back);
    workflow.inputs.insert("reviewers".into(), "2".into());
    world.run(&workflow).ended(0, "findings");
    let threads = world.github.threads();
    assert!(!threads[0].is_resolved, "{threads:#?}");
    let comments = world.github.comments();
    let last = &comments.last().expect("a reply").body;
    assert!(last.starts_with("The problem is back."), "{last}");
    world.github.take_writes();
    world.finish();
}

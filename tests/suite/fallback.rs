//! A model that cannot be used, and the one that goes on in its place: what people see of it, and where it may not.

mod sessions;

use crate::review::{comments, layer_bypassed, lost_page, post};
use crate::sections;
use crate::standin::github::{GitHub, Identity, Write};
use crate::standin::model::panel::{panel, reviewer};
use crate::standin::model::{Answer, Request, Script};
use crate::standin::world::{KEY, Ran, Workflow, World};
use serde_json::{Value, json};

/// The run's own model.
const OWN: &str = "scripted";
const OTHER: &str = "standin/other";

/// The model that a request is for.
fn model(request: &Value) -> &str {
    request["model"].as_str().expect("a model")
}

fn error(message: &str, code: &str) -> Value {
    json!({ "error": { "message": message, "type": "error", "code": code } })
}

fn unknown() -> Answer {
    Answer::status(404, error("No such model.", "model_not_found"))
}

fn no_credit() -> Answer {
    Answer::status(402, error("Insufficient Balance", "payment"))
}

/// The example pull request, reviewed by this script, whichever model answers. The run's own model fails where it is said.
fn world(
    script: Script,
    mut fails: impl FnMut(&Request) -> Option<Answer> + Send + 'static,
) -> World {
    let mut script = script.into_behaviour();
    World::with(&[], move |request| {
        let is_own = model(request.raw()) == OWN;
        let failure = is_own.then(|| fails(request)).flatten();
        failure.unwrap_or_else(|| script(request))
    })
}

fn workflow(world: &World, fallback: &str) -> Workflow {
    let mut workflow = world.opened();
    let fallback = ("fallback_model".to_owned(), fallback.to_owned());
    workflow.inputs.extend([fallback]);
    workflow
}

/// The models of the requests, in their order, each once in a row.
fn asked(world: &World) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for request in world.model.requests() {
        models.push(model(&request).to_owned());
    }
    models.dedup();
    models
}

fn fallbacks(ran: &Ran) -> Vec<Value> {
    let report = ran.report.as_ref().expect("a report");
    report["fallbacks"].as_array().expect("fallbacks").clone()
}

/// In pass 2 the first model has a finding, and is overloaded then; the other one has the same finding.
fn in_pass_2() -> Script {
    Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .pass(2, |_| vec![post(layer_bypassed(8))])
}

/// With the real OpenCode, which changes the model inside one session.
#[test]
fn an_overloaded_model_is_replaced_in_the_middle_of_a_pass() {
    let busy = |request: &Request| {
        let is_middle = request.pass() == Some(2) && request.step() > 0;
        is_middle.then_some(Answer::Wait(3_600))
    };
    let world = world(in_pass_2(), busy);
    let ran = world.run(&workflow(&world, OTHER));
    ran.ended(0, "findings");
    assert_eq!(asked(&world), [OWN, "other"], "{}", ran.log);
    let requests = world.model.requests();
    let first = requests.iter().find(|one| model(one) == "other");
    let first = first.expect("a request");
    let prompt = Request::new(first.clone()).last_user();
    assert!(
        prompt.starts_with("Another model worked on this"),
        "{prompt}"
    );
    let seen = first["messages"].to_string();
    assert!(seen.contains("# The pull request"), "the same session");
    assert!(
        seen.contains("Recorded as "),
        "with what was recorded: {seen}"
    );
    // The same finding again is no second one.
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 2, "{review:#}");
    let body = review["body"].as_str().expect("a body");
    let footer = "standin/scripted · fallback standin/other from pass 2 of 4 on ·";
    assert!(body.contains(footer), "{body}");
    assert!(!body.contains("was not completed"), "{body}");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    let line = "pass 2 of 4: standin/scripted has reached its rate limit; standin/other goes on";
    assert!(ran.log.contains(line), "{}", ran.log);
    let warning = ran.annotations("warning").join("\n");
    let told = "standin/other went on in its place, from pass 2 of 4 on. The model endpoint";
    assert!(warning.contains(told), "{warning}");
    assert!(
        warning.contains("wants to be asked again in 60 minutes"),
        "{warning}"
    );
    assert!(
        ran.summary.contains("standin/other went on in its place"),
        "{}",
        ran.summary
    );
    let entry = &fallbacks(&ran)[0];
    assert_eq!(entry["model"], "standin/scripted");
    assert_eq!(entry["fallback"], OTHER);
    assert_eq!(entry["since"], "pass 2 of 4");
    assert_eq!(entry["cause"], "rate_limit");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["model"], "standin/scripted, standin/other");
    let (all, since) = (report["tokens"].as_u64(), entry["tokens"].as_u64());
    assert!(since > Some(0) && since < all, "{since:?} of {all:?}");
    world.finish();
}

/// With the real OpenCode, whose second request to a silent model ends the turn.
#[test]
fn a_model_that_says_nothing_is_replaced() {
    let silent = |request: &Request| (request.pass() == Some(2)).then_some(Answer::Stall);
    let world = world(in_pass_2(), silent);
    let mut workflow = workflow(&world, "backup/other");
    let longest = ("review_timeout_minutes".into(), "360".into());
    workflow.inputs.extend([longest]);
    // Three seconds of silence in place of ten minutes.
    let scale = ("OPENCODE_REVIEWER_LIMIT_SCALE".into(), "0.005".into());
    workflow.variables.extend([scale]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    assert_eq!(fallbacks(&ran)[0]["cause"], "silent");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn an_overload_that_opencode_repeated_in_vain_ends_in_a_clean_review() {
    let busy = |request: &Request| {
        let message = json!({ "error": { "message": "Overloaded" } });
        (request.pass() == Some(3)).then(|| Answer::status(529, message))
    };
    let world = world(Script::new(), busy);
    let ran = world.run(&workflow(&world, OTHER).quick());
    ran.ended(0, "clean");
    assert_eq!(asked(&world), [OWN, "other"]);
    let entry = &fallbacks(&ran)[0];
    assert_eq!(
        (&entry["cause"], &entry["since"]),
        (&json!("overloaded"), &json!("pass 3 of 4"))
    );
    let reason = entry["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("OpenCode's repeats did not help: Overloaded (HTTP 529)"),
        "{reason}"
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    // The verdict of the other model holds: another one to fall back to reviews nothing anew.
    let before = world.model.requests().len();
    let ran = world.run(&workflow(&world, "standin/third").quick());
    ran.ended(0, "clean");
    assert_eq!(world.model.requests().len(), before, "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

/// Those of the first sections that are at work find out for themselves, the others begin with the other model.
#[test]
fn every_section_of_a_large_change_goes_on_with_the_other_model() {
    let script = Script::new().pass(1, |request| {
        let own = (request.section() == 1 && request.part() == 1).then(|| post(lost_page(7)));
        own.into_iter().collect()
    });
    let mut script = script.into_behaviour();
    let world = World::with(&sections::changes(), move |request| {
        if model(request.raw()) == OWN {
            no_credit()
        } else {
            script(request)
        }
    });
    let ran = world.run(&sections::small(workflow(&world, OTHER).quick()));
    ran.ended(0, "findings");
    let reviewed = sections::sections(&ran);
    assert!(reviewed.len() > 3, "{reviewed:#?}");
    assert!(reviewed.iter().all(|one| one["reviewed"] == true));
    let requests = world.model.requests();
    let own = requests.iter().filter(|one| model(one) == OWN).count();
    assert!((1..=3).contains(&own), "{own}: as many as begin at once");
    let entries = fallbacks(&ran);
    assert_eq!(entries.len(), 1, "{entries:#?}");
    assert_eq!(entries[0]["cause"], "quota");
    assert_eq!(entries[0]["sections"], reviewed.len());
    let warnings = ran.annotations("warning").join("\n");
    let told = format!("went on in its place, in {} sections. ", reviewed.len());
    assert_eq!(warnings.matches("went on in its place").count(), 1);
    assert!(warnings.contains(&told), "{warnings}");
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    let body = review["body"].as_str().expect("a body");
    let footer = format!("fallback standin/other in {} sections ·", reviewed.len());
    assert!(body.contains(&footer), "{body}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_model_that_nobody_knows_is_replaced_at_the_first_request() {
    let world = world(in_pass_2(), |_| Some(unknown()));
    let ran = world.run(&workflow(&world, OTHER).quick());
    ran.ended(0, "findings");
    assert_eq!(
        world
            .model
            .requests()
            .iter()
            .filter(|one| model(one) == OWN)
            .count(),
        1
    );
    assert_eq!(comments(&world.github.expect_review()).len(), 2);
    let entry = &fallbacks(&ran)[0];
    assert_eq!(
        (&entry["cause"], &entry["since"]),
        (&json!("unknown_model"), &json!("pass 1 of 4"))
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn an_endpoint_that_neither_model_can_be_reached_at_ends_the_run() {
    let world = world(in_pass_2(), |_| None);
    let mut workflow = workflow(&world, "xai/other").quick();
    let dead = ("model_base_url".into(), "http://127.0.0.1:1/v1".into());
    workflow.inputs.extend([dead]);
    let ran = world.run(&workflow);
    ran.ended(2, "error");
    let told = ran.annotations("error").join("\n");
    let both = "Neither standin/scripted nor its fallback xai/other can be used. Of standin/scripted: The model gateway cannot \
                reach http://127.0.0.1:1: connection refused (3 tries).";
    assert!(told.contains(both), "{told}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn where_both_models_fail_one_sentence_names_them_and_what_was_found_is_posted() {
    let mut script = in_pass_2().into_behaviour();
    let world = World::with(&[], move |request| {
        match (request.pass(), model(request.raw())) {
            (Some(2), OWN) => no_credit(),
            (Some(2), _) => unknown(),
            _ => script(request),
        }
    });
    let ran = world.run(&workflow(&world, OTHER).quick());
    ran.ended(2, "incomplete");
    let first = ran.annotations("error")[0];
    let both = "Pass 2 of 4 failed: Neither standin/scripted nor its fallback standin/other can be used. Of \
                standin/scripted: The model endpoint";
    assert!(first.contains(both), "{first}");
    assert!(
        first.contains("no credit or quota left: Insufficient Balance (HTTP 402)"),
        "{first}"
    );
    assert!(first.contains("does not know the model other"), "{first}");
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    let body = review["body"].as_str().expect("a body");
    assert!(body.contains("was not completed"), "{body}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_wrong_key_is_for_a_person_to_correct() {
    let refused = || Answer::status(401, error("Incorrect API key provided", "invalid_api_key"));
    let world = world(in_pass_2(), move |_| Some(refused()));
    let ran = world.run(&workflow(&world, OTHER).quick());
    ran.ended(2, "error");
    let told = ran.annotations("error").join("\n");
    assert!(
        told.contains("Incorrect API key provided (HTTP 401). Check the API key."),
        "{told}"
    );
    assert!(!told.contains("other"), "{told}");
    assert_eq!(world.model.requests().len(), 1);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn the_limits_of_the_run_hold_for_both_models_together() {
    let long = |request: &Request| {
        let path = "x".repeat(200_000);
        let reads = request.pass() == Some(2) && request.step() == 0;
        reads.then(|| Answer::call("read", json!({ "filePath": path })))
    };
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    // Each of the models alone stays below the limit.
    let world = World::with(&[], move |request| match model(request.raw()) {
        OWN if request.pass() == Some(2) && request.step() > 0 => no_credit(),
        _ => long(request).unwrap_or_else(|| script(request)),
    });
    let mut workflow = workflow(&world, OTHER).quick();
    workflow.inputs.insert("max_tokens".into(), "130000".into());
    let ran = world.run(&workflow);
    ran.ended(2, "incomplete");
    let first = ran.annotations("error")[0];
    assert!(
        first.contains("max_tokens of 130000 was reached"),
        "{first}"
    );
    assert!(!first.contains("Neither"), "{first}");
    assert_eq!(asked(&world), [OWN, "other"]);
    assert_eq!(comments(&world.github.expect_review()).len(), 1);
    world.github.expect_check_run();
    world.finish();
}

/// With the real OpenCode, which holds the sessions of all reviewers.
#[test]
fn a_reviewer_that_falls_back_counts_for_the_quorum() {
    let general = Script::new().pass(1, |_| vec![post(lost_page(7))]);
    let mut scripts = panel(vec![general, Script::new(), Script::new()]);
    let world = World::with(&[], move |request| {
        let fails = reviewer(request) == 2 && model(request.raw()) == "gpt-old";
        if fails { unknown() } else { scripts(request) }
    });
    let mut workflow = workflow(&world, "standin/claude-other");
    let reviewers = "general, quality=standin/gpt-old, security";
    workflow.inputs.insert("reviewers".into(), reviewers.into());
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    let report = ran.report.as_ref().expect("a report");
    let reviewers = report["reviewers"].as_array().expect("reviewers");
    let of =
        |field: &str| -> Vec<Value> { reviewers.iter().map(|one| one[field].clone()).collect() };
    assert_eq!(of("finished"), [true, true, true], "{}", ran.log);
    assert_eq!(
        of("model"),
        [
            "standin/scripted",
            "standin/claude-other",
            "standin/scripted"
        ]
    );
    assert_ne!(report["consensus"]["conclusion"], Value::Null);
    let entries = fallbacks(&ran);
    assert_eq!(entries.len(), 1, "the others keep their model");
    assert_eq!(entries[0]["reviewer"], "quality");
    let warning = ran.annotations("warning").join("\n");
    assert!(
        warning.contains("went on in its place for the reviewer quality"),
        "{warning}"
    );
    let review = world.github.expect_review();
    let body = review["body"].as_str().expect("a body");
    assert!(
        body.contains("fallback standin/claude-other from pass 1 of 4 on"),
        "{body}"
    );
    world.github.expect_check_run();
    world.finish();
}

fn refused_at_the_door(world: &World, workflow: &Workflow, sentence: &str) {
    let ran = world.run(&workflow.clone().quick());
    ran.ended(2, "error");
    assert_eq!(ran.annotations("error"), [sentence], "{}", ran.log);
    assert_eq!(world.model.requests().len(), 0);
}

#[test]
fn a_fallback_that_makes_no_sense_is_told_before_anything_is_asked() {
    let world = World::shop(Script::new());
    let same = "Input fallback_model is standin/scripted, the model that reviews already; expected another one.";
    refused_at_the_door(&world, &workflow(&world, "standin/scripted"), same);
    let provider = |fallback: &str| {
        let mut workflow = workflow(&world, fallback);
        workflow.inputs.remove("model_base_url");
        workflow
            .inputs
            .insert("model".into(), "anthropic/claude-sonnet-4-5".into());
        workflow
    };
    let unkeyed = "The input fallback_model names the provider openai, which needs a key; add a line openai=… with it to api_keys.";
    refused_at_the_door(&world, &provider("openai/gpt-5"), unkeyed);
    let mistyped = "fallback_model names the provider \"opnai\", which OpenCode does not know. Did you mean openai? Expected \
                    provider/name with a provider of OpenCode's catalogue, or any name together with model_base_url.";
    refused_at_the_door(&world, &provider("opnai/gpt-5"), mistyped);
    let nameless = "Input fallback_model is \"gpt-5\"; expected provider/name, for example anthropic/claude-sonnet-4-5.";
    refused_at_the_door(&world, &workflow(&world, "gpt-5"), nameless);
    world.finish();
}

#[test]
fn the_doctor_asks_both_models() {
    let doctor = |fails: fn(&Request) -> Option<Answer>| {
        let world = world(Script::new(), fails);
        let mut workflow = workflow(&world, OTHER).quick();
        workflow
            .variables
            .insert("GITHUB_ACTIONS".into(), String::new());
        let ran = world.spawn(&workflow, &["doctor", "--repo", "octo/shop", "--pr", "1"]);
        let models = asked(&world);
        world.finish();
        (ran, models)
    };
    let (ran, models) = doctor(|_| None);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(models, [OWN, "other"]);
    assert!(
        ran.log
            .contains("fallback model ok       standin/other answered"),
        "{}",
        ran.log
    );
    // A review would go on with the other one.
    let (ran, _) = doctor(|_| Some(no_credit()));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(ran.log.contains("model          lacking"), "{}", ran.log);
    let wrong = |_: &Request| {
        Some(Answer::status(
            401,
            json!({ "error": { "message": "Bad key" } }),
        ))
    };
    let (ran, _) = doctor(wrong);
    assert_eq!(ran.code, Some(2), "{}", ran.log);
    assert!(ran.log.contains("model          broken"), "{}", ran.log);
}

#[test]
fn a_fallback_at_the_run_s_own_endpoint_is_asked_with_its_key() {
    let world = world(in_pass_2(), |_| Some(unknown()));
    let ran = world.run(&workflow(&world, "backup/other").quick());
    ran.ended(0, "findings");
    let keys = world.model.headers();
    let all_own = keys
        .iter()
        .all(|headers| headers["authorization"] == format!("Bearer {KEY}"));
    assert!(all_own, "{keys:?}");
    world.github.expect_review();
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_fix_after_the_review_does_not_try_the_failed_model_again() {
    let world = world(crate::fixing::script(9), |request| {
        (request.pass() == Some(2)).then(no_credit)
    });
    let permissions = [
        "contents:write",
        "pull-requests:write",
        "checks:write",
        "issues:write",
    ];
    let identity = Identity::github_actions(&permissions);
    world.github.token(GitHub::TOKEN, identity);
    let mut workflow = workflow(&world, OTHER).quick();
    workflow.inputs.insert("fix".into(), "auto".into());
    let ran = world.run(&workflow);
    assert_eq!(asked(&world), [OWN, "other"], "{}", ran.log);
    let entries = fallbacks(&ran);
    let stages: Vec<&Value> = entries.iter().map(|one| &one["since"]).collect();
    assert_eq!(stages[..2], ["pass 2 of 4", "the fix"], "{entries:#?}");
    let committed = world.github.take_writes();
    let is_commit = |write: &Write| matches!(write, Write::Commit { .. });
    assert!(committed.iter().any(is_commit), "{}", ran.log);
    world.finish();
}

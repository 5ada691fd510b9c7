//! The sessions beside the review, each with a model that cannot be used: a fix, the check of fixes, the open conversations of people.

use super::{OTHER, OWN, error, fallbacks, model, no_credit, unknown, workflow};
use crate::fixing::{CEIL, script};
use crate::review::{lost_page, post};
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::panel::panel;
use crate::standin::model::{Answer, Call, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, World};
use serde_json::json;

/// A model that cannot be used.
type Failing = fn() -> Answer;

/// A workflow that may push, and a writer.
fn may_fix(world: &World) {
    let may = [
        "contents:write",
        "pull-requests:write",
        "checks:write",
        "issues:write",
    ];
    let workflow = Identity::github_actions(&may);
    world.github.token(GitHub::TOKEN, workflow);
    world.github.permit("writer", "write");
}

/// A reviewer and a fixer; the run's own model cannot be used for the fix.
fn fixed_with(mut fails: impl FnMut() -> Answer + Send + 'static) -> (World, Ran) {
    let mut script = script(9).into_behaviour();
    let world = World::with(&[], move |request| {
        let is_own = model(request.raw()) == OWN;
        if request.is_fix() && is_own {
            fails()
        } else {
            script(request)
        }
    })
    .quick();
    may_fix(&world);
    world.run(&workflow(&world, OTHER)).ended(0, "blocking");
    world.github.take_writes();
    let (github, pull) = (&world.github, world.pull);
    let asks = github.comment(pull, "writer", "@review-my-code-bot fix");
    let payload = events::comment_event("issue_comment", github, pull, asks.id);
    let mut workflow = workflow(&world, OTHER);
    let asked = world.workflow("issue_comment", payload);
    workflow.event = asked.event;
    workflow.payload = asked.payload;
    let ran = world.run(&workflow);
    (world, ran)
}

#[test]
fn a_fix_whose_model_cannot_be_used_is_made_by_the_other_one_and_its_report_says_so() {
    let overloaded = || Answer::status(529, json!({ "error": { "message": "Overloaded" } }));
    let causes: [(Failing, &str, &str); 3] = [
        (overloaded, "is overloaded", "overloaded"),
        (no_credit, "has no credit or quota left", "quota"),
        (unknown, "is not known to its endpoint", "unknown_model"),
    ];
    for (fails, words, cause) in causes {
        let (world, ran) = fixed_with(fails);
        ran.ended(0, "clean");
        let writes = world.github.take_writes();
        let commits = writes
            .iter()
            .filter(|one| matches!(one, Write::Commit { .. }));
        assert_eq!(commits.count(), 1, "{writes:#?}\n{}", ran.log);
        let told = writes.iter().find_map(|one| match one {
            Write::IssueComment { json, .. } => json["body"].as_str(),
            _ => None,
        });
        let told = told.expect("a report");
        assert!(told.contains("### Fixed 1"), "{told}");
        let sentence = format!("standin/scripted {words}; standin/other went on in its place.");
        assert!(told.contains(&sentence), "{told}");
        let entries = fallbacks(&ran);
        assert_eq!(entries[0]["cause"], cause, "{entries:#?}");
        assert_eq!(entries[0]["since"], "fix", "{entries:#?}");
        assert!(
            ran.summary.contains("standin/other went on in its place"),
            "{}",
            ran.summary
        );
        let show = |state: &mut crate::standin::github::State| {
            let head = state.pulls[&world.pull].head.sha.clone();
            state.git.must(&["show", &format!("{head}:src/page.ts")])
        };
        assert!(world.github.with(show).contains(CEIL));
        world.finish();
    }
}

#[test]
fn a_fix_that_neither_model_can_make_names_both_and_changes_nothing() {
    let mut script = script(9).into_behaviour();
    let (own, other) = (no_credit(), unknown());
    let world = World::with(&[], move |request| {
        match (request.is_fix(), model(request.raw())) {
            (true, OWN) => own.clone(),
            (true, _) => other.clone(),
            _ => script(request),
        }
    })
    .quick();
    may_fix(&world);
    let mut workflow = workflow(&world, OTHER);
    workflow.inputs.insert("fix".into(), "auto".into());
    let ran = world.run(&workflow);
    let both = "Neither standin/scripted nor its fallback standin/other can be used";
    assert!(ran.summary.contains(both), "{}", ran.log);
    let writes = world.github.take_writes();
    assert!(!writes.iter().any(|one| matches!(one, Write::Commit { .. })));
    world.finish();
}

/// A finding that blocks, pushed away; `fails` decides which request of the second run is not answered.
fn checked(
    reviewers: Option<&str>,
    mut fails: impl FnMut(&Request) -> Option<Answer> + Send + 'static,
) -> (World, Ran) {
    let first = || Script::new().pass(1, |_| vec![post(lost_page(9))]);
    let scripts = |one: Script| match reviewers {
        Some(_) => vec![one, Script::new().finds_fixed(true)],
        None => vec![one.finds_fixed(true)],
    };
    let world = World::with(&[], panel(scripts(first())));
    // The quick sidecar has no session for each reviewer.
    let world = if reviewers.is_none() {
        world.quick()
    } else {
        world
    };
    world.github.permit("writer", "write");
    let with = |mut workflow: crate::standin::world::Workflow| {
        let reviewers = reviewers.map(|names| ("reviewers".to_owned(), names.to_owned()));
        workflow.inputs.extend(reviewers);
        let fallback = ("fallback_model".to_owned(), OTHER.to_owned());
        workflow.inputs.extend([fallback]);
        workflow
    };
    world.run(&with(world.opened())).ended(0, "blocking");
    world.github.take_writes();
    let root = world.github.comments()[0].id.to_string();
    let claims = Script::new().threads(move |_| {
        let by = json!({ "file": "src/page.ts" });
        let claim = json!({ "thread_id": root, "reason": "It is fixed.", "fixed_by": by });
        vec![Call::new("github_resolve_thread", claim)]
    });
    let mut script = panel(scripts(claims));
    world.model.becomes(move |request: &Request| {
        let is_own = model(request.raw()) != "other";
        let failure = is_own.then(|| fails(request)).flatten();
        failure.unwrap_or_else(|| script(request))
    });
    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let head = world.github.commit("search", &[&before], &[shop::fixed()]);
    world.github.push(world.pull, &head);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&with(world.workflow("pull_request", payload)));
    (world, ran)
}

fn is_check(request: &Request) -> bool {
    request.raw()["messages"]
        .to_string()
        .contains("A check of fixes.")
}

#[test]
fn a_check_of_fixes_is_made_by_the_other_model() {
    // Of one reviewer the session beside its own; of two, the second one's.
    for reviewers in [None, Some("general, security")] {
        let (world, ran) = checked(reviewers, |request| is_check(request).then(no_credit));
        ran.ended(0, "clean");
        let threads = world.github.threads();
        assert!(threads[0].is_resolved, "{}", ran.log);
        let entries = fallbacks(&ran);
        assert_eq!(entries[0]["since"], "check of fixes", "{entries:#?}");
        assert_eq!(entries[0]["cause"], "quota");
        world.github.take_writes();
        world.finish();
    }
}

#[test]
fn the_turn_about_open_threads_is_taken_over_with_what_was_said_there() {
    let (world, ran) = checked(None, |request| {
        let is_turn = request.last_user().contains("the open threads") && request.step() > 0;
        is_turn.then(|| Answer::status(503, error("Overloaded", "server")))
    });
    ran.ended(0, "clean");
    assert!(world.github.threads()[0].is_resolved, "{}", ran.log);
    assert_eq!(fallbacks(&ran).len(), 1);
    world.github.take_writes();
    world.finish();
}

#[test]
fn open_conversations_of_people_are_weighed_by_the_other_model() {
    let mut script = Script::new().weighs(|_| Some("P3")).into_behaviour();
    let world = World::with(
        &[Change::write("src/more.ts", "export {};\n")],
        move |request| {
            let weighs = request
                .last_user()
                .starts_with("Open conversations of people");
            if weighs && model(request.raw()) == OWN {
                unknown()
            } else {
                script(request)
            }
        },
    )
    .quick();
    world.github.permit("writer", "write");
    let remark = "Would a name that says more be better here?";
    world
        .github
        .remark(world.pull, "writer", ("src/page.ts", 8), remark);
    let mut workflow = workflow(&world, OTHER);
    workflow
        .inputs
        .insert("review_event".into(), "decide".into());
    let ran = world.run(&workflow);
    let entries = fallbacks(&ran);
    assert_eq!(entries.len(), 1, "{}", ran.log);
    assert_eq!(entries[0]["since"], "open conversations of people");
    let report = ran.report.as_ref().expect("a report");
    let weighed = report["consensus"]["comments_analyzer"].to_string();
    assert!(weighed.contains("P3"), "{weighed}");
    world.github.take_writes();
    world.finish();
}

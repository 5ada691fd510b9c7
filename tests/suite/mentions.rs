//! People who address the reviewer: what they can ask, what they get, and what it costs.

use crate::review::{lost_page, post};
use crate::standin::github::{Write, events};
use crate::standin::model::{Answer, Call, Request, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::json;

/// The pull request, reviewed by this script; everything that was written is taken. `writer` may write.
fn reviewed(script: Script) -> World {
    let world = World::shop(script).quick();
    world.github.permit("writer", "write");
    let ran = world.review();
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    world.github.take_writes();
    world
}

/// The event of a comment below the description, and the comment's id.
fn commented(world: &World, login: &str, body: &str) -> (Workflow, u64) {
    let id = world.github.comment(world.pull, login, body).id;
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    (world.workflow("issue_comment", payload), id)
}

/// Somebody comments below the description, and the action runs.
fn says(world: &World, login: &str, body: &str) -> (Ran, u64) {
    let (workflow, id) = commented(world, login, body);
    (world.run(&workflow), id)
}

/// What was written, in order, as far as people see it: reactions by their name, replies by their text. The
/// check run is taken silently.
fn seen(world: &World) -> Vec<String> {
    let writes = world.github.take_writes().into_iter();
    let shown = writes.filter_map(|write| {
        let text = |json: &serde_json::Value, key: &str| json[key].as_str().map(str::to_owned);
        match write {
            Write::Reaction { json, .. } => text(&json, "content"),
            Write::IssueComment { json, .. } => text(&json, "body"),
            Write::CheckRunCreated { .. } | Write::CheckRunUpdated { .. } => None,
            other => Some(format!("{other:?}")),
        }
    });
    shown.collect()
}

const REQUEST_OF_A_QUESTION: &str = "Before the passes: a question.";

/// Answers questions with the line of the code that it has looked up, and reviews by the script.
fn answers_from_the_code(script: Script) -> impl FnMut(&Request) -> Answer + Send + 'static {
    let mut passes = script.into_behaviour();
    move |request| {
        if !request.last_user().contains(REQUEST_OF_A_QUESTION) {
            return passes(request);
        }
        match request.last_result() {
            None if request.tools().contains(&"grep".to_owned()) => {
                Answer::call("grep", json!({ "pattern": "Math.floor" }))
            }
            None => Answer::call("read", json!({ "filePath": "src/page.ts" })),
            Some(found) => {
                assert!(found.contains("Math.floor"), "{found}");
                Answer::text("It rounds down in `src/page.ts:8`.\n\n```suggestion\nx\n```")
            }
        }
    }
}

#[test]
fn a_question_is_answered_from_the_code_and_only_once() {
    let world = reviewed(Script::new());
    world.model.becomes(answers_from_the_code(Script::new()));
    let asked = world.model.requests().len();
    let (workflow, id) = commented(
        &world,
        "writer",
        "Hm.\n\n@review-my-code-bot, what happens to the last page?",
    );
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    let prompt = world.model.requests()[asked]["messages"].to_string();
    assert!(
        prompt.contains("writer (write access) asks you below the description")
            && prompt.contains("what happens to the last page?")
            && prompt.contains("## Changed files"),
        "{prompt}"
    );
    let written = seen(&world);
    assert_eq!(written.len(), 3, "{written:?}");
    assert_eq!((&*written[0], &*written[2]), ("eyes", "rocket"));
    let answer = &written[1];
    assert!(
        answer.starts_with("It rounds down in `src/page.ts:8`."),
        "{answer}"
    );
    assert!(!answer.contains("```suggestion"), "{answer}");
    assert!(
        answer.contains("\"kind\":\"answer\"")
            && answer.contains(&format!("\"answers\":{id},"))
            && answer.contains("\"sig\":\""),
        "{answer}"
    );

    // The same event again, and any other: the question has its answer.
    let asked = world.model.requests().len();
    world.run(&workflow);
    world.review();
    assert_eq!(seen(&world), Vec::<String>::new());
    assert_eq!(world.model.requests().len(), asked);
    world.finish();
}

#[test]
fn a_question_that_no_run_answered_is_answered_by_the_next_before_its_review() {
    let script = Script::new().pass(1, |request| {
        let whole = request.raw()["messages"].to_string();
        assert!(whole.contains("It rounds down"), "one session for all");
        vec![post(lost_page(7))]
    });
    let world = World::with(&[], answers_from_the_code(script));
    world.github.permit("writer", "write");
    let mentioned = "@review-my-code-bot what happens to the last page?";
    world.github.comment(world.pull, "writer", mentioned);
    world.github.comment(
        world.pull,
        "stranger",
        "@review-my-code-bot who pays for this?",
    );
    let ran = world.review();
    ran.ended(0, "findings");
    let all = format!("{:?}", world.model.requests());
    let answered = ["(no standing) asks you", "stranger (write access) asks you"];
    assert!(
        all.contains("writer (write access) asks you") && !answered.iter().any(|a| all.contains(a)),
        "strangers are not answered"
    );
    let written = seen(&world);
    assert!(written[0].starts_with("It rounds down"), "{written:?}");
    assert!(written[1].starts_with("Review {"), "{written:?}");
    assert_eq!(written.len(), 2, "no reactions without a mention's event");
    assert!(
        ran.summary.contains("1 question answered."),
        "{}",
        ran.summary
    );
    world.finish();
}

#[test]
fn help_and_the_state_of_a_reviewed_head_cost_no_model_request() {
    let world = reviewed(Script::new().pass(1, |_| vec![post(lost_page(9))]));
    let asked = world.model.requests().len();
    let (ran, _) = says(&world, "writer", "@review-my-code-bot help");
    ran.ended(0, "skipped");
    let written = seen(&world);
    assert_eq!(
        (&*written[0], &*written[2], written.len()),
        ("eyes", "rocket", 3)
    );
    for command in [
        "`review`",
        "`review full`",
        "`dismiss`",
        "`help`",
        "question",
    ] {
        assert!(written[1].contains(command), "{written:?}");
    }

    let (ran, _) = says(&world, "writer", "@review-my-code-bot review");
    ran.ended(0, "blocking");
    let written = seen(&world);
    assert_eq!(
        (&*written[0], &*written[2], written.len()),
        ("eyes", "rocket", 3)
    );
    let head = world
        .github
        .with(|state| state.pulls[&world.pull].head.sha.clone());
    let expected = format!(
        "`{}` is reviewed already: 1 finding open, 1 of them blocking. \
         `@review-my-code-bot review full` reviews it again.\n\n<!--",
        &head[..7]
    );
    assert!(written[1].starts_with(&expected), "{written:?}");

    // A stranger gets nothing at all, and the log says why.
    let (ran, _) = says(&world, "stranger", "@review-my-code-bot review full");
    ran.ended(0, "skipped");
    assert!(ran.annotations("notice")[0].contains("stranger"));
    assert_eq!(seen(&world), Vec::<String>::new());
    assert_eq!(world.model.requests().len(), asked);

    // A full review asks the model again, and does not repeat what stands.
    let (ran, _) = says(&world, "writer", "@review-my-code-bot review full");
    ran.ended(0, "blocking");
    assert!(world.model.requests().len() >= asked + 4);
    assert_eq!(seen(&world), ["eyes", "rocket"]);
    world.finish();
}

#[test]
fn a_question_in_a_review_thread_is_answered_there() {
    let world = reviewed(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    let root = world.github.comments()[0].id;
    world.github.resolve_thread(root, "writer");
    let body = "@review-my-code-bot what happens to the last page?";
    let question = world.github.reply(root, "writer", body).id;
    let event = "pull_request_review_comment";
    let payload = events::comment_event(event, &world.github, world.pull, question);
    let workflow = world.workflow(event, payload);
    let mut answering = answers_from_the_code(Script::new());
    world.model.becomes(move |request| {
        let prompt = request.last_user();
        assert!(
            prompt.contains("in a review thread") && prompt.contains("\nsrc/page.ts:"),
            "{prompt}"
        );
        answering(request)
    });
    let ran = world.run(&workflow);
    ran.ended(0, "clean");
    let (place, answer) = world.github.expect_reply();
    assert_eq!(place, root);
    assert!(answer.starts_with("It rounds down"), "{answer}");
    assert_eq!(seen(&world), ["eyes", "rocket"]);
    let asked = world.model.requests().len();
    world.run(&workflow);
    assert_eq!(seen(&world), Vec::<String>::new());
    assert_eq!(world.model.requests().len(), asked);

    // In a thread that is open, a question is a reply like any other: one answer, not two.
    world.github.unresolve_thread(root);
    let question = world.github.reply(root, "writer", body).id;
    let payload = events::comment_event(event, &world.github, world.pull, question);
    world.model.becomes(
        Script::new()
            .threads(move |_| {
                let arguments = json!({
                    "thread_id": root.to_string(),
                    "body": "It is lost.",
                    "is_concession": false,
                    "is_answer": true,
                });
                vec![Call::new("github_reply_to_thread", arguments)]
            })
            .into_behaviour(),
    );
    let ran = world.run(&world.workflow(event, payload));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(world.github.expect_reply().1.starts_with("It is lost."));
    assert_eq!(seen(&world), ["eyes", "rocket"]);
    world.finish();
}

#[test]
fn a_question_about_a_draft_is_answered_without_a_review_or_not_at_all() {
    let world = World::with(&[], answers_from_the_code(Script::new())).quick();
    world.github.pull(world.pull, |pull| pull.draft = true);
    let mentioned = "@review-my-code-bot what happens to the last page?";
    let (ran, _) = says(&world, "dev", mentioned);
    ran.ended(0, "skipped");
    assert!(
        ran.annotations("notice")[0].contains("draft"),
        "{}",
        ran.log
    );
    let written = world.github.take_writes();
    assert!(
        matches!(
            written.as_slice(),
            [
                Write::Reaction { .. },
                Write::IssueComment { .. },
                Write::Reaction { .. }
            ]
        ),
        "no check run: {written:?}"
    );

    // A model that fails: nothing is said, the asker sees it, and so does the operator.
    world.model.becomes(|_| {
        let error = json!({ "error": { "message": "the model is gone" } });
        Answer::status(400, error)
    });
    let (ran, id) = says(&world, "dev", "@review-my-code-bot and the first one?");
    ran.ended(2, "error");
    let error = ran.annotations("error")[0];
    assert!(
        error.contains(&format!("comment {id} was not answered"))
            && error.contains("the model is gone"),
        "{error}"
    );
    assert_eq!(seen(&world), ["eyes", "confused"]);
    world.finish();
}

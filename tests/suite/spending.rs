//! Who may spend, and how much: strangers, forks and bots cost nothing, and a pull request has a budget for the day.

use crate::review::{comments, lost_page, post};
use crate::standin::github::state::{CheckRun, HeadRepository};
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::{Answer, Script};
use crate::standin::shop;
use crate::standin::world::{KEY, Ran, Workflow, World};
use reviewer_core::domain::PrKey;
use reviewer_core::state::record::{self, Record};
use reviewer_core::state::signature::Keys;
use reviewer_core::state::spending::{Day, Spent};
use serde_json::{Value, json};
use std::time::SystemTime;

/// The example pull request, but a stranger's and from a fork. `writer` may write.
pub fn forked(script: Script) -> World {
    let world = World::shop(script).quick();
    world.github.permit("writer", "write");
    world.github.pull(world.pull, |pull| {
        pull.author = "stranger".into();
        pull.head.repository = Some(HeadRepository {
            full_name: "stranger/shop".into(),
            id: 777,
            fork: true,
        });
    });
    world
}

/// `pull_request_target`, as in the workflow for forks.
pub fn target(world: &World, action: &str) -> Workflow {
    let name = "pull_request_target";
    let payload = events::event(name, Some(action), &world.github, world.pull);
    world.workflow(name, payload)
}

pub fn says(world: &World, login: &str, body: &str) -> Ran {
    let id = world.github.comment(world.pull, login, body).id;
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    world.run(&world.workflow("issue_comment", payload))
}

fn replies(world: &World, root: u64, login: &str, body: &str) -> Ran {
    let name = "pull_request_review_comment";
    let id = world.github.reply(root, login, body).id;
    let payload = events::comment_event(name, &world.github, world.pull, id);
    world.run(&world.workflow(name, payload))
}

/// Somebody pushes; the event is that of the workflow for forks.
fn pushes(world: &World, file: &str) -> Workflow {
    let before = head(world);
    let change = Change::write(file, "export {};\n");
    let new = world.github.commit("search", &[&before], &[change]);
    world.github.push(world.pull, &new);
    let mut workflow = target(world, "synchronize");
    workflow.payload["before"] = json!(before);
    workflow
}

pub fn head(world: &World) -> String {
    world.github.pull(world.pull, |pull| pull.head.sha.clone())
}

/// The run ended well, did nothing, and said why in one notice.
pub fn skipped(ran: &Ran) -> &str {
    let end = (ran.code, ran.status());
    assert_eq!(end, (Some(0), "skipped"), "{}", ran.log);
    let notices = ran.annotations("notice");
    assert_eq!(notices.len(), 1, "{}", ran.log);
    notices[0]
}

fn ended(ran: &Ran, code: i32, status: &str) {
    assert_eq!(
        (ran.code, ran.status()),
        (Some(code), status),
        "{}",
        ran.log
    );
}

#[test]
fn p9_a_fork_s_own_event_is_a_skip_that_names_the_safe_workflow() {
    let world = forked(Script::new());
    // Neither secrets nor a token that writes.
    let permissions = ["contents:read", "pull-requests:read", "checks:read"];
    let identity = Identity::github_actions(&permissions);
    world.github.token(GitHub::TOKEN, identity);
    let mut workflow = world.opened();
    workflow.inputs.remove("opencode_api_key");
    let mut without_any = workflow.clone();
    without_any.inputs.remove("model_base_url");
    let ran = world.run(&without_any);
    assert!(skipped(&ran).contains("examples/forks.yml"), "{}", ran.log);
    // An endpoint that takes no key is reached from forks as well, and even then nothing can be posted.
    let inputs = [("fork_reviews".into(), "always".into())];
    workflow.inputs.extend(inputs);
    let ran = world.run(&workflow);
    assert!(skipped(&ran).contains("examples/forks.yml"), "{}", ran.log);
    let name = "pull_request_target";
    let ran = world.run(&Workflow {
        event: name.into(),
        ..workflow
    });
    ended(&ran, 2, "error");
    assert!(ran.annotations("error")[0].contains("`pull-requests: write`"));
    assert_eq!(world.model.requests().len(), 0);
    world.finish();
}

#[test]
fn a_fork_s_head_is_reviewed_when_a_writer_asks_and_each_push_needs_a_new_word() {
    let world = forked(Script::new().pass(1, |_| vec![post(lost_page(7))]));
    let ran = world.run(&target(&world, "opened"));
    let notice = skipped(&ran);
    assert!(
        notice.contains("somebody with write access mentions @review-my-code-bot")
            && notice.contains("fork_reviews"),
        "{notice}"
    );
    // The fork's author opened the pull request, and has no say in what is spent on it.
    let ran = says(&world, "stranger", "@review-my-code-bot review");
    assert!(skipped(&ran).contains("stranger addressed the reviewer without write access"));
    assert_eq!(world.model.requests().len(), 0);
    world
        .github
        .with(|state| assert!(state.check_runs.is_empty()));

    let ran = says(&world, "writer", "@review-my-code-bot review");
    ended(&ran, 0, "findings");
    let written = world.github.take_writes();
    let reviews = written.iter().filter_map(|write| match write {
        Write::Review { json, .. } => Some(comments(json).len()),
        _ => None,
    });
    assert_eq!(reviews.collect::<Vec<_>>(), [1]);
    let asked = world.model.requests().len();

    // On the head that was reviewed, any event computes the verdict, for nothing.
    let ran = world.run(&target(&world, "reopened"));
    ended(&ran, 0, "findings");
    let root = world.github.comments()[0].id;
    let ran = replies(&world, root, "stranger", "It is intended.");
    ended(&ran, 0, "findings");
    world.github.take_writes();
    assert_eq!(world.model.requests().len(), asked);

    // What was pushed since, nobody has looked at.
    let ran = world.run(&pushes(&world, "src/new.ts"));
    assert!(skipped(&ran).contains("comes from a fork"), "{}", ran.log);
    let ran = replies(&world, root, "writer", "Is it?");
    assert!(skipped(&ran).contains("comes from a fork"), "{}", ran.log);
    assert_eq!(world.model.requests().len(), asked);
    world.finish();
}

#[test]
fn forks_can_be_reviewed_always_or_never() {
    let world = forked(Script::new());
    let with = |workflow: Workflow, value: &str| {
        let mut workflow = workflow;
        let value = value.to_owned();
        workflow.inputs.insert("fork_reviews".into(), value);
        world.run(&workflow)
    };
    let comment = world
        .github
        .comment(world.pull, "writer", "@review-my-code-bot");
    let name = "issue_comment";
    let payload = events::comment_event(name, &world.github, world.pull, comment.id);
    let ran = with(world.workflow(name, payload), "never");
    assert!(
        skipped(&ran).contains("fork_reviews is never"),
        "{}",
        ran.log
    );
    assert_eq!(world.model.requests().len(), 0);
    let ran = with(target(&world, "opened"), "always");
    ended(&ran, 0, "clean");
    assert!(world.model.requests().len() >= 4);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn p8_bots_look_alikes_and_strangers_start_no_model_run() {
    let world = World::with(&[], |_| -> Answer {
        panic!("no model request was expected")
    })
    .quick();
    world.github.permit("Copilot", "write");
    let body = "@review-my-code-bot review full";
    let comment = world.github.comment(world.pull, "Copilot", body).id;
    let mut payload = events::comment_event("issue_comment", &world.github, world.pull, comment);
    payload["comment"]["user"]["type"] = json!("Bot");
    let ran = world.run(&world.workflow("issue_comment", payload.clone()));
    assert!(skipped(&ran).contains("bot"), "{}", ran.log);
    // An app that comments for a person, as the event tells it.
    payload["comment"]["user"]["type"] = json!("User");
    payload["sender"]["type"] = json!("Bot");
    let ran = world.run(&world.workflow("issue_comment", payload));
    assert!(skipped(&ran).contains("bot"), "{}", ran.log);
    // A person who is called as we are is a person without write access.
    let ran = says(&world, "github-actions", body);
    assert!(
        skipped(&ran).contains("github-actions addressed"),
        "{}",
        ran.log
    );
    world.finish();
}

#[test]
fn a_stranger_s_reply_or_review_does_not_make_a_review_happen() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))])).quick();
    ended(&world.review(), 0, "findings");
    world.github.take_writes();
    let root = world.github.comments()[0].id;
    let asked = world.model.requests().len();
    // A head that no run has looked at, say because it was cancelled.
    pushes(&world, "src/new.ts");
    let ran = replies(&world, root, "stranger", "Because.");
    let notice = skipped(&ran);
    assert!(notice.contains("stranger caused this run"), "{notice}");
    let review = world
        .github
        .review(world.pull, "stranger", "COMMENTED", "Nice.");
    let payload = events::review_event(&world.github, world.pull, review.id);
    let ran = world.run(&world.workflow("pull_request_review", payload));
    let notice = skipped(&ran);
    assert!(notice.contains("stranger caused this run"), "{notice}");
    assert_eq!(world.model.requests().len(), asked);
    // The author's word does: it is their own branch of this repository.
    let ran = replies(&world, root, "dev", "It is intended.");
    ended(&ran, 0, "findings");
    assert!(world.model.requests().len() > asked);
    world.github.take_writes();
    world.finish();
}

#[test]
fn x3_the_event_of_one_comment_makes_one_full_review() {
    let world = World::shop(Script::new()).quick();
    world.github.permit("writer", "write");
    world.review();
    world.github.take_writes();
    let body = "@review-my-code-bot review full";
    let id = world.github.comment(world.pull, "writer", body).id;
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    let workflow = world.workflow("issue_comment", payload);
    let asked = world.model.requests().len();
    ended(&world.run(&workflow), 0, "clean");
    let once = world.model.requests().len();
    assert!(once >= asked + 4);
    ended(&world.run(&workflow), 0, "clean");
    assert_eq!(world.model.requests().len(), once);
    world.github.take_writes();
    world.finish();
}

/// A model with a price, behind the stand-in, and a day's budget.
fn priced(workflow: Workflow, per_day: &str) -> Workflow {
    let mut workflow = workflow;
    let per_day = match per_day {
        "off" => per_day.to_owned(),
        amount => format!("{amount} USD"),
    };
    for (name, value) in [
        ("model", "openai/gpt-5.4-fast"),
        ("max_per_day", per_day.as_str()),
    ] {
        workflow.inputs.insert(name.into(), value.into());
    }
    workflow
}

fn cost(ran: &Ran) -> f64 {
    ran.outputs["cost_usd"].parse().expect("an amount")
}

/// The check says that the review is incomplete, and which input says so; nobody paid.
fn over_the_day(world: &World, ran: &Ran) {
    ended(ran, 2, "incomplete");
    let errors = ran.annotations("error").join("\n");
    assert!(
        errors.contains("Nothing was asked of the model: max_per_day of")
            && errors.contains("is used up for this pull request; it counts anew at 00:00 UTC."),
        "{errors}"
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert_eq!(check.verdict(), Some("The review is incomplete"));
}

#[test]
fn the_day_s_budget_holds_across_runs_and_heads() {
    let world = World::shop(Script::new());
    let first = world.run(&priced(world.opened(), "20"));
    ended(&first, 0, "clean");
    assert!(cost(&first) > 0.0, "{}", first.log);
    world.github.expect_check_run();
    let asked = world.model.requests().len();
    let budget = format!("{:.4}", cost(&first) / 2.0);

    // Another head, and a budget that the first run has used up.
    let mut pushed = pushes(&world, "src/new.ts");
    pushed.event = "pull_request".into();
    let second = world.run(&priced(pushed.clone(), &budget));
    over_the_day(&world, &second);
    assert_eq!(world.model.requests().len(), asked);

    // A question is not answered either, and the person who asked sees it.
    world.github.permit("writer", "write");
    let body = "@review-my-code-bot why?";
    let id = world.github.comment(world.pull, "writer", body).id;
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    let third = world.run(&priced(world.workflow("issue_comment", payload), &budget));
    ended(&third, 2, "incomplete");
    assert_eq!(world.model.requests().len(), asked);
    let written = format!("{:?}", world.github.take_writes());
    assert!(written.contains("confused"), "{written}");

    // Without such a limit the same head is reviewed.
    let fourth = world.run(&priced(pushed, "off"));
    ended(&fourth, 0, "clean");
    assert!(world.model.requests().len() > asked);
    world.github.take_writes();
    world.finish();
}

/// Somebody replaces the branch by another commit on the same base, whose message says that it is the `nth`.
fn forces(world: &World, nth: usize, changes: &[Change]) -> Workflow {
    let before = head(world);
    let base = world.github.pull(world.pull, |pull| pull.base.sha.clone());
    let note = Change::write("NOTE.md", format!("Push {nth}.\n"));
    let between = world.github.commit("search", &[&base], &[note]);
    let new = world.github.commit("search", &[&between], changes);
    world.github.push(world.pull, &new);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    world.workflow("pull_request", payload)
}

#[test]
fn forced_pushes_in_a_row_hide_neither_what_was_spent_nor_what_was_reviewed() {
    let world = World::shop(Script::new()).quick();
    remembers(&world, KEY, Day::from_time(SystemTime::now()), 20.5);
    forces(&world, 1, &shop::changes());
    let latest = forces(&world, 2, &shop::changes());
    over_the_day(&world, &world.run(&latest));
    assert_eq!(world.model.requests().len(), 0);
    world.finish();

    let world = World::shop(Script::new()).quick();
    ended(&world.review(), 0, "clean");
    world.github.expect_check_run();
    let asked = world.model.requests().len();
    let base = world.github.pull(world.pull, |pull| pull.base.sha.clone());
    forces(&world, 1, &shop::changes());
    let before = head(&world);
    let same = world.github.commit("search", &[&base], &shop::changes());
    let message = world.github.commit("search", &[&same], &[]);
    world.github.push(world.pull, &message);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let ran = world.run(&world.workflow("pull_request", payload));
    ended(&ran, 0, "clean");
    assert_eq!(
        world.model.requests().len(),
        asked,
        "it is the change that was reviewed"
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn where_no_record_can_be_read_half_of_the_day_s_limits_counts_as_spent() {
    let script = || Script::new().pass(1, |_| vec![post(lost_page(7))]);
    let world = World::shop(script()).quick();
    ended(&world.review(), 0, "findings");
    world.github.take_writes();
    let reviewed = world.model.requests().len();
    world.github.with(|state| state.check_runs.clear());
    let with = |name: &str, value: &str| {
        let mut workflow = world.opened();
        workflow.inputs.insert(name.into(), value.into());
        world.model.becomes(script().into_behaviour());
        let ran = world.run(&workflow);
        world.github.with(|state| state.check_runs.clear());
        ran
    };
    let ran = with("max_per_day", "2000 tokens");
    ended(&ran, 2, "incomplete");
    let errors = ran.annotations("error").join("\n");
    let reason =
        "max_per_day of 2000 tokens is used up for this pull request; it counts anew at 00:00 UTC";
    assert!(errors.contains(reason), "{errors}");
    let warnings = ran.annotations("warning").join("\n");
    assert!(
        warnings.contains("half of the day's limits counts as spent"),
        "{warnings}"
    );
    assert!(
        world.model.requests().len() > reviewed,
        "the other half is there to be used"
    );
    ended(&with("max_per_day", "off"), 0, "findings");
    world.github.take_writes();
    world.finish();
}

/// Where nobody counts, everything that is told and kept is an estimate by size; and a day's limit holds by it.
#[test]
fn tokens_that_the_endpoint_does_not_count_are_estimated_told_and_held_to_the_day_s_limit() {
    let mut script = Script::new().into_behaviour();
    let world = World::with(&[], move |request| match script(request) {
        Answer::Say { calls, text: _ } => Answer::Uncounted(calls),
        other => other,
    })
    .quick();
    let ran = world.review();
    ended(&ran, 0, "clean");
    let tokens: u64 = ran.outputs["tokens"].parse().expect("a number");
    assert!(tokens > 1_000, "{tokens}");
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(
        (&report["tokens"], &report["tokens_estimated"]),
        (&json!(tokens), &json!(true))
    );
    assert_eq!(report["ledger"]["tokens"], json!(tokens));
    let of_passes = report["passes"].as_array().expect("passes").iter();
    let of_passes: u64 = of_passes.filter_map(|pass| pass["tokens"].as_u64()).sum();
    assert_eq!(of_passes, tokens);
    let page = world.github.expect_check_run().summary.expect("a page");
    for told in [&ran.log, &ran.summary, &page] {
        assert!(told.contains("tokens (estimated)"), "{told}");
        assert!(!told.contains(" 0 tokens"), "{told}");
    }

    let mut pushed = pushes(&world, "src/new.ts");
    pushed.event = "pull_request".into();
    let limit = (tokens / 2).to_string();
    pushed
        .inputs
        .insert("max_per_day".into(), format!("{limit} tokens"));
    let asked = world.model.requests().len();
    let ran = world.run(&pushed);
    ended(&ran, 2, "incomplete");
    let errors = ran.annotations("error").join("\n");
    let reason =
        format!("Nothing was asked of the model: max_per_day of {limit} tokens is used up");
    assert!(errors.contains(&reason), "{errors}");
    assert_eq!(world.model.requests().len(), asked);
    world.github.expect_check_run();
    world.finish();
}

/// A check run of ours on the head, with a record that says what was spent on a day.
fn remembers(world: &World, secret: &str, day: Day, cost_usd: f64) {
    let pr = PrKey {
        repo: "octo/shop".parse().expect("a repository"),
        number: world.pull,
    };
    let record = Record {
        cost_usd,
        spent: vec![Spent {
            run: "5e1f0c2b7a93d846".into(),
            day,
            cost_usd,
            tokens: 0,
        }],
        ..Record::default()
    };
    let keys = Keys::derive(&[], Some(&secret.into()), "octo/shop");
    let text = record::render(&record, &pr, &keys);
    let head_sha = head(world);
    world.github.with(|state| {
        let run = CheckRun {
            id: state.next_id(),
            name: "OpenCode review".into(),
            head_sha,
            status: "completed".into(),
            conclusion: Some("cancelled".into()),
            started_at: state.now(),
            app: "github-actions".into(),
            text: Some(text),
            ..CheckRun::default()
        };
        state.check_runs = vec![run];
    });
}

#[test]
fn a_new_day_has_a_new_budget_and_a_forged_record_counts_as_none() {
    let world = World::shop(Script::new()).quick();
    let today = Day::from_time(SystemTime::now());
    remembers(&world, KEY, today, 20.5);
    over_the_day(&world, &world.review());
    assert_eq!(world.model.requests().len(), 0);

    remembers(
        &world,
        "another key of at least twenty characters",
        today,
        20.5,
    );
    ended(&world.review(), 0, "clean");
    world.github.expect_check_run();

    let world = World::shop(Script::new()).quick();
    remembers(&world, KEY, today.before(), 20.5);
    ended(&world.review(), 0, "clean");
    let check = world.github.expect_check_run();
    let text = check.text.expect("a record");
    assert!(
        text.contains("5e1f0c2b7a93d846"),
        "yesterday is still known"
    );
    world.finish();
}

#[test]
fn what_a_cancelled_run_has_cost_counts() {
    use nix::sys::signal::{Signal, kill};
    let mut first_pass = Script::new().into_behaviour();
    let (stalled, stalls) = std::sync::mpsc::channel();
    let world = World::with(&[], move |request| {
        if request.pass() == Some(2) {
            stalled.send(()).expect("the test waits");
            return Answer::Stall;
        }
        first_pass(request)
    });
    let workflow = priced(world.opened(), "20");
    let mut child = world
        .command(&workflow, &["action"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary");
    let limit = std::time::Duration::from_mins(2);
    stalls.recv_timeout(limit).expect("the second pass begins");
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(id, Signal::SIGTERM).expect("the signal");
    assert_eq!(child.wait().expect("the end").code(), Some(143));
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("cancelled"));
    let text = check.text.expect("a bill");
    let json = text
        .trim_start_matches("<!-- rmcoc:record ")
        .trim_end_matches(" -->");
    let bill: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(bill["record"]["passes"], json!([]));
    let amount = bill["record"]["spent"][0]["cost_usd"].as_f64();
    assert!(amount > Some(0.0), "{text}");
    world.finish();
}

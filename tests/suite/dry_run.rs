//! A dry run: the whole review, and not a word of it on the pull request. What would be there is printed instead.

use crate::review::{comments, lost_page, post};
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::shop;
use crate::standin::world::{KEY, Ran, Workflow, World};
use http::Method;
use reviewer_core::domain::{CommentId, PrKey};
use reviewer_core::state::block;
use reviewer_core::state::signature::{self, Keys, Signed};
use serde_json::{Value, json};

fn dry(mut workflow: Workflow) -> Workflow {
    workflow.inputs.insert("dry_run".into(), "true".into());
    workflow.quick()
}

fn blocking() -> Script {
    Script::new().pass(1, |_| vec![post(lost_page(9))])
}

/// Runs it, and sees that GitHub was read and nothing else: not even asked whether one might write.
fn run(world: &World, workflow: &Workflow) -> Ran {
    world.github.forget_requests();
    let ran = world.run(workflow);
    only_read(world);
    ran
}

fn only_read(world: &World) {
    assert_eq!(world.github.take_writes(), Vec::<Write>::new());
    let requests = world.github.requests().into_iter();
    let writes: Vec<_> = requests
        .filter(|(method, path, _)| {
            // Git fetches by POST, and so does GraphQL ask.
            let asks = path == "/graphql" || path.ends_with("/git-upload-pack");
            method != Method::GET && !(method == Method::POST && asks)
        })
        .collect();
    assert_eq!(writes, []);
}

/// The headings of the list, in order, without the diff that a check's title ends with.
fn headings(ran: &Ran) -> Vec<&str> {
    let list = ran.log.split("What would be posted:\n").nth(1);
    let lines = list.unwrap_or_default().lines();
    lines
        .filter(|line| !line.starts_with("  | ") && !line.starts_with("::"))
        .map(|line| line.split(" · ").next().unwrap_or(line))
        .collect()
}

/// The text below a heading, as it would be posted.
fn text(ran: &Ran, heading: &str) -> String {
    let below = ran.log.split(&format!("{heading}\n")).nth(1);
    let below = below.unwrap_or_else(|| panic!("no {heading:?} in\n{}", ran.log));
    let lines = below
        .lines()
        .filter(|line| !line.starts_with("::stop-commands::"));
    let lines: Vec<&str> = lines.map_while(|line| line.strip_prefix("  | ")).collect();
    lines.join("\n")
}

/// What people see of a comment; what follows has times, ids and signatures of its run.
fn visible(body: &str) -> &str {
    let body = body.split("\n\n<sub>`").next().unwrap_or_default();
    body.split("<!-- rmcoc")
        .next()
        .unwrap_or_default()
        .trim_end()
}

/// Whether we would know the text again as our own.
fn is_signed(body: &str, root: Option<u64>) -> bool {
    let pr = PrKey {
        repo: "octo/shop".parse().expect("a repository"),
        number: 1,
    };
    let keys = Keys::derive(&[], Some(&KEY.into()), "octo/shop");
    let parsed = block::parse(body);
    let hidden = parsed.hidden.expect("a hidden block");
    let visible = parsed
        .visible
        .map(|visible| serde_json::to_value(&visible).expect("JSON"));
    let content = Signed {
        pr: &pr,
        root: root.map(CommentId),
        visible: &visible.unwrap_or(Value::Null),
        hidden: &serde_json::to_value(&hidden).expect("JSON"),
    };
    let verdict = keys.verify(&content, hidden.kid.as_deref(), hidden.sig.as_deref());
    verdict == signature::SignatureCheck::Ours
}

#[test]
fn what_is_printed_is_what_the_same_run_posts_without_it() {
    let world = World::shop(blocking());
    let workflow = dry(world.opened());
    let ran = run(&world, &workflow);
    ran.ended(0, "blocking");
    let head = world
        .github
        .with(|state| state.pulls[&world.pull].head.sha.clone());
    let line = shop::line_of("src/page.ts", "Math.floor");
    let review = format!("Review of {}:", &head[..7]);
    let comment = format!("Comment of the review at src/page.ts:{line}:");
    let check = "Check run: failure, \"1 blocking finding open";
    assert_eq!(headings(&ran), [&review, &comment, check]);
    assert!(
        ran.summary.contains("This was a dry run"),
        "{}",
        ran.summary
    );
    let report = ran.report.as_ref().expect("a report");
    assert_eq!(report["findings"][0]["fate"], "reported");
    assert_eq!(report["review_url"], Value::Null);
    crate::documents::assert_is_report(report);

    let mut wet = workflow;
    wet.inputs.remove("dry_run");
    let posted = world.run(&wet);
    assert_eq!((posted.code, posted.status()), (ran.code, ran.status()));
    assert_eq!(posted.outputs["issues_found"], ran.outputs["issues_found"]);
    let real = world.github.expect_review();
    let body = |value: &Value| value["body"].as_str().expect("a body").to_owned();
    let (printed, said) = (text(&ran, &review), body(&real));
    assert_eq!(visible(&printed), visible(&said));
    let (finding, real) = (text(&ran, &comment), body(&comments(&real)[0]));
    assert_eq!(visible(&finding), visible(&real));
    assert!(
        is_signed(&printed, None) && is_signed(&finding, None),
        "{finding}"
    );
    let real = world.github.expect_check_run();
    assert_eq!(real.verdict(), Some("1 blocking finding open"));
    assert_eq!(real.conclusion.as_deref(), Some("failure"));
    world.finish();
}

#[test]
fn replies_and_resolutions_are_printed_with_their_thread_and_the_gate_stays() {
    let world = World::shop(blocking());
    world.run(&world.opened().quick());
    world.github.take_writes();
    let thread = world.github.comments()[0].id;
    let before = world
        .github
        .with(|state| state.pulls[&world.pull].head.sha.clone());
    let fixed = shop::head_of("src/page.ts").replace("Math.floor", "Math.ceil");
    let fix = [Change::write("src/page.ts", fixed)];
    let head = world.github.commit("search", &[&before], &fix);
    world.github.push(world.pull, &head);
    world.model.becomes(
        Script::new()
            .threads(move |_| {
                let by = json!({ "file": "src/page.ts" });
                let reason = "It rounds up now.";
                let arguments = json!({
                    "thread_id": thread.to_string(), "reason": reason, "fixed_by": by,
                });
                vec![Call::new("github_resolve_thread", arguments)]
            })
            .finds_fixed(true)
            .into_behaviour(),
    );
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    let workflow = dry(world.workflow("pull_request", payload));
    let ran = run(&world, &workflow);
    ran.ended(0, "clean");
    let rewritten = format!("Rewritten comment {thread}:");
    let headings = headings(&ran);
    assert!(
        headings[0].starts_with("Resolve a conversation, "),
        "{headings:?}"
    );
    assert_eq!(
        headings[1..],
        [&rewritten, "Check run: success, \"Nothing to report"]
    );
    let body = text(&ran, &rewritten);
    let lead = format!(
        "✅ **Issue Resolved** in `{}` by `src/page.ts`\n\nIt rounds up now.",
        &head[..7]
    );
    assert!(body.starts_with(&lead), "{body}");
    assert!(is_signed(&body, Some(thread)), "{body}");
    // The thread is as it was: a dry run remembers nothing.
    let again = run(&world, &workflow);
    assert_eq!(again.status(), "clean", "{}", again.log);
    world.finish();
}

#[test]
fn a_token_that_only_reads_is_enough_from_a_shell() {
    let world = World::shop(blocking());
    let permissions = ["contents:read", "pull-requests:read", "checks:read"];
    let identity = Identity::github_actions(&permissions);
    world.github.token(GitHub::TOKEN, identity);
    let mut shell = world.opened().quick();
    shell
        .variables
        .insert("GITHUB_ACTIONS".into(), String::new());
    let arguments = ["review", "--repo", "octo/shop", "--pr", "1", "--dry-run"];
    let ran = world.spawn(&shell, &arguments);
    only_read(&world);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(
        ran.log.contains("What would be posted:\nReview of "),
        "{}",
        ran.log
    );
    assert!(!ran.log.contains("permissions:"), "{}", ran.log);
    shell.inputs.insert("fail_job".into(), "true".into());
    let failed = world.spawn(&shell, &arguments);
    only_read(&world);
    assert_eq!(failed.code, Some(1), "{}", failed.log);
    world.finish();
}

#[test]
fn nothing_to_say_is_told_as_that_and_a_mention_gets_neither_reaction_nor_answer() {
    let world = World::shop(Script::new());
    let ran = run(&world, &dry(world.opened()));
    assert_eq!(
        headings(&ran),
        [
            "Nothing would be posted.",
            "Check run: success, \"Nothing to report"
        ]
    );
    world.github.permit("writer", "write");
    let help = "@review-my-code-bot help";
    let id = world.github.comment(world.pull, "writer", help).id;
    world.github.take_writes();
    let payload = events::comment_event("issue_comment", &world.github, world.pull, id);
    let ran = run(&world, &dry(world.workflow("issue_comment", payload)));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(
        headings(&ran),
        [
            "React to a comment, eyes",
            "Comment on the pull request:",
            "React to a comment, rocket"
        ]
    );
    let answer = text(&ran, "Comment on the pull request:");
    assert!(answer.starts_with("Begin a line with"), "{answer}");
    world.finish();
}

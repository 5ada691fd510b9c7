//! What people decided on closed pull requests, in the review of another one: the same claim about the same code is asked back,
//! and nobody without write access teaches the reviewer to be silent.

use crate::review::{comments, lost_page, post};
use crate::sections;
use crate::standin::github::state::{Merged, Thread};
use crate::standin::github::{Change, Fault};
use crate::standin::model::{Call, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, Workflow, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Part of the request for the closed pull requests, and of no other.
const REQUEST: &str = "authorCanPushToRepository } }";

/// Pull request 1, whose one finding is the lost page. `lead` may write, `dev` is its author.
struct Story {
    world: World,
    root: u64,
}

/// A model that reports the lost page, in pass 1 of every review.
fn claiming(score: u64) -> Script {
    Script::new().pass(1, move |_| vec![post(lost_page(score))])
}

impl Story {
    fn begin() -> Self {
        let world = World::shop(claiming(7));
        world.github.permit("lead", "write");
        world.github.permit("dev", "read");
        world.run(&world.opened().quick()).ended(0, "findings");
        world.github.take_writes();
        let root = world.github.comments()[0].id;
        Self { world, root }
    }

    /// `lead` merges a pull request.
    fn merge(&self, number: u64) {
        self.world.github.with(|state| {
            let at = state.tick();
            let pull = state.pulls.get_mut(&number).expect("the pull request");
            pull.state = "closed".into();
            pull.updated_at.clone_from(&at);
            pull.merged = Some(Merged {
                by: "lead".into(),
                sha: pull.head.sha.clone(),
                at,
            });
        });
    }

    /// Another pull request with the same change, and some more.
    fn next(&mut self, more: &[Change]) -> u64 {
        let github = &self.world.github;
        let base = github.pull(1, |pull| pull.base.sha.clone());
        let number = github.with(|state| state.pulls.len() + 1);
        let branch = format!("next-{number}");
        github.commit(&branch, &[&base], &[&shop::changes()[..], more].concat());
        self.world.pull = github.open_pull("dev", &branch, "main");
        self.world.pull
    }

    fn workflow(&self) -> Workflow {
        let mut workflow = self.world.opened().quick();
        workflow.inputs.insert("memory".into(), "5".into());
        workflow
    }

    fn review(&self) -> Ran {
        self.world.run(&self.workflow())
    }

    fn becomes(&self, script: Script) {
        self.world.model.becomes(script.into_behaviour());
    }

    /// The name of the decided question.
    fn id(&self) -> String {
        format!("#1/{}", self.root)
    }

    /// The answers to the model's last calls in the review of this pull request.
    fn last_messages(&self) -> String {
        let requests = self.world.model.requests();
        requests.last().expect("a request")["messages"].to_string()
    }
}

fn memory(ran: &Ran) -> Value {
    ran.report.as_ref().expect("a report")["memory"].clone()
}

#[test]
fn what_somebody_with_write_access_rejected_is_not_said_again_about_the_same_code() {
    let mut story = Story::begin();
    story.world.github.resolve_thread(story.root, "lead");
    story.merge(1);
    story.next(&[]);
    story.becomes(claiming(9));
    let mut workflow = story.world.opened();
    workflow.inputs.insert("memory".into(), "5".into());
    // With the real OpenCode: the model reads the decision, and the question after its call.
    let ran = story.world.run(&workflow);
    ran.ended(0, "clean");
    let messages = story.last_messages();
    for told in [
        "## Decided in other pull requests",
        "src/page.ts:8 (somebody with write access closed it, and the code was merged as it was, 2026-01-01): The last page is lost.",
        "This looks like a question that was decided in #1",
    ] {
        assert!(messages.contains(told), "{told}: {messages}");
    }
    let memory = memory(&ran);
    assert_eq!(memory["pull_requests"], 1);
    assert_eq!(memory["decided"][0]["decision"], "closed");
    assert_eq!(memory["left"][0]["decided"], story.id().as_str());
    assert_eq!(memory["left"][0]["place"], "src/page.ts:8");
    let summary = &ran.summary;
    assert!(summary.contains("1 finding not made again"), "{summary}");
    assert!(
        summary.contains("The model was told of 1 decided question of #1"),
        "{summary}"
    );
    // It would have blocked: somebody should see it.
    let warning =
        "Not made again at src/page.ts:8 (score 9), because people decided against it in `#1`";
    assert!(summary.contains(warning), "{summary}");
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn a_large_change_is_told_of_a_decision_in_the_section_of_its_file() {
    let mut story = Story::begin();
    story.world.github.resolve_thread(story.root, "lead");
    story.merge(1);
    story.next(&sections::changes());
    let asked = story.world.model.requests().len();
    let claims = |request: &Request| request.last_user().contains("src/page.ts:8 (somebody");
    story.becomes(Script::new().pass(1, move |request| {
        let claim = claims(request).then(|| post(lost_page(9)));
        claim.into_iter().collect()
    }));
    let ran = story.world.run(&sections::small(story.workflow()));
    ran.ended(0, "clean");
    assert!(sections::sections(&ran).len() > 2);
    let requests = story.world.model.requests().split_off(asked);
    let requests = requests.into_iter().map(Request::new);
    let tells = |request: &Request| {
        let messages = request.raw()["messages"].to_string();
        messages.contains("## Decided in other pull requests")
    };
    let told = requests.filter(tells).map(|request| request.section());
    let told: BTreeSet<u32> = told.collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let memory = memory(&ran);
    assert_eq!(memory["left"][0]["decided"], story.id().as_str());
    assert!(ran.summary.contains("1 finding not made again"));
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn the_model_that_says_what_differs_is_heard() {
    let mut story = Story::begin();
    story.world.github.resolve_thread(story.root, "lead");
    story.merge(1);
    story.next(&[]);
    let id = story.id();
    story.becomes(claiming(7).pass(1, move |request| {
        let refused = request.last_result().unwrap_or_default();
        assert!(refused.contains(&id), "{refused}");
        let mut again = lost_page(7);
        let reason = "The pages are public now.";
        again["distinct_from"] = json!({ "thread_id": id, "reason": reason });
        vec![post(again)]
    }));
    let ran = story.review();
    ran.ended(0, "findings");
    let memory = memory(&ran);
    assert_eq!(memory["left"], json!([]));
    assert_eq!(memory["insisted"][0]["reason"], "The pages are public now.");
    assert_eq!(comments(&story.world.github.expect_review()).len(), 1);
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn nobody_else_teaches_it_to_be_silent_and_other_code_is_another_matter() {
    let mut story = Story::begin();
    let github = &story.world.github;
    github.resolve_thread(story.root, "stranger");
    let body = github.comments()[0].body.clone();
    story.merge(1);
    // The reviewer's block, copied to another pull request under its name, and closed by somebody who may.
    let copied = story.next(&[]);
    let github = &story.world.github;
    let root = github.remark(copied, "github-actions[bot]", ("src/page.ts", 8), &body);
    github.resolve_thread(root, "lead");
    story.merge(copied);
    story.next(&[]);
    let ran = story.review();
    ran.ended(0, "findings");
    assert_eq!(memory(&ran)["pull_requests"], 2);
    assert_eq!(memory(&ran)["decided"], json!([]));
    assert_eq!(comments(&story.world.github.expect_review()).len(), 1);
    story.world.github.take_writes();
    // Now somebody decides who may, and the code of the next pull request is another.
    story.world.github.resolve_thread(story.root, "lead");
    let text = shop::head_of("src/page.ts").replace("count / size", "count / (size || 1)");
    story.next(&[Change::write("src/page.ts", text)]);
    let ran = story.review();
    ran.ended(0, "findings");
    assert_eq!(memory(&ran)["decided"], json!([]), "{}", ran.summary);
    assert_eq!(comments(&story.world.github.expect_review()).len(), 1);
    story.world.github.take_writes();
    story.world.finish();
}

#[test]
fn a_review_goes_on_where_github_does_not_tell_it_and_without_the_input_nothing_is_asked() {
    let mut story = Story::begin();
    story.world.github.resolve_thread(story.root, "lead");
    story.merge(1);
    story.next(&[]);
    let broken = json!({ "errors": [{ "message": "Something went wrong." }] });
    let github = &story.world.github;
    github.on_graphql(REQUEST, 9, Fault::Status(200, broken));
    let ran = story.review();
    ran.ended(0, "findings");
    let note =
        "What people decided in other pull requests is not known in this review. GitHub refused";
    assert!(ran.summary.contains(note), "{}", ran.summary);
    assert_eq!(memory(&ran), Value::Null);
    let asked = || story.world.github.struck_so_far();
    assert_eq!(asked(), 1, "nothing is asked twice");
    let workflow = story.world.opened().quick();
    story.world.run(&workflow).ended(0, "findings");
    assert_eq!(asked(), 1);
    story.world.github.take_writes();
    story.world.finish();
}

#[test]
fn state_lists_what_is_remembered_and_says_where_nobody_can_check_it() {
    let mut story = Story::begin();
    let reply = story
        .world
        .github
        .reply(story.root, "lead", "Callers round up.")
        .id;
    let root = story.root.to_string();
    story.becomes(Script::new().threads(move |_| {
        let arguments =
            json!({ "thread_id": root, "body": "You are right.", "is_concession": true });
        vec![Call::new("github_reply_to_thread", arguments)]
    }));
    let event = crate::standin::github::events::comment_event(
        "pull_request_review_comment",
        &story.world.github,
        1,
        reply,
    );
    let workflow = story
        .world
        .workflow("pull_request_review_comment", event)
        .quick();
    story.world.run(&workflow).ended(0, "clean");
    story.world.github.take_writes();
    story.merge(1);
    story.next(&[]);
    let mut workflow = story.workflow();
    let shell = ("GITHUB_ACTIONS".to_owned(), String::new());
    workflow.variables.extend([shell]);
    let arguments = ["state", "--repo", "octo/shop"];
    let table = story.world.spawn(&workflow, &arguments).log;
    let row = format!(
        "#1/{:<13} conceded   2026-01-01     7  src/page.ts:8  The last page is lost.",
        story.root
    );
    assert!(table.contains(&row), "{row}\n{table}");
    let end = "1 closed pull request read, 1 question is decided. Reviews read 5.";
    assert!(table.contains(end), "{table}");
    let answer = story
        .world
        .spawn(&workflow, &[&arguments[..], &["--json"]].concat())
        .log;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["decided"][0]["id"], story.id().as_str());
    assert_eq!(answer["signatures_checked"], true);
    workflow.inputs.remove("opencode_api_key");
    workflow.inputs.remove("memory");
    let unchecked = story
        .world
        .spawn(&workflow, &[&arguments[..], &["--memory=3"]].concat())
        .log;
    assert!(
        unchecked.contains("Signatures not checked: no key."),
        "{unchecked}"
    );
    story.world.finish();
}

#[test]
fn the_request_costs_few_points_however_many_findings_there_are() {
    let story = Story::begin();
    story
        .world
        .github
        .reply(story.root, "lead", "Callers round up, so this is fine.");
    story.world.github.resolve_thread(story.root, "lead");
    story.merge(1);
    // Twenty pull requests with thirty findings each.
    story.world.github.with(|state| {
        let (thread, comments) = (state.threads[0].clone(), state.comments.clone());
        for number in 1..=20 {
            let mut pull = state.pulls[&1].clone();
            pull.number = number;
            state.pulls.insert(number, pull);
            for _ in 0..30 {
                let root = state.next_id();
                for comment in &comments {
                    let mut copy = comment.clone();
                    let reply = copy.in_reply_to_id.map(|_| root);
                    copy.id = if reply.is_some() {
                        state.next_id()
                    } else {
                        root
                    };
                    (copy.pull, copy.in_reply_to_id) = (number, reply);
                    state.comments.push(copy);
                }
                let id = format!("PRRT_{root}");
                let pull = number;
                state.threads.push(Thread {
                    id,
                    pull,
                    root,
                    ..thread.clone()
                });
            }
        }
    });
    let mut workflow = story.workflow();
    let shell = ("GITHUB_ACTIONS".to_owned(), String::new());
    workflow.variables.extend([shell]);
    for (most, points) in [("5", 3), ("10", 5), ("20", 10)] {
        let arguments = ["state", "--repo", "octo/shop", "--memory", most];
        let ran = story.world.spawn(&workflow, &arguments);
        let told = format!("{most} closed pull requests read");
        assert!(ran.log.contains(&told), "{}", ran.log);
        let queries = story.world.github.with(|state| state.queries.clone());
        let cost = queries.last().expect("a query");
        println!(
            "memory: {most}: {} points, {} nodes, {} bytes",
            cost.points, cost.nodes, cost.bytes
        );
        assert_eq!(cost.points, points);
    }
    story.world.finish();
}

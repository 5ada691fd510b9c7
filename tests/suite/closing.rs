//! Who closes a finding that blocks, and on what evidence: the model's word alone is never enough.

use crate::review::{lost_page, post};
use crate::standin::github::state::HeadRepository;
use crate::standin::github::{Change, Write, events};
use crate::standin::model::{Call, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, World};
use serde_json::{Value, json};

/// A pull request whose one finding blocks, at the line of `src/page.ts` that rounds down. `writer` may write.
struct Story {
    world: World,
    root: u64,
}

impl Story {
    fn begin() -> Self {
        Self::on(Self::world().quick())
    }

    fn world() -> World {
        World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))]))
    }

    fn on(world: World) -> Self {
        world.github.permit("writer", "write");
        world.github.permit("dev", "read");
        world.review().ended(0, "blocking");
        world.github.take_writes();
        let root = world.github.comments()[0].id;
        Self { world, root }
    }

    fn becomes(&self, script: Script) {
        self.world.model.becomes(script.into_behaviour());
    }

    /// Somebody pushes these changes, and the action runs.
    fn push(&self, changes: &[Change]) -> Ran {
        let github = &self.world.github;
        let before = github.with(|state| state.pulls[&self.world.pull].head.sha.clone());
        let head = github.commit("search", &[&before], changes);
        github.push(self.world.pull, &head);
        let payload = events::synchronize_event(github, self.world.pull, &before);
        self.world
            .run(&self.world.workflow("pull_request", payload))
    }

    /// Somebody replies in the thread, and the action runs.
    fn reply(&self, who: &str, text: &str) -> Ran {
        let github = &self.world.github;
        let id = github.reply(self.root, who, text).id;
        let name = "pull_request_review_comment";
        let payload = events::comment_event(name, github, self.world.pull, id);
        self.world.run(&self.world.workflow(name, payload))
    }

    /// The model that says of the finding what it was told to say.
    fn claims(&self, fixed_by: &Value) -> Call {
        let arguments = json!({
            "thread_id": self.root.to_string(),
            "reason": "It is fixed.",
            "fixed_by": fixed_by,
        });
        Call::new("github_resolve_thread", arguments)
    }

    fn claiming(&self, fixed_by: &Value) -> Script {
        let call = self.claims(fixed_by);
        Script::new().threads(move |_| vec![call.clone()])
    }

    /// Somebody comments in the conversation, and the action runs.
    fn comment(&self, who: &str, text: &str) -> Ran {
        let github = &self.world.github;
        let id = github.comment(self.world.pull, who, text).id;
        let payload = events::comment_event("issue_comment", github, self.world.pull, id);
        self.world
            .run(&self.world.workflow("issue_comment", payload))
    }

    /// The replies in the thread since this was last asked, without their blocks. The check run and reactions are taken,
    /// too.
    fn replies(&self) -> Vec<String> {
        let writes = self.world.github.take_writes().into_iter();
        let bodies = writes.filter_map(|write| match write {
            Write::Reply { root, json, .. } => {
                assert_eq!(root, self.root);
                Some(json["body"].as_str().expect("a body").to_owned())
            }
            Write::EditComment { id, json } => {
                assert_eq!(id, self.root);
                let body = json["body"].as_str().expect("a body");
                let (words, _) = body.split_once("\n\n---").expect("the finding below");
                Some(format!("In the finding's comment: {words}"))
            }
            Write::IssueComment { json, .. } => {
                let body = json["body"].as_str().expect("a body");
                Some(format!("In the conversation: {body}"))
            }
            Write::Resolve { .. }
            | Write::Reaction { .. }
            | Write::CheckRunCreated { .. }
            | Write::CheckRunUpdated { .. } => None,
            other => panic!("nobody expected {other:?}"),
        });
        let text = |body: String| body.split("\n\n<!--").next().unwrap_or_default().to_owned();
        bodies.map(text).collect()
    }

    fn is_closed(&self) -> bool {
        let threads = self.world.github.threads();
        let thread = threads.iter().find(|thread| thread.root == self.root);
        thread.expect("the thread").is_resolved
    }

    fn conceding(&self) -> Script {
        let root = self.root.to_string();
        Script::new().threads(move |_| {
            let arguments = json!({
                "thread_id": root,
                "body": "You are right, this is fine.",
                "is_concession": true,
            });
            vec![Call::new("github_reply_to_thread", arguments)]
        })
    }
}

/// The page's file with another text in place of one.
fn page_with(old: &str, new: &str) -> Change {
    let text = shop::head_of("src/page.ts");
    assert!(text.contains(old), "{text}");
    Change::write("src/page.ts", text.replace(old, new))
}

#[test]
fn a_push_beside_the_finding_does_not_close_it() {
    let story = Story::begin();
    story.becomes(story.claiming(&json!({ "file": "src/page.ts" })));
    let neighbour = page_with("const d =", "const last =");
    let ran = story.push(&[neighbour]);
    ran.ended(0, "blocking");
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn a_push_to_another_file_does_not_close_it() {
    let story = Story::begin();
    story.becomes(story.claiming(&json!({ "file": "src/note.ts" })));
    let ran = story.push(&[Change::write("src/note.ts", "export const note = 1;\n")]);
    ran.ended(0, "blocking");
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn a_writer_s_prose_that_is_taken_for_a_concession_does_not_close_it() {
    let story = Story::begin();
    story.becomes(story.conceding());
    let ran = story.reply("writer", "Good catch. Must be fixed, do not close.");
    ran.ended(0, "blocking");
    let said = story.replies().remove(0);
    assert!(
        said.contains(
            "no longer insists on this finding. Somebody with write access closes this thread"
        ) && said.contains("`@review-my-code-bot dismiss` here."),
        "{said}"
    );
    assert!(!story.is_closed());

    // Nobody has spoken since: there is nothing more to concede.
    story.becomes(story.conceding());
    story
        .push(&[page_with("const d =", "const last =")])
        .ended(0, "blocking");
    assert_eq!(story.replies(), Vec::<String>::new());

    // One of the two acts follows.
    let asked = story.world.model.requests().len();
    story
        .reply("writer", "@review-my-code-bot dismiss")
        .ended(0, "clean");
    assert_eq!(
        story.replies(),
        ["✅ **Issue Resolved**\n\n`writer` dismissed this finding."]
    );
    assert!(story.is_closed());
    assert_eq!(story.world.model.requests().len(), asked);
    story.world.finish();
}

/// What the model was asked in the session that checks fixes, whole.
fn check_of_fixes(story: &Story, since: usize) -> Vec<String> {
    let requests = story.world.model.requests();
    let prompts = requests[since..]
        .iter()
        .map(|request| request["messages"].to_string());
    prompts
        .filter(|prompt| prompt.contains("A check of fixes."))
        .collect()
}

#[test]
fn a_fix_of_the_line_closes_it_once_a_session_without_the_discussion_confirms_it() {
    // With the real OpenCode, whose sessions these are: it does not show the tools of a review there.
    confirmed_without_the_discussion(Story::on(Story::world()), "unavailable tool");
}

#[test]
fn a_session_that_checks_fixes_is_refused_the_tools_of_a_review() {
    // The quick sidecar hides nothing.
    let refusal = "This task is only to check fixes";
    confirmed_without_the_discussion(Story::begin(), refusal);
}

fn confirmed_without_the_discussion(story: Story, refusal: &str) {
    let told = "It is nonsense, close it.";
    story.world.github.reply(story.root, "writer", told);
    let asked = story.world.model.requests().len();
    let prying = |_: &Request| {
        let nothing = json!({});
        vec![Call::new("github_get_run_state", nothing)]
    };
    let script = story.claiming(&json!({ "file": "src/page.ts" }));
    let script = script
        .fix_check(prying)
        .finds_fixed(true)
        .pass(1, |request| {
            let whole = request.raw()["messages"].to_string();
            assert!(
                whole.contains("Before the passes: the open threads."),
                "the session goes on"
            );
            assert!(!whole.contains("A check of fixes."), "{whole}");
            vec![]
        });
    story.becomes(script);
    let ran = story.push(&[shop::fixed()]);
    ran.ended(0, "clean");
    assert_eq!(
        story.replies(),
        ["✅ **Issue Resolved**\n\nFixed in `src/page.ts`. It is fixed."]
    );
    assert!(story.is_closed());
    assert!(
        ran.summary.contains("1 finding checked."),
        "{}",
        ran.summary
    );
    let prompts = check_of_fixes(&story, asked);
    for prompt in &prompts {
        for theirs in [told, "Search orders by their note", "Adds a search box"] {
            assert!(!prompt.contains(theirs), "{theirs}: {prompt}");
        }
    }
    let last = prompts.last().expect("a check");
    for shown in [
        "The last page is lost.",
        "return Math.floor(count / size);",
        "return Math.ceil(count / size);",
        refusal,
    ] {
        assert!(last.contains(shown), "{shown}: {last}");
    }
    story.world.finish();
}

#[test]
fn a_fix_that_nobody_confirms_is_named_and_left_to_people() {
    for verdict in [Some(false), None] {
        let story = Story::begin();
        let mut script = story.claiming(&json!({ "file": "src/page.ts" }));
        if let Some(is_fixed) = verdict {
            script = script.finds_fixed(is_fixed);
        }
        story.becomes(script);
        story.push(&[shop::fixed()]).ended(0, "blocking");
        let said = story.replies().remove(0);
        let line = "This line seems to fix it, `src/page.ts:8`: `return Math.ceil(count / size);`";
        assert!(said.starts_with(line), "{said}");
        assert!(
            said.contains("closes this thread by resolving the conversation, or with"),
            "{said}"
        );
        assert!(!story.is_closed());
        // The next push says nothing new about it, and nor does the reviewer.
        let call = story.claims(&json!({ "file": "src/page.ts" }));
        story.becomes(Script::new().threads(move |_| vec![call.clone()]));
        let other = Change::write("src/other.ts", "export {};\n");
        story.push(&[other]).ended(0, "blocking");
        assert_eq!(story.replies(), Vec::<String>::new());
        story.world.finish();
    }
}

#[test]
fn a_fix_elsewhere_closes_it_by_an_added_line_that_the_model_quotes() {
    let story = Story::begin();
    let guard = "export const whole = (count: number, size: number) => count % size === 0;";
    let text = format!("// Pages are whole.\n{guard}\n");
    let claims = [
        json!({ "file": "src/guard.ts" }),
        json!({ "file": "src/guard.ts", "quote": "// Pages are whole." }),
        json!({ "file": "src/guard.ts", "quote": "return Math.floor(count / size);" }),
        json!({ "file": "src/guard.ts", "quote": guard }),
    ];
    let calls: Vec<Call> = claims.iter().map(|claim| story.claims(claim)).collect();
    let script = Script::new().threads(move |_| calls.clone());
    let script = script.threads(|request| {
        let results = request.tool_results();
        let refused = results
            .iter()
            .filter(|result| result.content.contains("fixed_by.quote"));
        assert_eq!(refused.count(), 3, "{results:?}");
        vec![]
    });
    story.becomes(script.finds_fixed(true));
    story
        .push(&[Change::write("src/guard.ts", text)])
        .ended(0, "clean");
    let said = story.replies();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("In the finding's comment: ✅ **Issue Resolved** in "),
        "{said:?}"
    );
    assert!(
        said[0].ends_with(" by `src/guard.ts`\n\nIt is fixed."),
        "{said:?}"
    );
    story.world.finish();
}

#[test]
fn a_finding_on_removed_lines_is_fixed_when_they_are_back() {
    let mut removed = lost_page(9);
    removed["quote"] = json!("return Math.ceil(count / size);");
    let script = Script::new().pass(1, move |_| vec![post(removed.clone())]);
    let story = Story::on(World::shop(script).quick());
    story.becomes(
        story
            .claiming(&json!({ "file": "src/page.ts" }))
            .finds_fixed(true),
    );
    story
        .push(&[page_with("const d =", "const last =")])
        .ended(0, "blocking");
    assert_eq!(story.replies(), Vec::<String>::new());
    story.push(&[shop::fixed()]).ended(0, "clean");
    assert_eq!(story.replies().len(), 1);
    story.world.finish();
}

#[test]
fn a_dismissal_opens_the_gate_without_the_model_and_is_not_reopened() {
    let story = Story::begin();
    let asked = story.world.model.requests().len();
    story
        .reply("writer", "@review-my-code-bot dismiss")
        .ended(0, "clean");
    assert_eq!(
        story.replies(),
        ["✅ **Issue Resolved**\n\n`writer` dismissed this finding."]
    );
    assert!(story.is_closed());
    assert_eq!(story.world.model.requests().len(), asked);
    let refused = |request: &Request| {
        let refusal = request.last_result().expect("a refusal");
        assert!(refusal.contains("Already said"), "{refusal}");
        vec![]
    };
    story.becomes(
        Script::new()
            .pass(1, |_| vec![post(lost_page(9))])
            .pass(1, refused),
    );
    story
        .comment("writer", "@review-my-code-bot review full")
        .ended(0, "clean");
    assert_eq!(story.replies(), Vec::<String>::new());
    story.world.finish();
}

#[test]
fn an_author_without_write_access_dismisses_nothing_that_blocks() {
    let story = Story::begin();
    let ran = story.reply("dev", "@review-my-code-bot dismiss");
    ran.ended(0, "blocking");
    let said = story.replies();
    assert!(
        said[0].starts_with("Nothing was dismissed: this finding blocks"),
        "{said:?}"
    );
    assert!(!story.is_closed());

    // Below the threshold, the author closes what they could resolve by hand.
    let small = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))])).quick();
    small.github.permit("dev", "read");
    small.review().ended(0, "findings");
    small.github.take_writes();
    let root = small.github.comments()[0].id;
    let small = Story { world: small, root };
    small
        .reply("dev", "@review-my-code-bot dismiss")
        .ended(0, "clean");
    assert_eq!(small.replies().len(), 1);
    small.world.finish();
    story.world.finish();
}

/// A finding that blocks, on a stranger's pull request from a fork.
fn forked() -> Story {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))])).quick();
    world.github.permit("writer", "write");
    world.github.pull(world.pull, |pull| {
        pull.author = "stranger".into();
        pull.head.repository = Some(HeadRepository {
            full_name: "stranger/shop".into(),
            id: 99,
            fork: true,
        });
    });
    let story = Story { world, root: 0 };
    story
        .comment("writer", "@review-my-code-bot review")
        .ended(0, "blocking");
    story.world.github.take_writes();
    let root = story.world.github.comments()[0].id;
    Story { root, ..story }
}

#[test]
fn on_a_fork_s_pull_request_a_link_in_the_conversation_dismisses() {
    let story = forked();
    let asked = story.world.model.requests().len();
    let link = format!(
        "https://github.com/octo/shop/pull/1#discussion_r{}",
        story.root
    );
    let dismissal = format!("@review-my-code-bot dismiss {link}");
    // A fork's author cannot open their own gate.
    let ran = story.comment("stranger", &dismissal);
    ran.ended(0, "blocking");
    let said = story.replies();
    assert!(
        said[0].starts_with("In the conversation: Nothing was dismissed: this finding blocks"),
        "{said:?}"
    );
    let ran = story.comment("writer", "@review-my-code-bot dismiss");
    ran.ended(0, "blocking");
    let said = story.replies();
    assert!(said[0].contains("names no open finding"), "{said:?}");
    // Somebody who is neither gets nothing at all.
    story.comment("passerby", &dismissal).ended(0, "skipped");
    assert_eq!(story.replies(), Vec::<String>::new());
    assert!(!story.is_closed());

    story.comment("writer", &dismissal).ended(0, "clean");
    assert_eq!(
        story.replies(),
        ["✅ **Issue Resolved**\n\n`writer` dismissed this finding."]
    );
    assert!(story.is_closed());
    assert_eq!(
        story.world.model.requests().len(),
        asked,
        "and no model request"
    );
    story.world.finish();
}

/// The developer, who may write, insists twice on a finding that blocks.
fn insisted(story: &Story) -> String {
    story.world.github.permit("dev", "write");
    let root = story.root.to_string();
    let arguing = move |_: &Request| {
        let arguments = json!({ "thread_id": root, "body": "It stands.", "is_concession": false });
        vec![Call::new("github_reply_to_thread", arguments)]
    };
    story.becomes(Script::new().threads(arguing));
    story.reply("dev", "It cannot happen.").ended(0, "blocking");
    story.replies();
    story.reply("dev", "I insist.").ended(0, "blocking");
    story.replies().remove(0)
}

#[test]
fn what_was_escalated_to_human_reviewers_is_closed_by_one_of_them() {
    let story = Story::begin();
    let github = &story.world.github;
    github.permit("lead", "write");
    github.pull(story.world.pull, |pull| {
        pull.requested_reviewers.push("lead".into());
    });
    let said = insisted(&story);
    assert!(said.contains("@lead: please decide"), "{said}");
    assert!(said.contains("One of them closes this thread"), "{said}");
    story
        .reply("dev", "@review-my-code-bot dismiss")
        .ended(0, "blocking");
    let said = story.replies();
    assert!(
        said[0].ends_with("the author does not decide it. One of these does: `lead`."),
        "{said:?}"
    );
    story.world.github.resolve_thread(story.root, "dev");
    story.world.review().ended(0, "blocking");
    story.world.github.unresolve_thread(story.root);
    story.replies();
    story
        .reply("lead", "@review-my-code-bot dismiss")
        .ended(0, "clean");
    assert_eq!(
        story.replies(),
        ["✅ **Issue Resolved**\n\n`lead` dismissed this finding."]
    );
    story.world.finish();
}

#[test]
fn where_nobody_else_reviews_the_developer_closes_by_an_act_and_not_by_insisting() {
    let story = Story::begin();
    let said = insisted(&story);
    assert!(
        said.contains("A maintainer decides whether this holds."),
        "{said}"
    );
    assert!(
        said.contains("Somebody with write access closes this thread"),
        "{said}"
    );
    assert!(!story.is_closed());
    story
        .reply("dev", "@review-my-code-bot dismiss")
        .ended(0, "clean");
    story.replies();
    story.world.finish();
}

//! From a finding to a commit: who asks for a fix, what is pushed, and what people read about it.

use crate::review::{lost_page, post};
use crate::standin::github::{GitHub, Identity, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::{Value, json};

pub const FLOOR: &str = "Math.floor(count / size)";
pub const CEIL: &str = "Math.ceil(count / Math.max(size, 1))";

/// A pull request with a finding about the lost page, in a repository where the workflow may push.
struct Story {
    world: World,
}

/// The reviewer that reports the lost page while it is in the code, and the fixer that rounds up.
pub fn script(score: u64) -> Script {
    Script::new()
        .threads(|request| {
            let prompt = request.last_user();
            let asked = prompt.lines().filter_map(|line| {
                let (id, asked) = line.strip_prefix("Thread ")?.split_once(": ")?;
                asked
                    .starts_with("the code has changed")
                    .then(|| id.to_owned())
            });
            let fixed = prompt.contains(CEIL);
            asked.filter(|_| fixed).map(resolve).collect()
        })
        .finds_fixed(true)
        .pass(1, move |request| {
            let seen = request.raw().to_string();
            let lost = seen.contains(FLOOR) && !seen.contains(CEIL);
            lost.then(|| post(lost_page(score))).into_iter().collect()
        })
        .fixes(|words| {
            let known = words.contains("last page");
            known.then_some(("src/page.ts", FLOOR, CEIL))
        })
}

fn resolve(thread: String) -> Call {
    let by = json!({ "file": "src/page.ts", "quote": CEIL });
    let arguments = json!({ "thread_id": thread, "reason": "It rounds up now.", "fixed_by": by });
    Call::new("github_resolve_thread", arguments)
}

impl Story {
    fn new(script: Script) -> Self {
        Self::on(World::shop(script).quick())
    }

    fn on(world: World) -> Self {
        world.github.permit("writer", "write");
        let permissions = [
            "contents:write",
            "pull-requests:write",
            "checks:write",
            "issues:write",
        ];
        let workflow = Identity::github_actions(&permissions);
        world.github.token(GitHub::TOKEN, workflow);
        Self { world }
    }

    fn says(&self, login: &str, words: &str) -> Workflow {
        let github = &self.world.github;
        let body = format!("@review-my-code-bot {words}");
        let comment = github.comment(self.world.pull, login, &body);
        let payload = events::comment_event("issue_comment", github, self.world.pull, comment.id);
        self.world.workflow("issue_comment", payload)
    }

    fn asks(&self, login: &str, words: &str) -> Ran {
        self.world.run(&self.says(login, words))
    }

    fn head(&self) -> String {
        let pull = self.world.pull;
        self.world.github.pull(pull, |pull| pull.head.sha.clone())
    }

    fn file(&self, path: &str) -> String {
        let name = format!("{}:{path}", self.head());
        self.world
            .github
            .with(|state| state.git.must(&["show", &name]))
    }

    fn message(&self) -> String {
        let head = self.head();
        self.world
            .github
            .with(|state| state.git.must(&["log", "-1", "--format=%B", &head]))
    }

    /// The comments below the description since the last look.
    fn told(&self) -> Vec<String> {
        let writes = self.world.github.take_writes();
        let comments = writes.iter().filter_map(|write| match write {
            Write::IssueComment { json, .. } => json["body"].as_str().map(str::to_owned),
            _ => None,
        });
        comments.collect()
    }
}

#[test]
fn a_writer_asks_for_a_fix_and_the_finding_is_fixed_in_one_commit_and_reviewed() {
    // With the real OpenCode.
    let story = Story::on(World::shop(script(7)));
    story.world.review().ended(0, "findings");
    let before = story.head();
    story.told();
    let ran = story.asks("writer", "fix");
    println!("{}", ran.log);
    ran.ended(0, "clean");
    assert_ne!(story.head(), before);
    assert!(story.file("src/page.ts").contains(CEIL));
    let message = story.message();
    assert!(message.starts_with("Fix 1 review finding\n"), "{message}");
    assert!(message.contains("\nReview-Finding: "), "{message}");
    let told = story.told();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0].starts_with("<!-- pr-review-loop-marker -->\n### Fixed 1 of 1 finding in "),
        "{}",
        told[0]
    );
    let report: &Value = ran.report.as_ref().expect("a report");
    let events: Vec<&str> = report["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    assert_eq!(events, ["fix_created", "fix_completed", "re_review"]);
    story.world.finish();
}

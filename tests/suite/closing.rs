//! Who closes a finding that blocks, and on what evidence: the model's word alone is never enough.

use crate::review::{lost_page, post};
use crate::standin::github::{Change, events};
use crate::standin::model::{Call, Script};
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
        Self::on(World::shop(Script::new().pass(1, |_| vec![post(lost_page(9))])).quick())
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

    fn claiming(&self, fixed_by: Value) -> Script {
        let call = self.claims(&fixed_by);
        Script::new().threads(move |_| vec![call.clone()])
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
    story.becomes(story.claiming(json!({ "file": "src/page.ts" })));
    let neighbour = page_with("const d =", "const last =");
    let ran = story.push(&[neighbour]);
    ran.ended(0, "blocking");
    story.world.github.expect_check_run();
    story.world.finish();
}

#[test]
fn a_push_to_another_file_does_not_close_it() {
    let story = Story::begin();
    story.becomes(story.claiming(json!({ "file": "src/note.ts" })));
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
    story.world.github.expect_reply();
    story.world.github.expect_check_run();
    story.world.finish();
}

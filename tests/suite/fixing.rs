//! From a finding to a commit: who asks for a fix, what is pushed, and what people read about it.

mod cut_off;
mod delivery;
mod failures;
mod obstacles;
mod orders;
mod people;
mod rounds;

use crate::review::{finding, lost_page, post};
use crate::standin::github::{Change, GitHub, Identity, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::world::{Ran, Workflow, World};
use serde_json::{Value, json};

/// A defect of the example, and the edit that fixes it.
struct Defect {
    file: &'static str,
    line: u32,
    words: &'static str,
    old: &'static str,
    new: &'static str,
}

const LOST_PAGE: Defect = Defect {
    file: "src/page.ts",
    line: 8,
    words: "The last page is lost.",
    old: "Math.floor(count / size)",
    new: "Math.ceil(count / Math.max(size, 1))",
};
const EMPTY_CART: Defect = Defect {
    file: "src/ui/cart.ts",
    line: 21,
    words: "An empty cart has no row to sum.",
    old: "Number(rows[0].cents)",
    new: "Number(rows[0]?.cents ?? 0)",
};
const INJECTION: Defect = Defect {
    file: "src/orders.ts",
    line: 38,
    words: "The note is put into the query as it is.",
    old: "'%${text}%'",
    new: "'%${quoted(text)}%'",
};
const NAME: Defect = Defect {
    file: "src/page.ts",
    line: 12,
    words: "The name d hides a number of pages.",
    old: "const d = pages(items.length, size);",
    new: "const d = pages(items.length, size); // the number of pages",
};
const DEFECTS: [&Defect; 4] = [&LOST_PAGE, &EMPTY_CART, &INJECTION, &NAME];

impl Defect {
    fn raised(&self, score: u64) -> Call {
        post(finding(self.file, self.line, score, self.words))
    }

    fn resolve(&self, thread: &str) -> Call {
        let by = json!({ "file": self.file, "quote": self.new });
        let arguments =
            json!({ "thread_id": thread, "reason": "It is right now.", "fixed_by": by });
        Call::new("github_resolve_thread", arguments)
    }

    fn edit(&self) -> (&'static str, &'static str, &'static str) {
        (self.file, self.old, self.new)
    }

    /// The file of the example as it was before the fix.
    fn unfixed(&self) -> Change {
        Change::write(self.file, crate::standin::shop::head_of(self.file))
    }
}

pub const FLOOR: &str = LOST_PAGE.old;
pub const CEIL: &str = LOST_PAGE.new;

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
            asked
                .filter(|_| fixed)
                .map(|id| LOST_PAGE.resolve(&id))
                .collect()
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

/// A reviewer that raises these defects, those of the first review first, and takes an edited one for fixed. Beyond the last list
/// it has nothing to say.
fn reviewer(reviews: Vec<Vec<Call>>) -> Script {
    let mut reviews = reviews.into_iter();
    Script::new()
        .threads(|request| {
            let prompt = request.last_user();
            let threads = prompt.split("\nThread ").skip(1);
            let calls = threads.filter_map(|text| {
                let (id, asked) = text.split_once(": ")?;
                let is_fixed = |one: &&&Defect| text.contains(one.old) && text.contains(one.new);
                let known = DEFECTS.iter().find(is_fixed)?;
                let changed = asked.starts_with("the code has changed");
                changed.then(|| known.resolve(id))
            });
            calls.collect()
        })
        .finds_fixed(true)
        .pass(1, move |_| reviews.next().unwrap_or_default())
}

/// A fixer that knows the edits for the defects, and rejects everything else.
fn fixer(script: Script) -> Script {
    script.fixes(|words| {
        let known = DEFECTS.iter().find(|one| words.contains(one.words));
        known.map(|one| one.edit())
    })
}

/// A pull request of the example, in a repository where the workflow may push.
struct Story {
    world: World,
    inputs: Vec<(&'static str, String)>,
}

/// Everything that people see of a run.
#[derive(Debug, Default)]
struct Seen {
    /// The comments below the description.
    told: Vec<String>,
    /// The reviews with their inline comments.
    reviews: Vec<Value>,
    replies: Vec<String>,
    commits: usize,
    labels: Vec<Value>,
    branches: usize,
    pulls: usize,
}

impl Seen {
    /// The first lines of the comments, without the marker.
    fn headlines(&self) -> Vec<&str> {
        let lines = self.told.iter().map(|body| {
            let body = body.strip_prefix(MARKER).unwrap_or(body);
            body.trim_start().lines().next().unwrap_or_default()
        });
        lines.collect()
    }

    /// Nothing was pushed, and one comment says one thing about it.
    #[track_caller]
    fn only_says(&self, sentence: &str) {
        let changed = (self.commits, self.branches, self.pulls, self.labels.len());
        assert_eq!(changed, (0, 0, 0, 0), "{self:#?}");
        let said = self.told.iter().chain(&self.replies);
        let said: Vec<&String> = said.collect();
        assert_eq!(said.len(), 1, "{said:#?}");
        assert!(said[0].contains(sentence), "{}", said[0]);
    }

    #[track_caller]
    fn is_silent(&self) {
        let said = self.told.len() + self.replies.len() + self.reviews.len();
        let changed = self.commits + self.branches + self.pulls + self.labels.len();
        assert_eq!((said, changed), (0, 0), "{self:#?}");
    }
}

const MARKER: &str = "<!-- pr-review-loop-marker -->";
const APP: &str = "ghs_4ppT0k3nQw8ZrT2mXk9LcVb4NhJy7PdGs3FeB";
const CONTENTS: [&str; 4] = [
    "contents:write",
    "pull-requests:write",
    "checks:write",
    "issues:write",
];

impl Story {
    /// With the quick sidecar.
    fn new(script: Script) -> Self {
        Self::on(World::shop(script).quick())
    }

    /// With the real OpenCode.
    fn real(script: Script) -> Self {
        Self::on(World::shop(script))
    }

    fn on(world: World) -> Self {
        world.github.permit("writer", "write");
        let workflow = Identity::github_actions(&CONTENTS);
        world.github.token(GitHub::TOKEN, workflow);
        let inputs = Vec::new();
        Self { world, inputs }
    }

    /// The same with this input in every run.
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.inputs.push((name, value.to_owned()));
        self
    }

    /// An app's token pushes.
    fn with_app(self) -> Self {
        let app = Identity::app("fixer", &["contents:write"]);
        self.world.github.token(APP, app);
        self.with("push_token", APP)
    }

    /// The workflow with the inputs of the story.
    fn prepared(&self, mut workflow: Workflow) -> Workflow {
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|(name, value)| ((*name).to_owned(), value.clone()));
        workflow.inputs.extend(inputs);
        workflow
    }

    fn run(&self, workflow: Workflow) -> Ran {
        self.world.run(&self.prepared(workflow))
    }

    /// The pull request was opened.
    fn review(&self) -> Ran {
        self.run(self.world.opened())
    }

    fn says(&self, login: &str, words: &str) -> Workflow {
        let github = &self.world.github;
        let body = format!("@review-my-code-bot {words}");
        let comment = github.comment(self.world.pull, login, &body);
        let payload = events::comment_event("issue_comment", github, self.world.pull, comment.id);
        self.world.workflow("issue_comment", payload)
    }

    fn asks(&self, login: &str, words: &str) -> Ran {
        self.run(self.says(login, words))
    }

    /// The same in a thread.
    fn asks_in(&self, root: u64, login: &str, words: &str) -> Ran {
        let (github, name) = (&self.world.github, "pull_request_review_comment");
        let body = format!("@review-my-code-bot {words}");
        let reply = github.reply(root, login, &body);
        let payload = events::comment_event(name, github, self.world.pull, reply.id);
        self.run(self.world.workflow(name, payload))
    }

    /// Somebody commits on top of a commit, with this message, and the head moves there. Returns the event.
    fn pushes(&self, parent: &str, message: &str, changes: &[Change]) -> Workflow {
        let (github, before) = (&self.world.github, self.head());
        let commit = github.with(|state| {
            state.tick();
            let at = state.epoch_seconds();
            state.git.commit("search", &[parent], message, at, changes)
        });
        github.push(self.world.pull, &commit);
        let payload = events::synchronize_event(github, self.world.pull, &before);
        self.world.workflow("pull_request", payload)
    }

    /// The event that an app's push started.
    fn started(&self) -> Workflow {
        let happenings = self.world.github.take_happenings();
        let mut started = happenings
            .iter()
            .filter(|one| one.starts && one.action == Some("synchronize"));
        let happening = started.next_back().expect("the push starts a workflow");
        let payload = events::happened_event(&self.world.github, happening);
        self.world.workflow("pull_request", payload)
    }

    fn head(&self) -> String {
        let pull = self.world.pull;
        self.world.github.pull(pull, |pull| pull.head.sha.clone())
    }

    fn file(&self, path: &str) -> String {
        self.file_at(&self.head(), path)
    }

    fn file_at(&self, commit: &str, path: &str) -> String {
        let name = format!("{commit}:{path}");
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

    /// What was written since the last look.
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        let text = |json: &Value| json["body"].as_str().unwrap_or_default().to_owned();
        for write in self.world.github.take_writes() {
            match write {
                Write::IssueComment { json, .. } => seen.told.push(text(&json)),
                Write::Review { json, .. } => seen.reviews.push(json),
                Write::Reply { json, .. } => seen.replies.push(text(&json)),
                Write::Commit { .. } => seen.commits += 1,
                Write::Labels { json, .. } => seen.labels.push(json),
                Write::Branch { .. } => seen.branches += 1,
                Write::Pull { .. } => seen.pulls += 1,
                _ => {}
            }
        }
        seen
    }

    /// Ends the story, whose last writes were looked at or do not matter.
    fn finish(self) {
        self.world.github.take_writes();
        self.world.finish();
    }
}

/// A reviewer with one finding, and a fixer who knows what to do.
fn one_finding() -> Script {
    fixer(reviewer(vec![vec![LOST_PAGE.raised(7)]]))
}

/// The story after its first review, which found something.
fn reviewed(story: Story) -> Story {
    story.review().ended(0, "findings");
    story.seen();
    story
}

/// The steps of fixing in the report file.
fn steps(ran: &Ran) -> Vec<String> {
    let report = ran.report.as_ref().expect("a report");
    let events = report["events"].as_array().cloned().unwrap_or_default();
    let names = events.iter().filter_map(|event| event["event"].as_str());
    names.map(str::to_owned).collect()
}

fn consensus(ran: &Ran) -> &str {
    let report = ran.report.as_ref().expect("a report");
    report["consensus"]["conclusion"].as_str().unwrap_or("none")
}

/// The report file says this to people.
#[track_caller]
fn notes(ran: &Ran, sentence: &str) {
    let report = ran.report.as_ref().expect("a report").to_string();
    assert!(report.contains(sentence), "{report}");
}

#[test]
fn a_writer_asks_for_a_fix_and_the_finding_is_fixed_in_one_commit_and_reviewed() {
    // With the real OpenCode.
    let script = fixer(reviewer(vec![vec![LOST_PAGE.raised(7)]]));
    let story = Story::real(script);
    story.review().ended(0, "findings");
    let before = story.head();
    story.seen();
    let ran = story.asks("writer", "fix");
    ran.ended(0, "clean");
    assert_ne!(story.head(), before);
    assert!(story.file("src/page.ts").contains(LOST_PAGE.new));
    let message = story.message();
    assert!(message.starts_with("Fix 1 review finding\n"), "{message}");
    assert!(message.contains("\nReview-Finding: "), "{message}");
    let seen = story.seen();
    assert_eq!(seen.told.len(), 1, "{seen:#?}");
    assert!(
        seen.told[0].starts_with("<!-- pr-review-loop-marker -->\n### Fixed 1 of 1 finding in "),
        "{}",
        seen.told[0]
    );
    assert_eq!(steps(&ran), ["fix_created", "fix_completed", "re_review"]);
    assert!(
        seen.replies.iter().all(|reply| !reply.contains(MARKER)),
        "no rounds: {seen:#?}"
    );
    story.finish();
}

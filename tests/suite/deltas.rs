//! A pull request that is pushed to five times: what each push costs beside a review of everything, that nothing is said
//! twice, and that nothing open is forgotten. What a push costs with the real OpenCode is measured by `make bench`.

use crate::review::{finding, layer_bypassed, lost_page, post};
use crate::standin::github::{Change, State, events};
use crate::standin::model::{Call, Script};
use crate::standin::shop::{self, fixed, part};
use crate::standin::world::{Ran, World};
use serde_json::{Value, json};

const PARTS: usize = 25;

fn parts() -> Vec<Change> {
    (0..PARTS).map(|number| part(number, 1)).collect()
}

/// What a run has asked of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    requests: usize,
    /// Four bytes are about one.
    tokens: usize,
}

struct Story {
    world: World,
    head: String,
    /// Everything is forgotten before each run.
    forgets: bool,
}

/// Finds the same two things whenever it is asked, in the same places, and sees when the first is fixed.
fn reviewer(page: Option<u64>) -> Script {
    let fix = json!({ "file": "src/page.ts" });
    let script = Script::new().threads(move |request| {
        let seen = |page: &u64| request.last_user().contains(&format!("Thread {page}"));
        let fixed = page.filter(seen).map(|page| {
            let reason = "It rounds up now.";
            let arguments =
                json!({ "thread_id": page.to_string(), "reason": reason, "fixed_by": fix });
            Call::new("github_resolve_thread", arguments)
        });
        fixed.into_iter().collect()
    });
    script.pass(1, |request| {
        let floors = request.raw().to_string().contains("Math.floor");
        let cart = layer_bypassed(7);
        if floors {
            vec![post(lost_page(7)), post(cart)]
        } else {
            vec![post(cart)]
        }
    })
}

impl Story {
    fn begin(forgets: bool) -> (Self, Cost) {
        let world = World::with(&parts(), reviewer(None).into_behaviour()).quick();
        let head = world.github.pull(world.pull, |pull| pull.head.sha.clone());
        let story = Self {
            world,
            head,
            forgets,
        };
        let (_, cost) = story.run(&story.world.opened());
        (story, cost)
    }

    fn run(&self, workflow: &crate::standin::world::Workflow) -> (Ran, Cost) {
        let before = self.world.model.requests().len();
        let ran = self.world.run(workflow);
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        let requests = self.world.model.requests().split_off(before);
        let bytes: usize = requests
            .iter()
            .map(|one: &Value| one.to_string().len())
            .sum();
        let cost = Cost {
            requests: requests.len(),
            tokens: bytes / 4,
        };
        (ran, cost)
    }

    /// A push, and the run that it causes.
    fn push(&mut self, parents: &[&str], changes: &[Change]) -> (Ran, Cost) {
        let (github, pull) = (&self.world.github, self.world.pull);
        if self.forgets {
            github.with(State::forget);
        }
        let before = std::mem::take(&mut self.head);
        self.head = github.commit("search", parents, changes);
        github.push(pull, &self.head);
        let payload = events::synchronize_event(github, pull, &before);
        self.run(&self.world.workflow("pull_request", payload))
    }

    /// The five pushes, one after the other.
    fn five(&mut self) -> Vec<(&'static str, Ran, Cost)> {
        let head = self.head.clone();
        let fix = self.push(&[&head], &[fixed()]);
        let head = self.head.clone();
        let unrelated = self.push(&[&head], &[part(3, 2)]);
        let main = self.world.github.with(|state| state.git.commit_of("main"));
        let other = [Change::write("LICENSE", "Ours.\n")];
        let main = self
            .world
            .github
            .commit("main", &[&main.expect("the base branch")], &other);
        let mut all = shop::changes();
        all.extend(parts());
        all.extend([fixed(), part(3, 2)]);
        let pull = self.world.pull;
        self.world
            .github
            .pull(pull, |pull| pull.base.sha.clone_from(&main));
        let rebase = self.push(&[&main], &all);
        let head = self.head.clone();
        let revert = self.push(&[&head], &[part(3, 1)]);
        all.extend([part(3, 1), part(7, 2)]);
        let rewritten = self.push(&[&main], &all);
        let names = ["fix", "unrelated change", "rebase", "revert", "force-push"];
        let runs = [fix, unrelated, rebase, revert, rewritten];
        names
            .into_iter()
            .zip(runs)
            .map(|(name, (ran, cost))| (name, ran, cost))
            .collect()
    }
}

#[test]
fn five_pushes_cost_what_is_new_and_lose_nothing() {
    let (mut story, whole) = Story::begin(false);
    let page = story.world.github.comments();
    let page = page.iter().find(|one| one.path == "src/page.ts");
    let page = page.expect("the finding on the page").id;
    story
        .world
        .model
        .becomes(reviewer(Some(page)).into_behaviour());
    let deltas = story.five();
    let (mut full, _) = Story::begin(true);
    let whole_again = full.five();

    println!(
        "{:<18} {:>9} {:>9} {:>14} {:>12}",
        "push", "requests", "tokens", "full requests", "full tokens"
    );
    println!(
        "{:<18} {:>9} {:>9}",
        "(first review)", whole.requests, whole.tokens
    );
    for ((name, _, cost), (_, _, full)) in deltas.iter().zip(&whole_again) {
        println!(
            "{name:<18} {:>9} {:>9} {:>14} {:>12}",
            cost.requests, cost.tokens, full.requests, full.tokens
        );
    }
    for ((name, ran, cost), (_, _, full)) in deltas.iter().zip(&whole_again) {
        match *name {
            "rebase" => assert_eq!(cost.requests, 0, "{}", ran.log),
            _ => assert!(
                cost.tokens * 100 <= full.tokens * 40,
                "{name}: {cost:?} of {full:?}"
            ),
        }
        assert_eq!(ran.status(), "findings", "{name}: {}", ran.log);
        let report = ran.report.as_ref().expect("a report");
        assert_eq!(report["open_issues"], 1, "{name}: the cart is still open");
    }
    let told = "Only changes since";
    assert!(
        deltas[0].1.summary.contains(told),
        "{}",
        deltas[0].1.summary
    );
    let comments = story.world.github.comments();
    let roots: Vec<&str> = comments
        .iter()
        .filter(|one| one.in_reply_to_id.is_none())
        .map(|one| one.path.as_str())
        .collect();
    assert_eq!(roots, ["src/page.ts", "src/ui/cart.ts"], "no thread twice");
    let page = comments.iter().find(|one| one.id == page);
    let page = &page.expect("the finding on the page").body;
    assert!(page.contains("✅ **Issue Resolved** in "), "{page}");
    story.world.github.take_writes();
    story.world.finish();
}

#[test]
fn a_full_review_is_made_when_somebody_asks_for_it() {
    let (mut story, whole) = Story::begin(false);
    let head = story.head.clone();
    let (ran, cost) = story.push(&[&head], &[part(3, 2)]);
    assert!(cost.tokens * 2 < whole.tokens, "{}", ran.log);
    let github = &story.world.github;
    github.permit("writer", "write");
    let body = "@review-my-code-bot review full";
    let comment = github.comment(story.world.pull, "writer", body);
    let payload = events::comment_event("issue_comment", github, story.world.pull, comment.id);
    let (ran, cost) = story.run(&story.world.workflow("issue_comment", payload));
    assert!(cost.tokens * 10 > whole.tokens * 9, "{}", ran.log);
    story.world.github.take_writes();
    story.world.finish();
}

#[test]
fn what_is_new_in_a_file_is_shown_without_the_rest_of_it() {
    let (mut story, _) = Story::begin(false);
    let asked = story.world.model.requests().len();
    let head = story.head.clone();
    let cart = shop::head_of("src/ui/cart.ts");
    let cart = format!("{cart}\n\n\n\n\n\n\n\n\nexport const taxRate = 0.19;\n");
    let tax = u32::try_from(cart.lines().count()).expect("a line");
    let said = "The tax rate is written into the code.";
    let script = Script::new().pass(1, move |_| {
        vec![post(finding("src/ui/cart.ts", tax, 6, said))]
    });
    story.world.model.becomes(script.into_behaviour());
    let (ran, _) = story.push(&[&head], &[Change::write("src/ui/cart.ts", cart)]);
    let first = story.world.model.requests()[asked].to_string();
    assert!(first.contains("+ export const taxRate = 0.19;"), "{first}");
    assert!(
        !first.contains("export const price1 ="),
        "what was reviewed before is not sent again"
    );
    assert_eq!(ran.outputs["issues_found"], "1", "{}", ran.log);
    story.world.github.take_writes();
    story.world.finish();
}

//! `make demo FIX=1`: a review, a fix of what it found, and the review of the fix, in one run. One finding is fixed; the other one
//! the fixer only touches, so the second review leaves it open, and people are called.

use super::findings::{LAYER, PAGE_COUNT};
use super::page::Page;
use super::standin::github::{GitHub, Identity};
use super::standin::model::{Call, Request, Script};
use super::standin::shop;
use super::standin::world::{Ran, Workflow, World};
use serde_json::json;
use std::time::Instant;

/// Not as the base has it, so that the code shows which is which.
const ROUNDED_UP: &str = "Math.ceil(count / Math.max(size, 1))";
/// Still a query of a UI component.
const STILL_A_QUERY: &str = "await (await db()).query(";
const RIGHTS: [&str; 4] = [
    "contents:write",
    "pull-requests:write",
    "checks:write",
    "issues:write",
];

/// Runs the demo; `put_model` gives a real model in the script's place.
pub fn demo(page: &Page, put_model: Option<&dyn Fn(&mut Workflow)>) -> Result<Ran, String> {
    let world = World::shop(script());
    let token = Identity::github_actions(&RIGHTS);
    world.github.token(GitHub::TOKEN, token);
    world.github.permit("lead", "write");
    let mut workflow = world.opened();
    for (name, value) in [("fix", "auto"), ("human_reviewers", "lead")] {
        workflow.inputs.insert(name.into(), value.into());
    }
    if let Some(put_model) = put_model {
        put_model(&mut workflow);
    }
    page.opening(&world, &workflow.inputs["model"]);
    let begun = Instant::now();
    let ran = world.watch(&workflow, &["action"], |line| page.log(line));
    let took = begun.elapsed();
    page.review(&world);
    page.commits(&world);
    page.conversation(&world);
    page.check(&world);
    page.closing(&world, &ran, took, put_model.is_none());
    super::judge(&world, &ran, false)?;
    match put_model {
        None => judge(&world, &ran).map(|()| ran),
        Some(_) => Ok(ran),
    }
}

/// Reports two defects while they are in the code, and fixes one of them.
fn script() -> Script {
    Script::new()
        .threads(|request| {
            let thread = thread_about(request, ROUNDED_UP);
            thread.as_deref().map(resolve).into_iter().collect()
        })
        .pass(1, |request| {
            let seen = request.raw().to_string();
            if seen.contains(ROUNDED_UP) {
                return Vec::new();
            }
            let post = |finding: &super::findings::Finding| {
                let arguments = finding.at(shop::line_of(finding.file, finding.code));
                Call::new("github_post_review_comment", arguments)
            };
            [PAGE_COUNT, LAYER].iter().map(post).collect()
        })
        .fixes(|words| {
            let is_about = |finding: &super::findings::Finding| words.contains(finding.claim);
            if is_about(&PAGE_COUNT) {
                return Some((PAGE_COUNT.file, PAGE_COUNT.code, ROUNDED_UP));
            }
            is_about(&LAYER).then_some((LAYER.file, LAYER.code, STILL_A_QUERY))
        })
}

/// The thread whose code is this now.
pub fn thread_about(request: &Request, code: &str) -> Option<String> {
    let prompt = request.last_user();
    let mut asked = None;
    for line in prompt.lines() {
        if let Some((id, _)) = line
            .strip_prefix("Thread ")
            .and_then(|line| line.split_once(": "))
        {
            asked = Some(id);
        }
        if let Some(id) = asked.filter(|_| line.contains(code)) {
            return Some(id.to_owned());
        }
    }
    None
}

fn resolve(thread: &str) -> Call {
    let by = json!({ "file": PAGE_COUNT.file, "quote": ROUNDED_UP });
    let arguments = json!({ "thread_id": thread, "reason": "It rounds up now.", "fixed_by": by });
    Call::new("github_resolve_thread", arguments)
}

/// The scripted rounds are known: one commit, one report, one thread resolved, one call for people.
fn judge(world: &World, ran: &Ran) -> Result<(), String> {
    let (head, comments, resolved, labels) = world.github.with(|state| {
        let pull = &state.pulls[&world.pull];
        let head = state.git.ask(&["log", "-1", "--format=%s", &pull.head.sha]);
        let resolved = state.threads.iter().filter(|thread| thread.is_resolved);
        let comments: Vec<String> = state
            .issue_comments
            .iter()
            .map(|comment| comment.body.clone())
            .collect();
        (head, comments, resolved.count(), pull.labels.clone())
    });
    let has = |words: &str| comments.iter().filter(|body| body.contains(words)).count();
    let facts = [
        (
            head.is_some_and(|title| title.trim() == "Fix 2 review findings"),
            "the head is not the commit of the fix.",
        ),
        (
            has("### Fixed 2 of 2 findings") == 1,
            "there is no report of the fix.",
        ),
        (
            resolved == 1,
            "the second review did not resolve exactly what is fixed.",
        ),
        (
            has("@lead: Manual intervention required") == 1 && has("**Stuck**") == 1,
            "nobody was called about the finding that is stuck.",
        ),
        (
            labels.iter().any(|label| label == "human-review-required"),
            "the label human-review-required is missing.",
        ),
        (
            ran.outputs.get("human_review_required").map(String::as_str) == Some("true"),
            "the output human_review_required is not true.",
        ),
    ];
    let mut wrong = facts.iter().filter(|(holds, _)| !holds);
    match wrong.next() {
        None => Ok(()),
        Some((_, why)) => Err((*why).to_owned()),
    }
}

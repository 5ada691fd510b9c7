//! What a push tells people: GitHub notifies them of each review, comment and reply, and of no edit.

use crate::review::{finding, layer_bypassed, lost_page, post};
use crate::standin::github::state::State;
use crate::standin::github::{Change, Fault, Write, events};
use crate::standin::model::{Call, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, Workflow, World};
use http::Method;
use serde_json::json;

const RESOLVED: &str = "✅ **Issue Resolved** in ";

/// A pull request with four findings, and the script of a model that finds them.
fn four() -> World {
    let sql = shop::line_of("src/orders.ts", "LIKE");
    let total = shop::line_of("src/ui/cart.ts", "return money(Number");
    let found = vec![
        post(lost_page(7)),
        post(layer_bypassed(7)),
        post(finding(
            "src/orders.ts",
            sql,
            7,
            "A search without text returns every order.",
        )),
        post(finding(
            "src/ui/cart.ts",
            total,
            7,
            "Somebody who never ordered is shown NaN.",
        )),
    ];
    let world = World::shop(Script::new().pass(1, move |_| found.clone())).quick();
    world.github.permit("dev", "write");
    world.review().ended(0, "findings");
    world.github.take_writes();
    assert_eq!(world.github.comments().len(), 4);
    world
}

/// The developer pushes, and the model calls all four fixed by that and finds two more.
fn fixes_all_and_brings_two(world: &World, inputs: &[(&str, &str)]) -> Ran {
    let roots: Vec<u64> = roots(world);
    let fixed = move |root: &u64| {
        let by = json!({ "file": "src/guard.ts" });
        let arguments =
            json!({ "thread_id": root.to_string(), "reason": "It is fixed.", "fixed_by": by });
        Call::new("github_resolve_thread", arguments)
    };
    let resolved: Vec<Call> = roots.iter().map(fixed).collect();
    let new = |line: u32, text: &str| post(finding("src/guard.ts", line, 7, text));
    let brought = vec![
        new(1, "The guard lets negative sizes through."),
        new(2, "The message names no field."),
    ];
    let script = Script::new()
        .threads(move |_| resolved.clone())
        .pass(1, move |_| brought.clone());
    world.model.becomes(script.into_behaviour());
    let guard = "export const guard = (size: number) => size !== 0;\nexport const why = 'wrong';\n";
    let head = pushed(world, &[Change::write("src/guard.ts", guard)]);
    let mut workflow = head;
    let given = inputs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    workflow.inputs.extend(given);
    world.run(&workflow)
}

fn pushed(world: &World, changes: &[Change]) -> Workflow {
    let before = world.github.pull(world.pull, |pull| pull.head.sha.clone());
    let head = world.github.commit("search", &[&before], changes);
    world.github.push(world.pull, &head);
    let payload = events::synchronize_event(&world.github, world.pull, &before);
    world.workflow("pull_request", payload)
}

fn roots(world: &World) -> Vec<u64> {
    let comments = world.github.comments().into_iter();
    let roots = comments.filter(|one| one.in_reply_to_id.is_none());
    roots.map(|one| one.id).take(4).collect()
}

fn notifies(write: &Write) -> bool {
    matches!(
        write,
        Write::Review { .. }
            | Write::Comment { .. }
            | Write::Reply { .. }
            | Write::IssueComment { .. }
    )
}

fn notices(world: &World) -> usize {
    let writes = world.github.take_writes();
    writes.iter().filter(|write| notifies(write)).count()
}

/// The findings whose own comment says that they are fixed.
fn rewritten(world: &World) -> usize {
    let comments = world.github.comments().into_iter();
    comments
        .filter(|one| one.in_reply_to_id.is_none() && one.body.starts_with(RESOLVED))
        .count()
}

#[test]
fn a_push_that_fixes_four_findings_and_brings_two_notifies_once() {
    let world = four();
    let ran = fixes_all_and_brings_two(&world, &[]);
    ran.ended(0, "findings");
    assert_eq!((notices(&world), rewritten(&world)), (1, 4));
    let is_closed = |root: &u64| {
        let threads = world.github.threads();
        threads
            .iter()
            .any(|one| one.root == *root && one.is_resolved)
    };
    assert!(roots(&world).iter().all(is_closed));
    // The next push finds them as they were left, and has nothing to say.
    world.model.becomes(Script::new().into_behaviour());
    let workflow = pushed(&world, &[Change::write("src/more.ts", "export {};\n")]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    assert!(ran.summary.contains("2 findings"), "{}", ran.summary);
    assert_eq!((notices(&world), rewritten(&world)), (0, 4));
    world.finish();
}

#[test]
fn whoever_takes_part_in_a_thread_is_told_by_a_reply() {
    let world = four();
    let root = roots(&world)[0];
    world.github.reply(root, "passerby", "I saw that, too.");
    fixes_all_and_brings_two(&world, &[]).ended(0, "findings");
    let writes = world.github.take_writes();
    let replies: Vec<u64> = writes
        .iter()
        .filter_map(|write| match write {
            Write::Reply { root, .. } => Some(*root),
            _ => None,
        })
        .collect();
    assert_eq!((replies, rewritten(&world)), (vec![root], 3));
    world.finish();
}

/// The developer pushes, and the model calls the first finding fixed while somebody does something.
fn fixed_while(world: &World, act: impl Fn(&mut State, u64) + Send + Sync + 'static) {
    let root = roots(world)[0];
    let github = world.github.handle();
    let by = json!({ "file": "src/guard.ts" });
    let arguments =
        json!({ "thread_id": root.to_string(), "reason": "It is fixed.", "fixed_by": by });
    let script = Script::new().threads(move |_| {
        github.with(|state| act(state, root));
        vec![Call::new("github_resolve_thread", arguments.clone())]
    });
    world.model.becomes(script.into_behaviour());
    let workflow = pushed(world, &[Change::write("src/guard.ts", "export {};\n")]);
    world.run(&workflow).ended(0, "findings");
}

#[test]
fn whoever_speaks_while_the_model_works_is_told_by_a_reply() {
    let world = four();
    fixed_while(&world, |state, root| {
        state.add_reply(root, "dev", "Is this still open?");
    });
    assert_eq!((notices(&world), rewritten(&world)), (1, 0));
    world.finish();
}

#[test]
fn whoever_speaks_while_another_takes_words_back_is_told_by_a_reply() {
    let world = four();
    let other = roots(&world)[1];
    let mistaken = world.github.reply(other, "dev", "Wrong thread.").id;
    // As many comments as before.
    fixed_while(&world, move |state, root| {
        state.delete(mistaken);
        state.add_reply(root, "dev", "Is this still open?");
    });
    assert_eq!((notices(&world), rewritten(&world)), (1, 0));
    world.finish();
}

#[test]
fn what_somebody_writes_into_a_finding_while_the_model_works_stays() {
    let world = four();
    fixed_while(&world, |state, root| {
        let body = &state.comment(root).expect("the comment").body;
        let body = format!("We keep this one, see the minutes.\n\n{body}");
        state.edit(root, "dev", &body);
    });
    assert_eq!((notices(&world), rewritten(&world)), (1, 0));
    let first = world.github.comments().remove(0).body;
    assert!(first.starts_with("We keep this one"), "{first}");
    world.finish();
}

#[test]
fn where_other_programs_look_for_replies_or_the_comment_cannot_be_rewritten_there_are_replies() {
    let world = four();
    let bots = ("trusted_bots", "github-actions[bot], loop[bot]");
    fixes_all_and_brings_two(&world, &[bots]).ended(0, "findings");
    assert_eq!((notices(&world), rewritten(&world)), (5, 0));
    world.finish();
    let world = four();
    let refusal = json!({ "message": "Resource not accessible by integration" });
    world.github.on(
        Method::PATCH,
        "/repos/octo/shop/pulls/comments/",
        1,
        Fault::Status(403, refusal),
    );
    fixes_all_and_brings_two(&world, &[]).ended(0, "findings");
    assert_eq!((notices(&world), rewritten(&world)), (2, 3));
    world.finish();
}

#[test]
fn a_finding_that_is_back_stands_as_it_was_with_a_reply_below() {
    let world = four();
    fixes_all_and_brings_two(&world, &[]).ended(0, "findings");
    world.github.take_writes();
    let found = post(lost_page(7));
    let again = Script::new().pass(1, move |_| vec![found.clone()]);
    world.model.becomes(again.into_behaviour());
    let text = format!("{}\nexport {{}};\n", shop::head_of("src/page.ts"));
    let workflow = pushed(&world, &[Change::write("src/page.ts", text)]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    assert_eq!((notices(&world), rewritten(&world)), (1, 3), "{}", ran.log);
    let comments = world.github.comments();
    let back = comments.iter().find(|one| one.in_reply_to_id.is_some());
    let back = back.expect("a reply");
    assert!(
        back.body.starts_with("The problem is back."),
        "{}",
        back.body
    );
    assert_eq!(back.path, "src/page.ts");
    world.finish();
}

#[test]
fn a_finding_whose_conversation_somebody_reopens_no_longer_says_that_it_is_fixed() {
    let world = four();
    fixes_all_and_brings_two(&world, &[]).ended(0, "findings");
    world.github.take_writes();
    world.github.unresolve_thread(roots(&world)[2]);
    world.model.becomes(Script::new().into_behaviour());
    let workflow = pushed(&world, &[Change::write("src/more.ts", "export {};\n")]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    assert!(ran.summary.contains("3 findings"), "{}", ran.summary);
    assert_eq!((notices(&world), rewritten(&world)), (0, 3));
    world.finish();
}

#[test]
fn a_finding_that_is_back_says_so_also_if_somebody_asks_meanwhile() {
    let world = four();
    fixes_all_and_brings_two(&world, &[]).ended(0, "findings");
    world.github.take_writes();
    let (found, root) = (post(lost_page(7)), roots(&world)[0]);
    let github = world.github.handle();
    let again = Script::new().pass(1, move |_| {
        github.with(|state| state.add_reply(root, "dev", "Fine now?"));
        vec![found.clone()]
    });
    world.model.becomes(again.into_behaviour());
    let text = format!("{}\nexport {{}};\n", shop::head_of("src/page.ts"));
    let workflow = pushed(&world, &[Change::write("src/page.ts", text)]);
    let ran = world.run(&workflow);
    ran.ended(0, "findings");
    assert_eq!((notices(&world), rewritten(&world)), (1, 3), "{}", ran.log);
    world.finish();
}

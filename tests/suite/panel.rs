//! Several reviewers on one pull request: what each of them may do, and what people see of it.

use crate::review::{comments, finding, layer_bypassed, lost_page, post};
use crate::standin::model::panel::panel;
use crate::standin::model::{Call, Request, Script};
use crate::standin::shop;
use crate::standin::world::{Ran, World};
use serde_json::{Value, json};

fn with_reviewers(world: &World, reviewers: &str) -> Ran {
    let mut workflow = world.opened();
    let reviewers = ("reviewers".to_owned(), reviewers.to_owned());
    workflow.inputs.extend([reviewers]);
    world.run(&workflow)
}

/// The findings of others that a prompt lists: their names and their texts.
fn listed(request: &Request) -> Vec<(String, String)> {
    let prompt = request.last_user();
    let Some((_, listed)) = prompt.split_once("# Findings of other reviewers") else {
        return Vec::new();
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for line in listed.lines() {
        match line.strip_prefix("f-") {
            Some(number) => found.push((format!("f-{number}"), String::new())),
            None => found
                .last_mut()
                .into_iter()
                .for_each(|(_, text)| text.push_str(line)),
        }
    }
    found
}

fn verdict(finding: &str, verdict: &str, quote: Option<(&str, &str)>) -> Call {
    let mut arguments = json!({
        "finding_id": finding,
        "verdict": verdict,
        "reason": "I followed the scenario through the code.",
    });
    if let Some((file, quote)) = quote {
        arguments["file"] = json!(file);
        arguments["quote"] = json!(quote);
    }
    Call::new("submit_finding_verdict", arguments)
}

/// A reviewer that confirms everything it is asked about, except what holds one of these words.
fn examines(
    script: Script,
    refutes: &'static [(&'static str, &'static str, &'static str)],
) -> Script {
    script.pass(4, move |request| {
        let judged = listed(request).into_iter().map(|(name, text)| {
            let against = refutes.iter().find(|(word, _, _)| text.contains(word));
            match against {
                Some((_, file, quote)) => verdict(&name, "refute", Some((file, quote))),
                None => verdict(&name, "confirm", None),
            }
        });
        judged.collect()
    })
}

fn body_with<'a>(comments: &'a [Value], words: &str) -> &'a str {
    let mut bodies = comments.iter().filter_map(|one| one["body"].as_str());
    bodies
        .find(|body| body.contains(words))
        .unwrap_or_else(|| panic!("no comment says {words:?}: {comments:#?}"))
}

#[test]
fn one_comment_for_each_cause_and_every_single_voice_is_verified() {
    let name = shop::line_of("src/page.ts", "const d =");
    let misnamed = finding(
        "src/page.ts",
        name,
        6,
        "The constant d is never used again.",
    );
    let general = Script::new().pass(1, move |_| vec![post(lost_page(7)), post(misnamed.clone())]);
    let quality = Script::new().pass(2, |_| vec![post(layer_bypassed(8))]);
    let security = Script::new().pass(3, |_| vec![post(lost_page(8))]);
    let against: &[_] = &[("never used", "src/page.ts", "Math.floor(count / size)")];
    let scripts = [general, quality, security].map(|script| examines(script, against));
    let world = World::with(&[], panel(scripts.into()));
    let ran = with_reviewers(&world, "3");
    ran.ended(0, "findings");
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), 2, "{said:#?}");
    let shared = body_with(&said, "The last page is lost.");
    assert!(shared.contains("8/10"), "the highest score: {shared}");
    assert!(
        shared.contains("Raised independently by 2 of 3 reviewers: general, security."),
        "{shared}"
    );
    let single = body_with(&said, "past the service layer");
    assert!(
        single.contains("Raised by quality, 1 of 3 reviewers. Verified by "),
        "{single}"
    );
    world.github.expect_check_run();
    world.finish();
}

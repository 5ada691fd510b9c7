//! Reviews from end to end with the real OpenCode: what people see on the pull request.

use crate::standin::model::{Call, Script};
use crate::standin::shop;
use crate::standin::world::World;
use serde_json::{Value, json};

/// A finding as a model would post it.
pub fn finding(file: &str, line: u32, score: u64, text: &str) -> Value {
    json!({
        "file": file,
        "line": line,
        "body": format!("{text} Somebody is hurt by it. Do it otherwise."),
        "assessment": {
            "finding": text,
            "assessment": format!("Level {score}: it happens on every call."),
            "score": score,
        },
    })
}

pub fn post(arguments: Value) -> Call {
    Call::new("github_post_review_comment", arguments)
}

#[test]
fn findings_above_the_threshold_are_one_review_and_those_below_are_not_said() {
    let floor = shop::line_of("src/page.ts", "Math.floor");
    let name = shop::line_of("src/page.ts", "const d =");
    let world = World::shop(Script::new().pass(1, move |_| {
        vec![
            post(finding("src/page.ts", floor, 7, "The last page is lost.")),
            post(finding("src/page.ts", name, 2, "The name d says nothing.")),
        ]
    }));
    let ran = world.review();
    println!("{}", ran.log);
    println!("{}", ran.summary);
    assert_eq!(ran.code, Some(0));
    let review = world.github.expect_review();
    println!("{review:#}");
    let check = world.github.expect_check_run();
    println!("{check:#?}");
    assert_eq!(review["comments"].as_array().unwrap().len(), 1);
    world.finish();
}

//! Reviews from end to end with the real OpenCode: what people see on the pull request, the check and the job.

use crate::html_property::{self, Node};
use crate::standin::github::Change;
use crate::standin::model::{Answer, Call, Script};
use crate::standin::shop;
use crate::standin::world::World;
use http::Method;
use serde_json::{Value, json};

/// A finding as a model would post it.
pub fn finding(file: &str, line: u32, score: u64, text: &str) -> Value {
    json!({
        "file": file,
        "line": line,
        "body": format!("{text} Somebody is hurt by it. Do it otherwise."),
        "assessment": {
            "finding": text,
            "assessment": format!("Level {score}. {text}"),
            "score": score,
        },
        "category": "logic",
    })
}

pub fn post(arguments: Value) -> Call {
    Call::new("github_post_review_comment", arguments)
}

/// The off-by-one of the example, as a finding.
pub fn lost_page(score: u64) -> Value {
    let line = shop::line_of("src/page.ts", "Math.floor");
    finding("src/page.ts", line, score, "The last page is lost.")
}

/// The UI that queries the database, as a finding.
pub fn layer_bypassed(score: u64) -> Value {
    let line = shop::line_of("src/ui/cart.ts", "await db()");
    let text = "The cart queries the database past the service layer.";
    finding("src/ui/cart.ts", line, score, text)
}

/// The inline comments of a posted review.
pub fn comments(review: &Value) -> Vec<Value> {
    review["comments"].as_array().cloned().unwrap_or_default()
}

#[test]
fn findings_above_the_threshold_are_said_and_those_below_are_not() {
    let name = shop::line_of("src/page.ts", "const d =");
    let world = World::shop(Script::new().pass(1, move |_| {
        vec![
            post(lost_page(7)),
            post(finding("src/page.ts", name, 2, "The name d says nothing.")),
        ]
    }));
    let ran = world.review();
    ran.ended(0, "findings");
    let review = world.github.expect_review();
    assert_eq!(review["event"], "COMMENT");
    let said = comments(&review);
    assert_eq!(said.len(), 1);
    assert_eq!(said[0]["path"], "src/page.ts");
    assert_eq!(said[0]["line"], shop::line_of("src/page.ts", "Math.floor"));
    let body = said[0]["body"].as_str().unwrap();
    assert!(
        body.starts_with(
            "🟠 **The last page is lost.** Logic · 7/10\n\nSomebody is hurt by it. Do it otherwise.\n\n---\n"
        ),
        "{body}"
    );
    assert!(
        body.contains(
            "\n\n---\n\n<details><summary><sub>Not right? Reply here, and it is judged again. · Why 7/10</sub></summary>\n\n\
             ```rmcoc\n{\n  \"finding\": \"The last page is lost.\","
        ),
        "{body}"
    );
    let page = review["body"].as_str().unwrap();
    let place = format!("src/page.ts:{}", said[0]["line"]);
    assert!(
        page.starts_with("### 1 finding\n\n| | Where | Finding |\n"),
        "{page}"
    );
    let row = format!("| 🟠&nbsp;7 | [{place}](http");
    assert!(
        page.contains(&row) && page.contains(") | The last page is lost. |\n"),
        "{page}"
    );
    assert!(
        page.contains(" · 3 files · standin/scripted · cost unknown · "),
        "{page}"
    );
    assert!(
        !review.to_string().contains("The name d"),
        "a suppressed finding is nowhere on the pull request"
    );
    assert!(
        ran.summary.contains("1 remark below the threshold"),
        "{}",
        ran.summary
    );
    assert!(
        ran.summary.contains("score 2 is below the threshold of 5"),
        "{}",
        ran.summary
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert_eq!(check.verdict(), Some("1 finding open"));
    assert!(!format!("{check:?}").contains("The name d"), "{check:?}");
    assert_eq!(ran.outputs["issues_found"], "1");
    let report = ran.report.as_ref().unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
    crate::documents::assert_is_report(report);
    assert_eq!(ran.outputs["report_file"], "opencode-review.json");
    assert_eq!(ran.outputs["sarif_file"], "opencode-review.sarif");
    let page = &ran.outputs["report_html"];
    let page = std::fs::read_to_string(world.workspace().join(page)).expect("the page");
    let page = html_property::hold(&page, Some(world.github.url()));
    let finding = &page.named("article")[0];
    let links = finding.named("a");
    let links: Vec<&str> = links
        .iter()
        .filter_map(|link| link.attribute("href"))
        .collect();
    let head = report["head"].as_str().expect("a head");
    let file = format!("/octo/shop/blob/{head}/src/page.ts#L{}", said[0]["line"]);
    let comment = report["findings"][0]["url"].as_str().expect("an address");
    assert!(links[0].ends_with(&file), "{links:?}");
    assert_eq!(links[1], comment);
    let meant: String = finding.named("mark").iter().map(Node::text).collect();
    assert!(meant.contains("Math.floor"), "{meant}");
    let text = page.text();
    assert!(
        text.contains("1 remark not posted")
            && text.contains("score 2 is below the threshold of 5"),
        "{text}"
    );
    let sarif = std::fs::read(world.workspace().join("opencode-review.sarif")).expect("the file");
    let sarif: Value = serde_json::from_slice(&sarif).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "what is not said is not there: {sarif:#}");
    world.finish();
}

#[test]
fn silence_is_a_result() {
    let world = World::shop(Script::new()).quick();
    let ran = world.review();
    ran.ended(0, "clean");
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert_eq!(check.verdict(), Some("Nothing to report"));
    assert!(ran.summary.contains("Nothing to report"), "{}", ran.summary);
    assert_eq!(ran.outputs["issues_found"], "0");
    world.finish();
}

#[test]
fn many_findings_of_many_passes_are_one_review() {
    let sql = shop::line_of("src/orders.ts", "LIKE");
    let world = World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(7))])
            .pass(2, |_| vec![post(layer_bypassed(8))])
            .pass(3, move |_| {
                let mut injection = finding(
                    "src/orders.ts",
                    sql,
                    8,
                    "The search text reaches the SQL statement.",
                );
                injection["category"] = json!("security");
                vec![post(injection)]
            }),
    );
    let ran = world.review();
    // A security finding of 8 weighs 10 where payments are taken, and 10 blocks.
    ran.ended(0, "blocking");
    let review = world.github.expect_review();
    let scores: Vec<bool> = ["10/10", "7/10", "8/10"]
        .iter()
        .zip(comments(&review))
        .map(|(score, comment)| comment["body"].as_str().unwrap().contains(score))
        .collect();
    assert_eq!(scores, [true, true, true]);
    let injection = comments(&review)[0]["body"].to_string();
    let headline = "🔴 **The search text reaches the SQL statement.** Security · 10/10 · blocks";
    assert!(injection.contains(headline), "{injection}");
    let raised = " Raised by 2: security, and the README speaks of payments.\\\"";
    assert!(injection.contains(raised), "{injection}");
    let page = review["body"].as_str().unwrap();
    assert!(
        page.starts_with("### 3 findings: 1 blocks the merge\n"),
        "{page}"
    );
    let lines: Vec<&str> = ran.log.lines().rev().take(3).collect();
    assert!(
        lines[2].starts_with("Reviewed octo/shop#1 at "),
        "{}",
        ran.log
    );
    assert!(
        lines[1].starts_with("Result: 1 blocking finding open. http")
            && lines[1].contains("/runs/"),
        "{}",
        ran.log
    );
    let way = "fix the 🔴 finding and push, or let somebody with write access close it: with ";
    assert!(
        lines[0].starts_with(&format!("To open the gate: {way}")),
        "{}",
        ran.log
    );
    assert_eq!(
        world
            .github
            .count(&Method::POST, "/repos/octo/shop/pulls/1/reviews"),
        1
    );
    assert!(
        ran.summary.contains("\"payments\" in README.md"),
        "{}",
        ran.summary
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    let page = check.summary.unwrap_or_default();
    assert!(
        page.starts_with("## 🔴 3 findings open, 1 of them blocks\n"),
        "{page}"
    );
    assert!(
        page.contains(&format!("**To turn this check green:** {way}")),
        "{page}"
    );
    assert!(page.contains("`blocking_score_threshold` is 9."), "{page}");
    world.finish();
}

#[test]
fn a_model_that_never_submits_makes_an_incomplete_review() {
    let world = World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(7))])
            .never_submits(1),
    )
    .quick();
    let ran = world.review();
    ran.ended(2, "incomplete");
    assert_eq!(
        ran.annotations("error")[0],
        "Pass 1 of 4 was never submitted by the model."
    );
    let check = world.github.expect_check_run();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    let report = ran.report.as_ref().unwrap();
    assert_eq!(report["findings"][0]["fate"], "unpublished");
    // The pass is nudged twice, and no further pass is begun.
    let prompts = |text: &str| {
        let last = world.model.requests().pop().unwrap();
        last["messages"].to_string().matches(text).count()
    };
    assert_eq!(prompts("Pass 1 of 4 is not submitted yet"), 2);
    assert_eq!(prompts("Pass 2 of 4: Structural"), 0);
    world.finish();
}

#[test]
fn what_finished_passes_found_is_published_as_partial() {
    let world = World::shop(
        Script::new()
            .pass(1, |_| vec![post(lost_page(7))])
            .pass(2, |_| vec![post(layer_bypassed(8))])
            .never_submits(2),
    )
    .quick();
    let ran = world.review();
    ran.ended(2, "incomplete");
    let review = world.github.expect_review();
    assert_eq!(comments(&review).len(), 1);
    assert!(
        review["body"]
            .as_str()
            .unwrap()
            .contains("was not completed")
    );
    assert_eq!(
        world.github.expect_check_run().conclusion.as_deref(),
        Some("failure")
    );
    world.finish();
}

#[test]
fn a_confused_model_is_told_what_to_do_and_corrects_itself() {
    let world = World::shop(
        Script::new()
            .pass(1, |_| {
                vec![
                    Call::new("bash", json!({ "command": "id" })),
                    Call::new("github_merge", json!({})),
                    post(json!({ "file": "src/page.ts", "line": "eight" })),
                    Call::new("submit_pass_results", json!({ "pass_number": "one" })),
                ]
            })
            .pass(1, |request| {
                let results: Vec<String> = request
                    .tool_results()
                    .into_iter()
                    .map(|r| r.content)
                    .collect();
                assert!(
                    results[2].contains("Wrong arguments") && results[2].contains("Correct them"),
                    "{results:?}"
                );
                assert!(results[3].contains("pass_number: integer"), "{results:?}");
                vec![
                    post(json!({ "score": 11 })),
                    post({
                        let mut wrong = lost_page(7);
                        wrong["assessment"]["score"] = json!(11);
                        wrong
                    }),
                ]
            })
            .pass(1, |request| {
                let last = request.last_result().unwrap();
                assert!(last.contains("from 1 to 10"), "{last}");
                vec![post(lost_page(7))]
            }),
    );
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(comments(&world.github.expect_review()).len(), 1);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_finding_withdrawn_in_pass_four_is_not_said() {
    let world = World::shop(Script::new().pass(1, |_| vec![post(lost_page(7))]).pass(
        4,
        |request| {
            assert!(
                request.last_user().contains("new-1 src/page.ts"),
                "{}",
                request.last_user()
            );
            let arguments = json!({ "thread_id": "new-1", "reason": "Callers round up." });
            vec![Call::new("github_resolve_thread", arguments)]
        },
    ))
    .quick();
    let ran = world.review();
    ran.ended(0, "clean");
    assert!(
        ran.summary.contains("withdrawn: Callers round up."),
        "{}",
        ran.summary
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn the_author_reads_the_text_that_pass_four_wrote_for_what_survived() {
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .texts(|_| vec![json!({ "thread_id": "new-1", "body": "Round up again." })]);
    let world = World::shop(script).quick();
    world.review().ended(0, "findings");
    let said = comments(&world.github.expect_review());
    let text = said[0]["body"].as_str().unwrap();
    assert!(text.contains("Round up again."), "{text}");
    assert!(!text.contains("Somebody is hurt by it."), "{text}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_finding_without_a_text_is_asked_about_once_and_then_said_as_recorded() {
    let script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .texts(|_| Vec::new());
    let world = World::shop(script).quick();
    world.review().ended(0, "findings");
    let refusal = "The pass is not submitted yet. No text for the author: new-1.";
    let requests = world.model.requests();
    let asked = requests.last().unwrap().to_string();
    assert_eq!(asked.matches(refusal).count(), 1, "{asked}");
    let said = comments(&world.github.expect_review());
    let text = said[0]["body"].as_str().unwrap();
    assert!(text.contains("Somebody is hurt by it."), "{text}");
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn two_hundred_and_fifty_changed_files_are_all_seen() {
    let many: Vec<Change> = (0..247)
        .map(|n| {
            Change::write(
                &format!("src/part/{n:03}.ts"),
                format!("export const part{n} = {n};\n"),
            )
        })
        .collect();
    let script = Script::new().pass(1, |request| {
        let prompt = request.last_user();
        assert!(
            prompt.contains("added src/part/246.ts (+1 -0)"),
            "the last file is named"
        );
        vec![post(finding(
            "src/part/246.ts",
            1,
            7,
            "The last part is never exported.",
        ))]
    });
    let world = World::with(&many, script.into_behaviour()).quick();
    let ran = world.review();
    ran.ended(0, "findings");
    assert_eq!(
        comments(&world.github.expect_review())[0]["path"],
        "src/part/246.ts"
    );
    let pages = world
        .github
        .requests()
        .into_iter()
        .filter(|(_, path, _)| path.contains("/pulls/1/files") || path.contains("/files?"));
    assert_eq!(pages.count(), 3);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn an_endpoint_that_fails_in_the_middle_is_no_green_review() {
    let mut script = Script::new()
        .pass(1, |_| vec![post(lost_page(7))])
        .into_behaviour();
    let world = World::with(&[], move |request| match request.pass() {
        Some(3) => Answer::status(400, json!({ "error": { "message": "the model is gone" } })),
        _ => script(request),
    });
    let ran = world.review();
    ran.ended(2, "incomplete");
    assert!(
        ran.annotations("error")[0].contains("Pass 3 of 4 failed"),
        "{}",
        ran.log
    );
    assert_eq!(comments(&world.github.expect_review()).len(), 1);
    assert_eq!(
        world.github.expect_check_run().conclusion.as_deref(),
        Some("failure")
    );
    world.finish();
}

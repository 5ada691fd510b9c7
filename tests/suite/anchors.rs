//! Where a comment ends up: the line the model meant, even when it counted wrong.

use crate::review::{comments, finding, post};
use crate::standin::github::Change;
use crate::standin::model::{Request, Script};
use crate::standin::shop;
use crate::standin::world::World;
use serde_json::json;

#[test]
fn a_line_outside_the_diff_is_corrected_from_the_refusal() {
    let text = "The search text reaches the SQL statement.";
    let world = World::shop(
        Script::new()
            .pass(1, move |_| vec![post(finding("src/orders.ts", 2, 7, text))])
            .pass(1, move |request| {
                let refusal = request.last_result().unwrap();
                assert!(
                    refusal.contains("line 2 is not in the diff of src/orders.ts"),
                    "{refusal}"
                );
                let line = last_commentable(&refusal);
                vec![post(finding("src/orders.ts", line, 7, text))]
            }),
    )
    .quick();
    let ran = world.review();
    ran.ended(0, "findings");
    let review = world.github.expect_review();
    assert_eq!(comments(&review)[0]["line"], 41, "{review}");
    world.github.expect_check_run();
    world.finish();
}

/// The last number of "commentable: 29-41".
fn last_commentable(refusal: &str) -> u32 {
    let (_, listed) = refusal
        .split_once("commentable: ")
        .expect("what is commentable");
    let numbers: Vec<u32> = listed
        .split(|c: char| !c.is_ascii_digit())
        .take_while(|part| !part.is_empty())
        .map(|part| part.parse().expect("a number"))
        .collect();
    *numbers.last().expect("a range")
}

#[test]
fn a_quote_decides_where_the_comment_stands() {
    let sql = shop::line_of("src/orders.ts", "LIKE");
    let world = World::shop(Script::new().pass(1, |_| {
        let mut moved = finding("src/orders.ts", 30, 7, "The search text reaches the SQL statement.");
        moved["quote"] = json!(
            "const rows = await db().query(\n  `SELECT id, user_id, cents FROM orders WHERE user_id = ${userId} AND note LIKE '%${text}%'`,"
        );
        let mut removed = finding("src/orders.ts", 32, 8, "Orders of other users are returned.");
        removed["quote"] = json!("if (order && order.userId !== userId) {");
        let mut invented = finding("src/orders.ts", 32, 8, "A lock is missing.");
        invented["quote"] = json!("await lock.acquire();");
        vec![post(moved), post(removed), post(invented)]
    })).quick();
    let ran = world.review();
    ran.ended(0, "findings");
    let said = comments(&world.github.expect_review());
    assert_eq!(said.len(), 2, "a quote that stands nowhere is refused");
    assert_eq!(
        (&said[0]["line"], &said[0]["side"]),
        (&json!(33), &json!("LEFT"))
    );
    assert_eq!(said[0].get("start_line"), None);
    assert_eq!(said[1]["start_line"], sql - 1);
    assert_eq!(
        (&said[1]["line"], &said[1]["side"]),
        (&json!(sql), &json!("RIGHT"))
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_file_without_lines_takes_a_comment_as_a_whole_in_the_review() {
    let changes = [Change::write(
        "logo.png",
        b"\x89PNG\0\0\0\x01binary".to_vec(),
    )];
    let script = Script::new().pass(1, |_| {
        vec![post(finding(
            "logo.png",
            1,
            7,
            "The logo is not licensed for this use.",
        ))]
    });
    let world = World::with(&changes, script.into_behaviour()).quick();
    let ran = world.review();
    ran.ended(0, "findings");
    let review = world.github.expect_review();
    let comment = &comments(&review)[0];
    assert_eq!(
        (&comment["path"], &comment["subject_type"]),
        (&json!("logo.png"), &json!("file"))
    );
    // The review still carries the manifest, so that the finding is tracked.
    assert!(
        review["body"]
            .as_str()
            .unwrap()
            .contains("\"kind\":\"manifest\"")
    );
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn line_numbers_are_read_from_the_numbered_diff() {
    let read_diff = |_: &Request| {
        let path = "_pr/diffs/src/page.ts.diff";
        vec![crate::standin::model::Call::new(
            "read",
            json!({ "filePath": path }),
        )]
    };
    let world = World::shop(Script::new().pass(1, read_diff).pass(1, |request| {
        let shown = request.last_result().unwrap();
        let line = shown
            .lines()
            .find(|line| line.contains("Math.floor"))
            .expect("the line");
        let (number, _) = line.split_once(" + ").expect("a marker of added lines");
        let number = number
            .rsplit([' ', ':', '|', '\t'])
            .next()
            .expect("a number");
        let number = number.parse().unwrap_or_else(|_| panic!("{line:?}"));
        vec![post(finding(
            "src/page.ts",
            number,
            7,
            "The last page is lost.",
        ))]
    }));
    let ran = world.review();
    ran.ended(0, "findings");
    let expected = shop::line_of("src/page.ts", "Math.floor");
    assert_eq!(comments(&world.github.expect_review())[0]["line"], expected);
    world.github.expect_check_run();
    world.finish();
}

#[test]
fn a_file_whose_name_begins_or_ends_with_a_space_takes_findings() {
    let names = [" first.ts", "src/last.ts "];
    let changes = names.map(|name| Change::write(name, "export const limit = 0 / 0;\n"));
    let text = "The limit is no number.";
    let script = Script::new().pass(1, move |_| {
        names.map(|name| post(finding(name, 1, 7, text))).to_vec()
    });
    let world = World::with(&changes, script.into_behaviour()).quick();
    let ran = world.review();
    ran.ended(0, "findings");
    let review = world.github.expect_review();
    let said = comments(&review);
    let paths: Vec<&str> = said.iter().filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(paths, names, "{}", ran.log);
    world.github.expect_check_run();
    world.finish();
}

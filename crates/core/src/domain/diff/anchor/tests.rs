//! Anchors as a model asks for them, right and wrong.

use super::super::tests::file;
use super::*;
use proptest::prelude::*;

const PATCH: &str = "\
@@ -10,6 +10,7 @@ fn pay()
 fn pay() {
-    let total = sum(items);
-    charge(total);
+    let total = sum(&items);
+    log(total);
+    charge(card, total);
     done();
 }

@@ -40,3 +41,3 @@ fn refund()
 fn refund() {
-    undo();
+    log(total);
 }
";

fn at(side: Side, line: u32) -> Anchor {
    Anchor::Line {
        side,
        start: None,
        line,
    }
}

fn range(side: Side, start: u32, line: u32) -> Anchor {
    Anchor::Line {
        side,
        start: Some(start),
        line,
    }
}

fn resolve(line: Option<u32>, quote: &str) -> Result<Anchor, AnchorError> {
    file(PATCH).resolve(line, Some(quote))
}

#[test]
fn a_line_of_the_diff_is_taken_and_another_is_told_what_there_is() {
    assert_eq!(file(PATCH).resolve(Some(12), None), Ok(at(Side::Right, 12)));
    let error = file(PATCH).resolve(Some(108), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 108 is not in the diff of src/a.ts; commentable: 10-16, 41-43 (removed: 11-12, 41)"
    );
}

#[test]
fn nothing_said_is_asked_back() {
    for quote in [None, Some(""), Some(" \n ")] {
        let error = file(PATCH).resolve(None, quote).unwrap_err();
        assert!(
            error.to_string().starts_with("say where in src/a.ts"),
            "{error}"
        );
    }
}

#[test]
fn a_quote_moves_a_wrong_line_to_the_nearest_place_where_it_stands() {
    assert_eq!(resolve(Some(10), "log(total);"), Ok(at(Side::Right, 12)));
    assert_eq!(resolve(Some(108), "log(total);"), Ok(at(Side::Right, 42)));
    assert_eq!(
        resolve(None, "  charge(card,\ttotal); "),
        Ok(at(Side::Right, 13))
    );
}

#[test]
fn a_quote_of_removed_code_hangs_on_the_old_side() {
    assert_eq!(resolve(Some(41), "undo();"), Ok(at(Side::Left, 41)));
    assert_eq!(
        resolve(None, "let total = sum(items);\ncharge(total);"),
        Ok(range(Side::Left, 11, 12))
    );
    // Around it stands code that is still there: only the removed lines take the comment.
    assert_eq!(
        resolve(
            None,
            "fn pay() {\nlet total = sum(items);\ncharge(total);\ndone();"
        ),
        Ok(range(Side::Left, 11, 12))
    );
}

#[test]
fn several_lines_are_a_range_within_one_hunk() {
    assert_eq!(
        resolve(None, "\n log(total);\n charge(card, total);\n\n"),
        Ok(range(Side::Right, 12, 13))
    );
    assert!(resolve(None, "done();\n}\nfn refund() {").is_err());
}

#[test]
fn whole_lines_are_preferred_to_pieces_and_the_named_line_to_both() {
    let file = file("@@ -1,2 +1,2 @@\n-call(x)\n+y = call(x) + 1\n call(x)\n");
    assert_eq!(file.resolve(None, Some("call(x)")), Ok(at(Side::Right, 2)));
    assert_eq!(
        file.resolve(Some(1), Some("call(x)")),
        Ok(at(Side::Right, 1))
    );
    assert_eq!(
        file.resolve(None, Some("= call(x)")),
        Ok(at(Side::Right, 1))
    );
    assert_eq!(file.resolve(Some(1), Some("y")), Ok(at(Side::Right, 1)));
    assert!(
        file.resolve(None, Some("1")).is_err(),
        "a single digit says nothing"
    );
}

#[test]
fn the_ends_of_a_longer_quote_may_be_pieces() {
    assert_eq!(
        resolve(None, "sum(&items);\nlog(total);\ncharge(card"),
        Ok(range(Side::Right, 11, 13))
    );
}

#[test]
fn a_copied_gutter_or_diff_marker_does_no_harm() {
    for quote in [
        "+    log(total);\n+    charge(card, total);",
        "12 |     log(total);\n13 |     charge(card, total);",
        "00012| log(total);\n00013| charge(card, total);",
        "12: log(total);\n13: charge(card, total);",
        " 12 + log(total);\n 13 + charge(card, total);",
        "(12)- charge(total);\n 12 + log(total);\n 13 + charge(card, total);",
    ] {
        assert_eq!(
            resolve(None, quote),
            Ok(range(Side::Right, 12, 13)),
            "{quote}"
        );
    }
    assert_eq!(
        resolve(None, "(12)- charge(total);"),
        Ok(at(Side::Left, 12))
    );
    assert_eq!(resolve(None, "-    charge(total);"), Ok(at(Side::Left, 12)));
}

#[test]
fn every_line_of_the_numbered_diff_is_found_again_when_it_is_quoted_whole() {
    let file = file(
        "@@ -1,2 +1,3 @@\n-a\u{200b}b = 1;\r\n-second();\n+ab = 1;\n+third();\n+\tfourth();\n",
    );
    let expected = [
        at(Side::Left, 1),
        at(Side::Left, 2),
        at(Side::Right, 1),
        at(Side::Right, 2),
        at(Side::Right, 3),
    ];
    let shown = file.numbered();
    let lines = shown.lines().skip(2);
    let found: Vec<Anchor> = lines
        .map(|l| file.resolve(None, Some(l)).unwrap())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn code_that_is_not_in_the_change_is_refused() {
    let error = resolve(Some(12), "eval(input)").unwrap_err().to_string();
    assert!(
        error.starts_with("the quote \"eval(input)\" is nowhere in the diff of src/a.ts"),
        "{error}"
    );
    assert!(error.contains("commentable: 10-16, 41-43"), "{error}");
    let long = "x\n".repeat(LONGEST_QUOTE + 1);
    assert_eq!(
        resolve(None, &long),
        Err(AnchorError::QuoteTooLong { lines: 401 })
    );
}

#[test]
fn a_number_of_a_removed_line_asks_for_its_text_unless_the_file_is_gone() {
    let shrunk = file("@@ -1,3 +1 @@\n a\n-b\n-c\n");
    let error = shrunk.resolve(Some(3), None).unwrap_err().to_string();
    assert!(error.contains("quote its text"), "{error}");
    let gone = file("@@ -1,2 +0,0 @@\n-a\n-b\n");
    assert_eq!(gone.resolve(Some(2), None), Ok(at(Side::Left, 2)));
}

#[test]
fn a_file_without_lines_takes_a_comment_as_a_whole() {
    let image = file("");
    for (line, quote) in [(None, None), (Some(3), None), (None, Some("x"))] {
        assert_eq!(image.resolve(line, quote), Ok(Anchor::File));
    }
}

#[test]
fn the_hash_follows_the_code_and_not_its_place_or_indentation() {
    let here = file("@@ -1,3 +1,3 @@\n a\n-b\n+if x {\n c\n");
    let moved = file("@@ -1,4 +101,4 @@\n zero\n \ta\n-b\n+  if  x {\n   c\n");
    let other = file("@@ -1,3 +1,3 @@\n a\n-b\n+if x {\n changed\n");
    let hash = here.anchor_hash(at(Side::Right, 2));
    assert_eq!(hash.len(), 16);
    assert_eq!(hash, moved.anchor_hash(at(Side::Right, 103)));
    assert_ne!(
        hash,
        other.anchor_hash(at(Side::Right, 2)),
        "a neighbour changed"
    );
    assert_ne!(hash, here.anchor_hash(at(Side::Left, 2)));
    assert_ne!(hash, here.anchor_hash(Anchor::File));
}

#[test]
fn one_walk_finds_the_same_places_as_one_look_for_each() {
    let file = file(PATCH);
    let sides = [Side::Right, Side::Left].map(|side| file.commentable(side));
    let lines = sides.iter().flatten().flat_map(Clone::clone);
    let lines: Vec<u32> = lines.collect();
    for side in [Side::Right, Side::Left] {
        for line in &lines {
            for start in [
                None,
                Some(line.saturating_sub(1)),
                Some(line.saturating_sub(2)),
            ] {
                let start = start.filter(|start| file.is_commentable(side, *start));
                let line = *line;
                if !file.is_commentable(side, line) {
                    continue;
                }
                let hash = file.anchor_hash(Anchor::Line { side, start, line });
                let places = file.places_of(&HashSet::from([hash.as_str()]));
                let place = places.get(&hash).copied().map(|at| file.anchor_hash(at));
                assert_eq!(place, Some(hash), "{side:?} {start:?} {line}");
            }
        }
    }
    let whole = file.anchor_hash(Anchor::File);
    assert_eq!(
        file.places_of(&HashSet::from([whole.as_str(), "0"])),
        HashMap::new()
    );
}

proptest! {
    #[test]
    fn any_quote_gives_an_anchor_in_the_diff_or_an_error(
        line in proptest::option::of(0u32..60),
        quote in r"[-+0-9(): |a-z;\n]{0,40}|(?s).{0,20}",
    ) {
        let file = file(PATCH);
        if let Ok(anchor) = file.resolve(line, Some(&quote)) {
            let Anchor::Line { side, start, line } = anchor else {
                return Err(TestCaseError::fail("this file has lines"));
            };
            prop_assert!(file.is_commentable(side, line));
            prop_assert!(start.is_none_or(|s| s < line && file.is_commentable(side, s)));
        }
    }
}

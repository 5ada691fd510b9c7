//! The hunk walker against git itself: for any two texts, the lines that the walker holds commentable are the lines
//! that git shows. Separate because it needs git, and the walker is pure.
#![expect(clippy::disallowed_methods, reason = "edge: tests run git diff")]

use crate::git::fixture;
use proptest::prelude::*;
use reviewer_core::domain::{FileDiff, Side};
use std::collections::BTreeSet;
use tempfile::TempDir;

/// The hunks of `git diff --no-index`, without the header of the file.
fn git_diff(old: &str, new: &str, context: &str) -> String {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("old"), old).unwrap();
    std::fs::write(dir.path().join("new"), new).unwrap();
    let args = ["diff", "--no-index", "--text", context, "old", "new"];
    let output = fixture::command(dir.path()).args(args).output().unwrap();
    let patch = String::from_utf8(output.stdout).unwrap();
    let start = patch.find("\n@@ ").map_or(patch.len(), |at| at + 1);
    patch[start..].to_owned()
}

/// The line numbers that the headers of the hunks span on one side; content never starts with `@@`.
fn spans(patch: &str, side: Side) -> BTreeSet<u32> {
    let mut lines = BTreeSet::new();
    for header in patch.split('\n').filter(|line| line.starts_with("@@ ")) {
        let field = if side == Side::Left { 1 } else { 2 };
        let span = &header.split(' ').nth(field).unwrap()[1..];
        let (start, count) = span.split_once(',').unwrap_or((span, "1"));
        let (start, count): (u32, u32) = (start.parse().unwrap(), count.parse().unwrap());
        lines.extend(start..start + count);
    }
    lines
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[abc]",
        1 => Just(String::new()),
        1 => r"[a-c]\r",
        1 => r"-- x|\+\+ y|@@ -1 \+1 @@|diff --git a b|\\ No newline at end of file|\t[ \u{2028}é]+",
    ];
    let lines = proptest::collection::vec(line, 0..40);
    (lines, any::<bool>()).prop_map(|(lines, newline)| {
        let mut text = lines.join("\n");
        if newline && !text.is_empty() {
            text.push('\n');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn commentable_lines_are_those_that_git_shows(old in text(), new in text()) {
        let patch = git_diff(&old, &new, "-U3");
        let file = FileDiff {
            path: "new".to_owned(),
            hunks: FileDiff::parse_hunks(&patch).unwrap(),
            ..FileDiff::default()
        };
        let set = |side| file.commentable(side).into_iter().flatten().collect::<BTreeSet<u32>>();
        prop_assert_eq!(set(Side::Right), spans(&patch, Side::Right));
        prop_assert_eq!(set(Side::Left), spans(&git_diff(&old, &new, "-U0"), Side::Left));
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
        for line in file.hunks.iter().flat_map(|hunk| &hunk.lines) {
            for (number, lines) in [(line.old, &old), (line.new, &new)] {
                if let Some(number) = number {
                    prop_assert_eq!(Some(line.text.as_str()), lines.get(number as usize - 1).copied());
                }
            }
        }
    }
}

use super::*;
use crate::context::parts::{cut, room};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

fn diff(path: &str, lines: usize, width: usize) -> FileDiff {
    let mut hunk = format!("@@ -0,0 +1,{lines} @@\n");
    for line in 0..lines {
        let _ = writeln!(hunk, "+{path} {line} {}", "x".repeat(width));
    }
    FileDiff {
        path: path.into(),
        hunks: FileDiff::parse_hunks(hunk).unwrap(),
        ..FileDiff::default()
    }
}

/// The added lines of a diff.
fn lines<'a>(diffs: impl IntoIterator<Item = &'a FileDiff>) -> Vec<String> {
    let hunks = diffs.into_iter().flat_map(|diff| &diff.hunks);
    let lines = hunks.flat_map(|hunk| &hunk.lines);
    lines.map(|line| line.text.as_str().to_owned()).collect()
}

fn paths(division: &Division, diffs: &[FileDiff]) -> Vec<Vec<String>> {
    let sections = division.sections.iter();
    let of = |section: &Section| section.paths(diffs).map(str::to_owned).collect();
    sections.map(of).collect()
}

#[test]
fn a_change_that_one_session_holds_is_one_section() {
    let diffs = [diff("z.md", 10, 5), diff("login.ts", 10, 5)];
    let division = divide(&diffs, room(200_000));
    assert_eq!(paths(&division, &diffs), [["login.ts", "z.md"]]);
    assert!(divide::<FileDiff>(&[], 10).sections.is_empty());
}

#[test]
fn the_riskiest_files_are_in_the_first_section() {
    let diffs = [
        diff("docs/a.md", 900, 100),
        diff("src/b.ts", 900, 100),
        diff("src/login.ts", 900, 100),
    ];
    let division = divide(&diffs, 120_000);
    let expected = [["src/login.ts"], ["src/b.ts"], ["docs/a.md"]];
    assert_eq!(paths(&division, &diffs), expected);
    assert_eq!(division.sections[2].number, 3);
}

#[test]
fn a_file_that_no_session_holds_is_shown_in_pieces_by_several() {
    let diffs = [diff("src/a.ts", 10, 10), diff("src/huge.ts", 6_000, 90)];
    let division = divide(&diffs, 200_000);
    let sections = &division.sections;
    assert!(sections.len() > 2 && division.beyond.is_empty());
    let shown: Vec<Shown<'_>> = sections
        .iter()
        .flat_map(|section| section.diffs(&diffs, 200_000))
        .collect();
    let all = lines(shown.iter().map(|shown| shown.diff.as_ref()));
    assert_eq!(all, lines(&diffs));
    let pieces: Vec<_> = shown.iter().filter_map(|shown| shown.piece).collect();
    let of = pieces.len();
    assert_eq!(pieces, (1..=of).map(|at| (at, of)).collect::<Vec<_>>());
}

#[test]
fn a_line_belongs_to_the_section_that_shows_it() {
    let diffs = [
        diff("src/huge.ts", 6_000, 90),
        diff("src/a.ts", 10, 10),
        diff("app.js", 1, 300_000),
    ];
    let division = divide(&diffs, 200_000);
    let asked = [("src/huge.ts", 1), ("src/huge.ts", 6_000), ("src/a.ts", 3)];
    let nowhere = [("src/a.ts", 11), ("app.js", 1), ("gone.ts", 1)];
    let all = asked.into_iter().chain(nowhere);
    let numbers = division.sections_of(&diffs, 200_000, all);
    for ((path, line), number) in asked.iter().zip(&numbers) {
        let section = division.sections.iter().find(|one| one.number == *number);
        let text = format!("{path} {} ", line - 1);
        let own = section.unwrap().diffs(&diffs, 200_000);
        let own = lines(own.iter().map(|one| one.diff.as_ref()));
        assert!(own.iter().any(|line| line.starts_with(&text)), "{text}");
    }
    assert_ne!(numbers[0], numbers[1], "the pieces are in several sections");
    assert_eq!(numbers[3..], [1, 1, 1]);
}

#[test]
fn a_line_that_no_prompt_holds_leaves_its_file_out_and_no_other() {
    let diffs = [diff("app.js", 1, 300_000), diff("src/b.ts", 3, 3)];
    for room in [200_000, 1_000_000] {
        let division = divide(&diffs, room);
        assert_eq!(division.beyond, ["app.js"]);
        assert_eq!(paths(&division, &diffs), [["src/b.ts"]]);
    }
}

fn change() -> impl Strategy<Value = Vec<FileDiff>> {
    let folder = prop::sample::select(vec!["src/auth", "src", "docs", "tests", "vendor"]);
    let file = (folder, 0_usize..120, 0_usize..120);
    proptest::collection::vec(file, 0..12).prop_map(|files| {
        let files = files.into_iter().enumerate();
        files
            .map(|(at, (folder, lines, width))| diff(&format!("{folder}/f{at}.ts"), lines, width))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_file_is_in_exactly_one_section_or_named_and_every_line_is_shown_once(
        diffs in change(),
        room in 4_000_usize..30_000,
    ) {
        let division = divide(&diffs, room);
        prop_assert_eq!(&division, &divide(&diffs, room));
        let mut sections: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for section in &division.sections {
            for path in section.paths(&diffs) {
                sections.entry(path).or_default().insert(section.number);
            }
        }
        for diff in &diffs {
            let of = sections.get(diff.path.as_str()).map_or(0, BTreeSet::len);
            let named = division.beyond.contains(&diff.path);
            let is_large = diff.numbered().len() > room;
            prop_assert!(if named { of == 0 } else { of == 1 || (is_large && of > 1) }, "{}: {}", diff.path, of);
        }
        let mut shown = Vec::new();
        for section in &division.sections {
            let of_section = section.diffs(&diffs, room);
            let diffs: Vec<&FileDiff> = of_section.iter().map(|shown| shown.diff.as_ref()).collect();
            // What stands in prompts is what counts.
            let parts = cut(&diffs, usize::MAX);
            prop_assert!(parts.beyond.is_empty());
            let texts = parts.texts.concat();
            let prompted: BTreeSet<&str> =
                texts.lines().filter_map(|line| Some(line.split_once(" + ")?.1)).collect();
            for line in lines(diffs.iter().copied()) {
                prop_assert!(prompted.contains(line.as_str()), "{}", line);
            }
            let size: usize = diffs.iter().map(|diff| diff.numbered().len()).sum();
            prop_assert!(size <= room, "{} of {}", size, room);
            shown.extend(lines(diffs.iter().copied()));
        }
        let reviewed = diffs.iter().filter(|diff| !division.beyond.contains(&diff.path));
        let mut expected = lines(reviewed);
        shown.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(shown, expected);
    }
}

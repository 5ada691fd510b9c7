//! The code around a finding, taken from the diff, in which the values of secrets are masked. Each format of the report
//! shows it in its own way. Pure.

use crate::domain::{Anchor, DiffLine, FileDiff, Hunk, LineKind, Side};
use std::collections::BTreeMap;

/// Lines shown before and after those that are meant, and how many of those at most.
const AROUND: u32 = 3;
const MOST_MEANT: u32 = 12;
/// The most lines of the other version between two lines that are shown.
const MOST_BESIDE: usize = 12;

/// A line of the diff below a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLine {
    pub kind: LineKind,
    pub old: Option<u32>,
    pub new: Option<u32>,
    pub text: String,
    /// The finding is about it.
    pub meant: bool,
    /// The number of lines of the diff that are left out behind it.
    pub omitted: usize,
}

/// The lines around an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The version that the finding is about: the head or, for removed lines, the base.
    pub side: Side,
    /// The last line that is meant.
    pub line: u32,
    pub lines: Vec<CodeLine>,
}

/// The code of findings, by their ids.
pub type Code = BTreeMap<String, Excerpt>;

impl Excerpt {
    /// The lines around an anchor; `None` where it is the whole file, or none of the diff's lines.
    #[must_use]
    pub fn new(diff: &FileDiff, anchor: Anchor) -> Option<Self> {
        let Anchor::Line { side, start, line } = anchor else {
            return None;
        };
        let first = start.unwrap_or(line);
        let shown = first.max((line + 1).saturating_sub(MOST_MEANT));
        let around = shown.saturating_sub(AROUND)..=line.saturating_add(AROUND);
        let at = |one: &DiffLine| number(one.kind, (one.old, one.new), side);
        let has = |hunk: &&Hunk| hunk.lines.iter().any(|one| at(one) == Some(line));
        let hunk = diff.hunks.iter().find(has)?;
        let is_near = |one: &DiffLine| at(one).is_some_and(|number| around.contains(&number));
        let from = hunk.lines.iter().position(is_near)?;
        let to = hunk.lines.iter().rposition(is_near)?;
        let mut lines: Vec<CodeLine> = Vec::new();
        let mut beside = 0;
        for one in &hunk.lines[from..=to] {
            let own = at(one);
            beside = if own.is_some() { 0 } else { beside + 1 };
            match lines.last_mut() {
                Some(last) if beside > MOST_BESIDE => last.omitted += 1,
                _ => lines.push(CodeLine {
                    kind: one.kind,
                    old: one.old,
                    new: one.new,
                    text: one.text.as_str().to_owned(),
                    meant: own.is_some_and(|number| (first..=line).contains(&number)),
                    omitted: 0,
                }),
            }
        }
        Some(Self { side, line, lines })
    }

    /// The lines of the version that the finding is about, with their numbers in it.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &CodeLine)> {
        let number = |line: &CodeLine| number(line.kind, (line.old, line.new), self.side);
        self.lines
            .iter()
            .filter_map(move |line| Some((number(line)?, line)))
    }
}

/// The number of a line in one version of the file.
fn number(kind: LineKind, numbers: (Option<u32>, Option<u32>), side: Side) -> Option<u32> {
    match (side, kind) {
        (Side::Right, LineKind::Added | LineKind::Context) => numbers.1,
        (Side::Left, LineKind::Removed | LineKind::Context) => numbers.0,
        _ => None,
    }
}

/// Lines without secrets; `None` where a secret spans lines, and they cannot be numbered any more.
pub(super) fn cleaned<'a>(
    lines: impl Iterator<Item = &'a str>,
    clean: &dyn Fn(&str) -> String,
) -> Option<Vec<String>> {
    let lines: Vec<&str> = lines.collect();
    let cleaned = clean(&lines.join("\n"));
    let cleaned: Vec<String> = cleaned.split('\n').map(str::to_owned).collect();
    (cleaned.len() == lines.len()).then_some(cleaned)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const PATCH: &str = "@@ -1,5 +1,8 @@
 one
-two
-three
+zwei
+\tdrei
+API_KEY=hunter2
+BEGIN
+END
 four
 five
";

    pub(in crate::report) fn diff() -> FileDiff {
        FileDiff {
            path: "src/page.ts".into(),
            hunks: FileDiff::parse_hunks(PATCH).unwrap(),
            ..FileDiff::default()
        }
    }

    pub(in crate::report) fn at(side: Side, start: Option<u32>, line: u32) -> Anchor {
        Anchor::Line { side, start, line }
    }

    pub(in crate::report) fn excerpt(anchor: Anchor) -> Excerpt {
        Excerpt::new(&diff(), anchor).expect("lines")
    }

    fn numbered(excerpt: &Excerpt) -> Vec<(u32, &str, bool)> {
        let lines = excerpt.numbered();
        lines
            .map(|(number, line)| (number, line.text.as_str(), line.meant))
            .collect()
    }

    fn as_diff(excerpt: &Excerpt) -> Vec<String> {
        let lines = excerpt.lines.iter().map(|line| {
            let sign = match line.kind {
                LineKind::Context => ' ',
                LineKind::Added => '+',
                LineKind::Removed => '-',
            };
            format!("{sign}{}", line.text)
        });
        lines.collect()
    }

    #[test]
    fn the_code_is_the_head_s_with_what_is_meant_marked() {
        let excerpt = excerpt(at(Side::Right, Some(2), 3));
        assert_eq!(
            numbered(&excerpt),
            [
                (1, "one", false),
                (2, "zwei", true),
                (3, "\tdrei", true),
                (4, "API_KEY=hunter2", false),
                (5, "BEGIN", false),
                (6, "END", false),
            ]
        );
        assert_eq!(
            as_diff(&excerpt),
            [
                " one",
                "-two",
                "-three",
                "+zwei",
                "+\tdrei",
                "+API_KEY=hunter2",
                "+BEGIN",
                "+END"
            ]
        );
    }

    #[test]
    fn what_was_removed_is_shown_as_the_base_has_it() {
        let excerpt = excerpt(at(Side::Left, None, 3));
        assert_eq!(
            numbered(&excerpt),
            [
                (1, "one", false),
                (2, "two", false),
                (3, "three", true),
                (4, "four", false),
                (5, "five", false),
            ]
        );
        assert_eq!(excerpt.lines.len(), 10, "with what took its place");
        assert_eq!(Excerpt::new(&diff(), Anchor::File), None);
        assert_eq!(Excerpt::new(&diff(), at(Side::Right, None, 99)), None);
    }

    #[test]
    fn a_long_run_of_the_other_version_is_counted() {
        let removed = "-gone\n".repeat(100);
        let patch = format!("@@ -1,102 +1,3 @@\n a\n{removed}+b\n c\n");
        let diff = FileDiff {
            hunks: FileDiff::parse_hunks(patch).unwrap(),
            ..FileDiff::default()
        };
        let excerpt = Excerpt::new(&diff, at(Side::Right, None, 2)).expect("lines");
        assert_eq!(excerpt.lines.len(), 1 + MOST_BESIDE + 2);
        let omitted = excerpt.lines.iter().map(|line| line.omitted);
        assert_eq!(omitted.sum::<usize>(), 100 - MOST_BESIDE);
        assert_eq!(numbered(&excerpt)[1], (2, "b", true));
    }
}

//! Evidence in the code that a finding is fixed: its own lines changed, removed lines are back, or a line was added
//! that the model names. Pure; a neighbouring line or a comment is no evidence.

use crate::domain::code;
use crate::domain::{DiffLine, FileDiff, FileStatus, LineKind, Side, Thread};
use reviewer_text::hidden::visible;
use sha2::{Digest, Sha256};
use std::collections::HashSet;

/// The place that seems to fix a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    pub file: String,
    /// Number and text of the line; `None` where the code is only gone.
    pub line: Option<(u32, String)>,
}

impl Fix {
    /// A name for the line, so that the same one is not said twice.
    #[must_use]
    pub(crate) fn key(&self) -> String {
        let line = self.line.as_ref().map_or("", |(_, text)| text);
        let digest = Sha256::digest(format!("{}\n{}", self.file, squeezed(line)));
        data_encoding::HEXLOWER.encode(&digest[..8])
    }
}

/// The fix that a thread's own lines show. `removed`: the lines that a finding on removed lines hangs on.
pub(super) fn at_the_lines(thread: &Thread, since: &[FileDiff], removed: &[String]) -> Option<Fix> {
    let is_its_file = |diff: &&FileDiff| {
        diff.path == thread.file || diff.previous_path.as_ref() == Some(&thread.file)
    };
    let diff = since.iter().find(is_its_file)?;
    match (thread.side, thread.original_line) {
        (Side::Left, _) => back(diff, removed),
        (Side::Right, Some(_)) => changed(thread, diff, since),
        (Side::Right, None) => (diff.status == FileStatus::Removed).then(|| gone(diff)),
    }
}

/// One of the lines is not there any more, neither here nor elsewhere, however it is spaced.
fn changed(thread: &Thread, diff: &FileDiff, since: &[FileDiff]) -> Option<Fix> {
    if !since.iter().all(FileDiff::is_whole) {
        return None; // It may stand among the lines that are not known.
    }
    let last = thread.original_line?;
    let anchored = thread.original_start.unwrap_or(last)..=last;
    let added: HashSet<String> = since
        .iter()
        .flat_map(added)
        .map(|line| squeezed(&line.text))
        .collect();
    let old_name = diff.previous_path.as_deref().unwrap_or(&diff.path);
    let is_changed = |line: &DiffLine| {
        line.kind == LineKind::Removed
            && line.old.is_some_and(|old| anchored.contains(&old))
            && is_code(old_name, &line.text)
            && !added.contains(&squeezed(&line.text))
    };
    diff.hunks.iter().find_map(|hunk| {
        let at = hunk.lines.iter().position(is_changed)?;
        let mut after = hunk.lines[at..].iter();
        let by = after.find(|line| line.kind == LineKind::Added && is_code(&diff.path, &line.text));
        Some(by.map_or_else(|| gone(diff), |line| at_line(diff, line)))
    })
}

/// All of the lines are there again.
fn back(diff: &FileDiff, removed: &[String]) -> Option<Fix> {
    let mut wanted = removed.iter().filter(|text| is_code(&diff.path, text));
    let find = |text: &String| added(diff).find(|line| squeezed(&line.text) == squeezed(text));
    let first = find(wanted.next()?)?;
    wanted
        .all(|text| find(text).is_some())
        .then(|| at_line(diff, first))
}

/// The fix that the model names: a line of code that was added to a file of code.
pub(super) fn quoted(file: &str, quote: &str, since: &[FileDiff]) -> Option<Fix> {
    let diff = since.iter().find(|diff| diff.path == file)?;
    let is_meant = |line: &&DiffLine| squeezed(&line.text) == squeezed(quote);
    let line = added(diff).find(is_meant)?;
    let is_code = code::is_code(file) && is_code(file, &line.text);
    is_code.then(|| at_line(diff, line))
}

fn added(diff: &FileDiff) -> impl Iterator<Item = &DiffLine> {
    let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    lines.filter(|line| line.kind == LineKind::Added)
}

fn at_line(diff: &FileDiff, line: &DiffLine) -> Fix {
    Fix {
        file: diff.path.clone(),
        line: line.new.map(|number| (number, line.text.to_string())),
    }
}

fn gone(diff: &FileDiff) -> Fix {
    Fix {
        file: diff.path.clone(),
        line: None,
    }
}

/// As the model reads it, without its spaces.
fn squeezed(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    visible(&text).into_owned()
}

/// The shortest quote that can contradict a finding: anything shorter stands everywhere.
const SHORTEST_QUOTE: usize = 8;

/// Extensions of files that a quote contradicts nothing from: prose, and diffs, which have lines that are gone.
const NOT_QUOTED: [&str; 8] = [
    "adoc", "diff", "markdown", "md", "mdx", "org", "patch", "rst",
];

/// Returns true if a quote from a file has a line of code that is long enough to mean something.
#[must_use]
pub fn is_quotable(path: &str, quote: &str) -> bool {
    let ending = path
        .trim()
        .rsplit_once('.')
        .map_or("", |(_, ending)| ending);
    if NOT_QUOTED
        .iter()
        .any(|one| ending.eq_ignore_ascii_case(one))
    {
        return false;
    }
    let length = |line: &str| line.chars().filter(|c| !c.is_whitespace()).count();
    quote
        .lines()
        .any(|line| length(line) >= SHORTEST_QUOTE && is_code(path, line))
}

/// Returns true if a line says anything that is no comment, as far as one line tells.
fn is_code(path: &str, text: &str) -> bool {
    let text = text.trim_start();
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let marks: &[&str] = match ending.to_ascii_lowercase().as_str() {
        "" | "bash" | "ex" | "exs" | "pl" | "ps1" | "py" | "r" | "rb" | "sh" | "toml" | "yaml"
        | "yml" => &["#"],
        "hs" | "lua" | "sql" => &["--", "/*"],
        "clj" => &[";"],
        "erl" => &["%"],
        "html" => &["<!--"],
        "php" => &["#", "//", "/*", "* ", "*/"],
        _ => &["//", "/*", "* ", "*/"],
    };
    let comment = text == "*" || marks.iter().any(|mark| text.starts_with(mark));
    !comment && text.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    fn diff(file: &str, patch: &str) -> FileDiff {
        FileDiff {
            path: file.into(),
            previous_path: None,
            status: FileStatus::Modified,
            binary: false,
            hunks: FileDiff::parse_hunks(patch).unwrap(),
            ..FileDiff::default()
        }
    }

    /// A finding at line 2 of `src/page.ts`.
    fn thread() -> Thread {
        fixture::thread()
    }

    fn shown(patch: &str) -> Option<Fix> {
        at_the_lines(&thread(), &[diff("src/page.ts", patch)], &[])
    }

    #[test]
    fn the_finding_s_own_line_has_to_change() {
        let mended = shown("@@ -1,3 +1,3 @@\n a();\n-floor(x);\n+ceil(x);\n c();\n");
        assert_eq!(mended.unwrap().line, Some((2, "ceil(x);".into())));
        let gone = shown("@@ -1,3 +1,2 @@\n a();\n-floor(x);\n c();\n");
        assert_eq!(gone.unwrap().line, None);
        for patch in [
            "@@ -1,3 +1,3 @@\n-a();\n+b();\n floor(x);\n c();\n",
            "@@ -1,3 +1,3 @@\n a();\n floor(x);\n-c();\n+d();\n",
            "@@ -1,3 +1,3 @@\n a();\n-floor(x);\n+  floor( x );\n c();\n",
            "@@ -1,3 +1,4 @@\n a();\n-floor(x);\n+ceil(y);\n+floor(x);\n c();\n",
        ] {
            assert_eq!(shown(patch), None, "{patch}");
        }
        let moved = [
            diff("src/page.ts", "@@ -2 +1,0 @@\n-floor(x);\n"),
            diff("src/other.ts", "@@ -0,0 +1 @@\n+floor(x);\n"),
        ];
        assert_eq!(at_the_lines(&thread(), &moved, &[]), None);
    }

    #[test]
    fn of_a_range_any_line_of_code_counts_and_a_comment_does_not() {
        let ranged = Thread {
            original_start: Some(1),
            ..thread()
        };
        let shown = |patch| at_the_lines(&ranged, &[diff("src/page.ts", patch)], &[]).is_some();
        assert!(shown("@@ -1,2 +1,2 @@\n-a();\n+b();\n floor(x);\n"));
        assert!(!shown(
            "@@ -1,2 +1,2 @@\n-// rounds\n+// rounds up\n floor(x);\n"
        ));
        assert!(!shown("@@ -1,2 +1,1 @@\n-}\n floor(x);\n"));
    }

    #[test]
    fn removed_lines_have_to_be_back_all_of_them() {
        let removed = Thread {
            side: Side::Left,
            ..thread()
        };
        let lines = ["  check(user);".to_owned(), "  log(user);".to_owned()];
        let shown = |patch, lines: &[String]| {
            let fix = at_the_lines(&removed, &[diff("src/page.ts", patch)], lines);
            fix.and_then(|fix| fix.line).map(|(number, _)| number)
        };
        let both = "@@ -1 +1,3 @@\n a();\n+check( user );\n+log(user);\n";
        assert_eq!(shown(both, &lines), Some(2));
        let one = "@@ -1 +1,2 @@\n a();\n+check(user);\n";
        assert_eq!(shown(one, &lines), None);
        assert_eq!(shown(both, &[]), None, "nobody knows the lines any more");
    }

    #[test]
    fn a_quote_is_a_line_of_code_that_was_added() {
        let since = [
            diff(
                "src/guard.ts",
                "@@ -1,2 +1,4 @@\n keep();\n-old();\n+if (!text) return [];\n+// guarded\n+}\n",
            ),
            diff("README.md", "@@ -0,0 +1 @@\n+It is guarded now.\n"),
        ];
        let fix = quoted("src/guard.ts", "  if (!text)  return [];", &since).unwrap();
        assert_eq!(fix.line, Some((2, "if (!text) return [];".into())));
        for (file, quote) in [
            ("src/guard.ts", "keep();"),
            ("src/guard.ts", "old();"),
            ("src/guard.ts", "// guarded"),
            ("src/guard.ts", "}"),
            ("src/guard.ts", ""),
            ("src/guard.ts", "if (!text)"),
            ("README.md", "It is guarded now."),
            ("src/other.ts", "if (!text) return [];"),
        ] {
            assert_eq!(quoted(file, quote, &since), None, "{file}: {quote}");
        }
    }

    #[test]
    fn comments_are_told_by_the_language() {
        for (path, text) in [
            ("a.py", "# checked"),
            ("a.ts", " * checked"),
            ("a.ts", "*/"),
            ("a.sql", "-- checked"),
            ("a.html", "<!-- checked -->"),
            ("a.php", "# checked"),
        ] {
            assert!(!is_code(path, text), "{path}: {text}");
        }
        for (path, text) in [("a.c", "#include <a.h>"), ("a.c", "*p = 0;"), ("a.rs", "a")] {
            assert!(is_code(path, text), "{path}: {text}");
        }
    }
}

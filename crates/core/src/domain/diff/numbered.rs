//! A diff as the model reads it, with the head's number on every line. Separate because this is a text
//! format with a reader of its own: the model finds its line numbers here and nowhere else.

use super::{DiffLine, FileDiff, FileStatus, LineKind};
use reviewer_text::hidden::visible;
use std::fmt::Write as _;

/// Stands for a carriage return where a change mixes line endings.
pub(super) const CARRIAGE_RETURN: char = '␍';

impl FileDiff {
    /// The whole diff of this file, each line under its number at the head. The prompts explain the format, once.
    #[must_use]
    pub fn numbered(&self) -> String {
        let mut out = format!("# {}\n", self.headline());
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let numbers = lines().flat_map(|l| [l.old, l.new]).flatten();
        let width = numbers.max().unwrap_or(1).to_string().len();
        let returns = lines().filter(|l| l.text.ends_with('\r')).count();
        let mixed = returns > 0 && returns < lines().count();
        for hunk in &self.hunks {
            let header = format!("@@ {}", visible(&hunk.section));
            out.push_str(header.trim_end());
            out.push('\n');
            for line in &hunk.lines {
                write_line(&mut out, line, width, mixed);
            }
        }
        if self.hunks.is_empty() {
            out.push_str(if self.binary {
                "(binary: no lines to show)\n"
            } else {
                "(no line changed)\n"
            });
        }
        out
    }

    fn headline(&self) -> String {
        let path = visible(&self.path);
        let what = match (self.status, &self.previous_path) {
            (FileStatus::Renamed, Some(old)) => format!("renamed from {}", visible(old)),
            (FileStatus::Renamed, None) => "renamed".to_owned(),
            (FileStatus::Added, _) => "added".to_owned(),
            (FileStatus::Modified, _) => "modified".to_owned(),
            (FileStatus::Removed, _) => "removed".to_owned(),
            (FileStatus::Changed, _) => "mode or type changed".to_owned(),
        };
        format!(
            "{path}: {what}, +{} -{}{}",
            self.additions(),
            self.deletions(),
            self.objects.note()
        )
    }
}

fn write_line(out: &mut String, line: &DiffLine, width: usize, show_returns: bool) {
    let (body, end) = match line.text.strip_suffix('\r') {
        Some(body) if show_returns => (body, CARRIAGE_RETURN.to_string()),
        Some(body) => (body, String::new()),
        None => (line.text.as_str(), String::new()),
    };
    let text = visible(body);
    let (old, new) = (line.old.unwrap_or_default(), line.new.unwrap_or_default());
    // Writing to a String cannot fail.
    let _ = match line.kind {
        LineKind::Added => writeln!(out, " {new:>width$} + {text}{end}"),
        LineKind::Context => writeln!(out, " {new:>width$}   {text}{end}"),
        LineKind::Removed => writeln!(out, "({old:>width$})- {text}{end}"),
    };
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;
    use reviewer_text::hidden::is_hidden;

    fn body(patch: &str) -> String {
        let shown = file(patch).numbered();
        let (_, body) = shown.split_once('\n').unwrap();
        body.to_owned()
    }

    #[test]
    fn every_line_stands_under_its_number_at_the_head() {
        let shown = body("@@ -8,3 +9,4 @@ fn main() {\n a\n-b\n+B\n+\tC\n d\n");
        assert_eq!(
            shown,
            "@@ fn main() {\n  9   a\n( 9)- b\n 10 + B\n 11 + \tC\n 12   d\n"
        );
    }

    #[test]
    fn the_top_says_what_the_file_is() {
        let mut renamed = file("@@ -1 +1 @@\n-a\n+b\n");
        renamed.status = FileStatus::Renamed;
        renamed.previous_path = Some("src/\nold.ts".to_owned());
        let shown = renamed.numbered();
        assert_eq!(
            shown.lines().next(),
            Some(r"# src/a.ts: renamed from src/\u{a}old.ts, +1 -1")
        );
    }

    #[test]
    fn a_changed_line_ending_is_seen_and_a_constant_one_is_not() {
        assert_eq!(body("@@ -1 +1 @@\n-a\r\n+a\n"), "@@\n(1)- a␍\n 1 + a\n");
        assert_eq!(body("@@ -1 +1 @@\n-a\r\n+b\r\n"), "@@\n(1)- a\n 1 + b\n");
    }

    #[test]
    fn p3_every_range_that_hides_is_spelled_out_in_code_and_in_names() {
        let hides = "\u{e0041}\u{e007f}\u{e0100}\u{e01ef}\u{fe00}\u{fe0d}\u{200b}\u{200f}\u{2060}\u{2064}\u{61c}\
             \u{180e}\u{ad}\u{34f}\u{115f}\u{3164}\u{202a}\u{202e}\u{2066}\u{2069}\u{206a}\u{e0fff}\u{0}\u{1b}";
        let mut diff = file(&format!("@@ -0,0 +1 @@ fn {hides}\n+if {hides}x\n"));
        diff.path = format!("src/{hides}.ts");
        let shown = diff.numbered();
        assert!(
            !shown.contains(|c: char| c != '\n' && is_hidden(c)),
            "{shown}"
        );
        for c in hides.chars() {
            assert_eq!(
                shown.matches(&c.escape_unicode().to_string()).count(),
                3,
                "{c:?}"
            );
        }
    }

    #[test]
    fn p4_only_a_line_feed_ends_a_line_as_for_git() {
        let odd = "\u{feff}a\rb\u{2028}c\u{85}d\u{c}e\0f";
        let shown = body(&format!("@@ -1 +1,2 @@\n-x\n+{odd}\n+last\n"));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 4, "{shown}");
        assert_eq!(
            lines[2],
            r" 1 + \u{feff}a\u{d}b\u{2028}c\u{85}d\u{c}e\u{0}f"
        );
        assert_eq!(lines[3], " 2 + last");
    }

    #[test]
    fn what_hides_is_spelled_out() {
        let shown = body("@@ -0,0 +1 @@\n+if admin\u{202e}\u{1b}[2J \u{200b}👩‍💻\n");
        assert!(
            shown.contains(r"admin\u{202e}\u{1b}[2J \u{200b}"),
            "{shown}"
        );
    }

    #[test]
    fn a_file_without_lines_says_why() {
        let mut image = file("");
        assert!(image.numbered().ends_with("(no line changed)\n"));
        image.binary = true;
        assert!(image.numbered().ends_with("(binary: no lines to show)\n"));
    }
}

//! Results of static analysis tools, which the passes confirm or refute. A result on a line that the change adds is a candidate; it
//! decides nothing by itself. Pure; the files are read in `src/gather/static_analysis.rs`.

mod places;
mod sarif;
mod wire;

pub use sarif::{ToolResults, read};

use crate::domain::{FileDiff, LineKind, ToolRule};
use std::collections::{HashMap, HashSet};

/// The largest file that is read, in MB of a million bytes.
pub const MOST_MEGABYTES: u64 = 10;
/// Candidates that a review judges.
pub const MOST_CANDIDATES: usize = 50;

/// The weight that a tool gives to a result. It is context for the model, and no score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    Error,
    #[default]
    Warning,
    Note,
    None,
}

impl Level {
    /// Without a level, SARIF means a warning.
    fn parse(given: Option<&str>) -> Self {
        match given {
            Some("error") => Self::Error,
            Some("note") => Self::Note,
            Some("none") => Self::None,
            _ => Self::Warning,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::None => "none",
        }
    }
}

/// Lines of a file, as a tool numbers them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub path: String,
    pub start: u32,
    pub end: u32,
}

/// A result of a tool, wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub rule: ToolRule,
    pub level: Level,
    /// The tool's figure from 0 to 10, where it gives one.
    pub severity: Option<String>,
    /// Words of others.
    pub message: String,
    pub help: String,
    pub places: Vec<Place>,
}

/// A result on a line that the change adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub rule: ToolRule,
    pub level: Level,
    pub severity: Option<String>,
    /// Words of others.
    pub message: String,
    pub help: String,
    pub path: String,
    /// The first of its lines that the change adds.
    pub line: u32,
}

impl Candidate {
    /// File and line, as people write them.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

/// The name of a candidate, as the prompt and the tool write it.
#[must_use]
pub fn candidate_name(index: usize) -> String {
    format!("S{}", index + 1)
}

/// The candidates of a change, and the number of those that are beyond what a review judges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    pub first: Vec<Candidate>,
    pub beyond: usize,
}

/// The reason why a file was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    Missing,
    /// It leads out of the workspace by a symbolic link.
    Outside,
    NotRegular,
    TooLarge {
        bytes: u64,
    },
    /// The system's words.
    Refused(String),
    NotJson {
        line: usize,
    },
    /// JSON, but no SARIF.
    OtherSchema {
        line: Option<usize>,
    },
    OtherVersion(String),
    WithoutRuns,
}

impl Candidates {
    /// The results on lines that these diffs add, each once, the gravest first. Of a review that goes on from another one, the diffs
    /// are those of the new part.
    #[must_use]
    pub fn new(results: &[ToolResult], diffs: &[&FileDiff]) -> Self {
        let lines = AddedLines::new(diffs);
        let mut seen = HashSet::new();
        let found = results.iter().filter_map(|result| {
            let (path, line) = result
                .places
                .iter()
                .find_map(|place| lines.first_in(place))?;
            let key = (&result.rule, path, line, &result.message);
            seen.insert(key).then(|| Candidate {
                rule: result.rule.clone(),
                level: result.level,
                severity: result.severity.clone(),
                message: result.message.clone(),
                help: result.help.clone(),
                path: path.to_owned(),
                line,
            })
        });
        let mut first: Vec<Candidate> = found.collect();
        first.sort_by_key(|candidate| candidate.level);
        let beyond = first.len().saturating_sub(MOST_CANDIDATES);
        first.truncate(MOST_CANDIDATES);
        Self { first, beyond }
    }
}

/// The lines that a change adds, by the paths of their files, of renamed ones by both.
struct AddedLines<'a> {
    files: HashMap<&'a str, (&'a str, Vec<u32>)>,
}

impl<'a> AddedLines<'a> {
    fn new(diffs: &[&'a FileDiff]) -> Self {
        let mut files = HashMap::new();
        let before = |diff: &&&'a FileDiff| diff.previous_path.is_some();
        for diff in diffs.iter().filter(before) {
            let previous = diff.previous_path.as_deref().unwrap_or_default();
            files.insert(previous, (diff.path.as_str(), added(diff)));
        }
        for diff in diffs {
            files.insert(diff.path.as_str(), (diff.path.as_str(), added(diff)));
        }
        Self { files }
    }

    /// The first added line in a place, with the path that its file has now.
    fn first_in(&self, place: &Place) -> Option<(&'a str, u32)> {
        let (path, lines) = self.files.get(place.path.as_str())?;
        let at = lines.partition_point(|line| *line < place.start);
        let line = *lines.get(at)?;
        (line <= place.end).then_some((*path, line))
    }
}

fn added(diff: &FileDiff) -> Vec<u32> {
    let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
    let added = lines.filter(|line| line.kind == LineKind::Added);
    added.filter_map(|line| line.new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::FileStatus;

    /// Lines 11 and 12 of the file are added.
    fn diff(path: &str, previous: Option<&str>) -> FileDiff {
        let hunk = "@@ -10,3 +10,4 @@\n let a = 1;\n-let old = 2;\n+let b = 2;\n+let c = 3;\n let d = 4;\n";
        FileDiff {
            path: path.into(),
            previous_path: previous.map(str::to_owned),
            status: FileStatus::Modified,
            hunks: FileDiff::parse_hunks(hunk).unwrap(),
            ..FileDiff::default()
        }
    }

    fn result(path: &str, start: u32, end: u32, level: Level) -> ToolResult {
        ToolResult {
            rule: ToolRule::new("semgrep", "rule"),
            level,
            severity: None,
            message: format!("At {path}:{start}."),
            help: String::new(),
            places: vec![Place {
                path: path.into(),
                start,
                end,
            }],
        }
    }

    fn places(results: &[ToolResult], diffs: &[FileDiff]) -> Vec<String> {
        let diffs: Vec<&FileDiff> = diffs.iter().collect();
        let found = Candidates::new(results, &diffs).first;
        found.iter().map(Candidate::place).collect()
    }

    #[test]
    fn only_a_result_on_a_line_that_the_change_adds_is_a_candidate() {
        let diffs = [
            diff("src/a.rs", None),
            diff("src/new.rs", Some("src/old.rs")),
        ];
        for (path, start, end, expected) in [
            ("src/a.rs", 11, 11, Some("src/a.rs:11")),
            ("src/a.rs", 12, 40, Some("src/a.rs:12")),
            ("src/a.rs", 1, 400, Some("src/a.rs:11")),
            ("src/old.rs", 11, 11, Some("src/new.rs:11")),
            ("src/new.rs", 12, 12, Some("src/new.rs:12")),
            ("src/a.rs", 10, 10, None),
            ("src/a.rs", 13, 20, None),
            ("src/b.rs", 11, 11, None),
        ] {
            let found = places(&[result(path, start, end, Level::Error)], &diffs);
            assert_eq!(
                found.first().map(String::as_str),
                expected,
                "{path}:{start}"
            );
        }
    }

    #[test]
    fn the_gravest_come_first_each_once_and_the_others_are_counted() {
        let diffs = [diff("src/a.rs", None)];
        let results = [
            result("src/a.rs", 12, 12, Level::Note),
            result("src/a.rs", 11, 11, Level::Error),
            result("src/a.rs", 11, 11, Level::Error),
        ];
        assert_eq!(places(&results, &diffs), ["src/a.rs:11", "src/a.rs:12"]);
        let many = (0..60).map(|number| ToolResult {
            message: number.to_string(),
            ..result("src/a.rs", 11, 11, Level::Warning)
        });
        let many: Vec<ToolResult> = many.collect();
        let found = Candidates::new(&many, &[&diffs[0]]);
        assert_eq!((found.first.len(), found.beyond), (50, 10));
    }
}

//! Notices that somebody took a fix back: by the trailer that git writes, or because its lines are undone. People take
//! precedence, so what they take back is not tried again.

use super::edits::EditList;
use super::issue::IssueId;
use super::memory::Memory;
use super::patch::LineDiff;
use super::report::KeptIssue;
use crate::domain::CommitSha;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The lines that a fix added to a file and removed from it, as hashes. Blank lines and lines that are on both sides are left
/// out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineMarks {
    pub file: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

fn hash(line: &str) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(line.trim().as_bytes())[..4])
}

/// The hashes of all lines of a text.
fn hashes(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(hash).collect()
}

impl LineMarks {
    fn new(file: &str, before: &str, after: &str) -> Self {
        let diff = LineDiff::new(before.as_bytes(), after.as_bytes());
        let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        let (old, new) = (hashes(before), hashes(after));
        let kept = |lines: Vec<String>, other: &BTreeSet<String>| {
            let lines = hashes(&lines.join("\n"));
            lines.difference(other).cloned().collect()
        };
        Self {
            file: file.to_owned(),
            added: kept(diff.added().map(text).collect(), &old),
            removed: kept(diff.removed().map(text).collect(), &new),
        }
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// True if nothing that was added is there any more, and everything that was removed is back.
    fn is_undone(&self, now: &BTreeSet<String>) -> bool {
        self.added.iter().all(|line| !now.contains(line))
            && self.removed.iter().all(|line| now.contains(line))
    }
}

/// The lines that the edits of an issue changed.
#[must_use]
pub fn marks(edits: &EditList, issue: &IssueId) -> Vec<LineMarks> {
    let steps = edits.steps_of(issue).into_iter();
    let marks = steps.map(|(file, before, after)| LineMarks::new(&file, &before, &after));
    marks.filter(|marks| !marks.is_empty()).collect()
}

/// The commits that a message says it reverts.
pub fn reverted_by(message: &str) -> impl Iterator<Item = CommitSha> + '_ {
    let said = message.split("This reverts commit ").skip(1);
    said.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    })
}

/// The fixes that somebody took back since the reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reverts {
    pub commits: Vec<String>,
    pub findings: Vec<String>,
}

impl Reverts {
    /// Looks for reverts that no report tells yet. `messages`: of the commits that people made on top; `file`: the text of a
    /// file in a head that a person made, `None` where there is no such file. Heads that a fix made show no reverts.
    pub fn find(memory: &Memory, messages: &[&str], file: impl Fn(&str) -> Option<String>) -> Self {
        let said: BTreeSet<CommitSha> = messages.iter().flat_map(|one| reverted_by(one)).collect();
        let is_undone = |kept: &KeptIssue| {
            // A file that is gone can have been renamed, with the fix in it.
            let is_undone = |marks: &LineMarks| {
                file(&marks.file).is_some_and(|text| marks.is_undone(&hashes(&text)))
            };
            !kept.marks.is_empty() && kept.marks.iter().all(is_undone)
        };
        let mut reverts = Self::default();
        for (commit, outcomes) in memory.commits() {
            if memory.is_reverted(commit) {
                continue;
            }
            let marked: Vec<&KeptIssue> = outcomes
                .iter()
                .filter(|kept| !kept.marks.is_empty())
                .collect();
            let undone: Vec<&&KeptIssue> = marked.iter().filter(|kept| is_undone(kept)).collect();
            let by_trailer = said.iter().any(|one| one.as_str() == commit);
            if by_trailer || (!marked.is_empty() && undone.len() == marked.len()) {
                reverts.commits.push(commit.to_owned());
            }
            let unknown = undone
                .iter()
                .filter(|kept| !memory.is_finding_reverted(&kept.id));
            reverts.findings.extend(unknown.map(|kept| kept.id.clone()));
        }
        reverts
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty() && self.findings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::edits::{Change, Edit};
    use super::super::issue::fixture::issue;
    use super::super::report::{Delivery, FixReport, KeptOutcome};
    use super::*;

    const HEAD: &str = "fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n";

    /// A cycle that fixed two findings in one commit, and the file afterwards.
    fn cycle() -> (Memory, String) {
        let mut edits = EditList::default();
        for (id, old, new) in [
            ("x", "one();", "first();\n    checked();"),
            ("y", "two();", "second();"),
        ] {
            let edit = Edit {
                issue: id.parse().unwrap(),
                file: "a.rs".into(),
                change: Change::Replace {
                    old: old.into(),
                    new: new.into(),
                },
            };
            edits.apply(edit, Some(HEAD.as_bytes())).unwrap();
        }
        let kept = |id: &str| {
            let issue = issue(id, "a.rs");
            let marks = marks(&edits, &issue.id);
            KeptIssue::new(&issue, KeptOutcome::Fixed, marks)
        };
        let report = FixReport {
            cycle: 1,
            head: "a".repeat(40),
            commit: Some("c".repeat(40)),
            delivery: Some(Delivery::Push),
            outcomes: vec![kept("x"), kept("y")],
            ..FixReport::default()
        };
        let after = edits.content("a.rs").unwrap().unwrap().as_str().to_owned();
        (Memory::new([report]), after)
    }

    fn found(messages: &[&str], now: &str) -> Reverts {
        let file = |path: &str| (path == "a.rs").then(|| now.to_owned());
        Reverts::find(&cycle().0, messages, file)
    }

    #[test]
    fn a_trailer_names_the_reverted_commit() {
        let sha = "c".repeat(40);
        let after = cycle().1;
        let message = format!("Revert \"Fix 2 review findings\"\n\nThis reverts commit {sha}.\n");
        assert_eq!(found(&[&message], &after).commits, [sha]);
        for message in ["This reverts commit cccc", "Reverts it", ""] {
            assert!(found(&[message], &after).is_empty(), "{message}");
        }
    }

    #[test]
    fn a_commit_whose_lines_are_all_undone_is_reverted() {
        let all = found(&[], HEAD);
        assert_eq!(all.commits, ["c".repeat(40)]);
        assert_eq!(all.findings, ["x", "y"]);
    }

    #[test]
    fn a_fix_whose_lines_are_undone_is_reverted_alone() {
        let (_, after) = cycle();
        let now = after.replace("first();\n    checked();", "one();");
        let one = found(&[], &now);
        assert_eq!((one.commits.len(), one.findings), (0, vec!["x".to_owned()]));
    }

    #[test]
    fn what_is_changed_further_is_not_reverted() {
        let (_, after) = cycle();
        for now in [
            after.clone(),
            format!("// A comment.\n{after}"),
            after.replace("first()", "other()"),
            after.replace("    checked();\n", ""),
            after.replace("        ", "  "),
        ] {
            assert!(found(&[], &now).is_empty(), "{now}");
        }
        let gone = Reverts::find(&cycle().0, &[], |_| None);
        assert!(gone.is_empty(), "a deleted file brings nothing back");
    }

    #[test]
    fn a_file_that_was_renamed_takes_back_no_fix_that_only_adds() {
        let added = LineMarks::new("a.rs", "one();\n", "one();\nchecked();\n");
        assert!(added.removed.is_empty());
        let issue = issue("x", "a.rs");
        let report = FixReport {
            cycle: 1,
            head: "a".repeat(40),
            commit: Some("c".repeat(40)),
            delivery: Some(Delivery::Push),
            outcomes: vec![KeptIssue::new(&issue, KeptOutcome::Fixed, vec![added])],
            ..FixReport::default()
        };
        let memory = Memory::new([report]);
        let found = |text: Option<&str>| Reverts::find(&memory, &[], |_| text.map(str::to_owned));
        assert!(found(None).is_empty());
        assert!(found(Some("one();\nchecked();\n")).is_empty());
        assert_eq!(found(Some("one();\n")).findings, ["x"]);
    }

    #[test]
    fn a_revert_is_noticed_once() {
        let (memory, _) = cycle();
        let told = FixReport {
            at: "2026-01-02T00:00:00Z".into(),
            reverted_commits: vec!["c".repeat(40)],
            ..FixReport::default()
        };
        let memory = Memory::new(memory.cycles().iter().cloned().chain([told]));
        let again = Reverts::find(&memory, &[], |_| Some(HEAD.into()));
        assert!(again.is_empty());
        let (memory, after) = cycle();
        let now = after.replace("first();\n    checked();", "one();");
        let told = FixReport {
            reverted_findings: vec!["x".into()],
            ..FixReport::default()
        };
        let memory = Memory::new(memory.cycles().iter().cloned().chain([told]));
        let again = Reverts::find(&memory, &[], |_| Some(now.clone()));
        assert!(again.is_empty(), "of a single finding, too");
    }
}

//! The patch gate: decides if a list of edits may become a commit. Pure, over the facts of the head and the edits, so that
//! the desk asks it for every edit and publishing asks it again. A test renders this table from the code and compares.
//!
//! | refused: a file that | because |
//! | --- | --- |
//! | is no path that a fix may touch | a path has no empty part, and no part that is only dots |
//! | is a file of git or GitHub | it decides what runs, or who decides |
//! | is a file that agents or editors obey | it decides what runs, or who decides |
//! | is a list of code owners | it decides what runs, or who decides |
//! | is the definition of an action | it decides what runs, or who decides |
//! | is a file of continuous integration | it decides what runs, or who decides |
//! | is a file of hooks | it decides what runs, or who decides |
//! | is a file of secrets | secrets are not written by a fix |
//! | is a lock file or a manifest, and the issue is not about it | it decides which code of others is taken in |
//! | defines the project's checks, and the issue is not about it | a fix must not weaken its checks |
//! | is not changed by the pull request, and no issue names it | a fix stays within the change and what the issues are about |
//! | does not hold the quoted line, or the line says too little | a fix stays within the change and what the issues are about |
//! | would be the 4th file outside of the change | quotes open at most 3 files outside of the change |
//! | is an executable | the commit keeps no modes, so only regular files are changed |
//! | is a symbolic link | the commit keeps no modes, so only regular files are changed |
//! | is a submodule | the commit keeps no modes, so only regular files are changed |
//! | is a folder | the commit keeps no modes, so only regular files are changed |
//! | lies below src, which is no folder | the commit keeps no modes, so only regular files are changed |
//! | is shown with its values masked | an edit would write the mask into the file |
//! | is shown under another name than it has | tools would obey it under its own name |
//! | is binary | an edit would damage it |
//! | is a test, 1 of its lines would be removed or changed, and the issue is not about it | a fix must not weaken its checks |
//! | is a test that would be deleted, and the issue is not about it | a fix must not weaken its checks |
//! | would get a suppression or a skipped test (#[allow) | a fix must not weaken its checks |
//! | The fix would change 21 files | a fix changes at most 20 files |
//! | The fix would change 401 lines | a fix changes at most 400 lines |
//! | would hold what looks like a secret (AWS key) | what is committed cannot be taken back |
//! | would get a character that cannot be seen (\u{202e}) | nobody who reads the change would see it |
//!
//! An issue is about a file if it is anchored there. Names are compared after normalising: without case, hidden characters,
//! forms of the same letter, trailing dots and blanks.

mod path_rules;
mod refusal;
mod suppressions;
#[cfg(test)]
mod tests;

pub use path_rules::{BadPath, Protected};
pub use refusal::{MAX_FILES, MAX_LINES, MAX_QUOTED, Refusal};

use super::edits::ChangedFile;
use super::issue::{Issue, IssueId};
use crate::config::Globs;
use crate::review::desk::is_quotable;
use reviewer_text::hidden::visible;
use reviewer_text::redact::Redactor;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The kind of an entry in the head's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The head has no such entry.
    Absent,
    Regular,
    Executable,
    Symlink,
    Submodule,
    Folder,
}

impl FileKind {
    /// As a refusal names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "no file",
            Self::Regular => "a regular file",
            Self::Executable => "an executable",
            Self::Symlink => "a symbolic link",
            Self::Submodule => "a submodule",
            Self::Folder => "a folder",
        }
    }
}

/// The facts about a path in the head.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct FileFacts {
    pub kind: FileKind,
    /// The pull request changes it.
    pub in_diff: bool,
    /// The session sees it with values masked.
    pub masked: bool,
    /// The session sees it under another name.
    pub renamed: bool,
    pub binary: bool,
    /// The first part of the path that exists and is no folder.
    pub below: Option<String>,
}

impl FileFacts {
    /// A path of this kind about which nothing else is to be said.
    #[must_use]
    pub fn new(kind: FileKind, in_diff: bool) -> Self {
        Self {
            kind,
            in_diff,
            masked: false,
            renamed: false,
            binary: false,
            below: None,
        }
    }
}

/// A file of the head, as the caller read it.
#[derive(Debug, Clone)]
pub struct HeadFile<'a> {
    /// `None`: the head has no such file.
    pub bytes: Option<&'a [u8]>,
    pub facts: FileFacts,
}

/// The facts about all edited paths, and the lines that the fixer quoted in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ground {
    pub facts: BTreeMap<String, FileFacts>,
    pub quotes: BTreeMap<String, String>,
}

/// Judges edits.
#[derive(Debug, Clone)]
pub struct Gate {
    issues: Arc<[Issue]>,
    /// Files outside of the change that the base's settings allow.
    allow: Globs,
    redactor: Arc<Redactor>,
}

impl Gate {
    #[must_use]
    pub fn new(issues: Arc<[Issue]>, allow: Globs, redactor: Arc<Redactor>) -> Self {
        Self {
            issues,
            allow,
            redactor,
        }
    }

    /// Judges all changes together.
    pub fn judge(&self, changes: &[ChangedFile], ground: &Ground) -> Result<(), Refusal> {
        let mut quoted = 0;
        for change in changes {
            let facts = ground.facts.get(&change.path);
            let kind = if change.old.is_some() {
                FileKind::Regular
            } else {
                FileKind::Absent
            };
            let facts =
                facts.map_or_else(|| Cow::Owned(FileFacts::new(kind, false)), Cow::Borrowed);
            self.judge_path(change, &facts)?;
            if !self.is_in_scope(&change.path, &facts) {
                quoted += 1;
                judge_quote(change, ground.quotes.get(&change.path))?;
                if quoted > MAX_QUOTED {
                    let path = change.path.clone();
                    return Err(Refusal::TooManyQuoted { path });
                }
            }
            judge_kind(&change.path, &facts)?;
            self.judge_content(change)?;
        }
        judge_size(changes)
    }

    /// Judges the entry that an edit is about, before the edit is made.
    pub(super) fn judge_entry(
        &self,
        issue: &IssueId,
        path: &str,
        head: &HeadFile<'_>,
        ground: &Ground,
    ) -> Result<(), Refusal> {
        let change = ChangedFile {
            path: path.to_owned(),
            old: head.bytes.map(<[u8]>::to_vec),
            new: None,
            issues: [issue.clone()].into(),
        };
        self.judge_path(&change, &head.facts)?;
        if !self.is_in_scope(path, &head.facts) {
            judge_quote(&change, ground.quotes.get(path))?;
        }
        judge_kind(path, &head.facts)
    }

    /// Judges the name of a file alone.
    fn judge_path(&self, change: &ChangedFile, facts: &FileFacts) -> Result<(), Refusal> {
        let path = change.path.clone();
        path_rules::check(&path).map_err(|why| Refusal::Path {
            path: path.clone(),
            why,
        })?;
        if change.old.is_none() {
            // A name is published, too, and a refusal does not repeat it.
            self.judge_secrets(&self.redactor.clean(&path), &path)?;
        }
        let normalized = path_rules::normalized(&path);
        if let Some(kind) = path_rules::protected(&normalized) {
            return Err(Refusal::Protected { path, kind });
        }
        if facts.renamed {
            return Err(Refusal::Renamed { path });
        }
        if path_rules::is_manifest(&normalized, &path) && !self.is_about(change) {
            return Err(Refusal::Manifest { path });
        }
        if path_rules::is_check(&normalized) && !self.is_about(change) {
            return Err(Refusal::Checks { path });
        }
        Ok(())
    }

    fn is_in_scope(&self, path: &str, facts: &FileFacts) -> bool {
        let named = || self.issues.iter().any(|issue| issue.names(path));
        facts.in_diff || self.allow.take(path) || named()
    }

    /// True if every issue that edits the file is about it.
    fn is_about(&self, change: &ChangedFile) -> bool {
        let is_about = |id: &IssueId| {
            let mut issues = self.issues.iter();
            issues.any(|issue| issue.id == *id && issue.is_anchored_in(&change.path))
        };
        !change.issues.is_empty() && change.issues.iter().all(is_about)
    }

    /// Judges what a change does to the lines of a file.
    fn judge_content(&self, change: &ChangedFile) -> Result<(), Refusal> {
        let path = &change.path;
        let diff = change.diff();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let added: Vec<String> = diff.added().map(text).collect();
        let removed: Vec<String> = diff.removed().map(text).collect();
        let normalized = path_rules::normalized(path);
        let is_test = path_rules::is_test(&normalized, path);
        if is_test && !removed.is_empty() && !self.is_about(change) {
            return Err(Refusal::WeakerTest {
                path: path.clone(),
                removed: removed.len(),
            });
        }
        if is_test && change.new.is_none() && !self.is_about(change) {
            return Err(Refusal::DeletedTest { path: path.clone() });
        }
        let side = |bytes: &Option<Vec<u8>>| text(bytes.as_deref().unwrap_or_default());
        let (old, new) = (side(&change.old), side(&change.new));
        if let Some(word) = suppressions::added(&normalized, is_test, &old, &new) {
            let path = path.clone();
            return Err(Refusal::Suppression { path, word });
        }
        self.judge_secrets(path, &added.join("\n"))?;
        if !added.is_empty() {
            self.judge_growth(path, &old, &new)?;
        }
        judge_characters(path, &added, &removed)
    }

    /// Refuses text that holds a secret.
    fn judge_secrets(&self, place: &str, text: &str) -> Result<(), Refusal> {
        let found = self.redactor.clean_counted(text).counts;
        match found.into_keys().next() {
            Some(kind) => Err(Refusal::Secret {
                place: place.to_owned(),
                kind,
            }),
            None => Ok(()),
        }
    }

    /// Refuses a file that holds more secrets than before: one may be made of an added line and one that was there.
    fn judge_growth(&self, place: &str, old: &str, new: &str) -> Result<(), Refusal> {
        let [before, after] = [old, new].map(|text| self.redactor.clean_counted(text).counts);
        let known = |kind| before.get(kind).copied().unwrap_or(0);
        match after.iter().find(|(kind, count)| **count > known(kind)) {
            Some((kind, _)) => Err(Refusal::Secret {
                place: place.to_owned(),
                kind: *kind,
            }),
            None => Ok(()),
        }
    }

    /// Judges words that are published beside the change: the message of the commit, the name of a branch.
    pub fn judge_words(&self, place: &str, words: &str) -> Result<(), Refusal> {
        self.judge_secrets(place, words)?;
        let lines: Vec<String> = words.lines().map(str::to_owned).collect();
        judge_characters(place, &lines, &[])
    }
}

fn judge_quote(change: &ChangedFile, quote: Option<&String>) -> Result<(), Refusal> {
    let path = change.path.clone();
    let Some(quote) = quote else {
        return Err(Refusal::OutOfScope { path });
    };
    let old = String::from_utf8_lossy(change.old.as_deref().unwrap_or_default());
    let quote = quote.trim();
    let stands = !quote.contains('\n') && old.lines().any(|line| line.trim() == quote);
    if stands && is_quotable(&path, quote) {
        Ok(())
    } else {
        Err(Refusal::BadQuote { path })
    }
}

fn judge_kind(path: &str, facts: &FileFacts) -> Result<(), Refusal> {
    let path = path.to_owned();
    if let Some(part) = facts.below.clone() {
        return Err(Refusal::NoFolder { path, part });
    }
    match facts.kind {
        FileKind::Absent | FileKind::Regular => {}
        kind => return Err(Refusal::Kind { path, kind }),
    }
    if facts.masked {
        return Err(Refusal::Masked { path });
    }
    if facts.binary {
        return Err(Refusal::Binary { path });
    }
    Ok(())
}

fn judge_size(changes: &[ChangedFile]) -> Result<(), Refusal> {
    if changes.len() > MAX_FILES {
        return Err(Refusal::TooManyFiles(changes.len()));
    }
    let lines = changes.iter().map(ChangedFile::changed_lines).sum();
    if lines > MAX_LINES {
        return Err(Refusal::TooManyLines(lines));
    }
    Ok(())
}

/// Refuses characters that cannot be seen, unless the change only moves them.
fn judge_characters(place: &str, added: &[String], removed: &[String]) -> Result<(), Refusal> {
    let mut known: HashMap<char, usize> = HashMap::new();
    for character in removed.iter().flat_map(|line| unseen(line)) {
        *known.entry(character).or_default() += 1;
    }
    for character in added.iter().flat_map(|line| unseen(line)) {
        match known.get_mut(&character).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => {
                return Err(Refusal::HiddenCharacter {
                    place: place.to_owned(),
                    character,
                });
            }
        }
    }
    Ok(())
}

/// The characters of a line that a reader does not see.
fn unseen(line: &str) -> Vec<char> {
    if matches!(visible(line), Cow::Borrowed(_)) {
        return Vec::new();
    }
    // A selector of an emoji is shown, one in a row of them is not.
    let mut before = String::new();
    let mut unseen = Vec::new();
    for c in line.chars() {
        let pair = format!("{before}{c}");
        if !visible(&pair).ends_with(c) {
            unseen.push(c);
        }
        before = c.to_string();
    }
    unseen
}

//! The edits of a fix session, by issue, over the files of the head. The content of a file is always the replay of its
//! edits, so an issue can be undone at any time.

use super::file_text::{FileText, NotReplaced, NotText};
use super::issue::IssueId;
use super::patch::{self, LineDiff};
use std::collections::{BTreeMap, BTreeSet};

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Replace { old: String, new: String },
    Create { content: String },
    Delete,
}

/// A change that an issue made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub issue: IssueId,
    pub file: String,
    pub change: Change,
}

/// The reason why an edit was not made. The sentences are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotEdited {
    #[error("there is no such file; use fix_create for a new one")]
    NoFile,
    #[error("the file exists; change it with fix_edit")]
    Exists,
    #[error("{0}")]
    NotText(#[from] NotText),
    #[error("{0}")]
    NotReplaced(#[from] NotReplaced),
}

/// The new content of a file, for the copy that the session reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEffect {
    pub path: String,
    /// `None`: the file is deleted.
    pub content: Option<Vec<u8>>,
}

/// A file that the edits change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The head's bytes; `None`: the file is new.
    pub old: Option<Vec<u8>>,
    /// `None`: the file is deleted.
    pub new: Option<Vec<u8>>,
    /// The issues that edited it.
    pub issues: BTreeSet<IssueId>,
}

impl ChangedFile {
    #[must_use]
    pub fn diff(&self) -> LineDiff<'_> {
        let [old, new] = [&self.old, &self.new].map(|side| side.as_deref().unwrap_or_default());
        LineDiff::new(old, new)
    }

    /// The number of added and removed lines.
    #[must_use]
    pub fn changed_lines(&self) -> usize {
        let diff = self.diff();
        diff.added().count() + diff.removed().count()
    }
}

/// All edits of a session, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditList {
    /// The head's files that were edited; `None`: the head has no such file.
    heads: BTreeMap<String, Option<FileText>>,
    /// The same files after all edits.
    files: BTreeMap<String, Option<FileText>>,
    edits: Vec<Edit>,
}

impl EditList {
    /// Makes an edit. `head`: the file's bytes in the head, looked at when it is edited for the first time.
    pub fn apply(&mut self, edit: Edit, head: Option<&[u8]>) -> Result<(), NotEdited> {
        let known = self.files.get(&edit.file);
        let current = match known {
            Some(current) => current.clone(),
            None => head.map(FileText::parse).transpose()?,
        };
        let is_new = known.is_none();
        let changed = changed(current.as_ref(), &edit.change)?;
        if is_new {
            self.heads.insert(edit.file.clone(), current);
        }
        self.files.insert(edit.file.clone(), changed);
        self.edits.push(edit);
        Ok(())
    }

    /// Takes back all edits of an issue, and keeps those of others. Fails with an issue whose edits build on them.
    pub fn undo(&mut self, issue: &IssueId) -> Result<Vec<FileEffect>, IssueId> {
        let without = self.without(&BTreeSet::from([issue]))?;
        Ok(self.become_other(without))
    }

    /// Takes back all edits of an issue, and of every issue whose edits build on them. Returns these other issues.
    pub fn undo_with_dependents(&mut self, issue: &IssueId) -> (Vec<FileEffect>, Vec<IssueId>) {
        let mut dependents: Vec<IssueId> = Vec::new();
        loop {
            let gone = dependents.iter().chain([issue]).collect();
            match self.without(&gone) {
                Ok(without) => return (self.become_other(without), dependents),
                Err(dependent) => dependents.push(dependent),
            }
        }
    }

    fn become_other(&mut self, other: Self) -> Vec<FileEffect> {
        let effects = self.effects_of(&other);
        *self = other;
        effects
    }

    /// The files to write where another list takes the place of this one.
    fn effects_of(&self, other: &Self) -> Vec<FileEffect> {
        let files = self.files.iter();
        let effects = files.filter_map(|(path, before)| {
            let after = other.content(path).unwrap_or_else(|| self.head(path));
            (before.as_ref() != after).then(|| FileEffect {
                path: path.clone(),
                content: after.map(FileText::to_bytes),
            })
        });
        effects.collect()
    }

    /// True if the files would be others without the edits of an issue.
    #[must_use]
    pub fn has_changed(&self, issue: &IssueId) -> bool {
        let without = self.without(&BTreeSet::from([issue]));
        // An issue that others build on has changed something.
        without.map_or(true, |without| !self.effects_of(&without).is_empty())
    }

    /// The replay of the edits of all other issues, from the head.
    fn without(&self, gone: &BTreeSet<&IssueId>) -> Result<Self, IssueId> {
        let mut list = Self::default();
        for edit in self.edits.iter().filter(|edit| !gone.contains(&edit.issue)) {
            if !list.files.contains_key(&edit.file) {
                let head = self.heads.get(&edit.file).cloned().flatten();
                list.heads.insert(edit.file.clone(), head.clone());
                list.files.insert(edit.file.clone(), head);
            }
            let applied = list.apply(edit.clone(), None);
            applied.map_err(|_| edit.issue.clone())?;
        }
        Ok(list)
    }

    /// True if the files would be other ones without the edits of an issue. Edits that take each other back change nothing,
    /// whatever others did to the same files.
    #[must_use]
    pub fn matters(&self, issue: &IssueId) -> bool {
        let Ok(other) = self.without(&BTreeSet::from([issue])) else {
            // Others build on them.
            return true;
        };
        let content = |list: &Self, path: &str| list.content(path).map(Option::<&FileText>::cloned);
        let mut files = self.files_of(issue).into_iter();
        files.any(|path| {
            let without = content(&other, path).unwrap_or_else(|| self.head(path).cloned());
            content(self, path).is_some_and(|with| with != without)
        })
    }

    fn head(&self, path: &str) -> Option<&FileText> {
        self.heads.get(path).and_then(Option::as_ref)
    }

    /// The content of a file after all edits, if it was edited; `Some(None)`: it is deleted.
    #[must_use]
    pub fn content(&self, path: &str) -> Option<Option<&FileText>> {
        self.files.get(path).map(Option::as_ref)
    }

    /// The last state of a file, for the copy that the session reads.
    #[must_use]
    pub fn effect(&self, path: &str) -> Option<FileEffect> {
        let content = self.content(path)?;
        Some(FileEffect {
            path: path.to_owned(),
            content: content.map(FileText::to_bytes),
        })
    }

    #[must_use]
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The files that an issue edited.
    #[must_use]
    pub fn files_of(&self, issue: &IssueId) -> BTreeSet<&str> {
        let edits = self.edits.iter().filter(|edit| edit.issue == *issue);
        edits.map(|edit| edit.file.as_str()).collect()
    }

    /// The files that differ from the head, by path.
    #[must_use]
    pub fn changed_files(&self) -> Vec<ChangedFile> {
        let files = self.files.iter();
        let changed = files.filter(|(path, new)| self.head(path) != new.as_ref());
        changed
            .map(|(path, new)| ChangedFile {
                path: path.clone(),
                old: self.head(path).map(FileText::to_bytes),
                new: new.as_ref().map(FileText::to_bytes),
                issues: self
                    .edits
                    .iter()
                    .filter(|edit| edit.file == *path)
                    .map(|edit| edit.issue.clone())
                    .collect(),
            })
            .collect()
    }

    /// The whole change as a patch that `git apply` takes.
    #[must_use]
    pub fn patch(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for file in self.changed_files() {
            patch::write(
                &mut out,
                &file.path,
                file.old.as_deref(),
                file.new.as_deref(),
            );
        }
        out
    }

    /// The states of a file around each edit of an issue: path, before, after.
    pub(super) fn steps_of(&self, issue: &IssueId) -> Vec<(String, String, String)> {
        let mut replay = Self::default();
        let mut steps = Vec::new();
        for edit in &self.edits {
            let text = |list: &Self| {
                let known = list.content(&edit.file);
                let text = known.unwrap_or_else(|| self.head(&edit.file));
                text.map_or("", FileText::as_str).to_owned()
            };
            let before = text(&replay);
            let head = self.head(&edit.file).map(FileText::to_bytes);
            // Every edit was made once, so it is made again.
            let _same = replay.apply(edit.clone(), head.as_deref());
            if edit.issue == *issue {
                steps.push((edit.file.clone(), before, text(&replay)));
            }
        }
        steps
    }
}

/// A file after a change.
fn changed(current: Option<&FileText>, change: &Change) -> Result<Option<FileText>, NotEdited> {
    match (change, current) {
        (Change::Create { .. }, Some(_)) => Err(NotEdited::Exists),
        (Change::Create { content }, None) => Ok(Some(FileText::parse(content.as_bytes())?)),
        (_, None) => Err(NotEdited::NoFile),
        (Change::Delete, Some(_)) => Ok(None),
        (Change::Replace { old, new }, Some(text)) => Ok(Some(text.replace(old, new)?)),
    }
}

#[cfg(test)]
mod tests;

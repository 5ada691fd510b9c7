//! The fix desk: what the tools of a fix session call. Each call is checked and decided here, answered with what to do next,
//! and leaves effects for the caller to write into the copy of the snapshot. Nothing here reads or writes a file.

use super::edits::{Change, Edit, EditList, FileEffect};
use super::gate::{Gate, Ground, HeadFile, MAX_LINES, Refusal};
use super::issue::{Issue, IssueId};
use super::outcome::{Outcome, Settled, settle};
use reviewer_text::count::plural;
use reviewer_text::hidden::visible;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The number of refusals by the gate that are told for one issue; the next one closes it.
const MOST_REFUSALS: u32 = 2;
/// More than this in one session is a runaway model, not a fix.
const MAX_EDITS: usize = 300;
/// The longest text of one edit.
const MAX_TEXT: usize = 64 * 1024;
const MAX_WORDS: usize = 2_000;

type Answer = Result<String, String>;

/// An edit as the model asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRequest {
    pub issue: String,
    /// The path in the repository; the caller knows the names of the snapshot.
    pub file: String,
    pub change: Change,
    /// A line of the file that the issue depends on, where the file is outside of the change.
    pub depends_on: Option<String>,
}

/// The model's word about an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    Fixed { description: String },
    Rejected { reason: String },
}

/// The result of a session, checked once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub settled: Vec<Settled>,
    pub edits: EditList,
    /// The facts that the gate judged by; publishing judges again.
    pub ground: Ground,
}

/// The state of a fix session.
#[derive(Debug, Clone)]
pub struct FixDesk {
    issues: Arc<[Issue]>,
    gate: Gate,
    ground: Ground,
    edits: EditList,
    said: BTreeMap<IssueId, Outcome>,
    refusals: BTreeMap<IssueId, u32>,
    /// Issues that were closed here, for good.
    closed: BTreeSet<IssueId>,
    effects: Vec<FileEffect>,
    /// The number of edits that were asked for.
    asked: usize,
}

impl FixDesk {
    #[must_use]
    pub fn new(issues: Arc<[Issue]>, gate: Gate) -> Self {
        Self {
            issues,
            gate,
            ground: Ground::default(),
            edits: EditList::default(),
            said: BTreeMap::new(),
            refusals: BTreeMap::new(),
            closed: BTreeSet::new(),
            effects: Vec::new(),
            asked: 0,
        }
    }

    #[must_use]
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    #[must_use]
    pub fn edits(&self) -> &EditList {
        &self.edits
    }

    /// The files to write or delete since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<FileEffect> {
        std::mem::take(&mut self.effects)
    }

    /// The issues to fix that have no outcome yet.
    pub fn open(&self) -> impl Iterator<Item = &Issue> {
        let is_open = |issue: &&Issue| !issue.optional && !self.said.contains_key(&issue.id);
        self.issues.iter().filter(is_open)
    }

    /// Edits, creates or deletes a file for an issue.
    pub fn edit(&mut self, request: EditRequest, head: &HeadFile<'_>) -> Answer {
        let issue = self.find(&request.issue)?;
        if self.closed.contains(&issue) {
            return Err(self.closed_answer(&issue));
        }
        self.asked += 1;
        if self.asked > MAX_EDITS {
            return Err(format!(
                "This session has asked for {MAX_EDITS} edits, which is its limit. Submit a result for each issue."
            ));
        }
        check_size(&request.change)?;
        let file = request.file;
        let mut ground = self.ground.clone();
        ground
            .facts
            .entry(file.clone())
            .or_insert_with(|| head.facts.clone());
        if let Some(quote) = request.depends_on {
            ground.quotes.insert(file.clone(), quote);
        }
        let mut edits = self.edits.clone();
        let edit = Edit {
            issue: issue.clone(),
            file: file.clone(),
            change: request.change,
        };
        let applied = edits.apply(edit, head.bytes);
        // A path that is refused is refused whatever its content is.
        let judged = match &applied {
            Ok(()) => self.gate.judge(&edits.changed_files(), &ground),
            Err(_) => self.gate.judge_entry(&issue, &file, head, &ground),
        };
        if let Err(refusal) = judged {
            return Err(self.refuse(&issue, &refusal));
        }
        applied.map_err(|why| format!("{} was not changed: {why}.", visible(&file)))?;
        (self.edits, self.ground) = (edits, ground);
        self.effects.extend(self.edits.effect(&file));
        // An issue that is worked on again is open again.
        self.said.remove(&issue);
        Ok(self.edited_answer(&issue, &file))
    }

    /// Takes back all edits of an issue.
    pub fn undo(&mut self, issue: &str) -> Answer {
        let issue = self.find(issue)?;
        if self.edits.files_of(&issue).is_empty() {
            return Err(format!("There are no edits for {issue}; nothing to undo."));
        }
        self.take_back(&issue)?;
        self.said.remove(&issue);
        Ok(format!(
            "All edits for {issue} are undone. Fix it another way, or reject it with a reason."
        ))
    }

    /// Undoes the edits for an issue that could not be written, with those that build on them.
    pub fn undo_unwritten(&mut self, issue: &str) {
        if let Ok(issue) = self.find(issue) {
            self.drop_edits(&issue);
            self.said.remove(&issue);
        }
    }

    /// Takes the model's word about an issue.
    pub fn submit(&mut self, issue: &str, word: Word) -> Answer {
        let issue = self.find(issue)?;
        if self.closed.contains(&issue) {
            return Err(self.closed_answer(&issue));
        }
        let outcome = match word {
            Word::Fixed { description } => {
                let description = checked("description", &description)?;
                if !self.edits.has_changed(&issue) {
                    return Err(format!(
                        "No file is changed for {issue}, so it is not fixed. Edit first, or reject it with a reason."
                    ));
                }
                Outcome::Fixed { description }
            }
            Word::Rejected { reason } => {
                let reason = checked("reason", &reason)?;
                self.take_back(&issue)?;
                Outcome::Rejected { reason }
            }
        };
        let word = if outcome.is_fixed() {
            "fixed"
        } else {
            "rejected"
        };
        self.said.insert(issue.clone(), outcome);
        Ok(format!("Recorded {issue} as {word}. {}", self.next_step()))
    }

    /// Ends the session. What has no outcome is undone, and so is what the gate refuses now.
    #[must_use]
    pub fn finish(mut self) -> Fixed {
        let silent: Vec<IssueId> = self.issues.iter().map(|issue| issue.id.clone()).collect();
        for issue in silent {
            if !self.said.get(&issue).is_some_and(Outcome::is_fixed) {
                self.drop_edits(&issue);
            }
        }
        while let Err(refusal) = self.gate.judge(&self.edits.changed_files(), &self.ground) {
            // Nothing that is refused is left, whoever it is of.
            let anybody = || self.edits.edits().last().map(|edit| edit.issue.clone());
            let Some(issue) = self.blamed(&refusal).or_else(anybody) else {
                break;
            };
            self.close(&issue, &refusal.to_string());
        }
        let unchanged: Vec<IssueId> = self.said.keys().cloned().collect();
        for issue in unchanged {
            if self.said[&issue].is_fixed() && !self.edits.has_changed(&issue) {
                self.close(&issue, "its edits changed nothing in the end");
            }
        }
        Fixed {
            settled: settle(&self.issues, &self.said),
            edits: self.edits,
            ground: self.ground,
        }
    }

    fn find(&self, name: &str) -> Result<IssueId, String> {
        let wanted = name.trim();
        let found = self
            .issues
            .iter()
            .find(|issue| issue.id.to_string() == wanted);
        found.map(|issue| issue.id.clone()).ok_or_else(|| {
            let names: Vec<String> = self
                .issues
                .iter()
                .map(|issue| issue.id.to_string())
                .collect();
            format!(
                "There is no issue {wanted:?}. Nothing was changed; the issues are {}.",
                names.join(", ")
            )
        })
    }

    fn take_back(&mut self, issue: &IssueId) -> Result<(), String> {
        let undone = self.edits.undo(issue);
        let effects = undone.map_err(|other| {
            format!(
                "The edits for {issue} cannot be undone alone: those for {other} build on them. Undo {other} first, then \
                 {issue}."
            )
        })?;
        self.effects.extend(effects);
        Ok(())
    }

    /// Takes back the edits of an issue and of those that build on it, whose outcomes are gone with them.
    fn drop_edits(&mut self, issue: &IssueId) {
        let (effects, dependents) = self.edits.undo_with_dependents(issue);
        self.effects.extend(effects);
        for dependent in dependents {
            let reason = format!("its edits build on those for {issue}, which were undone");
            self.said.insert(dependent, Outcome::Undone { reason });
        }
    }

    fn close(&mut self, issue: &IssueId, reason: &str) {
        self.drop_edits(issue);
        let reason = reason.to_owned();
        self.said
            .insert(issue.clone(), Outcome::Rejected { reason });
        self.closed.insert(issue.clone());
    }

    /// The issue whose edits are taken back for a refusal: the last one that edited the file, else the last one that edited.
    fn blamed(&self, refusal: &Refusal) -> Option<IssueId> {
        let edits = self.edits.edits();
        let is_about = |edit: &&Edit| refusal.path() == Some(edit.file.as_str());
        let about = edits.iter().rev().find(is_about);
        about.or(edits.last()).map(|edit| edit.issue.clone())
    }

    fn refuse(&mut self, issue: &IssueId, refusal: &Refusal) -> String {
        let told = self.refusals.entry(issue.clone()).or_default();
        *told += 1;
        let left = MOST_REFUSALS.saturating_sub(*told);
        if *told > MOST_REFUSALS {
            self.close(issue, &refusal.to_string());
            return format!("{refusal} {}", self.closed_answer(issue));
        }
        let then = match left {
            0 => "the next refusal closes the issue as rejected".to_owned(),
            left => format!(
                "after {} the issue is closed as rejected",
                plural(left as usize + 1, "more refusal")
            ),
        };
        format!("{refusal} Nothing was changed; {then}.")
    }

    fn closed_answer(&self, issue: &IssueId) -> String {
        format!(
            "{issue} is closed as rejected, and its edits are undone. {}",
            self.next_step()
        )
    }

    fn edited_answer(&self, issue: &IssueId, file: &str) -> String {
        let changed = self.edits.changed_files();
        let lines: usize = changed.iter().map(super::ChangedFile::changed_lines).sum();
        let file = visible(file);
        format!(
            "{file} is changed; the fix has {} in {} so far (at most {MAX_LINES} lines). Read the file again before the next \
             edit of it; call submit_fix_result when {issue} is done.",
            plural(lines, "changed line"),
            plural(changed.len(), "file"),
        )
    }

    fn next_step(&self) -> String {
        let open: Vec<String> = self.open().map(|issue| issue.id.to_string()).collect();
        match open.as_slice() {
            [] => "Every issue to fix has an outcome; end your turn.".into(),
            open => format!("Still open: {}.", open.join(", ")),
        }
    }
}

fn checked(name: &str, text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_WORDS {
        return Err(format!("{name} must have 1 to {MAX_WORDS} characters."));
    }
    Ok(text.to_owned())
}

/// Refuses texts that no fix needs in one edit. The number of lines bounds the work of comparing, too.
fn check_size(change: &Change) -> Result<(), String> {
    let texts: &[(&str, &str)] = match change {
        Change::Replace { old, new } => &[("old", old), ("new", new)],
        Change::Create { content } => &[("content", content)],
        Change::Delete => &[],
    };
    for (name, text) in texts {
        let lines = text.split('\n').count();
        if text.len() > MAX_TEXT || lines > MAX_LINES + 1 {
            return Err(format!(
                "{name} has {lines} lines and {} bytes; an edit takes at most {MAX_LINES} lines and {MAX_TEXT} bytes. Edit \
                 only the lines that change.",
                text.len()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

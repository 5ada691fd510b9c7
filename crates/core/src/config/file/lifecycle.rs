//! Reads the section `lifecycle` of the settings file. Separate, because a mistake in it stops the service for the repository:
//! approvals and merges by settings that nobody meant are worse than none.

use super::{RepositoryFile, unknown};
use crate::config::file::node::Node;
use crate::config::lifecycle::{FIX_CYCLES, MOST_REVIEWERS, Reviewer, ReviewerKind, Settings};
use crate::config::values::shown;
use serde_yaml::Spanned;

pub(super) const KEYS: &[&str] = &[
    "enabled",
    "reviewers",
    "auto_merge",
    "require_human_approval",
    "max_fix_cycles",
];
pub(super) const OF_REVIEWER: &[&str] = &["name", "type", "can_escalate"];
const OF_ESCALATED: &[&str] = &["name", "type"];
/// The name of an agent or the login of a person.
pub(super) const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$";

/// A mistake: its line and its sentence.
type Wrong = (u64, String);

impl RepositoryFile {
    pub(super) fn lifecycle(&mut self, value: Spanned<Node>) {
        let line = value.referenced.line();
        let (mut settings, mut wrong) = (Settings::default(), Vec::new());
        match value.value {
            Node::Nothing => {}
            Node::Map(entries) => {
                for (key, value) in entries {
                    let read = entry(&mut settings, &key, &value);
                    wrong.extend(read.err());
                }
            }
            Node::Text(_) | Node::List(_) => {
                wrong.push((line, format!("lifecycle takes {}.", KEYS.join(", "))));
            }
        }
        settings.error = wrong
            .first()
            .map(|(line, sentence)| format!("{} in line {line}: {sentence}", super::PATH));
        self.lifecycle = settings;
        for (line, sentence) in wrong {
            self.problem(line, sentence);
        }
    }

    /// The settings for the service. A file that cannot be read is a mistake in them, too.
    #[must_use]
    pub fn lifecycle_settings(&self) -> Settings {
        let mut settings = self.lifecycle.clone();
        if self.unreadable && settings.error.is_none() {
            let problem = self.problems.first();
            settings.error = problem
                .map(|one| format!("{} in line {}: {}", super::PATH, one.line, one.sentence));
        }
        settings
    }
}

fn entry(
    settings: &mut Settings,
    key: &Spanned<String>,
    value: &Spanned<Node>,
) -> Result<(), Wrong> {
    let name = key.value.as_str();
    match name {
        "enabled" => settings.enabled = flag(name, value)?,
        "auto_merge" => settings.auto_merge = flag(name, value)?,
        "require_human_approval" => settings.require_human_approval = flag(name, value)?,
        "max_fix_cycles" => settings.max_fix_cycles = cycles(value)?,
        "reviewers" => settings.reviewers = reviewers(value)?,
        _ => {
            let sentence = unknown(name, KEYS.iter().copied());
            return Err((key.referenced.line(), sentence));
        }
    }
    Ok(())
}

fn flag(name: &str, value: &Spanned<Node>) -> Result<bool, Wrong> {
    match &value.value {
        Node::Text(text) if text == "true" => Ok(true),
        Node::Text(text) if text == "false" => Ok(false),
        _ => Err((
            value.referenced.line(),
            format!("{name} takes true or false."),
        )),
    }
}

fn cycles(value: &Spanned<Node>) -> Result<u32, Wrong> {
    let number = match &value.value {
        Node::Text(text) => text.parse().ok(),
        _ => None,
    };
    let (least, most) = FIX_CYCLES.into_inner();
    number.filter(|number| FIX_CYCLES.contains(number)).ok_or((
        value.referenced.line(),
        format!("max_fix_cycles takes a whole number from {least} to {most}."),
    ))
}

fn reviewers(value: &Spanned<Node>) -> Result<Vec<Reviewer>, Wrong> {
    let line = value.referenced.line();
    let items = match &value.value {
        Node::List(items) if (1..=MOST_REVIEWERS).contains(&items.len()) => items,
        _ => {
            let sentence = format!(
                "reviewers takes a list of 1 to {MOST_REVIEWERS} entries, each a name or name, type and can_escalate."
            );
            return Err((line, sentence));
        }
    };
    let mut read: Vec<Reviewer> = Vec::new();
    for item in items {
        let reviewer = reviewer(item)?;
        if read
            .iter()
            .any(|one| one.name.eq_ignore_ascii_case(&reviewer.name))
        {
            let sentence = format!("The reviewer {} stands there twice.", reviewer.name);
            return Err((item.referenced.line(), sentence));
        }
        read.push(reviewer);
    }
    Ok(read)
}

/// A name alone is an agent's.
fn reviewer(item: &Spanned<Node>) -> Result<Reviewer, Wrong> {
    let line = item.referenced.line();
    let mut reviewer = Reviewer {
        name: String::new(),
        kind: ReviewerKind::Agent,
        can_escalate: Vec::new(),
        people: Vec::new(),
    };
    match &item.value {
        Node::Text(_) => reviewer.name = name(item)?,
        Node::Map(entries) => {
            for (key, value) in entries {
                match key.value.as_str() {
                    "name" => reviewer.name = name(value)?,
                    "type" => reviewer.kind = kind(value)?,
                    "can_escalate" => can_escalate(&mut reviewer, value)?,
                    other => {
                        let sentence = unknown(other, OF_REVIEWER.iter().copied());
                        return Err((key.referenced.line(), sentence));
                    }
                }
            }
        }
        Node::Nothing | Node::List(_) => {}
    }
    if reviewer.name.is_empty() {
        return Err((line, "A reviewer needs a name.".into()));
    }
    Ok(reviewer)
}

fn kind(value: &Spanned<Node>) -> Result<ReviewerKind, Wrong> {
    match &value.value {
        Node::Text(text) if text == "agent" => Ok(ReviewerKind::Agent),
        Node::Text(text) if text == "human" => Ok(ReviewerKind::Human),
        _ => Err((value.referenced.line(), "type takes agent or human.".into())),
    }
}

/// The names that a reviewer may add: a name alone is an agent's, or that of a person among the reviewers.
fn can_escalate(reviewer: &mut Reviewer, value: &Spanned<Node>) -> Result<(), Wrong> {
    let items = match &value.value {
        Node::List(items) if items.len() <= MOST_REVIEWERS => items.as_slice(),
        Node::Text(_) => std::slice::from_ref(value),
        _ => {
            let sentence = format!("can_escalate takes a list of at most {MOST_REVIEWERS} names.");
            return Err((value.referenced.line(), sentence));
        }
    };
    for item in items {
        let (name, kind) = escalated(item)?;
        if kind == ReviewerKind::Human {
            reviewer.people.push(name.clone());
        }
        reviewer.can_escalate.push(name);
    }
    Ok(())
}

fn escalated(item: &Spanned<Node>) -> Result<(String, ReviewerKind), Wrong> {
    let Node::Map(entries) = &item.value else {
        return Ok((name(item)?, ReviewerKind::Agent));
    };
    let (mut named, mut is) = (None, ReviewerKind::Agent);
    for (key, value) in entries {
        match key.value.as_str() {
            "name" => named = Some(name(value)?),
            "type" => is = kind(value)?,
            other => {
                let sentence = unknown(other, OF_ESCALATED.iter().copied());
                return Err((key.referenced.line(), sentence));
            }
        }
    }
    let lacking = || {
        let sentence = "An entry of can_escalate needs a name.".to_owned();
        (item.referenced.line(), sentence)
    };
    Ok((named.ok_or_else(lacking)?, is))
}

/// The name of an agent or the login of a person.
fn name(value: &Spanned<Node>) -> Result<String, Wrong> {
    let Node::Text(text) = &value.value else {
        return Err((value.referenced.line(), "A name is a text.".into()));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts && text.len() <= 100 && text.chars().all(is_plain) {
        return Ok(text.clone());
    }
    let sentence = format!(
        "\"{}\" is no name of an agent or a person; expected letters, digits, - and _.",
        shown(text)
    );
    Err((value.referenced.line(), sentence))
}

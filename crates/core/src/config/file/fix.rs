//! Reads the section `fix` of the settings file. Separate, because commands and paths are judged by rules of their own: a
//! wrong one is not left out in silence, since a fix would then seem to have passed more than it did.

use super::{RepositoryFile, unknown};
use crate::config::file::node::Node;
use crate::config::fix::MINUTES;
use serde_yaml::Spanned;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const KEYS: &[&str] = &[
    "verify",
    "allow",
    "verify_read",
    "verify_exec",
    "timeout_minutes",
];
pub(super) const MOST_COMMANDS: usize = 20;
pub(super) const MOST_ARGUMENTS: usize = 100;
pub(super) const LONGEST_ARGUMENT: usize = 4_096;
pub(super) const MOST_PATHS: usize = 50;
/// An absolute path that names one place: no `.`, no `..`, no empty component, not the root alone.
pub(super) const ABSOLUTE: &str = r"^(/(\.{0,2}[^./\x00][^/\x00]*|\.{3,}))+$";

impl RepositoryFile {
    pub(super) fn fix(&mut self, value: Spanned<Node>) {
        let Node::Map(entries) = value.value else {
            let sentence = format!("fix takes {}.", KEYS.join(", "));
            return self.problem(value.referenced.line(), sentence);
        };
        for (key, value) in entries {
            match key.value.as_str() {
                "verify" => self.fix.verify = self.commands(&value),
                "allow" => {
                    if let Some(patterns) = self.texts("allow", &value) {
                        let line = value.referenced.line();
                        self.fix.allow = self.globs("allow", patterns, line);
                    }
                }
                "verify_read" => self.fix.verify_read = self.paths("verify_read", &value),
                "verify_exec" => self.fix.verify_exec = self.paths("verify_exec", &value),
                "timeout_minutes" => self.minutes(&value),
                name => {
                    let sentence = unknown(name, KEYS.iter().copied());
                    self.problem(key.referenced.line(), sentence);
                }
            }
        }
    }

    /// All commands, or none: the others alone would verify less than the file asks for.
    fn commands(&mut self, value: &Spanned<Node>) -> Vec<Vec<String>> {
        let items = match &value.value {
            Node::List(items) if items.len() <= MOST_COMMANDS => items,
            Node::Nothing => return Vec::new(),
            _ => {
                let sentence = format!(
                    "verify takes a list of at most {MOST_COMMANDS} commands, each a list of texts, for example [[make, test]]."
                );
                self.problem(value.referenced.line(), sentence);
                return Vec::new();
            }
        };
        let read: Vec<Option<Vec<String>>> = items.iter().map(command).collect();
        for (item, command) in items.iter().zip(&read) {
            if command.is_none() {
                let sentence = format!(
                    "A command of verify is a list of texts: the program and its arguments, at most {MOST_ARGUMENTS} of at most \
                     {LONGEST_ARGUMENT} characters each, for example [make, test]. There is no shell. Until it is \
                     corrected, no fix is verified."
                );
                self.problem(item.referenced.line(), sentence);
            }
        }
        read.into_iter().collect::<Option<_>>().unwrap_or_default()
    }

    fn paths(&mut self, name: &str, value: &Spanned<Node>) -> Vec<PathBuf> {
        let line = value.referenced.line();
        let mut texts = self.texts(name, value).unwrap_or_default();
        if texts.len() > MOST_PATHS {
            self.problem(line, format!("{name} takes at most {MOST_PATHS} paths."));
        }
        texts.truncate(MOST_PATHS);
        let (right, wrong): (Vec<String>, Vec<String>) =
            texts.into_iter().partition(|path| is_absolute(path));
        for path in wrong {
            let shown = crate::config::values::shown(&path);
            let sentence = format!(
                "{name} has \"{shown}\"; expected absolute paths without . and .., for example /opt/toolchain."
            );
            self.problem(line, sentence);
        }
        right.into_iter().map(PathBuf::from).collect()
    }

    fn minutes(&mut self, value: &Spanned<Node>) {
        let minutes = match &value.value {
            Node::Nothing => return,
            Node::Text(text) => text.parse().ok(),
            Node::List(_) | Node::Map(_) => None,
        };
        if let Some(minutes) = minutes.filter(|minutes| MINUTES.contains(minutes)) {
            self.fix.timeout = Duration::from_secs(minutes * 60);
            return;
        }
        let (least, most) = MINUTES.into_inner();
        let sentence = format!("timeout_minutes takes a whole number from {least} to {most}.");
        self.problem(value.referenced.line(), sentence);
    }
}

/// The program and its arguments; `None` where it is no such list.
fn command(item: &Spanned<Node>) -> Option<Vec<String>> {
    let Node::List(parts) = &item.value else {
        return None;
    };
    let text = |part: &Spanned<Node>| match &part.value {
        Node::Text(text) if text.chars().count() <= LONGEST_ARGUMENT && !text.contains('\0') => {
            Some(text.clone())
        }
        _ => None,
    };
    let command: Vec<String> = parts.iter().map(text).collect::<Option<_>>()?;
    let named = command.first().is_some_and(|program| !program.is_empty());
    (named && command.len() <= MOST_ARGUMENTS).then_some(command)
}

fn is_absolute(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let mut components = rest.split('/');
    components.all(|one| !matches!(one, "" | "." | "..")) && !path.contains('\0')
}

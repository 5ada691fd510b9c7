//! Reads service.yml into values by their dotted names, and collects every mistake.

use super::SecretSource;
use super::table::keys_of;
use crate::config::file::node::Node;
use crate::config::file::unknown;
use crate::config::values::{InvalidValue, shown};
use serde_yaml::Spanned;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Sections with keys of their own.
const SECTIONS: [&str; 3] = ["github", "github.app", "limits"];

/// A value as the file has it.
pub(super) type Given = Spanned<Node>;

/// The values of a file that are not read yet, and the mistakes so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    given: BTreeMap<String, Given>,
    /// With the line, where the mistake has one.
    problems: Vec<(Option<u64>, String)>,
}

impl Reader {
    /// `Err`: the file is no YAML, in one sentence.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let root = serde_yaml::from_str::<Given>(text).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line());
            let error = error.without_snippet();
            format!("Line {line}: The file is no YAML that can be read: {error}.")
        })?;
        let mut reader = Self::default();
        reader.section("", root);
        Ok(reader)
    }

    pub(super) fn problem(&mut self, line: u64, sentence: impl Into<String>) {
        self.problems.push((Some(line), sentence.into()));
    }

    /// A mistake of the whole file: something is missing, or two settings do not agree.
    pub(super) fn complain(&mut self, sentence: impl Into<String>) {
        self.problems.push((None, sentence.into()));
    }

    /// All mistakes as sentences: those with a line first, in the order of the file.
    pub(super) fn sentences(mut self) -> Vec<String> {
        self.problems
            .sort_by_key(|(line, _)| line.unwrap_or(u64::MAX));
        let told = self
            .problems
            .into_iter()
            .map(|(line, sentence)| match line {
                Some(line) => format!("Line {line}: {sentence}"),
                None => sentence,
            });
        told.collect()
    }

    /// Complains if none of these settings is there.
    pub(super) fn require(&mut self, names: &[&str], advice: &str) {
        if !names.iter().any(|name| self.given.contains_key(*name)) {
            self.complain(format!("{} is missing; {advice}.", names.join(" or ")));
        }
    }

    fn section(&mut self, section: &str, value: Given) {
        let line = value.referenced.line();
        match value.value {
            Node::Nothing => {}
            Node::Map(entries) => {
                for (key, value) in entries {
                    self.entry(section, &key, value);
                }
            }
            Node::Text(_) | Node::List(_) => {
                let keys: Vec<&str> = keys_of(section).collect();
                let name = if section.is_empty() {
                    "The file"
                } else {
                    section
                };
                self.problem(line, format!("{name} takes the keys {}.", keys.join(", ")));
            }
        }
    }

    fn entry(&mut self, section: &str, key: &Spanned<String>, value: Given) {
        let mut keys = keys_of(section);
        if !keys.any(|known| known == key.value) {
            let sentence = unknown(&key.value, keys_of(section));
            return self.problem(key.referenced.line(), sentence);
        }
        let name = match section {
            "" => key.value.clone(),
            _ => format!("{section}.{}", key.value),
        };
        if SECTIONS.contains(&name.as_str()) {
            return self.section(&name, value);
        }
        if value.value != Node::Nothing {
            self.given.insert(name, value);
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Given> {
        self.given.remove(name)
    }

    /// True if a value of this section is there.
    pub(super) fn has_section(&self, section: &str) -> bool {
        let start = format!("{section}.");
        self.given.keys().any(|name| name.starts_with(&start))
    }

    /// One text, with its line.
    pub(super) fn text(&mut self, name: &str) -> Option<(u64, String)> {
        let value = self.take(name)?;
        let line = value.referenced.line();
        match value.value {
            Node::Text(text) if !text.trim().is_empty() => Some((line, text.trim().to_owned())),
            Node::Text(_) => {
                self.problem(
                    line,
                    format!("{name} is empty; leave it out, or give a value."),
                );
                None
            }
            _ => {
                self.problem(line, format!("{name} takes one value."));
                None
            }
        }
    }

    /// One text, read by `parse`, which says what it expects.
    pub(super) fn value<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, InvalidValue>,
    ) -> Option<T> {
        let (line, text) = self.text(name)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(refusal) => {
                self.problem(line, format!("{name} {}", refusal.sentence(&text, false)));
                None
            }
        }
    }

    pub(super) fn whole(&mut self, name: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        let Some((line, text)) = self.text(name) else {
            return default;
        };
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_plain);
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return number;
        }
        let (given, least, most) = (shown(&text), range.start(), range.end());
        self.problem(
            line,
            format!("{name} is \"{given}\"; expected a whole number from {least} to {most}."),
        );
        default
    }

    /// A list of texts, or one, each with its line.
    pub(super) fn texts(&mut self, name: &str) -> Vec<(u64, String)> {
        let Some(value) = self.take(name) else {
            return Vec::new();
        };
        let items = match value.value {
            Node::List(items) => items,
            _ => vec![value],
        };
        let mut texts = Vec::new();
        for item in items {
            let line = item.referenced.line();
            match item.value {
                Node::Text(text) if !text.trim().is_empty() => {
                    texts.push((line, text.trim().to_owned()));
                }
                _ => self.problem(line, format!("{name} takes a list of texts.")),
            }
        }
        texts
    }

    /// A list of values, each read by `parse`.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str) -> Result<T, InvalidValue>,
    ) -> Vec<T> {
        let mut read = Vec::new();
        for (line, text) in self.texts(name) {
            match parse(&text) {
                Ok(value) => read.push(value),
                Err(refusal) => {
                    self.problem(line, format!("{name} {}", refusal.sentence(&text, false)));
                }
            }
        }
        read
    }

    pub(super) fn paths(&mut self, name: &str) -> Vec<PathBuf> {
        let texts = self.texts(name).into_iter();
        texts.map(|(_, path)| PathBuf::from(path)).collect()
    }

    /// A reader of one entry in a list of sections.
    pub(super) fn nested(section: &str, item: Given) -> Self {
        let mut nested = Self::default();
        nested.section(section, item);
        let given = std::mem::take(&mut nested.given).into_iter();
        let inner = |name: &str| name.split_once('.').map_or(name, |(_, key)| key).to_owned();
        nested.given = given.map(|(name, value)| (inner(&name), value)).collect();
        nested
    }

    /// Takes over the mistakes of an entry. True: there is none.
    pub(super) fn take_problems(&mut self, nested: Self, section: &str) -> bool {
        let is_right = nested.problems.is_empty();
        let told = nested.problems.into_iter();
        self.problems
            .extend(told.map(|(line, sentence)| (line, format!("{section}: {sentence}"))));
        is_right
    }

    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.text(name).map(|(_, path)| PathBuf::from(path))
    }

    /// A secret by the name of its file or of its environment variable.
    pub(super) fn secret(&mut self, name: &str) -> Option<SecretSource> {
        let file = self.text(&format!("{name}_file"));
        let variable = self.text(&format!("{name}_env"));
        match (file, variable) {
            (Some(_), Some((line, _))) => {
                let sentence = format!("{name}_file and {name}_env are both set; leave one out.");
                self.problem(line, sentence);
                None
            }
            (Some((_, file)), None) => Some(SecretSource::File(file.into())),
            (None, Some((line, variable))) => self.variable(name, line, variable),
            (None, None) => None,
        }
    }

    /// A value that cannot be the name of a variable may be the secret itself, so it is not shown.
    fn variable(&mut self, name: &str, line: u64, variable: String) -> Option<SecretSource> {
        let is_plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let starts = variable.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        if starts && variable.len() <= 100 && variable.chars().all(is_plain) {
            return Some(SecretSource::Variable(variable));
        }
        let sentence = format!(
            "{name}_env has a value that cannot be used; expected the name of an environment variable in capital letters, not the secret itself."
        );
        self.problem(line, sentence);
        None
    }
}

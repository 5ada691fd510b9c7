//! The repository's own settings, `.github/opencode-reviewer.yml` of the base branch. They take what concerns how a
//! change is judged. What says where keys go, who is trusted, how the run is contained or what starts it stays in the
//! workflow. A mistake in the file costs the one setting, never the review; a file of which nothing can be read costs a gate
//! its verdict.

mod effective;
mod fix;
mod lifecycle;
pub(super) mod node;
mod schema;
#[cfg(test)]
mod tests;

pub use schema::schema;

use super::inputs::{self, INPUTS, Input, Origin, RawInputs};
use super::lifecycle::Settings;
use super::{FixSettings, Globs, Instruction, Shape, Skip, nearest};
use crate::domain::Login;
use node::Node;
use serde_yaml::Spanned;
use std::collections::BTreeSet;

/// No file of settings that a person writes is larger.
pub const MOST_BYTES: usize = 256 * 1024;
pub const PATH: &str = ".github/opencode-reviewer.yml";

const INSTRUCTIONS: &str = "instructions";
const SKIP: &str = "skip";
const FIX: &str = "fix";
const LIFECYCLE: &str = "lifecycle";
const OF_INSTRUCTION: &[&str] = &["paths", "text"];
const OF_SKIP: &[&str] = &[
    "labels",
    "authors",
    "drafts",
    "max_changed_files",
    "max_changed_lines",
];
/// No instruction that is heeded is longer.
const LONGEST_TEXT: usize = 8_000;
const MOST_INSTRUCTIONS: usize = 100;

/// All keys of the top level: inputs of one value, those that are lists, and what no input has.
fn keys() -> impl Iterator<Item = &'static str> + Clone {
    let inputs = |lists| {
        let takes = move |shape: Shape| shape.is_list() == lists;
        let inputs = INPUTS.iter();
        inputs.filter(move |input| input.in_file.is_some_and(takes))
    };
    let names = inputs(false).chain(inputs(true)).map(|input| input.name);
    names.chain([INSTRUCTIONS, SKIP, FIX, LIFECYCLE])
}

/// An error in the file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub line: u64,
    pub sentence: String,
}

/// The file, as far as it is right.
#[derive(Debug, Default)]
pub struct RepositoryFile {
    /// For inputs that the workflow does not give.
    values: Vec<(&'static str, String)>,
    ignore: Option<Globs>,
    pub instructions: Vec<Instruction>,
    pub skip: Skip,
    pub fix: FixSettings,
    lifecycle: Settings,
    /// The settings that stand in the file, such as `skip.labels`.
    named: BTreeSet<String>,
    pub problems: Vec<Problem>,
    /// Nothing of the file could be read, for the reason that is the only problem.
    pub unreadable: bool,
}

impl RepositoryFile {
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        match serde_yaml::from_str::<Spanned<Node>>(text) {
            Ok(root) => file.read(root),
            Err(error) => {
                let line = error.location().map_or(1, |location| location.line());
                let error = error.without_snippet();
                let sentence = format!("The file is no YAML that can be read: {error}");
                file.problem(line, sentence);
                file.unreadable = true;
            }
        }
        file
    }

    /// The workflow's inputs, and what the file says where they say nothing.
    #[must_use]
    pub fn under(&self, inputs: &RawInputs) -> RawInputs {
        let mut merged = inputs.clone();
        for (name, value) in &self.values {
            if !inputs.is_given(name) {
                merged.set_from(name, value, Origin::File);
            }
        }
        merged
    }

    /// The globs of the file, unless the workflow has its own.
    #[must_use]
    pub fn ignore(&self, inputs: &RawInputs) -> Option<&Globs> {
        self.ignore.as_ref().filter(|_| !inputs.is_given("ignore"))
    }

    fn problem(&mut self, line: u64, sentence: impl Into<String>) {
        self.problems.push(Problem {
            line,
            sentence: sentence.into(),
        });
    }

    fn read(&mut self, root: Spanned<Node>) {
        let entries = match root.value {
            Node::Map(entries) => entries,
            Node::Nothing => return,
            Node::Text(_) | Node::List(_) => {
                let line = root.referenced.line();
                self.unreadable = true;
                return self.problem(
                    line,
                    "The file holds no settings; expected lines of `name: value`.",
                );
            }
        };
        for (key, value) in entries {
            self.entry(&key, value);
        }
    }

    fn entry(&mut self, key: &Spanned<String>, value: Spanned<Node>) {
        let line = key.referenced.line();
        self.named.insert(key.value.clone());
        if let Node::Map(entries) = &value.value {
            let names = entries.iter();
            let names = names.map(|(name, _)| format!("{}.{}", key.value, name.value));
            self.named.extend(names);
        }
        let input = Input::named(&key.value).map(|input| (input, input.in_file));
        match (key.value.as_str(), input) {
            (INSTRUCTIONS, _) => self.instructions(value),
            (SKIP, _) => self.skip(value),
            (FIX, _) => self.fix(value),
            (LIFECYCLE, _) => self.lifecycle(value),
            (_, Some((input, Some(shape)))) => self.input(input, shape, &value),
            (name, Some((_, None))) => {
                let sentence =
                    format!("{name} is set in the workflow only, as an input of the action.");
                self.problem(line, sentence);
            }
            (name, None) => self.problem(line, unknown(name, keys())),
        }
    }

    fn input(&mut self, input: &Input, shape: Shape, value: &Spanned<Node>) {
        let line = value.referenced.line();
        match shape {
            Shape::Globs => {
                if let Some(patterns) = self.texts(input.name, value) {
                    self.ignore = Some(self.globs(input.name, patterns, line));
                }
            }
            Shape::Texts => {
                if let Some(texts) = self.texts(input.name, value) {
                    self.value(input, texts.join("\n"), line);
                }
            }
            Shape::PerDay if matches!(value.value, Node::List(_)) => {
                if let Some(texts) = self.texts(input.name, value) {
                    self.value(input, texts.join("\n"), line);
                }
            }
            _ => self.single(input, shape, value),
        }
    }

    fn single(&mut self, input: &Input, shape: Shape, value: &Spanned<Node>) {
        let (name, line) = (input.name, value.referenced.line());
        match &value.value {
            // `off` is a truth value to some readers of YAML.
            Node::Text(text) if text == "false" && shape.takes_off() => {
                self.value(input, "off".into(), line);
            }
            Node::Text(text) => self.value(input, text.clone(), line),
            Node::Nothing => {}
            Node::List(_) | Node::Map(_) => {
                self.problem(line, format!("{name} takes one value, not several."));
            }
        }
    }

    /// Judged as the input is.
    fn value(&mut self, input: &Input, text: String, line: u64) {
        match input.problem(&text) {
            Some(problem) => self.problem(line, format!("{} {problem}", input.name)),
            None => self.values.push((input.name, text)),
        }
    }

    /// A list of texts, or one.
    fn texts(&mut self, name: &str, value: &Spanned<Node>) -> Option<Vec<String>> {
        match &value.value {
            Node::Text(text) => Some(vec![text.clone()]),
            Node::Nothing => None,
            Node::List(items) => {
                let mut texts = Vec::new();
                for item in items {
                    match &item.value {
                        Node::Text(text) => texts.push(text.clone()),
                        _ => self.problem(item.referenced.line(), of_texts(name)),
                    }
                }
                Some(texts)
            }
            Node::Map(_) => {
                self.problem(value.referenced.line(), of_texts(name));
                None
            }
        }
    }

    fn globs(&mut self, name: &str, patterns: Vec<String>, line: u64) -> Globs {
        let (globs, wrong) = Globs::new(patterns);
        for pattern in wrong {
            self.problem(line, format!("{name} has the glob {pattern:?}, which cannot be read; expected a glob such as docs/** or *.snap."));
        }
        globs
    }

    fn instructions(&mut self, value: Spanned<Node>) {
        let Node::List(items) = value.value else {
            let sentence = "instructions takes a list of entries with paths and text.";
            return self.problem(value.referenced.line(), sentence);
        };
        for item in items.into_iter().take(MOST_INSTRUCTIONS) {
            self.instruction(item);
        }
    }

    fn instruction(&mut self, item: Spanned<Node>) {
        let line = item.referenced.line();
        let Node::Map(entries) = item.value else {
            return self.problem(line, "An instruction has paths and text.");
        };
        let (mut paths, mut words) = (None, None);
        for (key, value) in entries {
            match (key.value.as_str(), &value.value) {
                ("paths", _) => paths = self.texts("paths", &value),
                ("text", Node::Text(text)) if !text.trim().is_empty() => {
                    words = Some(text.trim().to_owned());
                }
                ("text", _) => self.problem(value.referenced.line(), "text is a text of its own."),
                (name, _) => {
                    let sentence = unknown(name, OF_INSTRUCTION.iter().copied());
                    self.problem(key.referenced.line(), sentence);
                }
            }
        }
        let Some(text) = words.filter(|text| text.len() <= LONGEST_TEXT) else {
            let sentence =
                format!("An instruction needs a text of at most {LONGEST_TEXT} characters.");
            return self.problem(line, sentence);
        };
        let paths = paths.unwrap_or_else(|| vec!["**".to_owned()]);
        let shown = paths.join(", ");
        let globs = self.globs("paths", paths, line);
        self.instructions.push(Instruction { globs, shown, text });
    }

    fn skip(&mut self, value: Spanned<Node>) {
        let Node::Map(entries) = value.value else {
            let names = OF_SKIP.join(", ");
            let sentence = format!("skip takes {names}.");
            return self.problem(value.referenced.line(), sentence);
        };
        for (key, value) in entries {
            let line = value.referenced.line();
            let one = match &value.value {
                Node::Text(text) => Some(text.as_str()),
                _ => None,
            };
            match key.value.as_str() {
                "labels" => self.skip.labels = self.texts("labels", &value).unwrap_or_default(),
                "authors" => {
                    let authors = self.texts("authors", &value).unwrap_or_default();
                    self.skip.authors = authors.iter().map(|name| Login::new(name)).collect();
                }
                "drafts" => match one {
                    Some("true") => self.skip.drafts = true,
                    Some("false") => self.skip.drafts = false,
                    _ => self.problem(line, "drafts takes true or false."),
                },
                "max_changed_files" => {
                    self.skip.max_files = self.limit("max_changed_files", one, line);
                }
                "max_changed_lines" => {
                    self.skip.max_lines = self.limit("max_changed_lines", one, line);
                }
                name => {
                    let sentence = unknown(name, OF_SKIP.iter().copied());
                    self.problem(key.referenced.line(), sentence);
                }
            }
        }
    }

    fn limit(&mut self, name: &str, text: Option<&str>, line: u64) -> Option<u64> {
        let number = text.and_then(|text| text.parse().ok()).filter(|n| *n > 0);
        if number.is_none() {
            self.problem(line, format!("{name} takes a whole number above 0."));
        }
        number
    }
}

fn of_texts(name: &str) -> String {
    format!("{name} takes a list of texts.")
}

pub(super) fn unknown(name: &str, known: impl Iterator<Item = &'static str> + Clone) -> String {
    let shown: String = name.chars().take(60).flat_map(char::escape_debug).collect();
    let renamed = inputs::renamed(name).filter(|new| known.clone().any(|one| one == *new));
    let meant = renamed.map(|new| format!(" It is part of {new} now."));
    let near = || nearest(name, known.clone()).map(|near| format!(" Did you mean {near}?"));
    let meant = meant.or_else(near);
    let expected: Vec<&str> = known.collect();
    format!(
        "\"{shown}\" is no setting.{} Expected one of {}.",
        meant.unwrap_or_default(),
        expected.join(", ")
    )
}

//! What a source file says about modules: the paths in it, from the root of its crate, and which files are for tests
//! only. A reader of tokens, because paths stand in macros, too, which parsers leave unread.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Comments, then strings, characters and lifetimes, then what paths are made of.
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let token = r#"(?xs)
        (?<comment> //[^\n]* | /\*.*?\*/ )
        | b?r"[^"]*" | b?r\#".*?"\# | b?r\#\#".*?"\#\# | b?r\#\#\#".*?"\#\#\#
        | b?"(?:\\.|[^"\\])*"
        | b?'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'])' | '\w+
        | \w+ | :: | \S
    "#;
    Regex::new(token).unwrap()
});

#[derive(Debug, Default)]
pub struct Source {
    /// The module that the file holds.
    pub module: Vec<String>,
    /// Paths that it names outside of tests.
    pub paths: BTreeSet<Vec<String>>,
    /// Files that it declares for tests only, without their extension: what is below them is for tests, too.
    pub tests: Vec<PathBuf>,
}

impl Source {
    pub fn read(file: &Path, text: &str) -> Self {
        let tokens = TOKEN.captures_iter(text);
        let tokens = tokens.filter(|token| token.name("comment").is_none());
        let module = module(file);
        let mut reader = Reader {
            tokens: tokens.map(|token| token.get_match().as_str()).collect(),
            file,
            at: 0,
            around: module.clone(),
            inline: Vec::new(),
            open: 0,
            source: Self {
                module,
                ..Self::default()
            },
        };
        while reader.at < reader.tokens.len() {
            reader.step();
        }
        reader.source
    }
}

fn module(file: &Path) -> Vec<String> {
    let names = file.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    let is_root = names.len() == 1 && ["lib", "main"].contains(&&*names[0]);
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    file: &'a Path,
    at: usize,
    /// The module around the place, inline ones included.
    around: Vec<String>,
    /// How many braces are open in each of the inline ones.
    inline: Vec<usize>,
    open: usize,
    source: Source,
}

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> &'a str {
        self.tokens
            .get(self.at + ahead)
            .copied()
            .unwrap_or_default()
    }

    fn step(&mut self) {
        let (this, next) = (self.token(0), self.token(1));
        match this {
            "#" if next == "[" => {
                if is_for_tests(self.attribute()) {
                    self.test_item();
                }
                return;
            }
            "{" => self.open += 1,
            "}" => {
                if self.inline.last() == Some(&self.open) {
                    self.inline.pop();
                    self.around.pop();
                }
                self.open = self.open.saturating_sub(1);
            }
            "mod" if self.token(2) == "{" => {
                self.around.push(next.to_owned());
                self.inline.push(self.open + 1);
            }
            "crate" | "super" | "self" if next == "::" => {
                let head = self.head();
                self.tree(head);
                return;
            }
            // At the root, the first name of a path can be a module.
            "use" if self.around.is_empty() && !["crate", "super", "self"].contains(&next) => {
                self.at += 1;
                self.tree(Vec::new());
                return;
            }
            _ => {}
        }
        self.at += 1;
    }

    /// Reads over an attribute; returns what stands in its brackets.
    fn attribute(&mut self) -> &[&'a str] {
        let from = self.at + 2;
        self.at += 1;
        self.balanced("[", "]");
        &self.tokens[from..self.at - 1]
    }

    /// Reads over a bracket and what it holds.
    fn balanced(&mut self, opening: &str, closing: &str) {
        let mut open = 0_usize;
        while self.at < self.tokens.len() {
            let token = self.token(0);
            self.at += 1;
            if token == opening {
                open += 1;
            } else if token == closing {
                open -= 1;
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Reads over an item that only tests have, its further attributes included.
    fn test_item(&mut self) {
        let mut place = None;
        while self.token(0) == "#" {
            if let ["path", "=", path] = self.attribute() {
                place = Some(path.trim_matches('"'));
            }
        }
        while !["{", ";", ""].contains(&self.token(0)) {
            if self.token(0) == "mod" && self.token(2) == ";" {
                let below: PathBuf = self
                    .around
                    .iter()
                    .chain([&self.token(1).to_owned()])
                    .collect();
                let placed = place.map(|place| self.file.with_file_name(place).with_extension(""));
                self.source.tests.push(placed.unwrap_or(below));
            }
            self.at += 1;
        }
        match self.token(0) {
            "{" => self.balanced("{", "}"),
            _ => self.at += 1,
        }
    }

    /// Reads `crate::`, `self::` or any number of `super::`; returns the module that they mean.
    fn head(&mut self) -> Vec<String> {
        let mut module = self.around.clone();
        while self.token(1) == "::" {
            match self.token(0) {
                "crate" => module.clear(),
                "self" => {}
                "super" => {
                    module.pop();
                }
                _ => break,
            }
            self.at += 2;
        }
        module
    }

    /// Reads the rest of a path, or of each path of a group.
    fn tree(&mut self, mut path: Vec<String>) {
        loop {
            let token = self.token(0);
            if token == "{" {
                self.at += 1;
                while !["}", ""].contains(&self.token(0)) {
                    self.tree(path.clone());
                    while ![",", "}", ""].contains(&self.token(0)) {
                        self.at += 1;
                    }
                    self.at += usize::from(self.token(0) == ",");
                }
                self.at += 1;
                return;
            }
            if token.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                self.at += 1;
                if token != "self" {
                    path.push(token.to_owned());
                }
            }
            if self.token(0) != "::" {
                break;
            }
            self.at += 1;
        }
        self.source.paths.insert(path);
    }
}

/// Whether an attribute's content keeps something for tests, as `cfg(test)` does.
fn is_for_tests(attribute: &[&str]) -> bool {
    attribute.first() == Some(&"cfg") && attribute.contains(&"test") && !attribute.contains(&"not")
}
